"""Tiles of GPU kernels: how many rows and lanes a program takes, by a few rules."""

from __future__ import annotations

import math
from typing import NamedTuple

from poolgrad.plan import Plan, Shape

LANES = 512
"""Elements of a program, as far as it can have so many: measured best, or near it, from 512 to 1024."""

_MOST_CELLS = 64  # of windows that are written out
_MOST_PHASES = 8


class March(NamedTuple):
    """A kernel that goes along an axis: elements side by side, cells that it goes on, rows of results at once."""

    lanes: int
    steps: int
    warps: int
    rows: int = 1


SLIDE_INNER = {(False, False): March(128, 12, 1, 2), (False, True): March(128, 32, 1, 4),
               (True, False): March(128, 32, 1, 4), (True, True): March(256, 16, 1, 4)}  # fmt: skip
"""Sums at stride 1 whose lanes are inner elements, of 16 bits or more, without and with windows along D."""
SLIDE_ROWS = {(False, False): March(32, 32, 1), (False, True): March(64, 32, 2),
              (True, False): March(32, 9, 1), (True, True): March(64, 32, 2)}  # fmt: skip
"""The same where inner is 1."""
LINE = March(128, 32, 4)
"""Short elements there whose planes are one line."""
LINE_LANE = 4
"""Elements that a lane has there."""
ROUTE = {(True, False): March(256, 8, 2), (True, True): March(512, 16, 4),
         (False, False): March(128, 8, 4), (False, True): March(128, 16, 4)}  # fmt: skip
"""Maxima at stride 1: with lanes along inner elements or not, going along D or H."""
ROUTE_BACK = {(True, False, False): March(256, 8, 2), (True, True, False): March(512, 16, 4),
              (True, False, True): March(256, 16, 1), (True, True, True): March(256, 16, 1),
              (False, False, False): March(256, 8, 2), (False, True, False): March(256, 16, 2),
              (False, False, True): March(512, 8, 4), (False, True, True): March(256, 16, 2)}  # fmt: skip
"""Gradients of these, of 16 bits or more: where inner is 1 a lane is four elements."""
EVEN = {(True, False): March(512, 14, 2), (True, True): March(1024, 16, 4),
        (False, False): March(256, 4, 1), (False, True): March(256, 16, 1)}  # fmt: skip
"""The same for short ones where windows are as many as cells."""
EVEN_LANE = 8
"""Elements that a lane has there."""
QUADS = March(64, 0, 2)
"""Gradients at larger strides where inner is 1: four quotients a lane."""
PLANES = March(32, 0, 1)
"""Windows that many cells share: channels side by side."""
PLANES_AT_ONCE = (20, 16, 12)
"""Windows side by side that are looked at together: what leaves few of them idle."""


class Tiles(NamedTuple):
    """Rows and lanes of a program, and how many programs there are."""

    rows: int
    row_block: int
    lane_block: int
    programs: int
    last: bool
    is_wide: bool
    warps: int


def blocks(size: int) -> int:
    """The next power of two.

    >>> blocks(3), blocks(64)
    (4, 64)
    """
    return 1 << max(size - 1, 0).bit_length()


def balanced(length: int, steps: int) -> int:
    """About so many steps that those along an axis are all alike.

    >>> balanced(35, 16), balanced(7, 16)
    (18, 7)
    """
    return -(-length // max(round(length / steps), 1))


def inner_block(inner: int, most: int) -> int:
    """Lanes along inner elements: a power of two that leaves few of them idle.

    >>> inner_block(192, 128), inner_block(250, 128)
    (64, 128)
    """
    sizes = [size for size in (128, 64, 32) if size <= most and -(-inner // size) * size <= inner * 1.125]
    return sizes[0] if sizes else min(blocks(inner), most)


def is_wide(total: int) -> bool:
    """Do numbers of elements need 64 bits?"""
    return total + LANES >= 2**31


def is_plain(plan: Plan) -> bool:
    """Do windows follow from numbers, and not from a table?"""
    return not any(axis.starts for axis in plan.axes)


def is_small(plan: Plan, back: bool) -> bool:
    """Are windows small enough to be written out? Going back all phases of a stride are, and no dilation."""
    if math.prod(axis.window for axis in plan.axes) > _MOST_CELLS:
        return False
    phases = math.prod(axis.stride for axis in plan.axes)
    return not back or (phases <= _MOST_PHASES and all(axis.dilation == 1 for axis in plan.axes))


def has_pairs(plan: Plan) -> bool:
    """Do windows go on by two cells along lanes, so that these are better loaded two by two?"""
    last = plan.axes[2]
    return plan.inner == 1 and last.stride == 2 and last.dilation == 1 and last.window <= 8


def evens(plan: Plan) -> tuple[int, int]:
    """Powers of two, at most 16, that divide the cells and the outputs along W.

    >>> from poolgrad.plan import fold, make
    >>> from poolgrad.windows import Axis
    >>> evens(make("mean", "none", "float32", fold((2, 56, 3), 1, (Axis(56, 27, 3, 2),))))
    (8, 1)
    """
    last = plan.axes[2]
    return math.gcd(last.size, 16), math.gcd(last.outputs, 16)


def both_sizes(plan: Plan) -> tuple[int, ...]:
    """Sizes of both sides."""
    return (*(axis.size for axis in plan.axes), *(axis.outputs for axis in plan.axes))


def line_sizes(plan: Plan) -> tuple[int, ...]:
    """The same, those along W divided by the powers of two that do."""
    d, h, w, od, oh, ow = both_sizes(plan)
    even, other = evens(plan)
    return d, h, w // even, od, oh, ow // other


def window_numbers(plan: Plan) -> tuple[int, ...]:
    """Windows, strides and pads."""
    return (*(axis.window for axis in plan.axes), *(axis.stride for axis in plan.axes),
            *(axis.pad for axis in plan.axes))  # fmt: skip


def quotients(plan: Plan) -> tuple[int, int, int]:
    """Cells an axis by the stride: a program that goes back owns all cells of some quotients."""
    d, h, w = (-(-axis.size // axis.stride) for axis in plan.axes)
    return d, h, w


def front_tiles(plan: Plan) -> Tiles:
    """Tiles of a plan's outputs."""
    return tiles(plan, (plan.outer, *(axis.outputs for axis in plan.axes)), back=False)


def back_tiles(plan: Plan) -> tuple[tuple[int, int, int], Tiles]:
    """Quotients by the stride, and tiles of them: where inner is 1 both are of four along W, and lanes are those."""
    d, h, w = quotients(plan)
    if plan.inner > 1:
        return (d, h, w), tiles(plan, (plan.outer, d, h, w), back=True)
    w = -(-w // 4)
    rows, block = plan.outer * d * h * w, QUADS.lanes
    return (d, h, w), Tiles(rows, block, 4, -(-rows // block), False, rows + block >= 2**31, QUADS.warps)


def tiles(plan: Plan, shape: Shape, back: bool, most: int = 128) -> Tiles:
    """Tiles of results ``[outer, D, H, W]`` by inner elements: lanes along the latter, or along W where there is one.

    There are at most ``most`` lanes.

    >>> from poolgrad.plan import fold, make
    >>> from poolgrad.windows import Axis
    >>> plan = make("mean", "none", "float32", fold((2, 8, 8, 64), 1, (Axis(8, 4, 2, 2), Axis(8, 4, 2, 2))))
    >>> tiles(plan, (2, 1, 4, 4), False)[:4]
    (32, 8, 64, 4)
    """
    last = plan.inner > 1
    rows = math.prod(shape if last else shape[:3])
    lanes = plan.inner if last else shape[3]
    is_short, overlaps = plan.dtype.endswith("16"), any(axis.window > axis.stride for axis in plan.axes)
    size = 1024 if is_short and (last or not (back and overlaps)) else LANES
    warps = 8 if not (is_short or last) and back and plan.axes[0].window > 1 else 4
    lane_block = min(blocks(lanes), most)
    row_block = max(size // lane_block, 1)
    programs = -(-rows // row_block) * -(-lanes // lane_block)
    return Tiles(rows, row_block, lane_block, programs, last, rows + row_block >= 2**31, warps)
