"""Maxima: who wins a window, and what the winner gives or receives. Arrays are channels-last."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ._numbers import Array, add, comparable, is_float, lowest, subtract
from ._windows import Index, Windows, at, lengths, outputs

Better: TypeAlias = Callable[[Array, Array], Array]


def is_greater(best: Array, new: Array) -> Array:
    """A NaN never beats a number, and is never beaten."""
    result: Array = comparable(best) < comparable(new)
    return result


def floored_max(values: Array, windows: Windows) -> Array:
    """The maximum above the lowest finite value, without NaN."""
    return _max_from(values, windows, lambda cells: lowest(values.dtype))


def padded_max(values: Array, windows: Windows, full: int) -> Array:
    """The maximum without NaN; a window of fewer than `full` cells also holds the lowest finite value."""
    bottom = np.array(-np.inf).astype(values.dtype) if is_float(values.dtype) else lowest(values.dtype)
    return _max_from(values, windows, lambda cells: bottom if cells == full else lowest(values.dtype))


def _max_from(values: Array, windows: Windows, start: Callable[[int], Array]) -> Array:
    out = np.empty((values.shape[0], *lengths(windows), values.shape[-1]), values.dtype)
    for index, cells in outputs(windows):
        best = np.broadcast_to(start(len(cells)), at(out, index).shape)
        for cell in cells:
            new = at(values, cell)
            best = np.where(is_greater(best, new), new, best)
        at(out, index)[...] = best
    return out


def depthwise_max(values: Array, window: int) -> Array:
    """The maximum of each group of neighbouring channels."""
    groups = values.reshape(*values.shape[:-1], values.shape[-1] // window, window)
    best = groups[..., 0]
    for i in range(1, window):
        best = np.where(is_greater(best, groups[..., i]), groups[..., i], best)
    return best


def winners(values: Array, windows: Windows, better: Better = is_greater) -> tuple[Array, Array]:
    """The first best cell of each window: its value and flat index over the spatial axes (-1: no cell)."""
    spatial = values.shape[1:-1]
    out = np.empty((values.shape[0], *lengths(windows), values.shape[-1]), values.dtype)
    where = np.full(out.shape, -1, np.int64)
    for index, cells in outputs(windows):
        for cell in cells:
            new = at(values, cell)
            take = (at(where, index) < 0) | better(at(out, index), new)
            at(out, index)[...] = np.where(take, new, at(out, index))
            at(where, index)[...] = np.where(take, np.ravel_multi_index(cell, spatial), at(where, index))
    return out, where


def route_to_winner(grad: Array, where: Array, shape: Index) -> Array:
    """Each gradient added to its winner, in row-major order of the outputs."""
    out = np.zeros((shape[0], int(np.prod(shape[1:-1])), shape[-1]), grad.dtype)
    batch, channel = np.ogrid[: shape[0], : shape[-1]]
    for index in np.ndindex(*grad.shape[1:-1]):
        target = at(where, index)
        held = out[batch, target, channel]
        out[batch, target, channel] = np.where(target < 0, held, add(held, at(grad, index)))
    return out.reshape(shape)


def is_near(values: Array, target: Array) -> Array:
    """Floats: closer than 1e-5, with difference and bound rounded into the type. Integers: equal."""
    if not is_float(values.dtype):
        return np.asarray(values == target)
    distance = np.abs(comparable(subtract(values, target)))
    return np.asarray(distance < comparable(np.array(1e-5).astype(values.dtype)))


def route_to_near(values: Array, targets: Array, grad: Array, windows: Windows) -> Array:
    """Each gradient added to every cell near its target; the last spatial axis is the outermost loop."""
    out = np.zeros(values.shape, values.dtype)
    for index, cells in outputs(windows, last_axis_outermost=True):
        for cell in cells:
            hit = is_near(at(values, cell), at(targets, index))
            at(out, cell)[...] = np.where(hit, add(at(out, cell), at(grad, index)), at(out, cell))
    return out


def pick_first_equal(values: Array, targets: Array, grad: Array, windows: Windows) -> Array:
    """The gradient at the first cell equal to the target; 0 if there is none."""
    out = np.zeros(targets.shape, grad.dtype)
    for index, cells in outputs(windows):
        done = np.zeros(at(out, index).shape, bool)
        for cell in cells:
            hit = ~done & (comparable(at(values, cell)) == comparable(at(targets, index)))
            at(out, index)[...] = np.where(hit, at(grad, cell), at(out, index))
            done |= hit
    return out


def route_by_argmax(grad: Array, argmax: Array, shape: Index, include_batch: bool) -> Array:
    """Each gradient added at its flat index, in flat order."""
    flat = flat_targets(argmax, shape, include_batch)
    out = np.zeros(int(np.prod(shape)), grad.dtype)
    for target, value in zip(flat.ravel(), grad.reshape(-1, 1), strict=True):
        out[target : target + 1] = add(out[target : target + 1], value)
    return out.reshape(shape)


def flat_targets(argmax: Array, shape: Index, include_batch: bool) -> Array:
    """Indices into the flat input; refuses those outside of it."""
    flat = argmax.astype(np.int64)
    if not include_batch:
        image = int(np.prod(shape[1:]))
        flat = flat + image * np.arange(shape[0]).reshape(-1, *([1] * (argmax.ndim - 1)))
    if flat.size and (flat.min() < 0 or flat.max() >= np.prod(shape)):
        raise ValueError("argmax points outside the input")
    return flat
