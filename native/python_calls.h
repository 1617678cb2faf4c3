// Calls that have been made before, for functions that look at nothing but their arguments.
#pragma once

#include <nanobind/nanobind.h>

namespace poolgrad {

void bind_calls(nanobind::module_& m);

}  // namespace poolgrad
