// The 16-bit floats by their definition, in double arithmetic: shares nothing with the kernels.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace formats {

struct Format {
  int fraction_bits;
  int exponent_bits;

  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  int least_exponent() const { return 1 - bias(); }
  double largest() const { return std::ldexp(2 - std::ldexp(1.0, -fraction_bits), bias()); }
};

constexpr Format half = {10, 5};
constexpr Format bfloat16 = {7, 8};

inline double decode(Format f, unsigned bits) {
  const int exponent = int(bits >> f.fraction_bits) & ((1 << f.exponent_bits) - 1);
  const int fraction = int(bits) & ((1 << f.fraction_bits) - 1);
  double size;
  if (exponent == (1 << f.exponent_bits) - 1) {
    size = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    size = std::ldexp(fraction, f.least_exponent() - f.fraction_bits);
  } else {
    size = std::ldexp(fraction + (1 << f.fraction_bits), exponent - f.bias() - f.fraction_bits);
  }
  return (bits >> 15 & 1u) != 0 ? -size : size;
}

// The nearest value of the format, ties to even, too large ones to infinity.
inline double nearest(Format f, double value) {
  if (value == 0 || !std::isfinite(value)) {
    return value;
  }
  int exponent;
  std::frexp(value, &exponent);
  const int last_place = (exponent - 1 < f.least_exponent() ? f.least_exponent() : exponent - 1) - f.fraction_bits;
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(value, -last_place)), last_place);
  return std::fabs(rounded) > f.largest() ? std::copysign(std::numeric_limits<double>::infinity(), value)
                                          : std::copysign(rounded, value);
}

// Bits of a value the format has.
inline std::uint16_t encode(Format f, double value) {
  const unsigned sign = std::signbit(value) ? 0x8000u : 0u;
  const double size = std::fabs(value);
  const unsigned special = ((1u << f.exponent_bits) - 1) << f.fraction_bits;
  if (std::isnan(value)) {
    return std::uint16_t(sign | special | 1u << (f.fraction_bits - 1));
  }
  if (std::isinf(value)) {
    return std::uint16_t(sign | special);
  }
  int exponent = f.least_exponent();
  if (size >= std::ldexp(1.0, exponent)) {
    std::frexp(size, &exponent);
    --exponent;
  }
  // The leading one of a normal number adds one to the exponent field.
  const unsigned steps = unsigned(std::ldexp(size, f.fraction_bits - exponent));
  return std::uint16_t(sign | (steps + (unsigned(exponent - f.least_exponent()) << f.fraction_bits)));
}

}  // namespace formats
