#define POOLGRAD_ISA avx2

#include "kernels.inc"
