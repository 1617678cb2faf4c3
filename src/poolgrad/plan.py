"""A plan: everything about a call that is known before its data, in the form kernels take.

Every call becomes ``outer x up to three spatial axes x inner``: channels-last has the channels as inner, channels-first
folds them into outer, and a spatial axis that is not pooled folds into its neighbour. Rank and layout end here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from poolgrad.dtypes import smallest_unsigned
from poolgrad.errors import InvalidArgumentError
from poolgrad.windows import Axis, common_cells, from_sequence

Shape = tuple[int, ...]

ADJOINT = {"mean": "spread", "spread": "mean", "pick": "route", "route": "pick"}
BACK = ("spread", "route")
"""Families that go back: from the output's side to the input's."""

_MOST_ELEMENTS = 2**59  # whose bytes still count in 63 bits, whatever the dtype
_MOST_EXACT = 2**53

_kept_common_cells = functools.lru_cache(maxsize=1024)(common_cells)


@dataclass(frozen=True, slots=True)
class Plan:
    """Family, selector and numbers of a call; hashable, and free of arrays."""

    family: str
    selector: str
    dtype: str
    input_shape: Shape
    output_shape: Shape
    outer: int
    axes: tuple[Axis, Axis, Axis]
    inner: int
    numbering: str = "ordinal"
    index_dtype: str = "int64"
    index_map: tuple[int, int, int, int] = (0, 1, 0, -1)
    base: str = ""
    common_count: int = 1
    last_axis_slowest: bool = False
    infinite_floor: bool = False
    verify: bool = False

    @property
    def result_shape(self) -> Shape:
        """The shape of what the call fills."""
        return self.input_shape if self.family in BACK else self.output_shape

    def adjoint(self) -> Plan:
        """The plan of the transposed map: what the derivative in the data runs."""
        return replace(self, family=ADJOINT[self.family], verify=False)


@dataclass(frozen=True, slots=True)
class Folded:
    """A shape and its windows, folded to what a plan holds."""

    input_shape: Shape
    output_shape: Shape
    outer: int
    axes: tuple[Axis, Axis, Axis]
    inner: int


def checked_size(name: str, shape: Shape) -> None:
    """Refuse a shape whose elements cannot be counted in 64 bits."""
    if math.prod(size for size in shape if size) >= _MOST_ELEMENTS:
        raise InvalidArgumentError(f"{name} must have fewer than 2**59 elements, got shape {list(shape)}")


def axis_numbers(axis: Axis) -> tuple[int, ...]:
    """An axis but for its tables, in the order in which kernels and operators take it."""
    return (axis.size, axis.outputs, axis.window, axis.stride, axis.pad, axis.dilation, axis.counted, axis.divisor)


def fold(shape: Shape, first: int, axes: tuple[Axis, ...], *, numbered: bool = False) -> Folded:
    """Fold a shape whose axes ``first, first + 1, ...`` have these windows.

    ``numbered`` keeps all of them, for calls that count the cells of the input.

    >>> fold((2, 8, 8, 3), 1, (Axis(8, 4, 2, 2), Axis(8, 4, 2, 2))).output_shape
    (2, 4, 4, 3)
    """
    after = first + len(axes)
    output_shape = (*shape[:first], *(axis.outputs for axis in axes), *shape[after:])
    outer, inner = math.prod(shape[:first]), math.prod(shape[after:])
    while axes and axes[0].is_trivial and not numbered:
        outer, axes = outer * axes[0].size, axes[1:]
    while axes and axes[-1].is_trivial and not numbered:
        inner, axes = inner * axes[-1].size, axes[:-1]
    one = Axis(1, 1)
    three = (one, one, one, *axes)[-3:]
    return Folded(shape, output_shape, outer, (three[0], three[1], three[2]), inner)


def fold_sequences(shape: Shape, first: int, borders: Sequence[Sequence[int]], overlapping: bool) -> Folded:
    """Fold a shape whose axes ``first, ...`` are cut into cells at these borders, as fractional pooling does."""
    return fold(shape, first, tuple(from_sequence(shape[first + k], b, overlapping) for k, b in enumerate(borders)))


def flat(input_shape: Shape, output_shape: Shape, first: int, spatial: int) -> Folded:
    """Fold shapes of a call whose cells are given by position: the axes ``first, ...`` become one without windows.

    >>> flat((2, 8, 8, 3), (2, 4, 4, 3), 1, 2).axes[2]
    Axis(size=64, outputs=16, window=1, stride=1, pad=0, dilation=1, starts=(), stops=(), counted=-1, divisor=0)
    """
    after = first + spatial
    one = Axis(1, 1)
    last = Axis(math.prod(input_shape[first:after]), math.prod(output_shape[first:after]))
    outer, inner = math.prod(input_shape[:first]), math.prod(input_shape[after:])
    return Folded(input_shape, output_shape, outer, (one, one, last), inner)


def make(
    family: str,
    selector: str,
    dtype: str,
    folded: Folded,
    *,
    last_axis_slowest: bool = False,
    infinite_floor: bool = False,
    verify: bool = False,
) -> Plan:
    """The plan of a call that needs no index array."""
    f = folded
    common = _common_count(f.axes) if family in ("mean", "spread") else 1
    return Plan(
        family,
        selector,
        dtype,
        f.input_shape,
        f.output_shape,
        f.outer,
        f.axes,
        f.inner,
        common_count=common,
        last_axis_slowest=last_axis_slowest,
        infinite_floor=infinite_floor,
        verify=verify,
    )


def _common_count(axes: tuple[Axis, ...]) -> int:
    """A common multiple of the cells of all windows, or 1 where it would not be exact in a double."""
    common = math.prod(common_cells(axis) if axis.starts else _kept_common_cells(axis) for axis in axes)
    return common if 0 < common <= _MOST_EXACT else 1


def with_offsets(plan: Plan, window: Shape) -> Plan:
    """Winners named by their place inside the window, as the smallest integers that hold it."""
    cells = math.prod(window)
    if cells >= 2**63:
        raise InvalidArgumentError(f"window must have fewer than 2**63 cells to number them, got window={window}")
    return replace(plan, numbering="offset", index_dtype=smallest_unsigned(cells - 1))


def with_argmax(plan: Plan, index_dtype: str, base: str) -> Plan:
    """Winners named by their place in the input.

    ``base`` is where counting starts: "plane" (the spatial cells of one channel), "image" (all elements of one
    batch entry, TensorFlow's default) or "batch" (all elements).
    """
    cells = math.prod(axis.size for axis in plan.axes)
    image = cells * plan.inner
    reads = plan.family == "maximum"
    if base == "plane":
        index_map = (0, 1, 0, -1) if reads else (image, plan.inner, 1, cells)
        largest = cells
    elif base == "image":
        index_map = (0, plan.inner, 1, -1) if reads else (image, 1, 0, -1)
        largest = image
    else:
        index_map = (image, plan.inner, 1, -1) if reads else (0, 1, 0, -1)
        largest = image * plan.outer
    if reads and largest > 2 ** (31 if index_dtype == "int32" else 63):
        raise InvalidArgumentError(f"Targmax must be int64 to count {largest} elements, got int32")
    return replace(plan, numbering="position", index_dtype=index_dtype, index_map=index_map, base=base)
