#define POOLGRAD_ISA avx512
#define POOLGRAD_INTEGERS_OF avx2

#include "kernels.inc"
