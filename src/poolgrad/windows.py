"""Windows of one axis: padding rules, output sizes, and which cells each output covers.

The only place where these are computed. An :class:`Axis` is what a kernel needs to know: output ``o`` covers the
cells ``o * stride - pad + i * dilation`` for ``i < window``, those outside the axis left out; or its windows stand in a
table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from poolgrad.errors import InvalidArgumentError

Padding = str | tuple[int, int]

_MOST_CUT = 64


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial axis with its windows."""

    size: int
    outputs: int
    window: int = 1
    stride: int = 1
    pad: int = 0
    dilation: int = 1
    starts: tuple[int, ...] = ()
    stops: tuple[int, ...] = ()

    @property
    def is_trivial(self) -> bool:
        """Does each output cover just the cell at its own place?"""
        return self.outputs == self.size and self.window == self.stride == 1 and self.pad == 0 and not self.starts


def span(window: int, dilation: int) -> int:
    """Cells from the first to the last of a window.

    >>> span(3, 2)
    5
    """
    return (window - 1) * dilation + 1


def _truncated(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator) if numerator < 0 else numerator // denominator


def _pads(size: int, window: int, stride: int, padding: Padding) -> tuple[int, int]:
    if isinstance(padding, tuple):
        return padding
    if padding == "valid":
        return 0, 0
    outputs = -(-size // stride)
    needed = max(0, (outputs - 1) * stride + window - size)
    return needed // 2, needed - needed // 2


def make_axis(
    name: str, size: int, window: int, stride: int, padding: Padding, dilation: int = 1, *, window_name: str = "window"
) -> Axis:
    """The windows of an axis; ``name`` and ``window_name`` are what an error calls it and its window.

    >>> make_axis("height", size=5, window=3, stride=2, padding="same")
    Axis(size=5, outputs=3, window=3, stride=2, pad=1, dilation=1, starts=(), stops=())
    """
    reach = span(window, dilation)
    before, after = _pads(size, reach, stride, padding)
    outputs = _truncated(size + before + after - reach + stride, stride) if padding != "same" else -(-size // stride)
    if outputs < 0:
        raise InvalidArgumentError(
            f"{window_name} must fit into the input: along {name} it reaches over {reach} cells, got {size} cells"
            f"{f' and {before} + {after} of padding' if before or after else ''} with stride {stride}"
            f" (computed output size would be negative: {outputs})"
        )
    axis = Axis(size, outputs, window, stride, before, dilation)
    if _has_empty(axis):
        raise InvalidArgumentError(
            f"every window must hold a cell of the input: along {name} one lies in the padding alone"
            f" ({size} cells, padding {before} + {after}, window {window}, dilation {dilation})"
        )
    return axis


def _has_empty(axis: Axis) -> bool:
    """Does some output cover no cell? Only windows that begin in the padding can, by stepping over a short axis."""
    if axis.size == 0 or axis.size >= axis.dilation:
        return axis.size == 0 and axis.outputs > 0
    left = min(axis.outputs, -(-axis.pad // axis.stride))
    # Such a window's first cell inside is (o * stride - pad) modulo dilation: count those at or beyond the axis' end.
    lift = -(-axis.pad // axis.dilation) * axis.dilation - axis.pad
    beyond = _floor_sum(left, axis.dilation, axis.stride, lift + axis.dilation - axis.size)
    return beyond > _floor_sum(left, axis.dilation, axis.stride, lift)


def _floor_sum(count: int, divisor: int, step: int, start: int) -> int:
    """The sum of (step * i + start) // divisor for i < count, by Euclid's algorithm.

    >>> _floor_sum(4, 10, 6, 3) == sum((6 * i + 3) // 10 for i in range(4))
    True
    """
    total = 0
    while count:
        total += count * (count - 1) // 2 * (step // divisor) + count * (start // divisor)
        step, start = step % divisor, start % divisor
        reach = step * count + start
        count, start, step, divisor = reach // divisor, reach % divisor, divisor, step
        if not divisor:
            break
    return total


def bounds(axis: Axis, output: int) -> tuple[int, int]:
    """First cell of a window and the end of it, clipped to the axis.

    >>> axis = make_axis("width", size=5, window=3, stride=2, padding="same")
    >>> [bounds(axis, o) for o in range(axis.outputs)]
    [(0, 2), (1, 4), (3, 5)]
    """
    if axis.starts:
        return axis.starts[output], axis.stops[output]
    origin = output * axis.stride - axis.pad
    skipped = -(origin // axis.dilation) if origin < 0 else 0
    start = origin + skipped * axis.dilation
    return start, min(origin + span(axis.window, axis.dilation), axis.size)


def whole(axis: Axis, output: int) -> tuple[int, int]:
    """First cell of a window and the end of it with the padding it reaches into.

    >>> axis = make_axis("width", size=5, window=3, stride=2, padding="same")
    >>> [whole(axis, o) for o in range(axis.outputs)]
    [(-1, 2), (1, 4), (3, 6)]
    """
    if axis.starts:
        return bounds(axis, output)
    origin = output * axis.stride - axis.pad
    return origin, origin + span(axis.window, axis.dilation)


def cells(axis: Axis, output: int) -> range:
    """The cells of a window.

    >>> list(cells(Axis(size=7, outputs=3, window=3, pad=2, dilation=2), 0))
    [0, 2]
    """
    start, stop = bounds(axis, output)
    return range(start, stop, axis.dilation)


def holders(axis: Axis, cell: int) -> list[int]:
    """The outputs whose windows hold a cell.

    >>> holders(make_axis("width", size=5, window=3, stride=2, padding="same"), 1)
    [0, 1]
    """
    first, last = 0, axis.outputs
    if not axis.starts:
        reach = cell + axis.pad
        first = max(first, -(-(reach - span(axis.window, axis.dilation) + 1) // axis.stride))
        last = min(last, reach // axis.stride + 1)
    return [output for output in range(first, last) if cell in cells(axis, output)]


def cover(axis: Axis) -> np.ndarray:
    """How many windows hold each cell.

    >>> cover(make_axis("width", size=5, window=3, stride=2, padding="same")).tolist()
    [1, 2, 1, 2, 1]
    """
    if axis.starts:
        steps = np.zeros(axis.size + 1, np.int64)
        np.add.at(steps, list(axis.starts), 1)
        np.add.at(steps, list(axis.stops), -1)
        return np.cumsum(steps[:-1])
    counts = np.zeros(axis.size, np.int64)
    origins = np.arange(axis.outputs) * axis.stride - axis.pad
    for step in range(axis.window):
        held = origins + step * axis.dilation
        counts += np.bincount(held[(held >= 0) & (held < axis.size)], minlength=axis.size)
    return counts


def common_cells(axis: Axis) -> int:
    """The least common multiple of the cells of an axis' windows; 0 where so many are cut by an edge that it is vast.

    >>> common_cells(make_axis("width", size=5, window=3, stride=1, padding="same"))
    6
    """
    if axis.starts:
        return math.lcm(*{stop - start for start, stop in zip(axis.starts, axis.stops, strict=True)})
    left = min(axis.outputs, max(0, -(-axis.pad // axis.stride)))
    right = max(left, -(-(axis.size - span(axis.window, axis.dilation) + axis.pad + 1) // axis.stride))
    if left + max(0, axis.outputs - right) > _MOST_CUT:
        return 0
    common = axis.window if left < min(right, axis.outputs) else 1
    for output in (*range(left), *range(right, axis.outputs)):
        start, stop = bounds(axis, output)
        common = math.lcm(common, -(-(stop - start) // axis.dilation))
    return common


def fractional_outputs(size: int, ratio: float) -> int:
    """Outputs of fractional pooling, at least one for a ratio up to the size. TensorFlow divides in float32.

    >>> fractional_outputs(10, 1.5)
    6
    """
    return int(np.floor(np.float32(size) / np.float32(ratio)))


def from_sequence(size: int, sequence: Sequence[int], overlapping: bool) -> Axis:
    """The cells of fractional pooling: from one border up to the next, or over it by one cell when they overlap.

    >>> from_sequence(5, (0, 2, 5), overlapping=True).stops
    (3, 5)
    """
    stops = tuple(min(border + overlapping, size) for border in sequence[1:])
    return Axis(size, len(stops), starts=tuple(sequence[:-1]), stops=stops)


def stock_forward(axis: Axis) -> Axis:
    """Windows of TensorFlow's CPU kernels in 3-D forwards: a stride beyond the window shifts them to the right."""
    needed = (axis.outputs - 1) * axis.stride + axis.window - axis.size
    if needed > -2 or axis.outputs == 0:
        return axis
    return Axis(axis.size, axis.outputs, axis.window, axis.stride, -(-needed // 2), axis.dilation)


def stock_backward(axis: Axis) -> Axis:
    """Windows of TensorFlow's CPU kernels in average and 3-D gradients: too long at the left if beyond the axis."""
    if axis.window <= axis.size or axis.outputs == 0:
        return axis
    starts = tuple(max(o * axis.stride - axis.pad, 0) for o in range(axis.outputs))
    stops = tuple(min(start + axis.window, axis.size) for start in starts)
    return Axis(axis.size, axis.outputs, axis.window, axis.stride, axis.pad, axis.dilation, starts, stops)
