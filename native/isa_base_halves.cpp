#define POOLGRAD_ISA base_halves
#define POOLGRAD_ELEMENTS Elements::halves
constexpr bool is_base = true;

#include "kernels.inc"
