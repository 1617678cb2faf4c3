"""Tests of the Triton kernels: on a GPU where there is one, else in Triton's interpreter, which must be on before."""

import os

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
