"""Gradients go to what maxima selected where windows are as many as cells and one cell apart, in Triton.

How far a window lies from a cell then follows from the number that the cell has in it, and all elements make one line.
No window is taken for one beyond an edge of its axis: it would have selected a cell outside. So there are no masks but
at the ends of the tensor, and lanes have `V` elements in a row, whatever the axes are.
"""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_routes import chosen
from poolgrad.kernels.triton_tiles import apart, inside, joined, narrowed, segment_of

_PLACES = tl.constexpr("""
prmt.b32 $0, $12, $14, 0x80C4;
prmt.b32 $1, $12, $12, 0xA291;
prmt.b32 $2, $12, $13, 0xC4B3;
prmt.b32 $3, $13, $13, 0xA291;
prmt.b32 $4, $12, $12, 0x9180;
prmt.b32 $5, $12, $12, 0xB3A2;
prmt.b32 $6, $13, $13, 0x9180;
prmt.b32 $7, $13, $13, 0xB3A2;
mov.b32 $8, $1;
mov.b32 $9, $2;
mov.b32 $10, $3;
prmt.b32 $11, $13, $22, 0xC4B3;
""")
_PLACES = tl.constexpr("""
prmt.b32 $0, $2, $2, 0x9180;
prmt.b32 $1, $2, $2, 0xB3A2;
""")
_ADD_TIMES = """{
.reg .b32 factor;
set.eq.TYPEx2.TYPEx2 factor, $3, $4;
fma.rn.TYPEx2 $0, factor, $2, $1;
}"""
_ADD_FLOAT16 = tl.constexpr(_ADD_TIMES.replace("TYPE", "f16"))
_ADD_BFLOAT16 = tl.constexpr(_ADD_TIMES.replace("TYPE", "bf16"))
_ADD_MASKED = tl.constexpr("""{
.reg .b32 mask, one;
set.eq.u32.f16x2 mask, $3, $4;
and.b32 mask, mask, $2;
mov.b32 one, 0x3F803F80;
fma.rn.bf16x2 $0, mask, one, $1;
}""")
_MARK = """{
.reg .b32 none;
mov.b32 none, 0;
fma.rn.TYPEx2 $0, $1, none, $2;
}"""
_MARK_FLOAT16 = tl.constexpr(_MARK.replace("TYPE", "f16"))
_MARK_BFLOAT16 = tl.constexpr(_MARK.replace("TYPE", "bf16"))


@triton.jit
def beside(near, before, after):
    """Eight elements a lane moved by one: those before each and those after it, given what is before and after all."""
    even, odd = tl.split(tl.reshape(near, (near.shape[0], 4, 2)))
    _, c, e, g = apart(even)
    b, d, f, _ = apart(odd)
    moved_odd = joined((before, b, d, f))
    moved_even = joined((c, e, g, after))
    return (tl.reshape(tl.join(moved_odd, even), near.shape), near,
            tl.reshape(tl.join(odd, moved_even), near.shape))  # fmt: skip


@triton.jit
def places_of(near):
    """Places as numbers of 16 bits."""
    return tl.inline_asm_elementwise(_PLACES, "=r,=r,r", [near], dtype=tl.int16, is_pure=True, pack=4)


@triton.jit
def added(total, grad, place, number: tl.constexpr, TIMES: tl.constexpr):
    """A sum with a gradient if that goes to place `number`; places are compared as if they were (tiny) numbers.

    Where TIMES, it is multiplied by one or zero: so an infinite gradient, or NaN, that goes elsewhere makes NaN.
    """
    wanted = tl.full(total.shape, number, tl.int16)
    if not TIMES:
        found = tl.inline_asm_elementwise(
            _ADD_MASKED, "=r,r,r,r,r", [total, grad, place, wanted], dtype=tl.bfloat16, is_pure=True, pack=2
        )
    elif total.dtype == tl.float16:
        found = tl.inline_asm_elementwise(
            _ADD_FLOAT16, "=r,r,r,r,r", [total, grad, place, wanted], dtype=tl.float16, is_pure=True, pack=2
        )
    else:
        found = tl.inline_asm_elementwise(
            _ADD_BFLOAT16, "=r,r,r,r,r", [total, grad, place, wanted], dtype=tl.bfloat16, is_pure=True, pack=2
        )
    return found


@triton.jit
def marked(marks, value):
    """Marks that are NaN from the first value on that is not finite."""
    if value.dtype == tl.float16:
        found = tl.inline_asm_elementwise(
            _MARK_FLOAT16, "=r,r,r", [value, marks], dtype=tl.float16, is_pure=True, pack=2
        )
    else:
        found = tl.inline_asm_elementwise(
            _MARK_BFLOAT16, "=r,r,r", [value, marks], dtype=tl.bfloat16, is_pure=True, pack=2
        )
    return found


@triton.jit
def even_row(
    sums, grad, index, at, total, row: tl.constexpr, like,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, FW: tl.constexpr, CELL: tl.constexpr, V: tl.constexpr,
    PACKED: tl.constexpr, TIMES: tl.constexpr, MOVES: tl.constexpr, GUARDED: tl.constexpr,
):  # fmt: skip
    """The sums of KM results with what the windows of a row selected, that of number `row` over them.

    `at` is the first element of each lane there. Where lanes are loaded at once and have windows of three elements
    (MOVES), those beside a lane's are moved to it.
    """
    own = at[:, None] + tl.arange(0, V)[None, :]
    if MOVES and not GUARDED:
        near = tl.load(index + own)
        before = tl.load(index + (at - 1))
        after = tl.load(index + (at + V))
        if PACKED:
            near = places_of(near)
            before = before.to(tl.int16)
            after = after.to(tl.int16)
        places = beside(near, before, after)
        terms = beside(tl.load(grad + own), tl.load(grad + (at - 1)), tl.load(grad + (at + V)))
    for e in tl.static_range(KW):
        there = own + (e + FW) * CELL
        if GUARDED:
            # Lanes lie in the tensor or not where all steps are multiples of them.
            ok = inside((at + (e + FW) * CELL)[:, None] if CELL % V == 0 else there, total)
            place = tl.load(index + there, ok, other=255)
            term = tl.load(grad + there, ok, other=0)
        elif MOVES:
            place = places[e]
            term = terms[e]
        else:
            place = tl.load(index + there)
            term = tl.load(grad + there)
            if PACKED:
                place = places_of(place) if CELL % V == 0 else place.to(tl.int16)
        found = ()
        for k in tl.static_range(KM):
            if PACKED and not GUARDED:
                one = added(sums[k], term, place, (k * KH + (KH - 1 - row)) * KW + (KW - 1 - e), TIMES)
            else:
                one = chosen(
                    sums[k], term, place, (k * KH + (KH - 1 - row)) * KW + (KW - 1 - e), like,
                    k < KM - 1 or row * KW + e > 1, PACKED,
                )  # fmt: skip
            found = found + (one,)
        sums = found
    return sums


@triton.jit
def even_march(
    grad, index, out, source, target, total, start, stop, most, span, line,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, FW: tl.constexpr, CELL: tl.constexpr,
    RB: tl.constexpr, V: tl.constexpr, ACC: tl.constexpr,
    PACKED: tl.constexpr, TIMES: tl.constexpr, MOVES: tl.constexpr, GUARDED: tl.constexpr,
):  # fmt: skip
    """Fills `most` results of each element that a program has, from the windows `start` to `stop` over these.

    Gives back marks of results that may be wrong.
    """
    zero = tl.zeros((RB, V), ACC)
    column = tl.arange(0, V)[None, :]
    none = tl.zeros((1, 1), tl.int32)
    marks = zero
    sums = (zero,) * (KM - 1)
    for t in range(start, stop):
        sums = sums + (zero,)
        at = source + t * span
        for b in tl.static_range(KH):
            sums = even_row(
                sums, grad, index, at + b * line, total, b, out, KM, KH, KW, FW, CELL, V, PACKED, TIMES, MOVES, GUARDED
            )
        if PACKED and not GUARDED:
            marks = marked(marks, sums[0])
        now = t - (KM - 1)
        tl.store(out + (target + now * span)[:, None] + column, narrowed(sums[0], out), inside(none + now, most))
        sums = sums[1:]
    for k in tl.static_range(KM - 1):
        now = stop + (k - (KM - 1))
        if PACKED and not GUARDED:
            marks = marked(marks, sums[k])
        tl.store(out + (target + now * span)[:, None] + column, narrowed(sums[k], out), inside(none + now, most))
    return marks


@triton.jit
def lane_start(lane, lanes, Q, M, begin, span, V: tl.constexpr):
    """The first element of a lane, at the place of its axis where a program begins."""
    if lanes.dtype == tl.int32:
        lane = lane.to(tl.uint32)
        Q = Q.to(tl.uint32)
    n = lane // Q
    return (n.to(tl.int64) * M + begin) * span + tl.minimum((lane - n * Q).to(tl.int64) * V, span - V)


@triton.jit(do_not_specialize=["lanes", "Q", "M", "span", "line", "total", "STEPS"])
def route_even(
    grad, index, out, lanes, Q, M, span, line, total, STEPS,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    PM: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr, CELL: tl.constexpr,
    RB: tl.constexpr, V: tl.constexpr, ACC: tl.constexpr, PACKED: tl.constexpr, TIMES: tl.constexpr,
    SE: tl.constexpr, LE: tl.constexpr,
):  # fmt: skip
    """A program goes along the slowest axis: a step takes what the windows at one place of it selected, for all results
    that these reach, whose sums wait in registers.

    From place to place there are `span` elements, `line` from row to row and CELL from cell to cell; the first two come
    divided by the powers of two SE and LE. Q lanes are a place, and the last two may share some elements.
    """
    FM: tl.constexpr = PM - (KM - 1)
    FH: tl.constexpr = PH - (KH - 1)
    FW: tl.constexpr = PW - (KW - 1)
    MOVES: tl.constexpr = CELL == 1 and KW == 3 and PW == 1 and SE >= 4 and LE >= 4
    span = span.to(tl.int64) * SE
    line = line.to(tl.int64) * LE
    begin, block = segment_of((tl.program_id(0) + tl.num_programs(0) - 1) % tl.num_programs(0), M, STEPS)
    target = lane_start(tl.minimum(block * RB + tl.arange(0, RB), lanes - 1), lanes, Q, M, begin, span, V)
    first = begin + FM
    start = tl.maximum(-first, 0)
    stop = tl.minimum(STEPS + (KM - 1), M - first)
    most = tl.minimum(STEPS, M - begin)
    source = target + (FM * span + FH * line)
    # Do windows that this program looks at lie before the tensor, or after it?
    low = lane_start(block * RB, lanes, Q, M, begin, span, V) + (start + FM) * span + (FH * line + FW * CELL)
    high = lane_start(tl.minimum(block * RB + (RB - 1), lanes - 1), lanes, Q, M, begin, span, V)
    high += (stop - 1 + FM) * span + (PH * line + PW * CELL + V - 1)
    is_open = (low < 0) | (high >= total)
    if not is_open:
        marks = even_march(
            grad, index, out, source, target, total, start, stop, most, span, line,
            KM, KH, KW, FW, CELL, RB, V, ACC, PACKED, TIMES, MOVES, False,
        )  # fmt: skip
        if PACKED:
            is_open = tl.max(tl.max((marks != marks).to(tl.int32), axis=1), axis=0) > 0
    if is_open:
        tl.debug_barrier()  # what was stored before is overwritten
        even_march(
            grad, index, out, source, target, total, start, stop, most, span, line,
            KM, KH, KW, FW, CELL, RB, V, ACC, PACKED, TIMES, MOVES, True,
        )  # fmt: skip
