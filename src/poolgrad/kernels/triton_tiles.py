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

SIZES = ["rows", "total", "D", "H", "OD", "OH"]
"""Arguments that may have any value: no kernel is compiled anew for another one."""


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
def windows(
    rows, H, W, OD, OH, OW, inner,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """The windows [n, od, oh, ow, c] of this program's tile, which of them exist, the first cells [d, h, w] of each,
    and the steps from line to line and from plane to plane of their cells."""
    n, od, oh, ow, c, live = tile(rows, OD, OH, OW, inner, LAST, RB, LB, WIDE)
    d = od * SD - PD
    h = oh * SH - PH
    w = ow * SW - PW
    line_step = tl.full((), 1, tl.int64) * W * inner
    return n, od, oh, ow, c, live, d, h, w, line_step, line_step * H


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
def block_of(WIDE: tl.constexpr):
    """The number of this program, as a wide one where rows or elements have such."""
    block = tl.program_id(0)
    if WIDE:
        block = block.to(tl.int64)
    return block


@triton.jit
def flat(total, D, H, W, inner, LB: tl.constexpr, WIDE: tl.constexpr):
    """The elements [n, d, h, w, c] of this program's LB elements in a row, their numbers, and which of them exist."""
    i = block_of(WIDE) * LB + tl.arange(0, LB)
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
def sources(first, count, o, live):
    """The first source of a result along an axis, and how many it has."""
    return tl.load(first + o, live, other=0), tl.load(count + o, live, other=0)


@triton.jit
def along(first, count, total, sources_of, results, beneath, LB: tl.constexpr, WIDE: tl.constexpr):
    """This program's LB elements of [above, results, beneath], which of them exist, their places [above, o, b], the
    first sources of each and their number, and where in [above, sources, beneath] the first one lies."""
    i = block_of(WIDE) * LB + tl.arange(0, LB)
    live = i < total
    b = i % beneath
    row = i // beneath
    o = row % results
    above = row // results
    begin, n = sources(first, count, o, live)
    return i, live, above, o, b, begin, n, (above.to(tl.int64) * sources_of + begin) * beneath + b


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
def as_words(pointer):
    """The same memory as words of 32 bits."""
    return pointer.to(tl.pointer_type(tl.int32), bitcast=True)


@triton.jit
def pairs(row, first, ok, W, other: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr):
    """Two neighbours a lane, the lanes' next to each other in memory: the even and the odd ones, `other` off the axis.

    `row` points to the first cell of a row, `first` is the first lane's first cell in it.
    """
    w = first + tl.arange(0, 2 * LB)[None, :]
    both = tl.load(row + w, ok & inside(w, W), other=other)
    return tl.split(tl.reshape(both, (RB, LB, 2)))


@triton.jit
def quads(block, rows, D, H, QW, RB: tl.constexpr):
    """The elements [n, d, h, w] of a block of lanes that have four columns each, `w` and the next, of QW times four.

    Lanes beyond the last one have its elements, and do not live.
    """
    if rows.dtype == tl.int32:  # which such lanes may exceed
        none = tl.full((), 0, tl.uint32)
        row = block.to(tl.uint32) * RB + tl.arange(0, RB).to(tl.uint32)
        rows = rows.to(tl.uint32)
        D = none + D
        H = none + H
        QW = none + QW
    else:
        row = block.to(tl.int64) * RB + tl.arange(0, RB)
    live = row < rows
    row = tl.minimum(row, rows - 1)
    w = (row % QW).to(tl.int32) * 4
    row = row // QW
    h = (row % H).to(tl.int32)
    row = row // H
    d = (row % D).to(tl.int32)
    return (row // D).to(tl.int64), d, h, w, live


@triton.jit
def phases(
    rows, QD, QH, QW, OD, OH, OW, inner, LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """The quotients [n, d, h, w, c] by the stride of this program's cells, which of them exist, where the windows of
    these numbers lie, and the steps from line to line and from plane to plane of windows.

    Where inner is 1 a row is four quotients along W, `w` and the next.
    """
    line_step = tl.full((), 1, tl.int64) * OW * inner
    plane_step = line_step * OH
    c = 0
    if LAST:
        n, d, h, w, c, live = tile(rows, QD, QH, QW, inner, LAST, RB, LB, WIDE)
    else:
        n, d, h, w, live = quads(block_of(WIDE), rows, QD, QH, QW, RB)
    base = ((n * OD + d) * OH + h) * OW + w
    if LAST:
        base = base * inner + c
    return n, d, h, w, c, live, base, line_step, plane_step


@triton.jit
def apart(four):
    """The four columns of a tensor."""
    even, odd = tl.split(tl.reshape(four, (four.shape[0], 2, 2)))
    first, third = tl.split(even)
    second, fourth = tl.split(odd)
    return first, second, third, fourth


@triton.jit
def fours(at, w, ok, W, other: tl.constexpr):
    """Four neighbours a lane, that at `at`, column `w`, and the next: four tensors, `other` off the axis."""
    column = tl.arange(0, 4)[None, :]
    return apart(tl.load(at[:, None] + column, ok[:, None] & (w[:, None] + column < W), other=other))


@triton.jit
def joined(four):
    """Four tensors as the columns of one."""
    both = tl.join(tl.join(four[0], four[2]), tl.join(four[1], four[3]))
    return tl.reshape(both, (four[0].shape[0], 4))


@triton.jit
def store_fours(four, at, w, ok, W):
    """Stores four columns a lane, as neighbours."""
    column = tl.arange(0, 4)[None, :]
    tl.store(at[:, None] + column, four, ok[:, None] & (w[:, None] + column < W))


@triton.jit
def quad(at, w, far: tl.constexpr, ok, W, other: tl.constexpr, ALIGNED: tl.constexpr):
    """Four neighbours a lane as the columns of one tensor, from column `w` + `far` on; `at` is column `w`.

    Where that is a multiple of four and so is its address, four are loaded at once, and shifted with what is next to
    them.
    """
    if ALIGNED and far > -4 and far < 4:
        near = fours(at, w, ok, W, other)
        four = ()
        for p in tl.static_range(4):
            if far + p >= 0 and far + p < 4:
                four = four + (near[far + p],)
            else:
                four = four + (tl.load(at + (far + p), ok & inside(w + (far + p), W), other=other),)
        found = joined(four)
    else:
        column = tl.arange(0, 4)[None, :] + far
        found = tl.load(at[:, None] + column, ok[:, None] & inside(w[:, None] + column, W), other=other)
    return found


@triton.jit
def store_phases(
    results, out, n, dq, hq, wq, c, live, D, H, W, inner,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr, LAST: tl.constexpr,
):  # fmt: skip
    """Stores all phases of a tile's cells; two phases along four columns as one piece of memory."""
    for f in tl.static_range(SD * SH):
        d = dq * SD + f // SH
        h = hq * SH + f % SH
        line = ((n * D + d) * H + h) * W
        fits = live & (d < D) & (h < H)
        if LAST:
            for g in tl.static_range(SW):
                w = wq * SW + g
                tl.store(out + (line + w) * inner + c, results[f * SW + g], fits & (w < W))
        elif SW == 2:
            both = tl.join(results[f * 2], results[f * 2 + 1])
            w = 2 * wq[:, None] + tl.arange(0, 8)[None, :]
            tl.store((out + line)[:, None] + w, tl.reshape(both, w.shape), fits[:, None] & (w < W))
        else:
            for g in tl.static_range(SW):
                w = (wq[:, None] + tl.arange(0, 4)[None, :]) * SW + g
                tl.store((out + line)[:, None] + w, results[f * SW + g], fits[:, None] & (w < W))


@triton.jit
def segment_of(program, length, STEPS):
    """Where a program that goes STEPS along an axis begins, and the number of those beside it, a wide one."""
    segments = tl.cdiv(length, STEPS)
    return program % segments * STEPS, (program // segments).to(tl.int64)


@triton.jit
def segment(length, STEPS):
    """The same for this program."""
    return segment_of(tl.program_id(0), length, STEPS)


@triton.jit
def marching(
    rows, H, W, inner, length, STEPS, DEEP: tl.constexpr, LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr,
):  # fmt: skip
    """The elements [n, h, w, c] of a program that goes along D (`DEEP`), or [n, w, c] along H, and where it begins.

    Lanes run along inner elements (`LAST`), or all of these are rows.
    """
    begin, block = segment(length, STEPS)
    if LAST:
        blocks = tl.cdiv(inner, LB)
        row = block // blocks * RB + tl.arange(0, RB)[:, None]
        c = (block % blocks).to(tl.int32) * LB + tl.arange(0, LB)[None, :]
        live = (row < rows) & (c < inner)
    else:
        row = block * LB + tl.arange(0, LB)[None, :]
        c = tl.zeros((1, 1), tl.int32)
        live = row < rows
    w = (row % W).to(tl.int32)
    row = row // W
    h = tl.zeros((1, 1), tl.int32)
    if DEEP:
        h = (row % H).to(tl.int32)
        row = row // H
    return row, h, w, c, begin, live
