"""Which elements a program owns, and where the sources of a result lie: Triton functions that all kernels share.

Tensors are ``[outer, D, H, W, inner]``. A program owns a tile of ``RB`` rows by ``LB`` lanes of the side it writes:
lanes run along ``inner`` (``LAST``) or, where that is 1, along W. Bases are 64-bit numbers, steps inside a window too.
"""

from __future__ import annotations

import os

import triton
import triton.language as tl

CUTS = tl.constexpr(os.environ.get("TRITON_INTERPRET") == "1")
"""The interpreter cuts floats off to bfloat16, where devices round."""


@triton.jit
def tile(rows, D, H, W, inner, LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr):
    """The elements [n, d, h, w, c] of this program's tile, and which of them exist."""
    lanes = inner if LAST else W
    blocks = tl.cdiv(lanes, LB)
    block = tl.program_id(0) % blocks
    row = tl.program_id(0) // blocks
    if WIDE:
        row = row.to(tl.int64)
    row = row * RB + tl.arange(0, RB)[:, None]
    lane = block * LB + tl.arange(0, LB)[None, :]
    live = (row < rows) & (lane < lanes)
    if LAST:
        w = row % W
        row = row // W
        c = lane
    else:
        w = lane
        c = tl.zeros((1, 1), tl.int32)
    h = row % H
    row = row // H
    d = row % D
    return (row // D).to(tl.int64), d.to(tl.int32), h.to(tl.int32), w.to(tl.int32), c, live


@triton.jit
def first_lane(lanes, LB: tl.constexpr):
    """The first lane of this program's tile."""
    return tl.program_id(0) % tl.cdiv(lanes, LB) * LB


@triton.jit
def row_live(rows, RB: tl.constexpr, lanes, LB: tl.constexpr, WIDE: tl.constexpr):
    """Which rows of this program's tile exist."""
    row = tl.program_id(0) // tl.cdiv(lanes, LB)
    if WIDE:
        row = row.to(tl.int64)
    return row * RB + tl.arange(0, RB)[:, None] < rows


@triton.jit
def flat(total, D, H, W, inner, LB: tl.constexpr, WIDE: tl.constexpr):
    """The elements [n, d, h, w, c] of this program's LB elements in a row, their numbers, and which of them exist."""
    i = tl.program_id(0)
    if WIDE:
        i = i.to(tl.int64)
    i = i * LB + tl.arange(0, LB)
    c = i % inner
    row = i // inner
    w = row % W
    row = row // W
    h = row % H
    row = row // H
    d = row % D
    n = (row // D).to(tl.int64)
    return i.to(tl.int64), n, d.to(tl.int32), h.to(tl.int32), w.to(tl.int32), c, i < total


@triton.jit
def inside(place, size):
    """Is a place on the axis?"""
    return (place >= 0) & (place < size)


@triton.jit
def narrowed(value, like):
    """A value rounded to the elements of a tensor."""
    if CUTS and like.dtype.element_ty == tl.bfloat16:
        bits = value.to(tl.uint32, bitcast=True)
        even = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
        value = tl.where(value == value, even, bits | 0x400000).to(tl.float32, bitcast=True)
    return value.to(like.dtype.element_ty)


@triton.jit
def rounded(value, like):
    """A sum of two elements, rounded to their type."""
    return narrowed(value, like).to(value.dtype)


@triton.jit
def pairs(row, first, ok, W, other: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr):
    """Two neighbours a lane, the lanes' next to each other in memory: the even and the odd ones, `other` off the axis.

    `row` points to the first cell of a row, `first` is the first lane's first cell in it.
    """
    w = first + tl.arange(0, 2 * LB)[None, :]
    both = tl.load(row + w, ok & inside(w, W), other=other)
    return tl.split(tl.reshape(both, (RB, LB, 2)))
