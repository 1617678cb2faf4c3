#define POOLGRAD_ISA avx512_halves
#define POOLGRAD_ELEMENTS Elements::halves
constexpr bool is_base = false;

#include "kernels.inc"
