#define POOLGRAD_ISA base_integers
constexpr bool builds_floats = false, is_base = true;

#include "kernels.inc"
