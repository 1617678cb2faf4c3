#define POOLGRAD_ISA avx2_integers
#define POOLGRAD_ELEMENTS Elements::integers
constexpr bool is_base = false;

#include "kernels.inc"
