// The arithmetic that no kernel can do without, on registers: nanoseconds for a line of memory, which has 16 floats.
#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace {

constexpr int kLines = 8;  // side by side: none waits for the one before

#if defined(__AVX512BW__) && defined(__AVX512VL__)
constexpr bool kKnown = true;

// A sum of the gradients of `windows` windows that told which cell they selected, where it was this one.
void add_selected(int windows) {
  __m512 sum[kLines], grad = _mm512_set1_ps(1.0f);
  __m128i place = _mm_set1_epi8(3), number = _mm_setzero_si128();
  for (__m512& one : sum) one = _mm512_setzero_ps();
  for (int k = 0; k < windows; ++k) {
    asm volatile("" : "+v"(place), "+v"(number), "+v"(grad));
    for (__m512& one : sum) {
      __mmask16 is_here;
      asm volatile("vpcmpeqb %2, %1, %0" : "=Yk"(is_here) : "v"(place), "v"(number));
      one = _mm512_mask_add_ps(one, is_here, one, grad);
    }
  }
  for (__m512& one : sum) asm volatile("" ::"v"(one));
}

// A mean in double: each element is widened once, added to as often as the sides of a window ask for, and rounded.
void average(int additions) {
  __m512d other = _mm512_set1_pd(1.0);
  __m256 cell = _mm256_set1_ps(1.0f);
  __m512d sum[2 * kLines];
  for (__m512d& one : sum) {
    asm volatile("" : "+v"(cell));
    one = _mm512_cvtps_pd(cell);
  }
  for (int k = 0; k < additions; ++k) {
    asm volatile("" : "+v"(other));
    for (__m512d& one : sum) one = _mm512_add_pd(one, other);
  }
  for (__m512d& one : sum) {
    const __m256 rounded = _mm512_cvtpd_ps(_mm512_mul_pd(one, other));
    asm volatile("" ::"v"(rounded));
  }
}
#else
constexpr bool kKnown = false;
void add_selected(int) {}
void average(int) {}
#endif

}  // namespace

// Kinds: 0 sums of selected gradients, 1 means. Negative where it is not known how.
extern "C" double arithmetic_time(int kind, int count, int repeats) {
  if (!kKnown) return -1;
  const auto begin = std::chrono::steady_clock::now();
  for (int k = 0; k < repeats; ++k) kind == 0 ? add_selected(count) : average(count);
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / repeats / kLines;
}
