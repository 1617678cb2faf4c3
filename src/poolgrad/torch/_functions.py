"""``torch.nn.functional``'s pooling: the same names, arguments and results.

Beyond it ``padding`` may be "same" (TensorFlow's rule, whose averages never count padding), "valid" or one (before,
after) pair an axis. The result keeps the input's memory format, and every derivative of any order exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from poolgrad import errors
from poolgrad.dtypes import smallest_unsigned
from poolgrad.errors import UnsupportedError
from poolgrad.forms import Rule, product
from poolgrad.torch import _onnx
from poolgrad.torch._arguments import Numbers, Outputs, Pads, adaptive_axes, checked_rank, regular_axes
from poolgrad.torch._eager import (
    Axes,
    Eager,
    is_plain,
    is_traced,
    keep,
    order_in,
    repeated,
    through_operator,
    traced_order,
)
from poolgrad.torch._operators import differentiated, needs_derivative

Pair = tuple[Tensor, Tensor]

_AVERAGE = Rule()
_LARGEST = Rule("first_nan")
PLACES = Rule("first_nan", "position", "int64", "plane")
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)

# Ops that PyTorch computes in float32 under autocast on the CPU; on a GPU there are none.
WIDENED = frozenset(
    {
        "avg_pool3d",
        "max_pool3d",
        "adaptive_avg_pool3d",
        "adaptive_max_pool3d",
        "max_unpool2d",
        "max_unpool3d",
        "fractional_max_pool2d",
        "fractional_max_pool3d",
    }
)


@dataclass(frozen=True, slots=True)
class Op:
    """One of PyTorch's functions."""

    name: str
    family: str
    spatial: int
    make_axes: Callable[..., Axes]
    is_widened: bool


def _ops(name: str, family: str, make_axes: Callable[..., Axes]) -> tuple[Op, ...]:
    names = {spatial: f"{name}{spatial}d" for spatial in (1, 2, 3)}
    return tuple(Op(own, family, spatial, make_axes, own in WIDENED) for spatial, own in names.items())


_AVG = _ops("avg_pool", "mean", regular_axes)
_MAX = _ops("max_pool", "maximum", regular_axes)
_ADAPTIVE_AVG = _ops("adaptive_avg_pool", "mean", adaptive_axes)
_ADAPTIVE_MAX = _ops("adaptive_max_pool", "maximum", adaptive_axes)


def saving(axes: Axes) -> Rule:
    """How winners are saved for the derivative: by the place in their window, or in the input where windows differ or
    are vast."""
    places = product([axis.window for axis in axes])
    if any([axis.starts for axis in axes]) or places > 2**32:  # noqa: C419 - torch.compile knows no generators here
        cells = product([axis.size for axis in axes])
        narrow = isinstance(cells, int) and cells < 2**31
        return Rule("first_nan", "position", "int32" if narrow else "int64", "plane")
    return Rule("first_nan", "offset", smallest_unsigned(places - 1))


def widened(input: Tensor, name: str) -> Tensor:
    """What autocast makes of the input of PyTorch's op of this name."""
    if name in WIDENED and input.is_cpu and torch.is_autocast_enabled("cpu") and input.dtype != torch.float32:
        return input.float()
    return input


def _read(op: Op, input: Tensor, arguments: tuple[Any, ...], saves: bool, indices: bool) -> tuple[Axes, Rule]:
    """Windows and rule of a call, all of its arguments checked."""
    try:
        checked_rank(input, op.spatial)
        axes = op.make_axes(input.shape[-op.spatial :], *arguments)
        if op.family == "mean":
            if input.dtype not in FLOATS:
                raise UnsupportedError(f"input must have a float dtype, got {input.dtype}")
            return axes, _AVERAGE
    except errors.RAISED as error:
        raise errors.named(op.name, error) from None
    if indices:
        return axes, PLACES
    return axes, saving(axes) if saves else _LARGEST


def pooled(op: Op, input: Tensor, arguments: tuple[Any, ...], indices: bool = False) -> Any:
    """An average or a maximum over the last axes of a tensor, with the places of the maxima if asked for."""
    if op.is_widened and isinstance(input, Tensor):
        input = widened(input, op.name)
    if not is_traced():
        made = repeated(op.name, input, arguments, indices)
        if made is not None:
            return made
    if not is_plain(input):
        if torch.onnx.is_in_onnx_export():
            return _onnx.standard(op.name, input, arguments, indices)
        saves = isinstance(input, Tensor) and needs_derivative(input)
        axes, rule = _read(op, input, arguments, saves, indices)
        order = traced_order(input, op.spatial)
        return through_operator(op.family, rule, axes, order, indices, input)
    saves = needs_derivative(input)
    axes, rule = _read(op, input, arguments, saves, indices)
    call = Eager(op.family, rule, axes, tuple(input.shape), order_in(input, op.spatial), input.dtype, indices)
    is_cpu = input.is_cpu

    def ready() -> Any:
        again = call.repeated(is_cpu)
        return differentiated(again) if saves else again.run

    keep(op.name, input, arguments, indices, ready)
    return call.plain(input, saves)


def _signed(average: Tensor, divisor_override: int) -> Tensor:
    """Windows divide by the absolute value."""
    return -average if divisor_override < 0 else average


def avg_pool1d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Pads = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """``torch.nn.functional.avg_pool1d``: input [batch, channels, length] or without the batch.

    >>> avg_pool1d(torch.arange(6.0).view(1, 1, 6), 2)
    tensor([[[0.5000, 2.5000, 4.5000]]])
    """
    return pooled(_AVG[0], input, (kernel_size, stride, padding, 1, ceil_mode, count_include_pad, None))


def avg_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Pads = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """``torch.nn.functional.avg_pool2d``: input [batch, channels, height, width] or without the batch.

    >>> avg_pool2d(torch.ones(1, 3, 3), 2, stride=2, padding="same")
    tensor([[[1., 1.],
             [1., 1.]]])
    """
    arguments = (kernel_size, stride, padding, 1, ceil_mode, count_include_pad, divisor_override)
    average = pooled(_AVG[1], input, arguments)
    return average if divisor_override is None else _signed(average, divisor_override)


def avg_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Pads = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """``torch.nn.functional.avg_pool3d``: input [batch, channels, depth, height, width] or without the batch.

    >>> avg_pool3d(torch.ones(1, 2, 2, 2), 2, divisor_override=4)
    tensor([[[[2.]]]])
    """
    arguments = (kernel_size, stride, padding, 1, ceil_mode, count_include_pad, divisor_override)
    average = pooled(_AVG[2], input, arguments)
    return average if divisor_override is None else _signed(average, divisor_override)


def max_pool1d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Pads = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """``torch.nn.functional.max_pool1d``.

    >>> max_pool1d(torch.tensor([[[1.0, 5.0, 4.0, 7.0]]]), 2, return_indices=True)
    (tensor([[[5., 7.]]]), tensor([[[1, 3]]]))
    """
    return pooled(_MAX[0], input, (kernel_size, stride, padding, dilation, ceil_mode), return_indices)


def max_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Pads = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """``torch.nn.functional.max_pool2d``. A NaN wins; of several maxima the first one gets the gradient.

    >>> x = torch.tensor([[[1.0, 5.0], [4.0, 7.0]]], requires_grad=True)
    >>> max_pool2d(x, 2).sum().backward()
    >>> x.grad
    tensor([[[0., 0.],
             [0., 1.]]])
    """
    return pooled(_MAX[1], input, (kernel_size, stride, padding, dilation, ceil_mode), return_indices)


def max_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    stride: Numbers | None = None,
    padding: Pads = 0,
    dilation: Numbers = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """``torch.nn.functional.max_pool3d``.

    >>> max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 2)
    tensor([[[[7.]]]])
    """
    return pooled(_MAX[2], input, (kernel_size, stride, padding, dilation, ceil_mode), return_indices)


def adaptive_avg_pool1d(input: Tensor, output_size: Outputs) -> Tensor:
    """``torch.nn.functional.adaptive_avg_pool1d``.

    >>> adaptive_avg_pool1d(torch.arange(5.0).view(1, 1, 5), 2)
    tensor([[[1., 3.]]])
    """
    return pooled(_ADAPTIVE_AVG[0], input, (output_size,))


def adaptive_avg_pool2d(input: Tensor, output_size: Outputs) -> Tensor:
    """``torch.nn.functional.adaptive_avg_pool2d``.

    >>> adaptive_avg_pool2d(torch.arange(6.0).view(1, 2, 3), (1, None))
    tensor([[[1.5000, 2.5000, 3.5000]]])
    """
    return pooled(_ADAPTIVE_AVG[1], input, (output_size,))


def adaptive_avg_pool3d(input: Tensor, output_size: Outputs) -> Tensor:
    """``torch.nn.functional.adaptive_avg_pool3d``.

    >>> adaptive_avg_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 1)
    tensor([[[[3.5000]]]])
    """
    return pooled(_ADAPTIVE_AVG[2], input, (output_size,))


def adaptive_max_pool1d(input: Tensor, output_size: Outputs, return_indices: bool = False) -> Any:
    """``torch.nn.functional.adaptive_max_pool1d``.

    >>> adaptive_max_pool1d(torch.arange(5.0).view(1, 1, 5), 2)
    tensor([[[2., 4.]]])
    """
    return pooled(_ADAPTIVE_MAX[0], input, (output_size,), return_indices)


def adaptive_max_pool2d(input: Tensor, output_size: Outputs, return_indices: bool = False) -> Any:
    """``torch.nn.functional.adaptive_max_pool2d``.

    >>> adaptive_max_pool2d(torch.arange(6.0).view(1, 2, 3), (1, None), return_indices=True)
    (tensor([[[3., 4., 5.]]]), tensor([[[3, 4, 5]]]))
    """
    return pooled(_ADAPTIVE_MAX[1], input, (output_size,), return_indices)


def adaptive_max_pool3d(input: Tensor, output_size: Outputs, return_indices: bool = False) -> Any:
    """``torch.nn.functional.adaptive_max_pool3d``.

    >>> adaptive_max_pool3d(torch.arange(8.0).view(1, 2, 2, 2), 1)
    tensor([[[[7.]]]])
    """
    return pooled(_ADAPTIVE_MAX[2], input, (output_size,), return_indices)
