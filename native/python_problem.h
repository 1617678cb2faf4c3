// A problem as Python makes and runs it. Sizes are compared once more here, so that no caller can make a kernel leave
// its memory.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "problem.h"
#include "run.h"

namespace poolgrad {

struct BoundProblem {
  Problem problem;
  std::vector<std::int64_t> tables[3];  // starts, then stops
};

// Is there so little to do that nobody would notice that the interpreter is locked meanwhile?
bool has_little_work(const Problem& problem);

// Runs a problem, with the interpreter unlocked unless it is small. An interrupted one has raised.
Status run_for_python(const Problem& problem, const Isa& isa, const Buffers& buffers, int threads, bool is_small);

// The instruction set of this name; refuses what this machine lacks.
const Isa& isa_called(const char* name);

// Fills the result. The answer is nothing, or the flat position of the first bad element; raises what else may go
// wrong.
std::optional<std::int64_t> run_on(const Problem& problem, const Isa& isa, const Buffers& buffers, int threads);

void bind_problem(nanobind::module_& m);

}  // namespace poolgrad
