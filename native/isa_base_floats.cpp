#define POOLGRAD_ISA base_floats
#define POOLGRAD_ELEMENTS Elements::floats
constexpr bool is_base = true;

#include "kernels.inc"
