// Calls that have been made before, for functions that look at nothing but their arguments.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>

namespace poolgrad {

// Changes with whatever a call depends on and no argument tells.
std::uint64_t generation_of_calls();

void bind_calls(nanobind::module_& m);

}  // namespace poolgrad
