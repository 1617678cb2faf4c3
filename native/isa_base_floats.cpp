#define POOLGRAD_ISA base_floats
constexpr bool builds_floats = true, is_base = true;

#include "kernels.inc"
