// The instruction sets this build knows: `find` of each answers the kernels of a problem.
#pragma once

#include "problem.h"

namespace poolgrad {

// Each is built in parts, by element type; integers gain nothing from the longest vectors.
#define POOLGRAD_PARTS(X) X(base_floats) X(base_integers) X(avx2_floats) X(avx2_integers) X(avx512_floats)
#define POOLGRAD_PART(name)       \
  namespace name {                \
  Kernels find(const Problem& p); \
  }
POOLGRAD_PARTS(POOLGRAD_PART)
#undef POOLGRAD_PART

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

// The named one, or the best for an empty name. Null if there is none of that name or this processor lacks it.
const Isa* choose_isa(const char* name);

}  // namespace poolgrad
