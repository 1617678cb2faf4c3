// native_tests [[but] name...]: all tests, those named, or all but those. Ends with a line of counts.
#include <chrono>
#include <cstdio>
#include <cstring>

#include "check.h"
#include "run.h"
#include "tests.h"

namespace {

struct Group {
  const char* name;
  void (*run)();
};

const Group groups[] = {
    {"numbers", tests::test_numbers},      {"windows", tests::test_windows},
    {"small", tests::test_small_families}, {"shared", tests::test_shared_families},
    {"large", tests::test_large_families}, {"faults", tests::test_faults},
    {"threads", tests::test_threads},      {"results", tests::test_results},
};

bool is_named(const char* name, int count, char** names) {
  for (int k = 1; k < count; ++k) {
    if (std::strcmp(names[k], name) == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

int main(int count, char** names) {
  poolgrad::spoil_scratch(true);
  const bool others = count == 1 || std::strcmp(names[1], "but") == 0;
  int known = others && count > 1 ? 2 : 1;
  for (const Group& group : groups) {
    const bool named = is_named(group.name, count, names);
    known += named;
    if (named != others) {
      const auto begin = std::chrono::steady_clock::now();
      group.run();
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      std::printf("%s: %.1f s\n", group.name, seconds.count());
    }
  }
  if (known != count) {
    std::printf("unknown test; there are:");
    for (const Group& group : groups) {
      std::printf(" %s", group.name);
    }
    std::printf("\n");
    return 2;
  }
  std::printf("%ld passed, %ld failed\n", checks::tally.passed.load(), checks::tally.failed.load());
  return checks::tally.failed == 0 ? 0 : 1;
}
