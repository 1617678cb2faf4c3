// numbers.inc: the 16-bit floats against their definition, the pair of doubles against exact integers and std::fma.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "check.h"
#include "dtypes.h"
#include "memory.h"
#include "tests.h"

namespace poolgrad {
namespace numbers_under_test {
namespace {

#include "numbers.inc"

}  // namespace
}  // namespace numbers_under_test
}  // namespace poolgrad

namespace tests {

namespace {

namespace under = poolgrad::numbers_under_test;

template <class Short>
std::uint16_t narrowed(float value) {
  Short out = {0};
  under::narrow(value, out);
  return out.bits;
}

template <class Short>
void check_narrow(formats::Format format, float value) {
  const double actual = formats::decode(format, narrowed<Short>(value));
  const double expected = formats::nearest(format, double(value));
  const bool alike = std::isnan(expected) ? std::isnan(actual) : actual == expected;
  CHECK((alike && std::signbit(actual) == std::signbit(value)) || (std::isnan(value) && std::isnan(actual)));
  if (!alike) {
    std::printf("  narrow(%a) gave %a, expected %a\n", double(value), actual, expected);
  }
}

template <class Short>
void test_format(formats::Format format) {
  for (unsigned bits = 0; bits < 65536; ++bits) {
    const Short value = {std::uint16_t(bits)};
    const double expected = formats::decode(format, bits);
    const float widened = under::widen(value);
    if (std::isnan(expected)) {
      CHECK(std::isnan(widened));
      CHECK(std::isnan(formats::decode(format, narrowed<Short>(widened))));
      continue;
    }
    CHECK_EQUAL(double(widened), expected);
    CHECK_EQUAL(std::signbit(widened), std::signbit(expected));
    CHECK_EQUAL(narrowed<Short>(widened), bits);
    // Halfway to the next larger size, and the floats around that.
    const double next = formats::decode(format, (bits & 0x7fffu) + 1);
    if (std::isfinite(next)) {
      const float middle = float(std::copysign((std::fabs(expected) + next) / 2, expected));
      for (const float near_middle : {std::nextafterf(middle, 0.0f), middle, std::nextafterf(middle, 2 * middle)}) {
        check_narrow<Short>(format, near_middle);
      }
    }
  }
  const float largest = float(format.largest());
  const float step = largest - float(formats::decode(format, formats::encode(format, format.largest()) - 1u));
  const float limit = float(double(largest) + double(step) / 2);
  for (const float sign : {1.0f, -1.0f}) {
    for (const float size : {largest, std::nextafterf(limit, 0.0f), limit, std::nextafterf(limit, INFINITY), FLT_MAX,
                             INFINITY, FLT_MIN, FLT_TRUE_MIN, 0.0f, 0x1p-25f, 0x1.000002p-25f, 0x1p-24f, 0x1.8p-24f}) {
      check_narrow<Short>(format, sign * size);
    }
  }
  Random random(3);
  for (int k = 0; k < 200000; ++k) {
    const std::uint32_t bits = std::uint32_t(random.bits() >> 32);
    float value;
    std::memcpy(&value, &bits, sizeof value);
    check_narrow<Short>(format, value);
  }
}

// Large integers and their opposites in any order, and small ones: only the small ones remain.
void test_pair_sums() {
  Random random(11);
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<double> terms;
    std::int64_t expected = 0;
    for (int k = 0; k < 100; ++k) {
      const double large = double(random.bits() >> 2);
      const std::int64_t small = random.below(2000) - 1000;
      terms.insert(terms.end(), {large, -large, double(small)});
      expected += small;
    }
    for (std::size_t k = terms.size() - 1; k > 0; --k) {
      std::swap(terms[k], terms[std::size_t(random.below(std::int64_t(k) + 1))]);
    }
    under::Pair sum = {};
    for (const double term : terms) {
      sum = sum + under::Number<double>::sum_of(term);
    }
    CHECK_EQUAL(under::total(sum), double(expected));
  }
  const under::Pair infinite = under::Pair{INFINITY, 0} + under::Pair{1, 0};
  CHECK_EQUAL(under::total(infinite + under::Pair{2, 0}), double(INFINITY));
  CHECK(std::isnan(under::total(infinite + under::Pair{-INFINITY, 0})));
}

void test_products() {
  Random random(13);
  for (int k = 0; k < 20000; ++k) {
    const double a = std::ldexp(2 * random.unit() - 1, int(random.below(200)) - 100);
    const double b = std::ldexp(2 * random.unit() - 1, int(random.below(20)));
    const under::Pair exact = under::product(a, b);
    CHECK_EQUAL(exact.high, a * b);
    CHECK_EQUAL(exact.low, std::fma(a, b, -exact.high));
  }
  CHECK_EQUAL(under::total(under::product(double(INFINITY), 0.5)), double(INFINITY));
  CHECK(std::isnan(under::total(under::product(double(NAN), 0.5))));
}

// A quotient of a sum that has more digits than a double is still the nearest one to it.
void test_quotients() {
  Random random(17);
  for (int k = 0; k < 20000; ++k) {
    const double high = 2 * random.unit() - 1, low = std::ldexp(2 * random.unit() - 1, -56);
    const double divisor = double(1 + random.below(1000));
    const long double exact = ((long double)(high) + (long double)(low)) / (long double)(divisor);
    const long double error =
        std::fabs((long double)(under::times(under::Pair{high, low}, under::reciprocal(divisor))) - exact);
    CHECK(error <= std::ldexp(std::fabs(exact), -53) * (1 + 0x1p-9L));
  }
  CHECK_EQUAL(under::times(under::Pair{INFINITY, NAN}, under::reciprocal(3)), double(INFINITY));
  CHECK(std::isnan(under::times(under::Pair{NAN, NAN}, under::reciprocal(3))));
  CHECK_EQUAL(under::times(under::Pair{0, 0}, under::reciprocal(3)), 0.0);
}

// Parts of a common multiple: shares that cancel exactly leave nothing.
void test_weights() {
  const double common = under::common_part(12);
  CHECK_EQUAL(common, 0.75);
  const auto share = [&](double value, std::int64_t count) {
    return under::Number<double>::share_of(value, under::Number<double>::weight(common, count));
  };
  double out = 1;
  out = under::Number<double>::scaled(share(5, 6) + share(-10, 12), under::Number<double>::scale(common));
  CHECK_EQUAL(out, 0.0);
  out = under::Number<double>::scaled(share(1, 3) + share(1, 4), under::Number<double>::scale(common));
  CHECK_EQUAL(out, 7.0 / 12.0);
}

template <class T>
void test_integer() {
  using N = under::Number<T>;
  using Limits = std::numeric_limits<T>;
  CHECK_EQUAL(N::lowest(), Limits::min());
  CHECK_EQUAL(N::plus(Limits::max(), T(1)), Limits::min());
  CHECK_EQUAL(N::plus(Limits::min(), T(-1)), Limits::max());
  if constexpr (std::is_signed<T>::value && sizeof(T) >= 4) {
    T out = 0;
    out = N::scaled(typename N::Sum(-7), 2);
    CHECK_EQUAL(out, T(-3));
    out = N::scaled(N::sum_of(Limits::min()), 1);
    CHECK_EQUAL(out, Limits::min());
    for (const double sum : {-double(Limits::min()), 1e300, -1e300, double(INFINITY), double(NAN)}) {
      out = N::scaled(sum, 1);
      CHECK_EQUAL(out, Limits::min());
    }
    out = N::scaled(-2.75, 1);
    CHECK_EQUAL(out, T(-2));
  }
}

}  // namespace

void test_numbers() {
  test_format<Half>(formats::half);
  test_format<Bfloat16>(formats::bfloat16);
  test_pair_sums();
  test_products();
  test_quotients();
  test_weights();
  test_integer<std::int8_t>();
  test_integer<std::int16_t>();
  test_integer<std::int32_t>();
  test_integer<std::int64_t>();
  test_integer<std::uint8_t>();
  test_integer<std::uint16_t>();
  test_integer<std::uint32_t>();
  test_integer<std::uint64_t>();
}

}  // namespace tests
