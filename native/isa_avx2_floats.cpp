#define POOLGRAD_ISA avx2_floats
#define POOLGRAD_ELEMENTS Elements::floats
constexpr bool is_base = false;

#include "kernels.inc"
