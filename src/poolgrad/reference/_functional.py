"""Pooling over 1, 2 or 3 spatial axes of a channels-last array, with one rule set for all ranks.

`window`, `stride` and `dilation` hold one number per spatial axis, `padding` one (before, after) pair.
Cells in the padding take no part. A window without any cell averages to 0; its maximum is the lowest value
(minus infinity for floats), with offset and argmax -1, and it neither gives nor receives a gradient.
A NaN wins its window (the first one, if there are several); minus infinity stays what it is.
"""

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from . import _averages
from ._maxima import route_to_winner, winners
from ._numbers import Array, add, comparable, is_float, lowest
from ._windows import Windows, at, dilated_windows, lengths, outputs

Sizes: TypeAlias = Sequence[int]
Pads: TypeAlias = Sequence[tuple[int, int]]


def _windows(shape: Sizes, window: Sizes, stride: Sizes, padding: Pads, dilation: Sizes | None) -> Windows:
    steps = dilation or [1] * len(window)
    axes = zip(shape[1:-1], window, stride, padding, steps, strict=True)
    return [[[cell for _, cell in cells] for cells in dilated_windows(*axis)] for axis in axes]


def _nan(values: Array) -> Array:
    return np.isnan(comparable(values)) if is_float(values.dtype) else np.zeros(values.shape, bool)


def _is_better(best: Array, new: Array) -> Array:
    result: Array = (comparable(best) < comparable(new)) | (_nan(new) & ~_nan(best))
    return result


def _is_equal(values: Array, best: Array) -> Array:
    result: Array = (comparable(values) == comparable(best)) | (_nan(values) & _nan(best))
    return result


def _divisor(
    shape: Sizes, window: Sizes, stride: Sizes, padding: Pads, counted: Sizes | None, divisor: int | None
) -> _averages.Divisor:
    """A number; or the places of a window, those in the padding before an axis and `counted` ones behind it too."""

    def of(index: Sizes, cells: Sequence[object]) -> int:
        if divisor is not None:
            return divisor
        if counted is None:
            return max(len(cells), 1)
        axes = zip(index, shape[1:-1], window, stride, padding, counted, strict=True)
        return math.prod(
            sum(o * step - pads[0] + place < size + after for place in range(cells_of))
            for o, size, cells_of, step, pads, after in axes
        )

    return of


def avg_pool(
    x: Array,
    window: Sizes,
    stride: Sizes,
    padding: Pads,
    dilation: Sizes | None = None,
    counted: Sizes | None = None,
    divisor: int | None = None,
) -> Array:
    """The correctly rounded average of each window of `x` [batch, spatial…, channel].

    With `counted`, one number an axis, padding counts: all before the axis and so many cells behind it (for windows
    without dilation). With `divisor` sums are divided by that.
    """
    divide = _divisor(x.shape, window, stride, padding, counted, divisor)
    return _averages.mean(x, _windows(x.shape, window, stride, padding, dilation), divide).rounded(x.dtype)


def avg_pool_grad(
    grad: Array,
    shape: Sizes,
    window: Sizes,
    stride: Sizes,
    padding: Pads,
    dilation: Sizes | None = None,
    counted: Sizes | None = None,
    divisor: int | None = None,
) -> Array:
    """The gradient of `avg_pool` for an input of the given shape, correctly rounded."""
    windows = _windows(shape, window, stride, padding, dilation)
    divide = _divisor(shape, window, stride, padding, counted, divisor)
    return _averages.spread(grad, windows, tuple(shape), divide).rounded(grad.dtype)


def max_pool(
    x: Array, window: Sizes, stride: Sizes, padding: Pads, dilation: Sizes | None = None
) -> tuple[Array, Array, Array]:
    """Maxima, offsets of the winners in their windows, and their flat indices over the spatial axes."""
    values, argmax = winners(x, _windows(x.shape, window, stride, padding, dilation), _is_better)
    bottom = np.array(-np.inf).astype(x.dtype) if is_float(x.dtype) else lowest(x.dtype)
    offsets = np.full(argmax.shape, -1, np.int64)
    steps = dilation or [1] * len(window)
    for position in np.argwhere(argmax >= 0):
        cell = np.unravel_index(argmax[tuple(position)], x.shape[1:-1])
        parts = [
            (int(c) - int(i) * s + pads[0]) // d
            for c, i, s, pads, d in zip(cell, position[1:-1], stride, padding, steps, strict=True)
        ]
        offsets[tuple(position)] = np.ravel_multi_index(parts, tuple(window))
    return np.where(argmax < 0, bottom, values), offsets, argmax


def max_pool_grad(
    x: Array,
    grad: Array,
    window: Sizes,
    stride: Sizes,
    padding: Pads,
    dilation: Sizes | None = None,
    ties: str = "first",
) -> Array:
    """Each gradient given to the first winner, or in full to every cell equal to it; summed in its type."""
    windows = _windows(x.shape, window, stride, padding, dilation)
    best, argmax = winners(x, windows, _is_better)
    if ties == "first":
        return route_to_winner(grad, argmax, x.shape)
    out = np.zeros(x.shape, grad.dtype)
    for index, cells in outputs(windows):
        for cell in cells:
            hit = _is_equal(at(x, cell), at(best, index))
            at(out, cell)[...] = np.where(hit, add(at(out, cell), at(grad, index)), at(out, cell))
    return out


def max_pool_grad_grad(
    x: Array,
    grad: Array,
    window: Sizes,
    stride: Sizes,
    padding: Pads,
    dilation: Sizes | None = None,
    ties: str = "first",
) -> Array:
    """The adjoint of `max_pool_grad`: `grad` [shape of x] at the first winner, or summed over all of them."""
    windows = _windows(x.shape, window, stride, padding, dilation)
    best, argmax = winners(x, windows, _is_better)
    out = np.zeros((x.shape[0], *lengths(windows), x.shape[-1]), grad.dtype)
    for index, cells in outputs(windows):
        for cell in cells:
            hit = _is_equal(at(x, cell), at(best, index))
            if ties == "first":
                hit = at(argmax, index) == np.ravel_multi_index(cell, x.shape[1:-1])
            at(out, index)[...] = np.where(hit, add(at(out, index), at(grad, cell)), at(out, index))
    return out
