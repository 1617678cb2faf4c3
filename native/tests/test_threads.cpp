// Threads: pieces are done once each, calls from many threads at once do not disturb each other, a call can be stopped,
// and waits for nobody who has not begun.
#include <atomic>
#include <cfenv>
#include <chrono>
#include <limits>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#define TESTS_POSIX
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#endif

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

constexpr auto a_moment = std::chrono::milliseconds(1);

// Are all pieces done once? The counts are on this stack: who touches them after the call fails under a sanitizer.
bool is_whole(int count, int threads) {
  std::atomic<int> done[16] = {};
  const bool finished =
      poolgrad::for_each_piece(count, threads, [&](std::int64_t k, poolgrad::Watch&) { ++done[k]; }, never);
  bool once = true;
  for (int k = 0; k < 16; ++k) {
    once = once && done[k] == (k < count ? 1 : 0);
  }
  return finished && once;
}

bool are_whole(int calls, int start) {
  bool whole = true;
  for (int call = start; call < start + calls; ++call) {
    if (call % 3 == 0) {
      poolgrad::expect_pieces();  // so that workers look out for calls, and for some that do not come
    }
    whole = is_whole(call % 17, 1 + call % 8) && whole;
  }
  return whole;
}

void test_short_calls() {
  CHECK(are_whole(20000, 0));
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 8; ++caller) {
    callers.emplace_back([caller] { CHECK(are_whole(2000, caller)); });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
}

// All workers are held up by one call: another does not wait for them, and a worker more is started where asked for.
void test_held_up_workers() {
  constexpr int most = 8;  // no test before asks for more
  std::atomic<int> begun{0};
  std::atomic<bool> released{false};
  std::thread holder([&] {
    const auto hold = [&](std::int64_t, poolgrad::Watch&) {
      for (++begun; !released;) {
        std::this_thread::sleep_for(a_moment);
      }
    };
    CHECK(poolgrad::for_each_piece(most, most, hold, never));
  });
  while (begun < most) {
    std::this_thread::sleep_for(a_moment);
  }
  for (int call = 0; call < 100; ++call) {
    CHECK(is_whole(16, 2 + call % (most - 1)));
  }
  std::atomic<int> met{0};
  const auto meet = [&](std::int64_t, poolgrad::Watch&) {
    for (++met; met < 2;) {
      std::this_thread::sleep_for(a_moment);
    }
  };
  CHECK(poolgrad::for_each_piece(most + 1, most + 1, meet, never));
  released = true;
  holder.join();
}

void test_busy_neighbours() {
  std::atomic<bool> over{false};
  std::vector<std::thread> neighbours;
  for (unsigned k = 0; k < 2 * std::thread::hardware_concurrency() + 2; ++k) {
    neighbours.emplace_back([&] {
      while (!over) {
      }
    });
  }
  CHECK(are_whole(500, 0));
  over = true;
  for (std::thread& neighbour : neighbours) {
    neighbour.join();
  }
}

// The caller has nothing left to do: it asks all the same, and the piece of the worker hears the answer.
void test_stop_while_waiting() {
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> begun{false};
  const auto body = [&](std::int64_t, poolgrad::Watch& watch) {
    if (std::this_thread::get_id() != caller) {
      begun = true;
    }
    while (std::this_thread::get_id() == caller ? !begun : !watch.is_stopped()) {
      std::this_thread::sleep_for(a_moment);
    }
  };
  int asked = 0;
  CHECK(!poolgrad::for_each_piece(2, 2, body, [&] { return ++asked == 3; }));
  CHECK_EQUAL(asked, 3);
  CHECK(are_whole(100, 0));
}

#ifdef TESTS_POSIX

// How a child ends in which `body` should be true.
template <class Body>
void check_child(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
}

// The thread sanitizer does not let the child of a process with threads have threads.
#if defined(__SANITIZE_THREAD__)
constexpr int threads_of_child = 1;
#else
constexpr int threads_of_child = 4;
#endif

void test_fork() {
  std::atomic<bool> over{false};
  std::vector<std::thread> callers;
  for (int caller = 0; caller < 2; ++caller) {
    callers.emplace_back([&, caller] {
      while (!over) {
        CHECK(are_whole(100, caller));
      }
    });
  }
  for (int turn = 0; turn < 20; ++turn) {
    check_child([] { return is_whole(16, threads_of_child) && is_whole(16, threads_of_child); });
  }
  over = true;
  for (std::thread& caller : callers) {
    caller.join();
  }
  CHECK(are_whole(100, 0));
}

// A child that goes on with the call its parent forked in has lost the workers, not the pieces they had.
void test_fork_within_a_call() {
  std::atomic<int> done[16] = {};
  bool is_child = false;
  pid_t child = -1;
  const auto body = [&](std::int64_t k, poolgrad::Watch& watch) {
    for (int moment = 0; moment < 20; ++moment) {
      std::this_thread::sleep_for(a_moment);
      watch.is_stopped();
    }
    ++done[k];
  };
  const bool finished = poolgrad::for_each_piece(16, 3, body, [&] {
    if (child < 0) {
      child = fork();
      is_child = child == 0;
    }
    return false;
  });
  const auto is_done = [](const std::atomic<int>& times) { return times > 0; };
  const bool whole = finished && std::all_of(std::begin(done), std::end(done), is_done);
  if (is_child) {
    _exit(whole && is_whole(16, threads_of_child) ? 0 : 1);
  }
  CHECK(whole);
  int status = -1;
  CHECK_EQUAL(waitpid(child, &status, 0), child);
  CHECK_EQUAL(status, 0);
}

void test_signals() {
  std::atomic<int> wrong{0}, met{0};
  const std::thread::id caller = std::this_thread::get_id();
  const auto body = [&](std::int64_t, poolgrad::Watch&) {
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    const int expected = std::this_thread::get_id() == caller ? 0 : 1;
    wrong += sigismember(&blocked, SIGINT) != expected || sigismember(&blocked, SIGSEGV) != 0;
    for (++met; met < 2;) {
      std::this_thread::sleep_for(a_moment);
    }
  };
  CHECK(poolgrad::for_each_piece(4, 2, body, never));
  CHECK_EQUAL(wrong.load(), 0);
}

#endif

void test_interrupted_run() {
  Problem p;
  p.dtype = Dtype::float64;
  p.family = Family::mean;
  p.axis[1] = axis(1009, 401, 1, 200, 200);
  p.axis[2] = axis(499, 401, 1, 200, 200);
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

// Every thread rounds to nearest whatever the caller does, and what happened in the pieces does not show in its flags.
// More threads than in any test before: some are started by a caller that rounds otherwise.
void test_arithmetic() {
#ifdef FE_UPWARD
  for (const int mode : {FE_UPWARD, FE_TONEAREST}) {
    constexpr int threads = 12;
    std::atomic<int> wrong{0}, met{0};
    const auto body = [&](std::int64_t, poolgrad::Watch&) {
      volatile double one = 1, least = std::numeric_limits<double>::denorm_min();
      wrong += one + least != 1 || least * one != least;
      for (++met; met < threads;) {
        std::this_thread::sleep_for(a_moment);
      }
    };
    std::fesetround(mode);
    std::feclearexcept(FE_ALL_EXCEPT);
    const bool finished = poolgrad::for_each_piece(threads, threads, body, never);
    const int flags = std::fetestexcept(FE_INEXACT | FE_UNDERFLOW), mode_after = std::fegetround();
    std::fesetround(FE_TONEAREST);
    CHECK(finished);
    CHECK_EQUAL(wrong.load(), 0);
    CHECK_EQUAL(flags, 0);
    CHECK_EQUAL(mode_after, mode);
  }
#endif
}

}  // namespace

void test_threads() {
  test_pieces();
  test_stop();
  test_short_calls();
  test_held_up_workers();
  test_busy_neighbours();
  test_stop_while_waiting();
#ifdef TESTS_POSIX
  test_fork();
  test_fork_within_a_call();
  test_signals();
#endif
  test_arithmetic();
  test_interrupted_run();
  test_calls_at_once();
  test_rounding_mode();
  test_few_families();
}

}  // namespace tests
