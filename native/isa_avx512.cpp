#define POOLGRAD_ISA avx512

#include "kernels.inc"
