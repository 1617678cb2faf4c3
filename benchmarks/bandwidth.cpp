// What the memory of this machine gives: read, copy, and copy past the caches.
#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr std::size_t kLine = 64;

#if defined(__AVX512F__)
using Vector = __m512i;
Vector load(const char* from) { return _mm512_load_si512(from); }
void store(char* to, Vector value) { _mm512_store_si512(to, value); }
void stream(char* to, Vector value) { _mm512_stream_si512(reinterpret_cast<Vector*>(to), value); }
#elif defined(__AVX__)
using Vector = __m256i;
Vector load(const char* from) { return _mm256_load_si256(reinterpret_cast<const Vector*>(from)); }
void store(char* to, Vector value) { _mm256_store_si256(reinterpret_cast<Vector*>(to), value); }
void stream(char* to, Vector value) { _mm256_stream_si256(reinterpret_cast<Vector*>(to), value); }
#else
struct Vector {
  std::uint64_t words[2];
};
Vector load(const char* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
void store(char* to, Vector value) { std::memcpy(to, &value, sizeof value); }
void stream(char* to, Vector value) { store(to, value); }
#endif

void fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

void read(const char* from, std::size_t bytes) {
  const auto* words = reinterpret_cast<const std::uint64_t*>(from);
  std::uint64_t sums[8] = {};
  for (std::size_t i = 0; i < bytes / 8; i += 8)
    for (int k = 0; k < 8; ++k) sums[k] ^= words[i + k];
  std::uint64_t all = 0;
  for (std::uint64_t sum : sums) all ^= sum;
  volatile std::uint64_t kept = all;
  (void)kept;
}

void copy(const char* from, char* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kLine)
    for (std::size_t k = 0; k < kLine; k += sizeof(Vector)) store(to + i + k, load(from + i + k));
}

void copy_past_caches(const char* from, char* to, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; i += kLine)
    for (std::size_t k = 0; k < kLine; k += sizeof(Vector)) stream(to + i + k, load(from + i + k));
  fence();
}

void work(int kind, const char* from, char* to, std::size_t bytes) {
  if (kind == 0) read(from, bytes);
  if (kind == 1) copy(from, to, bytes);
  if (kind == 2) copy_past_caches(from, to, bytes);
}

}  // namespace

extern "C" {

// Huge pages where the system has them, filled with noise: lines of zeros move faster than data.
char* probe_allocate(std::size_t bytes) {
  constexpr std::size_t kHuge = 2u << 20;
  auto* memory = static_cast<char*>(std::aligned_alloc(kHuge, (bytes + kHuge - 1) / kHuge * kHuge));
  if (!memory) return nullptr;
#if defined(MADV_HUGEPAGE)
  madvise(memory, bytes, MADV_HUGEPAGE);
#endif
  std::uint64_t state = 88172645463325252u;
  for (std::size_t i = 0; i + 8 <= bytes; i += 8) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    std::memcpy(memory + i, &state, 8);
  }
  return memory;
}

void probe_release(char* memory) { std::free(memory); }

// Kinds: 0 read, 1 copy, 2 copy past the caches. `bytes` is a multiple of 64 times the number of threads.
void probe_run(int kind, const char* from, char* to, std::size_t bytes, int threads) {
  const std::size_t part = bytes / threads;
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) others.emplace_back(work, kind, from + i * part, to + i * part, part);
  work(kind, from, to, part);
  for (auto& other : others) other.join();
}
}
