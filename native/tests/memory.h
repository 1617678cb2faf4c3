// Arrays of the tests: values in one of three wide types, memory of exactly the bytes a call may touch.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <type_traits>
#include <vector>

#include "dtypes.h"
#include "formats.h"

namespace tests {

using poolgrad::Bfloat16;
using poolgrad::Dtype;
using poolgrad::Half;

constexpr Dtype all_dtypes[] = {
#define POOLGRAD_DTYPE_ENTRY(name, type) Dtype::name,
    POOLGRAD_BUILT_DTYPES(POOLGRAD_DTYPE_ENTRY)
#undef POOLGRAD_DTYPE_ENTRY
};

inline const char* name_of(Dtype dtype) {
  static const char* const names[] = {
#define POOLGRAD_DTYPE_STRING(name, type) #name,
      POOLGRAD_DTYPES(POOLGRAD_DTYPE_STRING)
#undef POOLGRAD_DTYPE_STRING
  };
  return names[int(dtype)];
}

inline bool is_float(Dtype dtype) { return dtype <= Dtype::float64; }
inline bool is_signed(Dtype dtype) { return dtype <= Dtype::int64; }

inline double wide(Half value) { return formats::decode(formats::half, value.bits); }
inline double wide(Bfloat16 value) { return formats::decode(formats::bfloat16, value.bits); }
template <class T>
T wide(T value) {
  return value;
}

template <class T, class W>
T stored(W value) {
  if constexpr (std::is_same<T, Half>::value) {
    return {formats::encode(formats::half, double(value))};
  } else if constexpr (std::is_same<T, Bfloat16>::value) {
    return {formats::encode(formats::bfloat16, double(value))};
  } else {
    return T(value);
  }
}

// Memory of `count` elements that ends where it is allocated to end. Shifted, it begins one element after an aligned
// address.
class Memory {
 public:
  Memory(Dtype dtype, std::int64_t count, bool shifted = false, unsigned char garbage = 0xa5)
      : dtype_(dtype), count_(count), item_(std::size_t(poolgrad::item_size(dtype))) {
    const std::size_t before = shifted ? item_ : 0, bytes = before + std::size_t(count) * item_;
    block_.reset(new unsigned char[bytes]);
    std::memset(block_.get(), garbage, bytes);
    data_ = block_.get() + before;
  }

  template <class W>
  Memory(Dtype dtype, const std::vector<W>& values, bool shifted = false)
      : Memory(dtype, std::int64_t(values.size()), shifted) {
    for (std::size_t k = 0; k < values.size(); ++k) {
      put(std::int64_t(k), values[k]);
    }
  }

  void* data() { return data_; }
  std::int64_t count() const { return count_; }

  template <class W>
  void put(std::int64_t k, W value) {
    switch (dtype_) {
#define POOLGRAD_PUT(name, type)                                     \
  case Dtype::name: {                                                \
    const type item = stored<type>(value);                           \
    std::memcpy(data_ + std::size_t(k) * item_, &item, sizeof item); \
    return;                                                          \
  }
      POOLGRAD_DTYPES(POOLGRAD_PUT)
#undef POOLGRAD_PUT
    }
  }

  template <class W>
  W get(std::int64_t k) const {
    switch (dtype_) {
#define POOLGRAD_GET(name, type)                                     \
  case Dtype::name: {                                                \
    type item;                                                       \
    std::memcpy(&item, data_ + std::size_t(k) * item_, sizeof item); \
    return W(wide(item));                                            \
  }
      POOLGRAD_DTYPES(POOLGRAD_GET)
#undef POOLGRAD_GET
    }
    return W(0);
  }

 private:
  Dtype dtype_;
  std::int64_t count_;
  std::size_t item_;
  std::unique_ptr<unsigned char[]> block_;
  unsigned char* data_;
};

// Numbers that repeat on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}

  std::uint64_t bits() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545f4914f6cdd1du;
  }
  std::int64_t below(std::int64_t limit) { return std::int64_t((bits() >> 8) % std::uint64_t(limit)); }
  double unit() { return double(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// The value a dtype keeps of a wide one: floats are rounded, integers wrap.
inline double kept(Dtype dtype, double value) {
  switch (dtype) {
    case Dtype::float16:
      return formats::nearest(formats::half, value);
    case Dtype::bfloat16:
      return formats::nearest(formats::bfloat16, value);
    case Dtype::float32:
      return double(float(value));
    default:
      return value;
  }
}
inline std::uint64_t kept(Dtype dtype, std::uint64_t value) {
  const int spare = 64 - 8 * int(poolgrad::item_size(dtype));
  return value << spare >> spare;
}
inline std::int64_t kept(Dtype dtype, std::int64_t value) {
  const std::uint64_t low = kept(dtype, std::uint64_t(value));
  const std::uint64_t sign = std::uint64_t(1) << (8 * poolgrad::item_size(dtype) - 1);
  return std::int64_t((low ^ sign) - sign);
}

enum class Flavour {
  wide,  // all sizes and signs
  tied,  // few different values, close ones among them; floats with NaN, infinities and both zeros
  low,   // nothing above zero, of which there are both; floats without NaN but, far apart, a few
  lone,  // the same, but there are few negative zeros as well
};

inline double drawn(Dtype dtype, Flavour flavour, Random& random, double*) {
  if (flavour == Flavour::wide) {
    return kept(dtype, std::ldexp(2 * random.unit() - 1, int(random.below(13)) - 6));
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (flavour == Flavour::lone && random.below(200) != 0) {
    return random.below(6) == 0 ? 0.0 : -0.25;
  }
  if (flavour == Flavour::low || flavour == Flavour::lone) {
    const double lows[] = {0.0, -0.0, -infinity, -0.25, -0.5, -1.0};
    return random.below(flavour == Flavour::low ? 3000 : 3) == 0 ? std::numeric_limits<double>::quiet_NaN()
                                                                 : lows[random.below(6)];
  }
  const std::int64_t kind = random.below(40);
  if (kind < 4) {
    const double specials[] = {std::numeric_limits<double>::quiet_NaN(), -infinity, infinity, -0.0};
    return specials[kind];
  }
  return kept(dtype, 0.25 * double(random.below(5) - 2) + 4e-6 * double(random.below(4)));
}
template <class W>
W drawn(Dtype dtype, Flavour flavour, Random& random, W*) {
  if (flavour == Flavour::wide) {
    return kept(dtype, W(random.bits()));
  }
  return kept(dtype, W(random.below(7)) - W(3));
}

template <class W>
std::vector<W> drawn_values(Dtype dtype, Flavour flavour, std::int64_t count, Random& random) {
  std::vector<W> values;
  values.reserve(std::size_t(count));
  for (std::int64_t k = 0; k < count; ++k) {
    values.push_back(drawn(dtype, flavour, random, static_cast<W*>(nullptr)));
  }
  return values;
}

}  // namespace tests
