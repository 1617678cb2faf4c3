#define POOLGRAD_ISA avx2_integers
constexpr bool builds_floats = false, is_base = false;

#include "kernels.inc"
