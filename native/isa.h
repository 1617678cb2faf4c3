// The instruction sets this build knows: `find` of each answers the kernels of a problem.
#pragma once

#include "problem.h"

namespace poolgrad {

namespace base {
Kernels find(const Problem&);
}
namespace avx2 {
Kernels find(const Problem&);
}
namespace avx512 {
Kernels find(const Problem&);
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
