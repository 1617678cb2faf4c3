"""PyTorch: tensors on any device, results differentiable through the operators of ``poolgrad.torch``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from poolgrad.dispatch import ArrayInfo
from poolgrad.errors import InvalidArgumentError
from poolgrad.forms import numbers_of, rule_from
from poolgrad.plan import BACK, Plan, Shape
from poolgrad.torch._eager import is_plain
from poolgrad.torch._memory import DTYPES, Call, written_side
from poolgrad.torch._operators import needs_derivative, overload

ARRAY_TYPES = (Tensor,)


def inspect(name: str, array: Tensor) -> ArrayInfo:
    """Shape and dtype of a tensor."""
    if array.layout is not torch.strided:
        raise TypeError(f"{name} must be a dense tensor, got one of layout {array.layout}")
    return ArrayInfo(name, tuple(array.shape), DTYPES.get(array.dtype), str(array.dtype))


def vector(numbers: Sequence[int], like: Tensor) -> Tensor:
    """Integers as a tensor where another one is."""
    return torch.tensor(numbers, dtype=torch.int64, device=like.device)


def _checked_devices(arrays: Mapping[str, Tensor], names: Mapping[str, str]) -> None:
    first, *others = arrays
    for role in others:
        if arrays[role].device != arrays[first].device:
            raise InvalidArgumentError(
                f"{names[role]} must be on the device of {names[first]}, {arrays[first].device}, got"
                f" {arrays[role].device}"
            )


def _checked_out(name: str, out: Any, shape: Shape, dtype: torch.dtype, inputs: Mapping[str, Tensor]) -> Tensor:
    if not isinstance(out, Tensor):
        raise TypeError(f"{name} must be a tensor to fill, got {type(out).__name__}")
    near = next(iter(inputs.values()))
    if tuple(out.shape) != shape or out.dtype != dtype or out.device != near.device:
        raise InvalidArgumentError(
            f"{name} must have shape {list(shape)} and dtype {dtype} on {near.device}, got {list(out.shape)} and"
            f" {out.dtype} on {out.device}"
        )
    if not out.is_contiguous():
        raise InvalidArgumentError(f"{name} must be contiguous, got strides {out.stride()}")
    for given, tensor in inputs.items():
        if out.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr() and out.numel() and tensor.numel():
            raise InvalidArgumentError(f"{name} must not share memory with {given}")
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (out, *inputs.values())):
        raise InvalidArgumentError(f"{name} must be left out where a gradient is wanted, or torch.no_grad() be on")
    return out


def _call(plan: Plan, names: Mapping[str, str]) -> Call:
    inputs, outputs = written_side(plan.input_shape), written_side(plan.output_shape)
    reads, writes = (outputs, inputs) if plan.family in BACK else (inputs, outputs)
    return Call(plan, reads, writes, names)


def _filled(plan: Plan, arrays: Mapping[str, Tensor], names: Mapping[str, str], data: Tensor, out: Any) -> Any:
    call = _call(plan, names)
    inputs = {names[role]: tensor for role, tensor in arrays.items()}
    shape = plan.result_shape
    if call.index_dtype is None:
        pair: tuple[Tensor, Tensor | None] = _checked_out("out", out, shape, call.dtype, inputs), None
    elif not (isinstance(out, tuple) and len(out) == 2):
        raise TypeError(f"out must be a pair of tensors, one for the values and one for the index, got {out!r:.60}")
    else:
        values = _checked_out("out[0]", out[0], shape, call.dtype, inputs)
        pair = values, _checked_out("out[1]", out[1], shape, call.index_dtype, {**inputs, "out[0]": values})
    input, reference, index = (None if one is None else one.contiguous() for one in _selecting(plan, arrays))
    call.fill(data.contiguous(), input, reference, index, *pair)
    return out


def _selecting(plan: Plan, arrays: Mapping[str, Tensor]) -> tuple[Tensor | None, ...]:
    """Who says which cells are selected: input, reference and index, where the family has any."""
    if plan.family not in ("pick", "route"):
        return None, None, None
    return arrays.get("input"), arrays.get("reference"), arrays.get("index")


def execute(plan: Plan, arrays: Mapping[str, Tensor], names: Mapping[str, str], out: Any = None) -> Any:
    """A new tensor, or ``out``; a plan that writes an index gives the pair (values, index)."""
    _checked_devices(arrays, names)
    data = arrays["data"] if "data" in arrays else arrays["input"]
    if out is not None:
        return _filled(plan, arrays, names, data, out)
    by = _selecting(plan, arrays)
    if is_plain(data) and not needs_derivative(data):
        return _call(plan, names).run(data, *by)
    numbers, tables = numbers_of(plan.axes)
    sizes = (plan.outer, *(axis.size for axis in plan.axes), plan.inner)
    outputs = (plan.outer, *(axis.outputs for axis in plan.axes), plan.inner)
    shapes = (outputs if plan.family in BACK else sizes, sizes, outputs, outputs)
    # Operators pool the last axes.
    moved, *chosen = [
        None if tensor is None else tensor.reshape(shape).movedim(-1, 1)
        for tensor, shape in zip((data, *by), shapes, strict=True)
    ]
    selecting = chosen if plan.family in ("pick", "route") else []
    made = overload(plan.family)(moved, *selecting, numbers, tables, rule_from(plan).text(), [0, 2, 3, 4, 1])
    values, index = made if plan.family == "maximum" else (made, None)
    values = values.movedim(1, -1).reshape(plan.result_shape)
    if index is None or plan.numbering == "ordinal":
        return values
    return values, index.movedim(1, -1).reshape(plan.result_shape)
