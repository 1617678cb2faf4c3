// Threads: pieces are done once each, calls from many threads at once do not disturb each other, a call can be stopped.
#include <atomic>
#include <cfenv>
#include <chrono>
#include <thread>
#include <vector>

#include "exercise.h"
#include "parallel.h"
#include "tests.h"

namespace tests {

namespace {

void test_pieces() {
  for (const int threads : {1, 2, 3, 7}) {
    for (const std::int64_t count : {0, 1, 2, 5, 1000}) {
      std::vector<std::atomic<int>> done(static_cast<std::size_t>(count));
      const bool finished = poolgrad::for_each_piece(
          count, threads, [&](std::int64_t k, poolgrad::Watch&) { ++done[std::size_t(k)]; }, never);
      CHECK(finished);
      CHECK(std::all_of(done.begin(), done.end(), [](const std::atomic<int>& times) { return times == 1; }));
    }
  }
}

// The question is asked by the calling thread only, and a yes leaves later pieces undone.
void test_stop() {
  for (const int threads : {1, 3}) {
    std::atomic<int> begun{0}, asked{0};
    const std::thread::id caller = std::this_thread::get_id();
    bool by_caller = true;
    const bool finished = poolgrad::for_each_piece(
        1000, threads,
        [&](std::int64_t, poolgrad::Watch&) {
          ++begun;
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
        },
        [&] {
          by_caller = by_caller && std::this_thread::get_id() == caller;
          return ++asked == 2;
        });
    CHECK(!finished);
    CHECK(by_caller);
    CHECK_EQUAL(asked.load(), 2);
    CHECK(begun < 1000);
  }
}

void test_interrupted_run() {
  Problem p;
  p.dtype = Dtype::float64;
  p.family = Family::mean;
  p.axis[1] = axis(1009, 21, 1, 10, 10);
  p.axis[2] = axis(499, 21, 1, 10, 10);
  Random random(29);
  Arrays<double> arrays;
  arrays.input = drawn_values<double>(p.dtype, Flavour::wide, p.input_count(), random);
  for (const int threads : {1, 3}) {
    Call<double> call(p, arrays, false);
    const Status status = call.run(poolgrad::choose_isa("base")[0], threads, [] { return true; });
    CHECK_EQUAL(int(status.outcome), int(Outcome::interrupted));
  }
}

// Several threads, each with several of its own, read the same arrays and write to memory of their own.
void test_calls_at_once() {
  Problem p = shared_work().problem();
  p.family = Family::route;
  p.selector = Selector::first_max;
  Random random(31);
  const Arrays<double> arrays = drawn_arrays<double>(p, Flavour::wide, random);
  const Answer<double> answer = answer_of(p, arrays);
  Memory input(p.dtype, arrays.input), data(p.dtype, arrays.data);
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 4; ++caller) {
    callers.emplace_back([&, caller] {
      for (int turn = 0; turn < 3; ++turn) {
        Memory out(p.dtype, p.input_count());
        Buffers buffers;
        buffers.input = input.data();
        buffers.data = data.data();
        buffers.out = out.data();
        const std::vector<const Isa*> isas = usable_isas();
        const Isa& isa = *isas[std::size_t(caller) % isas.size()];
        CHECK_EQUAL(int(poolgrad::run(p, buffers, isa, 1 + caller % 3, never).outcome), int(Outcome::done));
        bool right = true;
        for (std::int64_t k = 0; k < out.count(); ++k) {
          right = right && same(out.get<double>(k), answer.out[std::size_t(k)]);
        }
        CHECK(right);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
}

// What the caller has set for its own arithmetic neither shows in the result nor is lost.
void test_rounding_mode() {
#ifdef FE_UPWARD
  Problem p = shared_work().problem();
  p.family = Family::spread;
  Random random(37);
  const Arrays<double> arrays = drawn_arrays<double>(p, Flavour::wide, random);
  for (const int threads : {1, 3}) {
    Call<double> plain(p, arrays, false), upward(p, arrays, false);
    const Isa& isa = *poolgrad::choose_isa("");
    CHECK_EQUAL(int(plain.run(isa, threads).outcome), int(Outcome::done));
    std::fesetround(FE_UPWARD);
    const Status status = upward.run(isa, threads);
    const int mode = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK_EQUAL(int(status.outcome), int(Outcome::done));
    CHECK_EQUAL(mode, FE_UPWARD);
    bool alike = true;
    for (std::int64_t k = 0; k < plain.out.count(); ++k) {
      alike = alike && same(plain.out.get<double>(k), upward.out.get<double>(k));
    }
    CHECK(alike);
  }
#endif
}

}  // namespace

void test_threads() {
  test_pieces();
  test_stop();
  test_interrupted_run();
  test_calls_at_once();
  test_rounding_mode();
  test_few_families();
}

}  // namespace tests
