"""Values by their place in the input: unpooling, and what else knows its cells rather than its windows."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from poolgrad import errors
from poolgrad.arguments import describe
from poolgrad.errors import InvalidArgumentError
from poolgrad.forms import APART, TRUSTED, Rule, product
from poolgrad.torch._arguments import Numbers, checked_rank, per_axis
from poolgrad.torch._eager import Eager, is_plain, keep, kept, order_in, through_operator, traced_order
from poolgrad.torch._functions import widened
from poolgrad.torch._operators import needs_derivative
from poolgrad.windows import Axis


def moved(
    family: str,
    data: Tensor,
    index: Tensor,
    sizes: Sequence[int],
    outputs: Sequence[int],
    like: Tensor | None = None,
    flags: str = "",
) -> Tensor:
    """``route``: values to the places that ``index`` names, which add up there; ``pick``: the values at those places.

    Places count the cells of one plane; ``sizes`` are those of the plane, ``outputs`` those of the index. A traced
    result lies as ``like`` does, or as the data. ``flags`` say what is known of the index.
    """
    if not is_plain(data) or not is_plain(index):
        axes, rule = _unfolded(sizes, outputs), _given_by(index.dtype, flags)
        order = traced_order(data if like is None else like, len(axes))
        return cast(Tensor, through_operator(family, rule, axes, order, False, data, None, None, index))
    arguments = (tuple(sizes), tuple(outputs), flags)
    call = kept(family, data, arguments, index)
    if call is None:
        call = mover(family, data, index.dtype, sizes, outputs, flags)
        keep(family, data, arguments, index, functools.partial(call.repeated, data.is_cpu))
    return cast(Tensor, call(data, None, None, index))


def _unfolded(sizes: Sequence[int], outputs: Sequence[int]) -> tuple[Axis, ...]:
    return tuple(Axis(size, count) for size, count in zip(sizes, outputs, strict=True))


def _given_by(dtype: torch.dtype, flags: str) -> Rule:
    return Rule("given", "position", str(dtype).removeprefix("torch."), "plane", flags)


def mover(
    family: str, data: Tensor, places: torch.dtype, sizes: Sequence[int], outputs: Sequence[int], flags: str
) -> Eager:
    """A call that moves such plain data, by an index of this dtype of which ``flags`` are known."""
    axes = _unfolded(sizes, outputs)
    spatial = len(axes)
    shape = (*data.shape[:-spatial], *sizes)
    return Eager(family, _given_by(places, flags), axes, shape, order_in(data, spatial), data.dtype, False)


def _last_of_each(values: Tensor, indices: Tensor, cells: int, spatial: int) -> Tensor:
    """The values that stay where several go to one place: the last one does, the others count as zeros."""
    # Places beyond the plane are refused later: here a GPU would give up.
    flat = indices.flatten(-spatial).clamp(0, cells - 1)
    numbers = torch.arange(flat.shape[-1], device=flat.device).expand_as(flat)
    last = torch.full((*flat.shape[:-1], cells), -1, dtype=torch.int64, device=flat.device)
    last = last.scatter_reduce(-1, flat, numbers, "amax")
    stays = (last.gather(-1, flat) == numbers).view_as(indices)
    return values.masked_fill(~stays, 0)


def _unpooled_sizes(
    input: Tensor, spatial: int, kernel_size: Any, stride: Any, padding: Any, output_size: Any
) -> list[int]:
    window = per_axis("kernel_size", kernel_size, spatial, 1)
    steps = window if stride is None else per_axis("stride", stride, spatial, 1)
    pads = per_axis("padding", padding, spatial, 0)
    counts = input.shape[-spatial:]
    sizes = [(counts[k] - 1) * steps[k] + window[k] - 2 * pads[k] for k in range(spatial)]
    if output_size is None:
        return sizes
    wanted = list(output_size) if isinstance(output_size, list | tuple) else [output_size]
    wanted = wanted[2:] if len(wanted) == spatial + 2 else wanted
    if len(wanted) != spatial:
        raise InvalidArgumentError(
            f"output_size must have {spatial} or {spatial + 2} entries, got {describe(output_size)}"
        )
    for size, count, step in zip(sizes, wanted, steps, strict=True):
        if not size - step < count < size + step:
            raise InvalidArgumentError(
                f"output_size must lie between {size - step} and {size + step} there, both excluded, got {count} in"
                f" {wanted}"
            )
    return wanted


def _checked_sizes(input: Tensor, indices: Tensor, spatial: int, arguments: tuple[Any, ...]) -> list[int]:
    """The sizes of the result, all arguments checked."""
    checked_rank(input, spatial)
    checked_rank(indices, spatial, "indices")
    if indices.dtype != torch.int64:
        raise TypeError(f"indices must have dtype int64, got {indices.dtype}")
    if indices.device != input.device:
        raise InvalidArgumentError(f"indices must be on the input's device, {input.device}, got {indices.device}")
    if indices.shape != input.shape:
        raise InvalidArgumentError(
            f"indices must have the input's shape {list(input.shape)}, got {list(indices.shape)}"
        )
    return _unpooled_sizes(input, spatial, *arguments)


def _unpooling(name: str, values: Tensor, indices: Tensor, arguments: tuple[Any, ...]) -> Eager:
    """The call that unpools plain tensors like these."""
    call = kept(name, values, arguments, indices)
    if call is None:
        spatial = int(name[-2])
        sizes = _checked_sizes(values, indices, spatial, arguments)
        flags = "" if values.is_cpu else TRUSTED + APART  # what is asked of a GPU's index before
        call = mover("route", values, indices.dtype, sizes, values.shape[-spatial:], flags)
        keep(name, values, arguments, indices, functools.partial(call.repeated, values.is_cpu))
    return cast(Eager, call)


def _unpooled(name: str, input: Tensor, indices: Tensor, *arguments: Any) -> Tensor:
    """``arguments`` are the size of the kernel, stride, padding and size of the output."""
    spatial = int(name[-2])
    try:
        if not (is_plain(input) and is_plain(indices)):
            sizes = _checked_sizes(input, indices, spatial, arguments)
            values = _last_of_each(widened(input, name), indices, product(sizes), spatial)
            return moved("route", values, indices, sizes, input.shape[-spatial:], input)
        values = widened(input, name)
        call = _unpooling(name, values, indices, arguments)
        sizes = list(call.shape[-spatial:])
        is_cpu = indices.is_cpu
        if call.call.meets(indices) if is_cpu else not call.call.finds_apart(indices):
            values = _last_of_each(values, indices, product(sizes), spatial)
            if not is_cpu:  # and places beyond the plane are refused
                return moved("route", values, indices, sizes, values.shape[-spatial:])
        return cast(Tensor, call.plain(values, needs_derivative(values), None, None, indices))
    except errors.RAISED as error:
        raise errors.named(name, error) from None


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """``torch.nn.functional.max_unpool1d``: values back at the places they came from, zeros elsewhere.

    Where several go to one place the last one stays, always.

    >>> max_unpool1d(torch.tensor([[5.0, 7.0]]), torch.tensor([[1, 2]]), 2)
    tensor([[0., 5., 7., 0.]])
    """
    return _unpooled("max_unpool1d", input, indices, kernel_size, stride, padding, output_size)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """``torch.nn.functional.max_unpool2d``: as :func:`max_unpool1d`.

    >>> max_unpool2d(torch.tensor([[[5.0]]]), torch.tensor([[[3]]]), 2)
    tensor([[[0., 0.],
             [0., 5.]]])
    """
    return _unpooled("max_unpool2d", input, indices, kernel_size, stride, padding, output_size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Numbers = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """``torch.nn.functional.max_unpool3d``: as :func:`max_unpool1d`.

    >>> max_unpool3d(torch.tensor([[[[5.0]]]]), torch.tensor([[[[7]]]]), 2).sum()
    tensor(5.)
    """
    return _unpooled("max_unpool3d", input, indices, kernel_size, stride, padding, output_size)
