#define POOLGRAD_ISA avx2_floats
constexpr bool builds_floats = true, is_base = false;

#include "kernels.inc"
