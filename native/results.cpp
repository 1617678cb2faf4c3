#include "results.h"

#if defined(__linux__)

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace poolgrad {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t(1) << 21;
constexpr std::size_t least_huge_bytes = 2 * huge_page;
constexpr std::size_t line = 64;
constexpr auto longest_idle = std::chrono::seconds(10);

struct Block {
  char* base;
  std::size_t bytes;
};

// Stands in front of the data of a result that is in use.
struct alignas(line) Header {
  Block block;
  char* data_end() const { return block.base + block.bytes; }
};
static_assert(sizeof(Header) == line);

struct IdleBlock {
  Block block;
  Clock::time_point since;
};

// Blocks come in sizes of which each power of two has eight: an eighth is wasted at most, and of that only what is
// touched.
std::size_t block_bytes(std::size_t bytes) {
  std::size_t step = page;
  while (step * 16 <= bytes) {
    step *= 2;
  }
  return (bytes + step - 1) / step * step;
}

bool has_huge_pages() {
  static const bool answer = [] {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string words;
    std::getline(file, words);
    return !words.empty() && words.find("[never]") == std::string::npos;
  }();
  return answer;
}

bool is_huge(const Block& block) { return block.bytes >= least_huge_bytes && has_huge_pages(); }

void unmap(const Block& block) { munmap(block.base, block.bytes); }

// New memory, where it is large on the borders of huge pages.
char* map(std::size_t bytes) {
  const bool huge = is_huge({nullptr, bytes});
  const std::size_t slack = huge ? huge_page : 0;
  void* found = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (found == MAP_FAILED) {
    return nullptr;
  }
  char* base = static_cast<char*>(found);
  if (huge) {
    const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(base) % huge_page) % huge_page;
    if (before > 0) {
      munmap(base, before);
    }
    if (slack > before) {
      munmap(base + before + bytes, slack - before);
    }
    base += before;
    madvise(base, bytes, MADV_HUGEPAGE);
  }
  return base;
}

// Blocks on their way back to the system, which takes them when the lock is no longer held.
struct Leaving {
  std::vector<Block> blocks;
  ~Leaving() { std::for_each(blocks.begin(), blocks.end(), unmap); }
};

class Pool {
 public:
  static Pool& one() {
    static Pool* pool = new Pool;  // never destroyed: results may outlive everything else
    return *pool;
  }

  void set_bound(std::size_t bytes) {
    Leaving leaving;
    const std::lock_guard<std::mutex> lock(mutex_);
    bound_ = bytes;
    drop_until(bytes, &leaving);
  }

  std::size_t bound() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return bound_;
  }

  std::size_t held() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return held_;
  }

  void release() {
    Leaving leaving;
    const std::lock_guard<std::mutex> lock(mutex_);
    drop_until(0, &leaving);
  }

  // An idle block of exactly this size, the one that was in use last, or a null one.
  Block take(std::size_t bytes) {
    Leaving leaving;
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::find_if(idle_.rbegin(), idle_.rend(), [&](const IdleBlock& idle) { return idle.block.bytes == bytes; });
    Block block = {nullptr, bytes};
    if (found != idle_.rend()) {
      block = found->block;
      held_ -= bytes;
      idle_.erase(std::next(found).base());
    }
    drop_old(&leaving);
    return block;
  }

  void give_back(Block block) {
    // The system may take the pages when it is short of memory. For huge pages saying so costs next to nothing, for
    // small ones as much as new pages would.
    if (is_huge(block)) {
      madvise(block.base, block.bytes, MADV_FREE);
    }
    Leaving leaving;
    const std::lock_guard<std::mutex> lock(mutex_);
    drop_old(&leaving);
    if (block.bytes > bound_) {
      leaving.blocks.push_back(block);
      return;
    }
    drop_until(bound_ - block.bytes, &leaving);
    idle_.push_back({block, Clock::now()});
    held_ += block.bytes;
  }

 private:
  Pool() {
    // A child of a fork must not find the lock held by a thread that it does not have.
    pthread_atfork([] { one().mutex_.lock(); }, [] { one().mutex_.unlock(); }, [] { one().mutex_.unlock(); });
  }

  // The oldest come first.
  void drop_first(std::size_t count, Leaving* leaving) {
    leaving->blocks.reserve(leaving->blocks.size() + count);
    for (std::size_t k = 0; k < count; ++k) {
      held_ -= idle_[k].block.bytes;
      leaving->blocks.push_back(idle_[k].block);
    }
    idle_.erase(idle_.begin(), idle_.begin() + std::ptrdiff_t(count));
  }

  void drop_until(std::size_t bytes, Leaving* leaving) {
    std::size_t count = 0;
    for (std::size_t left = held_; left > bytes; ++count) {
      left -= idle_[count].block.bytes;
    }
    if (count > 0) {
      drop_first(count, leaving);
    }
  }

  void drop_old(Leaving* leaving) {
    if (idle_.empty()) {
      return;
    }
    const Clock::time_point now = Clock::now();
    std::size_t count = 0;
    while (count < idle_.size() && now - idle_[count].since > longest_idle) {
      ++count;
    }
    if (count > 0) {
      drop_first(count, leaving);
    }
  }

  std::mutex mutex_;
  std::vector<IdleBlock> idle_;
  std::size_t held_ = 0;
  std::size_t bound_ = 0;
};

Header* header_of(void* data) { return static_cast<Header*>(data) - 1; }

}  // namespace

bool has_result_pool() { return true; }

void set_result_pool(std::size_t bytes) { Pool::one().set_bound(bytes); }

std::size_t result_pool_bytes() { return Pool::one().bound(); }

std::size_t idle_result_bytes() { return Pool::one().held(); }

void release_results() { Pool::one().release(); }

void* take_result(std::size_t bytes, const void* near) {
  if (bytes > SIZE_MAX / 4) {
    return nullptr;
  }
  const std::size_t needed = block_bytes(bytes + page + line);
  Block block = Pool::one().take(needed);
  if (block.base == nullptr) {
    block.base = map(needed);
  }
  if (block.base == nullptr) {
    release_results();
    block.base = map(needed);
  }
  if (block.base == nullptr) {
    return nullptr;
  }
  std::size_t place = (reinterpret_cast<std::uintptr_t>(near) + page / 2) % page / line * line;
  if (place < sizeof(Header)) {
    place += page;
  }
  char* data = block.base + place;
  header_of(data)->block = block;
  return data;
}

void* resize_result(void* data, std::size_t bytes) {
  const std::size_t there = std::size_t(header_of(data)->data_end() - static_cast<char*>(data));
  if (bytes <= there) {
    return data;
  }
  void* other = take_result(bytes, data);
  if (other != nullptr) {
    std::memcpy(other, data, there);
    give_back_result(data);
  }
  return other;
}

void give_back_result(void* data) {
  if (data == nullptr) {
    return;
  }
  const Block block = header_of(data)->block;
  try {
    Pool::one().give_back(block);
  } catch (const std::bad_alloc&) {
    unmap(block);
  }
}

}  // namespace poolgrad

#else  // elsewhere the ordinary allocator serves

namespace poolgrad {

bool has_result_pool() { return false; }
void set_result_pool(std::size_t) {}
std::size_t result_pool_bytes() { return 0; }
std::size_t idle_result_bytes() { return 0; }
void release_results() {}
void* take_result(std::size_t, const void*) { return nullptr; }
void* resize_result(void*, std::size_t) { return nullptr; }
void give_back_result(void*) {}

}  // namespace poolgrad

#endif
