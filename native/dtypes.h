// Element types: one row a type, name and storage. The 16-bit floats are bare storage here; what a number can do is
// written in numbers.inc, inside the namespace of each instruction set.
#pragma once

#include <cstdint>

namespace poolgrad {

struct Half {
  std::uint16_t bits;
};

struct Bfloat16 {
  std::uint16_t bits;
};

#define POOLGRAD_DTYPES(X) \
  X(float16, Half)         \
  X(bfloat16, Bfloat16)    \
  X(float32, float)        \
  X(float64, double)       \
  X(int8, std::int8_t)     \
  X(int16, std::int16_t)   \
  X(int32, std::int32_t)   \
  X(int64, std::int64_t)   \
  X(uint8, std::uint8_t)   \
  X(uint16, std::uint16_t) \
  X(uint32, std::uint32_t) \
  X(uint64, std::uint64_t)

// Types that kernels are built for. Under a sanitizer only some: the source is the same, and building it takes minutes.
#if defined(POOLGRAD_FEW_DTYPES)
#define POOLGRAD_BUILT_DTYPES(X) \
  X(float16, Half)               \
  X(float32, float)              \
  X(float64, double)             \
  X(int32, std::int32_t)         \
  X(uint8, std::uint8_t)
#else
#define POOLGRAD_BUILT_DTYPES(X) POOLGRAD_DTYPES(X)
#endif

enum class Dtype : int {
#define POOLGRAD_DTYPE_NAME(name, type) name,
  POOLGRAD_DTYPES(POOLGRAD_DTYPE_NAME)
#undef POOLGRAD_DTYPE_NAME
};

constexpr std::int64_t item_size(Dtype dtype) {
  switch (dtype) {
#define POOLGRAD_DTYPE_SIZE(name, type) \
  case Dtype::name:                     \
    return sizeof(type);
    POOLGRAD_DTYPES(POOLGRAD_DTYPE_SIZE)
#undef POOLGRAD_DTYPE_SIZE
  }
  return 0;
}

}  // namespace poolgrad
