// Numbered pieces of work on several threads. Workers stay between calls and sleep; the caller never waits for one to
// come: it takes pieces itself until none is left, then waits only for pieces that others have begun. So a worker that
// is held up by other work on its core holds up at most one piece.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>

namespace poolgrad {

// What a piece of work may ask: `is_stopped`, declared in problem.h. On the calling thread it asks the caller now and
// then.
class Watch {
 public:
  Watch(std::atomic<bool>* stopped, const std::function<bool()>* should_stop)
      : stopped_(stopped), should_stop_(should_stop) {}
  bool is_stopped();
  void ask();

 private:
  std::atomic<bool>* stopped_;
  const std::function<bool()>* should_stop_;
  std::chrono::steady_clock::time_point asked_;  // not set until the first question: reading the clock costs
};

// body(k, watch) for each k below `count`, on the calling thread and up to `threads` - 1 others; it may not throw.
// `should_stop` is asked on the calling thread now and then; after it said yes no further piece is begun and the answer
// is false. Where it forks and comes back in the child, whose workers are gone, all pieces are done there once more.
bool for_each_piece(std::int64_t count, int threads, const std::function<void(std::int64_t, Watch&)>& body,
                    const std::function<bool()>& should_stop);

// Wakes a worker for a call that will come within microseconds: it looks out for that long.
void expect_pieces();

}  // namespace poolgrad
