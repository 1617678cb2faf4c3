"""NumPy: arrays as they come, results as plain arrays."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from poolgrad import results
from poolgrad.calls import Run, note
from poolgrad.dispatch import ArrayInfo
from poolgrad.dtypes import name_of
from poolgrad.errors import InvalidArgumentError
from poolgrad.faults import explain
from poolgrad.kernels import cpu
from poolgrad.plan import Plan, Shape

Array = npt.NDArray[Any]

ARRAY_TYPES = (np.ndarray,)


def inspect(name: str, array: Array) -> ArrayInfo:
    """Shape and dtype of an array. A masked one is refused: its mask would be lost."""
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"{name} must be a plain array, got a masked one: fill it first, with {name}.filled(value)")
    return ArrayInfo(name, array.shape, name_of(array.dtype), _text_of(array.dtype))


def vector(numbers: Sequence[int], like: Array) -> Array:
    """Integers as an array."""
    return np.array(numbers, np.int64)


@functools.lru_cache(maxsize=256)
def _text_of(dtype: np.dtype) -> str:
    return str(dtype) if dtype.fields is None else f"the structured dtype {dtype}"


def _plain(array: Array) -> Array:
    """The same elements contiguous, aligned and in native byte order; a copy only where they are not already."""
    if type(array) is np.ndarray and array.flags.carray and array.dtype.isnative:
        return array
    array = array.view(np.ndarray)
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if not (array.flags.c_contiguous and array.flags.aligned):
        array = array.copy(order="C")
    return array


def _allocate(shape: Shape, dtype: np.dtype, near: Array) -> Array:
    """A new array, computed from the one at ``near``."""
    needed = math.prod(shape) * dtype.itemsize
    if needed < results.LEAST:
        return np.empty(shape, dtype)
    results.refuse_vast(shape, dtype, needed)
    return results.empty(shape, dtype, near)


def _checked_out(name: str, out: object, shape: Shape, dtype: np.dtype, inputs: Mapping[str, Array]) -> Array:
    if not isinstance(out, np.ndarray) or isinstance(out, np.ma.MaskedArray):
        raise TypeError(f"{name} must be a NumPy array to fill, got {type(out).__name__}")
    if out.shape != shape or out.dtype != dtype:
        raise InvalidArgumentError(
            f"{name} must have shape {list(shape)} and dtype {dtype}, got {list(out.shape)} and {out.dtype}"
        )
    if not (out.flags.c_contiguous and out.flags.aligned and out.flags.writeable):
        came = f"strides {out.strides}" if out.flags.writeable else "a read-only array"
        raise InvalidArgumentError(f"{name} must be writable, aligned and C-contiguous, got {came}")
    for given, array in inputs.items():
        if np.may_share_memory(out, array):
            raise InvalidArgumentError(f"{name} must not share memory with {given}")
    return out


def _outs(
    plan: Plan, dtype: np.dtype, inputs: Mapping[str, Array], out: Any, indexed: bool
) -> tuple[Array, Array | None]:
    shape = plan.result_shape
    index_dtype = np.dtype(plan.index_dtype)
    if out is None:
        near = next(iter(inputs.values()))
        return _allocate(shape, dtype, near), _allocate(shape, index_dtype, near) if indexed else None
    if not indexed:
        return _checked_out("out", out, shape, dtype, inputs), None
    if not (isinstance(out, tuple) and len(out) == 2):
        came = f"a tuple of {len(out)}" if isinstance(out, tuple) else type(out).__name__
        raise TypeError(f"out must be a pair of arrays, one for the values and one for the index, got {came}")
    values = _checked_out("out[0]", out[0], shape, dtype, inputs)
    return values, _checked_out("out[1]", out[1], shape, index_dtype, {**inputs, "out[0]": values})


def execute(plan: Plan, arrays: Mapping[str, Array], names: Mapping[str, str], out: Any = None) -> Any:
    """Fill a new array, or ``out``; a plan that writes an index gives the pair (values, index)."""
    indexed = plan.family == "maximum" and plan.numbering != "ordinal"
    dtype = (arrays["data"] if "data" in arrays else arrays["input"]).dtype
    dtype = dtype if dtype.isnative else dtype.newbyteorder("=")
    values, index = _outs(plan, dtype, {names[role]: array for role, array in arrays.items()}, out, indexed)
    plain = {role: _plain(array) for role, array in arrays.items()}
    problem, isa = cpu.problem(plan), cpu.isa()
    bad = cpu.run(problem, isa, plain, values.view(np.ndarray), None if index is None else index.view(np.ndarray))
    if bad is not None:
        raise InvalidArgumentError(explain(plan, arrays, names, bad))
    note(Run(problem, isa, dict(arrays), dict(names), values, index))
    return (values, index) if indexed else values
