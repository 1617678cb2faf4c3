import os, sys, types, math

here = os.path.dirname(os.path.abspath(__file__))
pkg = types.ModuleType("poolgrad")
pkg.__path__ = [os.path.join(here, "poolgrad")]
sys.modules["poolgrad"] = pkg
import torch
from poolgrad.kernels import gpu, gpu_tiles, gpu_averages, gpu_maxima
from poolgrad import plan as P
from poolgrad.windows import Axis, torch_axis, make_axis
