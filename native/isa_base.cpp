#define POOLGRAD_ISA base
#define POOLGRAD_ISA_IS_BASE

#include "kernels.inc"
