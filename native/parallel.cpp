#include "parallel.h"

#include <atomic>
#include <cfenv>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

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

bool for_each_piece(std::int64_t count, int threads, const std::function<void(std::int64_t)>& body,
                    const std::function<bool()>& should_stop) {
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> stopped{false};
  const auto work = [&](bool asks) {
    const StandardArithmetic standard;
    auto asked = std::chrono::steady_clock::now();
    for (std::int64_t k = next++; k < count && !stopped; k = next++) {
      body(k);
      if (asks && std::chrono::steady_clock::now() - asked > time_between_questions) {
        stopped = stopped || should_stop();
        asked = std::chrono::steady_clock::now();
      }
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
