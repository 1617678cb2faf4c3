"""Windows as plain lists: for each axis, for each output position, the input positions it covers.

Three rules exist. "true": the window clipped to the input. "shifted": as TensorFlow's stock 3-D forwards,
whose SAME padding may be negative. "unclipped": as TensorFlow's stock backward extents, which forget at the
right edge what was already cut off at the left.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ._numbers import Array

Axis: TypeAlias = Sequence[Sequence[int]]
Windows: TypeAlias = Sequence[Axis]
Index: TypeAlias = tuple[int, ...]


def quotient(numerator: int, denominator: int) -> int:
    """Integer division that truncates toward zero."""
    size = abs(numerator) // denominator
    return size if numerator >= 0 else -size


def output_length(size: int, window: int, stride: int, padding: str, explicit: tuple[int, int]) -> int:
    if padding == "SAME":
        return -(-size // stride)
    before, after = explicit if padding == "EXPLICIT" else (0, 0)
    length = quotient(size + before + after - window + stride, stride)
    if length < 0:
        raise ValueError(f"the output length would be negative: {length}")
    return length


def axis_windows(
    size: int, window: int, stride: int, padding: str, explicit: tuple[int, int] = (0, 0), rule: str = "true"
) -> Axis:
    length = output_length(size, window, stride, padding, explicit)
    before = explicit[0] if padding == "EXPLICIT" else 0
    if padding == "SAME":
        needed = (length - 1) * stride + window - size
        before = quotient(needed, 2) if rule == "shifted" else max(needed, 0) // 2
    result = []
    for i in range(length):
        start = max(i * stride - before, 0)
        stop = min(i * stride - before + window, size)
        if rule == "unclipped" and start + window > size:
            stop = start + min(window, size - start)
        result.append(range(start, stop))
    return result


def fractional_windows(sequence: Sequence[int], count: int, size: int, overlapping: bool) -> Axis:
    """Neighbouring cells share one position if they overlap; nothing reaches past the input."""
    return [range(sequence[i], min(sequence[i + 1] + int(overlapping), size)) for i in range(count)]


def dilated_windows(
    size: int, window: int, stride: int, pads: tuple[int, int], dilation: int
) -> list[list[tuple[int, int]]]:
    """Pairs (offset in the window, input position) of the cells that lie inside the input."""
    reach = (window - 1) * dilation + 1
    length = max((size + pads[0] + pads[1] - reach) // stride + 1, 0)
    return [
        [
            (offset, i * stride - pads[0] + offset * dilation)
            for offset in range(window)
            if 0 <= i * stride - pads[0] + offset * dilation < size
        ]
        for i in range(length)
    ]


def lengths(windows: Windows) -> Index:
    return tuple(len(axis) for axis in windows)


def outputs(windows: Windows, last_axis_outermost: bool = False) -> Iterator[tuple[Index, list[Index]]]:
    """Each output index with the input cells of its window; the cells always come in row-major order."""
    axes = list(windows)[::-1] if last_axis_outermost else list(windows)
    for found in itertools.product(*(range(len(axis)) for axis in axes)):
        index = found[::-1] if last_axis_outermost else found
        yield index, list(itertools.product(*(axis[i] for axis, i in zip(windows, index, strict=True))))


def at(values: Array, index: Index) -> Array:
    """The [batch, channel] slice at one spatial index of a channels-last array."""
    where: tuple[Any, ...] = (slice(None), *index)
    result: Array = values[where]
    return result


@dataclass(frozen=True)
class Pooling:
    """The attributes of a pooling op, in the dimension order of its `data_format`."""

    ksize: Sequence[int]
    strides: Sequence[int]
    padding: str
    data_format: str
    explicit_paddings: Sequence[int] = ()

    @property
    def channel(self) -> int:
        return self.data_format.index("C")

    @property
    def depth_window(self) -> int:
        return int(self.ksize[self.channel])

    def windows(self, shape: Sequence[int], rule: str = "true") -> Windows:
        """The windows over the spatial axes of a channels-last input shape."""
        axes = [i for i, name in enumerate(self.data_format) if name not in "NC"]
        pads = [(0, 0)] * len(self.data_format)
        if self.padding == "EXPLICIT":
            flat = self.explicit_paddings
            pads = [(int(flat[2 * i]), int(flat[2 * i + 1])) for i in range(len(self.data_format))]
        return [
            axis_windows(int(size), int(self.ksize[i]), int(self.strides[i]), self.padding, pads[i], rule)
            for size, i in zip(shape[1:-1], axes, strict=True)
        ]

    def channels_last(self, values: Array) -> Array:
        return np.moveaxis(np.asarray(values), self.channel, -1)

    def restored(self, values: Array) -> Array:
        return np.ascontiguousarray(np.moveaxis(values, -1, self.channel))

    def shape_channels_last(self, shape: Sequence[int]) -> Index:
        sizes = [int(size) for size in shape]
        return (*sizes[: self.channel], *sizes[self.channel + 1 :], sizes[self.channel])
