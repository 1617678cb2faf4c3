"""Gradients go to what maxima selected where windows are as many as cells and one cell apart, in Triton.

How far a window lies from a cell then follows from the number that the cell has in it, and all elements make one line.
No window is taken for one beyond an edge of its axis: it would have selected a cell outside. So there are no masks but
at the ends of the tensor, and lanes have `V` elements in a row, whatever the axes are.
"""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_routes import all_chosen
from poolgrad.kernels.triton_tiles import apart, as_words, inside, joined, narrowed, segment_of

_PLACES = tl.constexpr("""
prmt.b32 $0, $2, $2, 0x9180;
prmt.b32 $1, $2, $2, 0xB3A2;
""")
_TIMES = """{
.reg .b32 factor;
set.eq.TYPEx2.TYPEx2 factor, $3, $4;
fma.rn.TYPEx2 $0, factor, $2, $1;
}"""
_TIMES_FLOAT16 = tl.constexpr(_TIMES.replace("TYPE", "f16"))
_TIMES_BFLOAT16 = tl.constexpr(_TIMES.replace("TYPE", "bf16"))
_MASKED = tl.constexpr("""{
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
# Bytes of two words: the second half of one and the first of the next; bytes of places, widened with their signs.
_ACROSS = tl.constexpr("prmt.b32 $0, $1, $2, 0x5432;")
_PLACES_ACROSS = tl.constexpr("prmt.b32 $0, $1, $2, 0xC4B3;")
_PLACES_INSIDE = tl.constexpr("prmt.b32 $0, $1, $2, 0xA291;")
_FIRST_PLACES = tl.constexpr("prmt.b32 $0, $1, $2, 0x9180;")
_LAST_PLACES = tl.constexpr("prmt.b32 $0, $1, $2, 0xB3A2;")


@triton.jit
def permuted(one, other, HOW: tl.constexpr):
    """A word of the bytes of two."""
    return tl.inline_asm_elementwise(HOW, "=r,r,r", [one, other], dtype=tl.int32, is_pure=True, pack=1)


@triton.jit
def places_of(near):
    """Places as numbers of 16 bits."""
    return tl.inline_asm_elementwise(_PLACES, "=r,=r,r", [near], dtype=tl.int16, is_pure=True, pack=4)


@triton.jit
def added(total, grad, place, wanted, TYPE: tl.constexpr, TIMES: tl.constexpr, PAIR: tl.constexpr):
    """A sum with a gradient if that goes to the wanted place; places are compared as if they were (tiny) numbers.

    Where TIMES, it is multiplied by one or zero: so an infinite gradient, or NaN, that goes elsewhere makes NaN. All
    are of 16 bits, two by two, or words that have two of them.
    """
    if not TIMES:
        text: tl.constexpr = _MASKED
    elif tl.float16 == TYPE:
        text: tl.constexpr = _TIMES_FLOAT16
    else:
        text: tl.constexpr = _TIMES_BFLOAT16
    return tl.inline_asm_elementwise(
        text, "=r,r,r,r,r", [total, grad, place, wanted], dtype=total.dtype, is_pure=True, pack=PAIR
    )


@triton.jit
def marked(marks, value, TYPE: tl.constexpr, PAIR: tl.constexpr):
    """Marks that are zeros until the first value that is not finite, and then NaN."""
    if tl.float16 == TYPE:
        text: tl.constexpr = _MARK_FLOAT16
    else:
        text: tl.constexpr = _MARK_BFLOAT16
    return tl.inline_asm_elementwise(text, "=r,r,r", [value, marks], dtype=value.dtype, is_pure=True, pack=PAIR)


@triton.jit
def even_row(
    sums, grad, index, at, total, row: tl.constexpr, like,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, FW: tl.constexpr, CELL: tl.constexpr, V: tl.constexpr,
    PACKED: tl.constexpr, TIMES: tl.constexpr, GUARDED: tl.constexpr,
):  # fmt: skip
    """The sums of KM results with what the windows of a row selected, that of number `row` over them.

    `at` is the first element of each lane there.
    """
    own = at[:, None] + tl.arange(0, V)[None, :]
    for e in tl.static_range(KW):
        there = own + (e + FW) * CELL
        if GUARDED:
            # Lanes lie in the tensor or not where all steps are multiples of them.
            ok = inside((at + (e + FW) * CELL)[:, None] if CELL % V == 0 else there, total)
            place = tl.load(index + there, ok, other=255)
            term = tl.load(grad + there, ok, other=0)
        else:
            place = tl.load(index + there)
            term = tl.load(grad + there)
            if PACKED:
                place = places_of(place) if CELL % V == 0 else place.to(tl.int16)
        if PACKED and not GUARDED:
            found = ()
            for k in tl.static_range(KM):
                wanted = tl.full(sums[k].shape, (k * KH + (KH - 1 - row)) * KW + (KW - 1 - e), tl.int16)
                found = found + (added(sums[k], term, place, wanted, like.dtype.element_ty, TIMES, 2),)
            sums = found
        else:
            sums = all_chosen(sums, term, place, row, e, like, KM, KH, KW, PACKED)
    return sums


@triton.jit
def even_march(
    grad, index, out, source, target, total, start, stop, most, span, line,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, FW: tl.constexpr, CELL: tl.constexpr,
    RB: tl.constexpr, V: tl.constexpr, ACC: tl.constexpr,
    PACKED: tl.constexpr, TIMES: tl.constexpr, GUARDED: tl.constexpr,
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
                sums, grad, index, at + b * line, total, b, out, KM, KH, KW, FW, CELL, V, PACKED, TIMES, GUARDED
            )
        if PACKED and not GUARDED:
            marks = marked(marks, sums[0], ACC, 2)
        now = t - (KM - 1)
        tl.store(out + (target + now * span)[:, None] + column, narrowed(sums[0], out), inside(none + now, most))
        sums = sums[1:]
    for k in tl.static_range(KM - 1):
        now = stop + (k - (KM - 1))
        if PACKED and not GUARDED:
            marks = marked(marks, sums[k], ACC, 2)
        tl.store(out + (target + now * span)[:, None] + column, narrowed(sums[k], out), inside(none + now, most))
    return marks


@triton.jit
def word_row(
    sums, grad, index, at, place_at, row: tl.constexpr,
    KM: tl.constexpr, KH: tl.constexpr, TYPE: tl.constexpr, TIMES: tl.constexpr, TWOS: tl.constexpr,
):  # fmt: skip
    """As `even_row`, of windows of three elements: lanes are four words of two gradients, and two words of four places.

    Words that cross a word's end are made of two, of the neighbours' words at a lane's ends. Where TWOS, two words of
    places are loaded at once.
    """
    a, b, c, d = apart(tl.load(grad + (at[:, None] + tl.arange(0, 4)[None, :])))
    if TWOS:
        first, last = tl.split(tl.load(index + (place_at[:, None] + tl.arange(0, 2)[None, :])))
    else:
        first = tl.load(index + place_at)
        last = tl.load(index + (place_at + 1))
    before = tl.load(index + (place_at - 1))
    after = tl.load(index + (place_at + 2))
    across = (
        permuted(tl.load(grad + (at - 1)), a, _ACROSS), permuted(a, b, _ACROSS), permuted(b, c, _ACROSS),
        permuted(c, d, _ACROSS), permuted(d, tl.load(grad + (at + 4)), _ACROSS),
    )  # fmt: skip
    places_across = (
        permuted(before, first, _PLACES_ACROSS), permuted(first, first, _PLACES_INSIDE),
        permuted(first, last, _PLACES_ACROSS), permuted(last, last, _PLACES_INSIDE),
        permuted(last, after, _PLACES_ACROSS),
    )  # fmt: skip
    places = (
        permuted(first, first, _FIRST_PLACES), permuted(first, first, _LAST_PLACES),
        permuted(last, last, _FIRST_PLACES), permuted(last, last, _LAST_PLACES),
    )  # fmt: skip
    all_terms = across[:4] + (a, b, c, d) + across[1:]
    all_places = places_across[:4] + places + places_across[1:]
    for e in tl.static_range(3):
        found = ()
        for k in tl.static_range(KM):
            wanted = tl.full(at.shape, ((k * KH + (KH - 1 - row)) * 3 + (2 - e)) * 0x10001, tl.int32)
            for i in tl.static_range(4):
                one = added(sums[k * 4 + i], all_terms[e * 4 + i], all_places[e * 4 + i], wanted, TYPE, TIMES, 1)
                found = found + (one,)
        sums = found
    return sums


@triton.jit
def word_march(
    grad, index, out, source, place_source, target, start, stop, most, span, place_span, line, place_line,
    KM: tl.constexpr, KH: tl.constexpr, RB: tl.constexpr, TYPE: tl.constexpr, TIMES: tl.constexpr, TWOS: tl.constexpr,
):  # fmt: skip
    """As `even_march`, by words: all numbers are of words of gradients, or of places."""
    zero = tl.zeros((RB,), tl.int32)
    none = tl.zeros((1, 1), tl.int32)
    column = tl.arange(0, 4)[None, :]
    marks = zero
    sums = (zero,) * (4 * (KM - 1))
    for t in range(start, stop):
        sums = sums + (zero, zero, zero, zero)
        for b in tl.static_range(KH):
            at = source + (t * span + b * line)
            place_at = place_source + (t * place_span + b * place_line)
            sums = word_row(sums, grad, index, at, place_at, b, KM, KH, TYPE, TIMES, TWOS)
        for i in tl.static_range(4):
            marks = marked(marks, sums[i], TYPE, 1)
        now = t - (KM - 1)
        tl.store(out + (target + now * span)[:, None] + column, joined(sums), inside(none + now, most))
        sums = sums[4:]
    for k in tl.static_range(KM - 1):
        now = stop + (k - (KM - 1))
        for i in tl.static_range(4):
            marks = marked(marks, sums[4 * k + i], TYPE, 1)
        tl.store(out + (target + now * span)[:, None] + column, joined(sums[4 * k :]), inside(none + now, most))
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
    WORDS: tl.constexpr, SE: tl.constexpr, LE: tl.constexpr,
):  # fmt: skip
    """A program goes along the slowest axis: a step takes what the windows at one place of it selected, for all results
    that these reach, whose sums wait in registers.

    From place to place there are `span` elements, `line` from row to row and CELL from cell to cell; the first two come
    divided by the powers of two SE and LE. Q lanes are a place, and the last two may share some elements.
    """
    FM: tl.constexpr = PM - (KM - 1)
    FH: tl.constexpr = PH - (KH - 1)
    FW: tl.constexpr = PW - (KW - 1)
    begin, block = segment_of((tl.program_id(0) + tl.num_programs(0) - 1) % tl.num_programs(0), M, STEPS)
    lane = tl.minimum(block * RB + tl.arange(0, RB), lanes - 1)
    first = begin + FM
    start = tl.maximum(-first, 0)
    stop = tl.minimum(STEPS + (KM - 1), M - first)
    most = tl.minimum(STEPS, M - begin)
    spans = span.to(tl.int64)
    lines = line.to(tl.int64)
    span = spans * SE
    line = lines * LE
    target = lane_start(lane, lanes, Q, M, begin, span, V)
    source = target + (FM * span + FH * line)
    # Do words or windows that this program looks at lie before the tensor, or after it?
    BESIDE: tl.constexpr = 4 if WORDS else CELL * (KW - 1)
    low = lane_start(block * RB, lanes, Q, M, begin, span, V) + (start + FM) * span + (FH * line - BESIDE)
    high = lane_start(tl.minimum(block * RB + (RB - 1), lanes - 1), lanes, Q, M, begin, span, V)
    high += (stop - 1 + FM) * span + (PH * line + BESIDE + V - 1)
    is_open = (low < 0) | (high >= total)
    if not is_open:
        if WORDS:
            span_words = spans * (SE // 2)
            line_words = lines * (LE // 2)
            span_places = spans * (SE // 4)
            line_places = lines * (LE // 4)
            words = lane_start(lane, lanes, Q, M, begin, span_words, V // 2)
            places = lane_start(lane, lanes, Q, M, begin, span_places, V // 4)
            marks = word_march(
                as_words(grad), as_words(index), as_words(out),
                words + (FM * span_words + FH * line_words), places + (FM * span_places + FH * line_places), words,
                start, stop, most, span_words, span_places, line_words, line_places, KM, KH, RB, ACC, TIMES,
                SE >= 8 and LE >= 8,
            )  # fmt: skip
        else:
            marks = even_march(
                grad, index, out, source, target, total, start, stop, most, span, line,
                KM, KH, KW, FW, CELL, RB, V, ACC, PACKED, TIMES, False,
            )  # fmt: skip
        if PACKED:
            is_open = tl.max((marks != 0).to(tl.int32)) > 0
    if is_open:
        tl.debug_barrier()  # what was stored before is overwritten
        even_march(
            grad, index, out, source, target, total, start, stop, most, span, line,
            KM, KH, KW, FW, CELL, RB, V, ACC, PACKED, TIMES, True,
        )  # fmt: skip
