"""Windows of one axis: padding rules, output sizes, and which cells each output covers.

The only place where these are computed. An :class:`Axis` is what a kernel needs to know: output ``o`` covers the
cells ``o * stride - pad + i * dilation`` for ``i < window``, those outside the axis left out; or its windows stand in a
table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
    # What an average divides by: the cells of a window; or those on the axis, before it and in the first `counted`
    # places behind it; or a number.
    counted: int = -1
    divisor: int = 0

    @property
    def is_trivial(self) -> bool:
        """Does each output cover just the cell at its own place?"""
        plain = self.outputs == self.size and self.window == self.stride == 1 and self.pad == 0
        return plain and not self.starts and self.divisor in (0, 1)


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
    return (0, 0) if padding == "valid" else same_pads(size, window, stride)


def make_axis(
    name: str, size: int, window: int, stride: int, padding: Padding, dilation: int = 1, *, window_name: str = "window"
) -> Axis:
    """The windows of an axis; ``name`` and ``window_name`` are what an error calls it and its window.

    >>> make_axis("height", size=5, window=3, stride=2, padding="same")
    Axis(size=5, outputs=3, window=3, stride=2, pad=1, dilation=1, starts=(), stops=(), counted=-1, divisor=0)
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


def refuse_empty_windows(axis: Axis) -> None:
    """Refuse numbers of an axis of which nobody made sure that each window holds a cell; tables are not looked at.

    >>> refuse_empty_windows(Axis(4, 2, 2, 2))
    """
    positive = axis.size >= 0 and axis.outputs >= 0 and min(axis.window, axis.stride, axis.dilation) > 0
    first, reach, steps = -axis.pad, span(axis.window, axis.dilation), (axis.outputs - 1) * axis.stride
    fits = max(abs(first), reach, steps) < 2**62 and first + reach > 0 and first + steps < axis.size
    if not positive or (axis.outputs and not axis.starts and (not fits or _has_empty(axis))):
        raise InvalidArgumentError(f"every window must begin and end inside its axis, got {axis}")


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


def whole(axis: Axis, output: int) -> tuple[int, int]:
    """First place of a window and the end of it, with the padding it reaches into.

    >>> axis = make_axis("width", size=5, window=3, stride=2, padding="same")
    >>> [whole(axis, o) for o in range(axis.outputs)]
    [(-1, 2), (1, 4), (3, 6)]
    """
    if axis.starts:
        return axis.starts[output], axis.stops[output]
    origin = output * axis.stride - axis.pad
    return origin, origin + span(axis.window, axis.dilation)


def bounds(axis: Axis, output: int) -> tuple[int, int]:
    """First cell of a window and the end of it, clipped to the axis.

    >>> axis = make_axis("width", size=5, window=3, stride=2, padding="same")
    >>> [bounds(axis, o) for o in range(axis.outputs)]
    [(0, 2), (1, 4), (3, 5)]
    """
    origin, end = whole(axis, output)
    skipped = -(origin // axis.dilation) if origin < 0 else 0
    return origin + skipped * axis.dilation, min(end, axis.size)


def divisor_of(axis: Axis, output: int) -> int:
    """What an average over a window divides by, along one axis.

    >>> [divisor_of(Axis(5, 3, 3, 2, 1, counted=1), o) for o in range(3)]
    [3, 3, 3]
    """
    if axis.divisor:
        return axis.divisor
    if axis.counted >= 0:
        room = axis.size + axis.counted - (output * axis.stride - axis.pad)
        return min(axis.window, -(-room // axis.dilation))
    start, stop = bounds(axis, output)
    return -(-(stop - start) // axis.dilation)


def origins(axis: Axis) -> Any:
    """First places of all windows of an axis, which may lie before it.

    >>> origins(Axis(5, 3, 3, 2, 1)).tolist()
    [-1, 1, 3]
    """
    return np.array(axis.starts) if axis.starts else np.arange(axis.outputs) * axis.stride - axis.pad


def divisors(axis: Axis) -> Any:
    """What averages over all windows of an axis divide by, along it.

    >>> divisors(Axis(5, 3, 3, 2, 1)).tolist()
    [2, 3, 2]
    """
    if axis.divisor:
        return np.full(axis.outputs, axis.divisor)
    if axis.counted >= 0:
        return np.minimum(axis.window, -(-(axis.size + axis.counted - origins(axis)) // axis.dilation))
    return sources(axis, back=False)[1]


def sources(axis: Axis, back: bool) -> tuple[Any, Any, int]:
    """Where results along an axis come from: first, first + step, ...; arrays of the first ones and of how many.

    Of an output these are the cells of its window; going ``back``, of a cell the windows that hold it.

    >>> [part.tolist() for part in sources(Axis(5, 3, 3, 2, 1), back=True)[:2]]
    [[0, 0, 1, 1, 2], [1, 2, 1, 2, 1]]
    """
    step = axis.dilation
    if not back:
        begin = origins(axis)
        start = begin + np.maximum(-(begin // step), 0) * step
        stop = np.array(axis.stops) if axis.starts else np.minimum(begin + span(axis.window, step), axis.size)
        return start, -(-(stop - start) // step), step
    cells = np.arange(axis.size)
    if axis.starts:
        first = np.searchsorted(np.array(axis.stops), cells, side="right")
        return first, np.maximum(np.searchsorted(np.array(axis.starts), cells, side="right") - first, 0), 1
    ahead = cells + axis.pad
    first = np.clip((ahead - span(axis.window, step)) // axis.stride + 1, 0, axis.outputs)
    end = np.clip(ahead // axis.stride + 1, 0, axis.outputs)
    # Windows hold a cell if it lies a multiple of the dilation behind their first place: every so many windows.
    common = math.gcd(axis.stride, step)
    every = step // common
    if every > 1:
        first = first + (ahead // common * pow(axis.stride // common, -1, every) - first) % every
    count = np.where(ahead % common == 0, np.maximum(-(-(end - first) // every), 0), 0)
    return first, count, every


def common_cells(axis: Axis) -> int:
    """The least common multiple of what averages divide by along an axis; 0 where an edge cuts so many windows that
    it is vast.

    >>> common_cells(make_axis("width", size=5, window=3, stride=1, padding="same"))
    6
    """
    if axis.divisor:
        return axis.divisor
    if axis.starts:
        return math.lcm(*{stop - start for start, stop in zip(axis.starts, axis.stops, strict=True)})
    left = min(axis.outputs, max(0, -(-axis.pad // axis.stride)))
    right = max(left, -(-(axis.size - span(axis.window, axis.dilation) + axis.pad + 1) // axis.stride))
    if left + max(0, axis.outputs - right) > _MOST_CUT:
        return 0
    common = axis.window if left < min(right, axis.outputs) else 1
    for output in (*range(left), *range(right, axis.outputs)):
        common = math.lcm(common, divisor_of(axis, output))
    return common


def same_pads(size: int, reach: int, stride: int) -> tuple[int, int]:
    """Padding before and after an axis that TensorFlow's rule "same" asks for; sizes may be symbolic.

    >>> same_pads(5, 2, 1)
    (0, 1)
    """
    needed = ((size + stride - 1) // stride - 1) * stride + reach - size
    # A window that reaches over its stride always needs some: a symbolic size is not asked then.
    if reach < stride and needed <= 0:
        return 0, 0
    return needed // 2, needed - needed // 2


def torch_outputs(size: int, reach: int, stride: int, pads: tuple[int, int], ceil_mode: bool) -> int:
    """Windows along an axis as PyTorch counts them; sizes may be symbolic.

    >>> torch_outputs(5, 2, 2, (0, 0), False), torch_outputs(5, 2, 2, (0, 0), True)
    (2, 3)
    """
    before, after = pads
    outputs = (size + before + after - reach + (stride - 1 if ceil_mode else 0)) // stride + 1
    # The last window must begin in the input or the padding before it.
    if ceil_mode and (outputs - 1) * stride >= size + before:
        outputs -= 1
    return outputs


def torch_axis(
    size: int,
    window: int,
    stride: int,
    pads: tuple[int, int],
    dilation: int = 1,
    *,
    ceil_mode: bool = False,
    counts_padding: bool = False,
    divisor: int = 0,
) -> Axis:
    """The windows of an axis as PyTorch lays them; sizes may be symbolic.

    >>> torch_axis(5, 3, 2, (1, 1), counts_padding=True).counted
    1
    """
    before, after = pads
    reach = span(window, dilation)
    outputs = torch_outputs(size, reach, stride, pads, ceil_mode)
    if outputs < 1:
        raise InvalidArgumentError(
            f"kernel_size must fit into the input: it reaches over {reach} cells along an axis of {size} with"
            f" {before} + {after} of padding"
        )
    counted = after if counts_padding else -1
    axis = Axis(size, outputs, window, stride, before, dilation, counted=counted, divisor=divisor)
    if dilation > 1 and size < dilation and _has_empty(axis):
        raise InvalidArgumentError(
            f"every window must hold a cell of the input: one lies in the padding alone ({size} cells, padding"
            f" {before} + {after}, kernel_size {window}, dilation {dilation})"
        )
    return axis


def adaptive_axis(size: int, outputs: int) -> Axis:
    """PyTorch's windows where the number of outputs is given; the size may be symbolic.

    >>> adaptive_axis(6, 3)
    Axis(size=6, outputs=3, window=2, stride=2, pad=0, dilation=1, starts=(), stops=(), counted=-1, divisor=0)
    >>> bounds(adaptive_axis(5, 3), 1)
    (1, 4)
    """
    if outputs == 0:
        return Axis(size, 0)
    # Whether a symbolic size divides is not asked: that would tie a traced program to the answer.
    if isinstance(size, int) and size % outputs == 0:
        return Axis(size, outputs, size // outputs, size // outputs)
    starts = tuple(o * size // outputs for o in range(outputs))
    stops = tuple(((o + 1) * size + outputs - 1) // outputs for o in range(outputs))
    return Axis(size, outputs, starts=starts, stops=stops)


def torch_fractional_line(size: int, window: int, outputs: int) -> tuple[float, int]:
    """PyTorch's fractional windows along an axis: the slope of a line, and where the last window starts.

    A window ``o`` but the last starts at the whole part of ``(o + sample) * slope`` less that of ``sample * slope``,
    with a sample from [0, 1) for each plane, in the sample's precision. The last one ends with the axis.

    >>> torch_fractional_line(10, 2, 5)
    (2.0, 8)
    """
    return (size - window) / (outputs - 1) if outputs > 1 else 0.0, size - window


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
