"""The four fractional ops. Cells come from pooling sequences; layout is [batch, height, width, channel]."""

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import _averages, _maxima
from ._averages import Exact
from ._numbers import Array, add, comparable, is_float
from ._sequences import Philox, pooling_sequence
from ._windows import Windows, at, fractional_windows, lengths, outputs


def sequences(
    shape: Sequence[int],
    pooling_ratio: Sequence[float],
    pseudo_random: bool,
    deterministic: bool,
    seeds: tuple[int, int],
) -> list[Array]:
    """The boundaries along both spatial axes, drawn from one generator."""
    if not deterministic or seeds == (0, 0):
        seeds = (secrets.randbits(64), secrets.randbits(64))
    generator = Philox(*seeds)
    result = []
    for size, ratio in zip(shape[1:3], pooling_ratio[1:3], strict=True):
        length = int(np.floor(np.float32(size) / np.float32(ratio)))
        result.append(np.array(pooling_sequence(size, length, generator, pseudo_random), np.int64))
    return result


def _windows(edges: Sequence[Array], counts: Sequence[int], shape: Sequence[int], overlapping: bool) -> Windows:
    return [
        fractional_windows([int(edge) for edge in np.ravel(e)], count, int(size), overlapping)
        for e, count, size in zip(edges, counts, shape[1:3], strict=True)
    ]


def _forward(
    value: Array,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    stock_windows: bool = False,
) -> tuple[Windows, Array, Array]:
    high, wide = sequences(value.shape, pooling_ratio, pseudo_random, deterministic, (seed, seed2))
    windows = _windows((high, wide), (len(high) - 1, len(wide) - 1), value.shape, overlapping)
    return windows, high, wide


def _backward(
    grad: Array,
    orig_input_tensor_shape: Array,
    row_pooling_sequence: Array,
    col_pooling_sequence: Array,
    overlapping: bool = False,
    stock_windows: bool = False,
) -> tuple[Windows, tuple[int, ...]]:
    shape = tuple(int(size) for size in orig_input_tensor_shape)
    return _windows((row_pooling_sequence, col_pooling_sequence), grad.shape[1:3], shape, overlapping), shape


def _truncated_mean(values: Array, windows: Windows) -> Array:
    """Integers: a sum that wraps around, then division toward zero."""
    out = np.zeros((values.shape[0], *lengths(windows), values.shape[-1]), values.dtype)
    for index, cells in outputs(windows):
        total = at(out, index)
        for cell in cells:
            total = add(total, at(values, cell))
        whole = [abs(int(v)) // len(cells) * (1 if v >= 0 else -1) for v in total.ravel()]
        at(out, index)[...] = np.array(whole, values.dtype).reshape(total.shape)
    return out


def exact_fractional_avg_pool(*, value: Array, **attributes: Any) -> Exact:
    windows, _, _ = _forward(value, **attributes)
    return _averages.mean(value, windows)


def fractional_avg_pool(*, value: Array, **attributes: Any) -> tuple[Array, Array, Array]:
    windows, high, wide = _forward(value, **attributes)
    if not is_float(value.dtype):
        return _truncated_mean(value, windows), high, wide
    return _averages.mean(value, windows).rounded(value.dtype), high, wide


def exact_fractional_avg_pool_grad(*, out_backprop: Array, **attributes: Any) -> Exact:
    windows, shape = _backward(out_backprop, **attributes)
    return _averages.spread(out_backprop, windows, shape)


def fractional_avg_pool_grad(*, out_backprop: Array, **attributes: Any) -> Array:
    if is_float(out_backprop.dtype):
        exact = exact_fractional_avg_pool_grad(out_backprop=out_backprop, **attributes)
        return exact.rounded(out_backprop.dtype)
    return _truncated_spread(out_backprop, *_backward(out_backprop, **attributes))


def _truncated_spread(grad: Array, windows: Windows, shape: tuple[int, ...]) -> Array:
    """Integers: summed as doubles in the order of the outputs, then truncated toward zero."""
    total = np.zeros(shape, np.float64)
    for index, cells in outputs(windows):
        for cell in cells:
            at(total, cell)[...] += at(grad, index).astype(np.float64) / len(cells)
    return np.trunc(total).astype(grad.dtype)


def fractional_max_pool(*, value: Array, **attributes: Any) -> tuple[Array, Array, Array]:
    windows, high, wide = _forward(value, **attributes)
    return _maxima.floored_max(value, windows), high, wide


def fractional_max_pool_grad(
    *,
    orig_input: Array,
    orig_output: Array,
    out_backprop: Array,
    row_pooling_sequence: Array,
    col_pooling_sequence: Array,
    overlapping: bool = False,
    stock_windows: bool = False,
) -> Array:
    edges = (row_pooling_sequence, col_pooling_sequence)
    windows = _windows(edges, orig_output.shape[1:3], orig_input.shape, overlapping)
    best, where = _maxima.winners(orig_input, windows)
    if not np.array_equal(comparable(best), comparable(orig_output)):
        raise ValueError("orig_output does not hold the maxima of orig_input")
    return _maxima.route_to_winner(out_backprop, where, orig_input.shape)
