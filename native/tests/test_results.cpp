// The pool of results: what is in use at the same time never overlaps, memory comes back, the bound holds.
#include <cstdint>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "check.h"
#include "results.h"
#include "tests.h"

namespace tests {

namespace {

using poolgrad::give_back_result;
using poolgrad::idle_result_bytes;
using poolgrad::resize_result;
using poolgrad::take_result;

constexpr std::size_t mebibyte = std::size_t(1) << 20;

std::uintptr_t number_of(const void* data) { return reinterpret_cast<std::uintptr_t>(data); }

bool is_filled(const unsigned char* data, std::size_t bytes, unsigned char value) {
  for (std::size_t k = 0; k < bytes; k += 509) {
    if (data[k] != value) {
      return false;
    }
  }
  return bytes == 0 || data[bytes - 1] == value;
}

void test_placement() {
  for (const std::size_t bytes : {std::size_t(1), mebibyte, 4 * mebibyte, 9 * mebibyte + 7}) {
    for (std::uintptr_t near = 0; near < 8192; near += 96) {
      void* data = take_result(bytes, reinterpret_cast<const void*>(near));
      CHECK(data != nullptr);
      CHECK_EQUAL(number_of(data) % 64, std::uintptr_t(0));
      CHECK_EQUAL(number_of(data) % 4096, (near + 2048) % 4096 / 64 * 64);
      std::memset(data, 1, bytes);
      give_back_result(data);
    }
  }
}

void test_reuse_and_bound() {
  poolgrad::release_results();
  poolgrad::set_result_pool(16 * mebibyte);
  void* first = take_result(5 * mebibyte, nullptr);
  give_back_result(first);
  CHECK(idle_result_bytes() >= 5 * mebibyte);
  CHECK(idle_result_bytes() <= 6 * mebibyte);
  CHECK_EQUAL(take_result(5 * mebibyte, nullptr), first);
  CHECK_EQUAL(idle_result_bytes(), std::size_t(0));
  give_back_result(first);
  for (const std::size_t size : {6, 7, 8, 9, 20}) {
    give_back_result(take_result(size * mebibyte, nullptr));
    CHECK(idle_result_bytes() <= 16 * mebibyte);
  }
  poolgrad::set_result_pool(0);
  CHECK_EQUAL(idle_result_bytes(), std::size_t(0));
  give_back_result(take_result(mebibyte, nullptr));
  CHECK_EQUAL(idle_result_bytes(), std::size_t(0));
  give_back_result(nullptr);
  CHECK(take_result(SIZE_MAX / 2, nullptr) == nullptr);
  poolgrad::set_result_pool(64 * mebibyte);
}

void test_resize() {
  unsigned char* data = static_cast<unsigned char*>(take_result(mebibyte, nullptr));
  std::memset(data, 5, mebibyte);
  CHECK_EQUAL(resize_result(data, 10), static_cast<void*>(data));
  data = static_cast<unsigned char*>(resize_result(data, 3 * mebibyte));
  CHECK(is_filled(data, mebibyte, 5));
  std::memset(data, 6, 3 * mebibyte);
  CHECK(resize_result(data, SIZE_MAX / 2) == nullptr);
  CHECK(is_filled(data, 3 * mebibyte, 6));
  give_back_result(data);
}

// Takes and gives back at random; each result holds a number of its own for as long as it lives.
void take_and_give(unsigned seed) {
  struct Live {
    unsigned char* data;
    std::size_t bytes;
    unsigned char value;
  };
  std::minstd_rand random(seed);
  std::vector<Live> live;
  bool intact = true;
  for (int turn = 0; turn < 200; ++turn) {
    if (live.size() > 6 || (!live.empty() && random() % 2 == 0)) {
      const Live gone = live[random() % live.size()];
      for (std::size_t k = 0; k < live.size(); ++k) {
        if (live[k].data == gone.data) {
          live.erase(live.begin() + std::ptrdiff_t(k));
          break;
        }
      }
      intact = intact && is_filled(gone.data, gone.bytes, gone.value);
      give_back_result(gone.data);
    } else {
      const std::size_t bytes = mebibyte / 2 + random() % (5 * mebibyte);
      unsigned char* data = static_cast<unsigned char*>(take_result(bytes, nullptr));
      const auto value = static_cast<unsigned char>(random() % 256);
      std::memset(data, value, bytes);
      live.push_back({data, bytes, value});
    }
  }
  for (const Live& left : live) {
    give_back_result(left.data);
  }
  CHECK(intact);
}

void test_many_threads() {
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    threads.emplace_back(take_and_give, seed);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(idle_result_bytes() <= 64 * mebibyte);
  poolgrad::release_results();
  CHECK_EQUAL(idle_result_bytes(), std::size_t(0));
}

}  // namespace

void test_results() {
  if (poolgrad::has_result_pool()) {
    test_placement();
    test_reuse_and_bound();
    test_resize();
    test_many_threads();
  }
}

}  // namespace tests
