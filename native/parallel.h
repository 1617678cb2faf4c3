// Numbered pieces of work on several threads. Threads live for one call only: nothing is left behind that a fork could
// break, and calls from many threads at once do not know of each other. Pieces are taken one by one, so a thread that
// is held up by other work on its core holds up one piece, not the call.
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
  Watch(std::atomic<bool>* stopped, const std::function<bool()>* should_stop);
  bool is_stopped();

 private:
  std::atomic<bool>* stopped_;
  const std::function<bool()>* should_stop_;
  std::chrono::steady_clock::time_point asked_;
};

// body(k, watch) for each k below `count`, on the calling thread and up to `threads` - 1 others. `should_stop` is asked
// on the calling thread now and then; after it said yes no further piece is begun and the answer is false.
bool for_each_piece(std::int64_t count, int threads, const std::function<void(std::int64_t, Watch&)>& body,
                    const std::function<bool()>& should_stop);

}  // namespace poolgrad
