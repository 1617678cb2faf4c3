#define POOLGRAD_ISA base_integers
#define POOLGRAD_ELEMENTS Elements::integers
constexpr bool is_base = true;

#include "kernels.inc"
