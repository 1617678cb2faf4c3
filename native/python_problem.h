// A problem as Python makes and runs it. Sizes are compared once more here, so that no caller can make a kernel leave
// its memory.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <vector>

#include "problem.h"

namespace poolgrad {

struct BoundProblem {
  Problem problem;
  std::vector<std::int64_t> tables[3];  // starts, then stops
};

// Asks Python whether a signal has come; takes the interpreter lock for it.
bool is_interrupted();

void bind_problem(nanobind::module_& m);

}  // namespace poolgrad
