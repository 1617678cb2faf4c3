#include "parallel.h"

#include <algorithm>
#include <cfenv>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__unix__) || defined(__APPLE__)
#define POOLGRAD_POSIX
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#endif
#if defined(__x86_64__) || defined(_M_X64)
#define POOLGRAD_MXCSR
#include <xmmintrin.h>
#endif

#include "problem.h"

namespace poolgrad {

namespace {

using Body = std::function<void(std::int64_t, Watch&)>;
using Clock = std::chrono::steady_clock;

constexpr auto time_between_questions = std::chrono::milliseconds(50);
constexpr auto time_of_spinning = std::chrono::microseconds(50);
constexpr auto time_of_idleness = std::chrono::seconds(10);

// Rounding to nearest, subnormals kept, whatever the caller has set on its thread; afterwards all is as it was. On
// x86-64 kernels compute in vector registers only, and to leave the old coprocessor alone saves a quarter microsecond.
class StandardArithmetic {
 public:
#ifdef POOLGRAD_MXCSR
  StandardArithmetic() : before_(_mm_getcsr()) {
    if ((before_ & ~flags) != standard) {
      _mm_setcsr(standard);
    }
  }
  ~StandardArithmetic() {
    if (_mm_getcsr() != before_) {
      _mm_setcsr(before_);
    }
  }
#else
  StandardArithmetic() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~StandardArithmetic() { std::fesetenv(&before_); }
#endif
  StandardArithmetic(const StandardArithmetic&) = delete;
  StandardArithmetic& operator=(const StandardArithmetic&) = delete;

 private:
#ifdef POOLGRAD_MXCSR
  static constexpr unsigned flags = 0x3F, standard = 0x1F80;  // what has happened; all exceptions masked, nothing else
  unsigned before_;
#else
  std::fenv_t before_;
#endif
};

// Waits a little without sleeping: what comes that soon comes sooner than the system wakes a thread. Whoever else wants
// the processor has it.
template <class Condition>
void spin_until(Condition holds) {
  const Clock::time_point end = Clock::now() + time_of_spinning;
  while (!holds() && Clock::now() < end) {
    std::this_thread::yield();
  }
}

// One call of for_each_piece that several threads work on. They share it, so that a worker who comes late finds numbers
// that have run out, not memory that is gone; `body` is the caller's and is touched by those only who hold a piece.
struct Call {
  Call(std::int64_t pieces, const Body& todo, int workers)
      : count(pieces), body(todo), seats(workers), sleepers(workers) {}

  const std::int64_t count;
  const Body& body;
  int seats;                             // workers that may still join; belongs to the crew's mutex
  std::atomic<int> sleepers;             // workers still to be woken
  std::atomic<std::int64_t> next{0};     // the piece to take
  std::atomic<std::int64_t> pending{0};  // pieces begun, which the caller adds at the end, less pieces finished
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  std::condition_variable all_finished;
};

// A worker without work. Linux may wake a thread on the very processor where its waker goes on working while others are
// idle, and leave it there for milliseconds: so that one is forbidden. It stays so until a call comes from another: to
// allow it again would cost the worker, and to forbid it the waker, some microseconds of each call.
class Sleeper {
 public:
  // By the worker, who holds the lock: sleeps until it is woken. False if nobody does for too long.
  bool sleep(std::unique_lock<std::mutex>& lock) {
    is_woken_ = false;
    return wakeup_.wait_for(lock, time_of_idleness, [this] { return is_woken_; });
  }
  void sleep_on(std::unique_lock<std::mutex>& lock) {
    wakeup_.wait(lock, [this] { return is_woken_; });
  }

  // By the waker, who has taken it off the list of sleepers. It is gone when the lock is.
  void wake(std::mutex& mutex) {
    keep_away();
    const std::lock_guard<std::mutex> lock(mutex);
    is_woken_ = true;
    wakeup_.notify_one();
  }

 private:
#if defined(__linux__) && defined(CPU_COUNT)
  void keep_away() {
    const int here = sched_getcpu();
    cpu_set_t allowed;
    if (here < 0 || here == forbidden_ || pthread_getaffinity_np(thread_, sizeof allowed, &allowed) != 0) {
      return;
    }
    if (forbidden_ >= 0 && CPU_EQUAL(&allowed, &others_)) {  // nobody else has changed it
      CPU_SET(std::size_t(forbidden_), &allowed);
    }
    others_ = allowed;
    CPU_CLR(std::size_t(here), &others_);
    const bool is_away = CPU_COUNT(&others_) > 0 && pthread_setaffinity_np(thread_, sizeof others_, &others_) == 0;
    forbidden_ = is_away ? here : -1;
  }

  const pthread_t thread_ = pthread_self();
  cpu_set_t others_;  // all that are allowed, but the forbidden one
  int forbidden_ = -1;
#else
  void keep_away() {}
#endif
  std::condition_variable wakeup_;
  bool is_woken_ = false;
};

// The workers of this process and the calls they may join.
class Crew {
 public:
  void offer(const std::shared_ptr<Call>& call);
  void withdraw(const std::shared_ptr<Call>& call);
  void wake_one();

 private:
  bool start_worker();
  void be_worker();
  bool finds_call(Sleeper& sleeper, std::unique_lock<std::mutex>& lock);
  void look_out();

  std::mutex mutex_;
  std::vector<Sleeper*> asleep_;
  std::vector<std::shared_ptr<Call>> open_;  // calls with free seats
  std::atomic<int> open_count_{0};           // its size, for those who look without the mutex
  int workers_ = 0;
};

// Made when the library is loaded and never destroyed: workers sleep in it until the process ends. The child of a fork,
// where no worker exists and any mutex may be held for ever, gets another one.
Crew* crew = [] {
#ifdef POOLGRAD_POSIX
  pthread_atfork(nullptr, nullptr, [] { crew = new Crew; });
#endif
  return new Crew;
}();

// Takes pieces until none is left. Each who begins one wakes another worker first: to wake takes microseconds, which
// should not all be the caller's, and workers held up on their way should not keep the rest asleep.
void work_on(Call& call, Watch& watch) {
  for (bool goes_on = true; goes_on;) {
    const std::int64_t k = call.next++;
    if (k >= call.count) {
      return;
    }
    goes_on = !watch.is_stopped();
    if (goes_on) {
      if (call.sleepers > 0 && call.sleepers-- > 0) {
        crew->wake_one();
      }
      call.body(k, watch);
    }
    if (--call.pending == 0) {
      const std::lock_guard<std::mutex> lock(call.mutex);
      call.all_finished.notify_one();
    }
  }
}

// Until the pieces that others have begun are finished, or a fork has left us in a process without those others.
void wait_for_others(Call& call, Watch& watch, const Crew* ours) {
  const auto are_finished = [&call] { return call.pending == 0; };
  spin_until(are_finished);
  while (!are_finished() && crew == ours) {
    {
      std::unique_lock<std::mutex> lock(call.mutex);
      call.all_finished.wait_for(lock, time_between_questions, are_finished);
    }
    if (!are_finished()) {
      watch.ask();
    }
  }
}

// Lets workers join, and starts those that are missing.
void Crew::offer(const std::shared_ptr<Call>& call) {
  int missing = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_.push_back(call);
    open_count_ = int(open_.size());
    missing = std::max(0, call->seats - workers_);
    workers_ += missing;
  }
  for (; missing > 0; --missing) {
    if (!start_worker()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      workers_ -= missing;  // no more threads to be had: those there are do the work
      break;
    }
  }
}

void Crew::withdraw(const std::shared_ptr<Call>& call) {
  const std::lock_guard<std::mutex> lock(mutex_);
  open_.erase(std::remove(open_.begin(), open_.end(), call), open_.end());
  open_count_ = int(open_.size());
}

// The one who went to sleep last: its memory is the likeliest to be in a cache. Who is not asleep looks for calls
// anyway.
void Crew::wake_one() {
  Sleeper* last = nullptr;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!asleep_.empty()) {
      last = asleep_.back();
      asleep_.pop_back();
    }
  }
  if (last != nullptr) {
    last->wake(mutex_);
  }
}

// By a worker, without the lock: waits a little for a call.
void Crew::look_out() {
  spin_until([this] { return open_count_ > 0; });
}

// Waits for a call to join. False if there was none for too long.
bool Crew::finds_call(Sleeper& sleeper, std::unique_lock<std::mutex>& lock) {
  bool waits = true;
  while (waits && open_.empty()) {
    asleep_.push_back(&sleeper);
    if (sleeper.sleep(lock)) {
      lock.unlock();
      look_out();  // who wakes a worker has a call for it, or will have soon
      lock.lock();
    } else {
      const auto place = std::find(asleep_.begin(), asleep_.end(), &sleeper);
      waits = place == asleep_.end();
      if (waits) {
        sleeper.sleep_on(lock);  // somebody is about to wake it
      } else {
        asleep_.erase(place);
      }
    }
  }
  return !open_.empty();
}

// Signals go to threads that know what to do with them; faults stay with the thread that made them.
bool Crew::start_worker() {
#ifdef POOLGRAD_POSIX
  sigset_t blocked, before;
  sigfillset(&blocked);
  for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) {
    sigdelset(&blocked, fault);
  }
  pthread_sigmask(SIG_SETMASK, &blocked, &before);  // a thread inherits the mask of its maker
#endif
  bool started = true;
  try {
    std::thread([this] { be_worker(); }).detach();
  } catch (const std::exception&) {
    started = false;
  }
#ifdef POOLGRAD_POSIX
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
#endif
  return started;
}

void Crew::be_worker() {
#if defined(__APPLE__)
  pthread_setname_np("poolgrad");
#elif defined(__linux__)
  pthread_setname_np(pthread_self(), "poolgrad");
#endif
  const StandardArithmetic standard;
  Sleeper sleeper;
  std::unique_lock<std::mutex> lock(mutex_);
  while (finds_call(sleeper, lock)) {
    const std::shared_ptr<Call> call = open_.front();
    if (--call->seats == 0) {
      open_.erase(open_.begin());
      open_count_ = int(open_.size());
    }
    lock.unlock();
    Watch watch(&call->stopped, nullptr);
    work_on(*call, watch);
    look_out();
    lock.lock();
  }
  --workers_;
}

bool work_alone(std::int64_t count, const Body& body, const std::function<bool()>& should_stop) {
  std::atomic<bool> stopped{false};
  Watch watch(&stopped, &should_stop);
  for (std::int64_t k = 0; k < count && (k == 0 || !watch.is_stopped()); ++k) {
    body(k, watch);
  }
  return !stopped;
}

}  // namespace

bool Watch::is_stopped() {
  if (should_stop_ != nullptr && !*stopped_) {
    const Clock::time_point now = Clock::now();
    if (asked_ == Clock::time_point()) {
      asked_ = now;
    } else if (now - asked_ > time_between_questions) {
      ask();
    }
  }
  return *stopped_;
}

void Watch::ask() {
  *stopped_ = *stopped_ || (*should_stop_)();
  asked_ = Clock::now();
}

void expect_pieces() { crew->wake_one(); }

bool is_stopped(Watch* watch) { return watch->is_stopped(); }

bool for_each_piece(std::int64_t count, int threads, const Body& body, const std::function<bool()>& should_stop) {
  const StandardArithmetic standard;
  if (threads <= 1 || count <= 1) {
    return work_alone(count, body, should_stop);
  }
  Crew* const ours = crew;
  const auto call = std::make_shared<Call>(count, body, int(std::min<std::int64_t>(threads, count)) - 1);
  ours->offer(call);
  Watch watch(&call->stopped, &should_stop);
  work_on(*call, watch);
  if (crew == ours) {
    ours->withdraw(call);
    call->pending += std::min(call->next.exchange(count), count);
    wait_for_others(*call, watch, ours);
  }
  return !call->stopped && (crew == ours || work_alone(count, body, should_stop));
}

}  // namespace poolgrad
