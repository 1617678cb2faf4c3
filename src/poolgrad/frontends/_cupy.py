"""CuPy: arrays go to the kernels as PyTorch's tensors and results come back, through DLPack and without a copy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import cupy

from poolgrad.dispatch import ArrayInfo
from poolgrad.errors import UnsupportedError
from poolgrad.plan import Plan

try:
    from torch.utils.dlpack import from_dlpack

    from poolgrad.frontends import _torch
    from poolgrad.torch._memory import DTYPES
except ImportError as error:
    raise UnsupportedError(f"arrays of CuPy need PyTorch, whose kernels they share: {error}") from error

ARRAY_TYPES = (cupy.ndarray,)
_NAMES = frozenset(DTYPES.values())


def inspect(name: str, array: Any) -> ArrayInfo:
    """Shape and dtype of an array."""
    dtype = array.dtype.name
    return ArrayInfo(name, tuple(array.shape), dtype if dtype in _NAMES else None, dtype)


def vector(numbers: Sequence[int], like: Any) -> Any:
    """Integers as an array where another one is."""
    with like.device:
        return cupy.array(numbers, dtype="int64")


def _target(name: str, out: Any) -> Any:
    if not isinstance(out, cupy.ndarray):
        raise TypeError(f"{name} must be an array of CuPy to fill, got {type(out).__name__}")
    return from_dlpack(out)


def execute(plan: Plan, arrays: Mapping[str, Any], names: Mapping[str, str], out: Any = None) -> Any:
    """A new array, or ``out``; a plan that writes an index gives the pair (values, index)."""
    # Tensors have no negative strides.
    tensors = {role: from_dlpack(cupy.ascontiguousarray(array)) for role, array in arrays.items()}
    if isinstance(out, tuple):
        _torch.execute(plan, tensors, names, tuple(_target(f"out[{k}]", one) for k, one in enumerate(out)))
        return out
    if out is not None:
        _torch.execute(plan, tensors, names, _target("out", out))
        return out
    made = _torch.execute(plan, tensors, names)
    return tuple(map(cupy.from_dlpack, made)) if isinstance(made, tuple) else cupy.from_dlpack(made)
