// Checks that count themselves: a failure prints where it was, the values and the case at hand, and the program goes
// on.
#pragma once

#include <atomic>
#include <cstdio>
#include <sstream>
#include <string>

namespace checks {

struct Tally {
  std::atomic<long> passed{0};
  std::atomic<long> failed{0};
};

inline Tally tally;

// What the checks of this thread are about; printed with a failure.
inline thread_local std::string subject;

inline void note(bool holds, const char* file, int line, const std::string& values) {
  constexpr long most_printed = 40;
  if (holds) {
    ++tally.passed;
  } else if (++tally.failed <= most_printed) {
    std::printf("%s:%d: %s%s%s\n", file, line, values.c_str(), subject.empty() ? "" : "; ", subject.c_str());
  }
}

template <class A, class B>
std::string unequal(const char* text, const A& a, const B& b) {
  std::ostringstream words;
  words.precision(21);
  words << text << ": " << +a << " != " << +b;
  return words.str();
}

}  // namespace checks

#define CHECK(condition)                                                          \
  do {                                                                            \
    const bool check_holds = (condition);                                         \
    checks::note(check_holds, __FILE__, __LINE__, check_holds ? "" : #condition); \
  } while (false)

#define CHECK_EQUAL(a, b)                                                                        \
  do {                                                                                           \
    const auto check_a = (a);                                                                    \
    const auto check_b = (b);                                                                    \
    const bool check_holds = check_a == check_b;                                                 \
    checks::note(check_holds, __FILE__, __LINE__,                                                \
                 check_holds ? std::string() : checks::unequal(#a " == " #b, check_a, check_b)); \
  } while (false)
