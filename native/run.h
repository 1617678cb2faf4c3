// The one entry: checks the data where a selector asks for it, then fills the result, tile by tile.
#pragma once

#include <cstdint>
#include <functional>

#include "isa.h"
#include "problem.h"

namespace poolgrad {

enum class Outcome : int { done, bad_data, interrupted, unsupported, no_memory };

struct Status {
  Outcome outcome;
  std::int64_t position;  // bad_data: the first bad element on the output side
};

// Are all arrays there that this family and selector read?
bool has_buffers(const Problem& problem, const Buffers& buffers);

// For tests: fills scratch memory with NaN before each use, so that a kernel which reads what it has not written is
// seen.
void spoil_scratch(bool on);

Status run(const Problem& problem, const Buffers& buffers, const Isa& isa, int threads,
           const std::function<bool()>& should_stop);

// Work a run has to do, in elements looked at.
double work_of(const Problem& problem);

// Says that a run with so much work, or more, will come within microseconds: one of its other threads wakes meanwhile.
void expect_run(double work, int threads);

}  // namespace poolgrad
