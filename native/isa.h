// The instruction sets this build knows: `find` of each answers the kernels of a problem.
#pragma once

#include "problem.h"

namespace poolgrad {

// Each is built in parts, by element type; integers gain nothing from the longest vectors.
enum class Elements { floats, halves, integers };

constexpr Elements kind_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::float32:
    case Dtype::float64:
      return Elements::floats;
    case Dtype::float16:
    case Dtype::bfloat16:
      return Elements::halves;
    default:
      return Elements::integers;
  }
}

#define POOLGRAD_DECLARE(name)    \
  namespace name {                \
  Kernels find(const Problem& p); \
  }
POOLGRAD_DECLARE(base_floats)
POOLGRAD_DECLARE(base_halves)
POOLGRAD_DECLARE(base_integers)
POOLGRAD_DECLARE(avx2_floats)
POOLGRAD_DECLARE(avx2_halves)
POOLGRAD_DECLARE(avx2_integers)
POOLGRAD_DECLARE(avx512_floats)
POOLGRAD_DECLARE(avx512_halves)
#undef POOLGRAD_DECLARE

namespace base {
Kernels find(const Problem& p);
}

struct Isa {
  const char* name;
  bool (*is_supported)();
  Kernels (*find)(const Problem&);
};

// Best first; ends with `base`, which every processor has.
const Isa* isas(int* count);

// Has the first cache room for what is asked for ahead? Then requests for it are better met there: processors that have
// so much take few requests at once for the second one. Smaller ones lose what is being looked at.
extern const bool has_wide_first_cache;

// Each byte sixteen times. What is compared with one of them takes it from here in the same instruction: a constant
// that the compiler knows it would bring into a vector by three, each time.
struct ByteLines {
  alignas(64) unsigned char of[256][16];
};
extern const ByteLines byte_lines;

// The named one, or the best for an empty name. Null if there is none of that name or this processor lacks it.
const Isa* choose_isa(const char* name);

}  // namespace poolgrad
