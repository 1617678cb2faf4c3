#include "parallel.h"

#include <cfenv>
#include <system_error>
#include <thread>
#include <vector>

#include "problem.h"

namespace poolgrad {

namespace {

// Rounding to nearest, subnormals kept, whatever the caller has set on its thread.
class StandardArithmetic {
 public:
  StandardArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~StandardArithmetic() { std::fesetenv(&before_); }
  StandardArithmetic(const StandardArithmetic&) = delete;
  StandardArithmetic& operator=(const StandardArithmetic&) = delete;

 private:
  std::fenv_t before_;
};

constexpr auto time_between_questions = std::chrono::milliseconds(50);

}  // namespace

Watch::Watch(std::atomic<bool>* stopped, const std::function<bool()>* should_stop)
    : stopped_(stopped), should_stop_(should_stop), asked_(std::chrono::steady_clock::now()) {}

bool Watch::is_stopped() {
  if (should_stop_ != nullptr && !*stopped_ && std::chrono::steady_clock::now() - asked_ > time_between_questions) {
    *stopped_ = (*should_stop_)();
    asked_ = std::chrono::steady_clock::now();
  }
  return *stopped_;
}

bool is_stopped(Watch* watch) { return watch->is_stopped(); }

bool for_each_piece(std::int64_t count, int threads, const std::function<void(std::int64_t, Watch&)>& body,
                    const std::function<bool()>& should_stop) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](bool asks) {
    const StandardArithmetic standard;
    Watch watch(&stopped, asks ? &should_stop : nullptr);
    for (std::int64_t k = next++; k < count && !watch.is_stopped(); k = next++) {
      body(k, watch);
    }
  };
  std::vector<std::thread> helpers;
  for (int t = 1; t < threads && t < count; ++t) {
    try {
      helpers.emplace_back(work, false);
    } catch (const std::system_error&) {
      break;  // no more threads to be had: those there are do the work
    }
  }
  work(true);
  for (std::thread& helper : helpers) {
    helper.join();
  }
  return !stopped;
}

}  // namespace poolgrad
