"""Gradients go to what maxima of large windows selected, in Triton, where many windows share a cell."""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_tiles import fours, inside, narrowed, rounded


@triton.jit
def divided(place, magic):
    """A place by a number whose reciprocal is `magic` parts of 2^32: exact while their product is less than that."""
    return ((place.to(tl.int64) * magic) >> 32).to(tl.int32)


@triton.jit
def clear_planes(target, out, live, planes, cells, LB: tl.constexpr):
    """Fills the cells of a program's channels, which follow each other, with zeros."""
    first = tl.program_id(0).to(tl.int64) * LB
    if first + LB <= planes:
        for j in range(0, LB * cells, 16 * LB):
            cell = j + tl.arange(0, 16 * LB)
            zeros = tl.zeros((16 * LB,), out.dtype.element_ty)
            tl.store(out + first * cells + cell, zeros, cell < LB * cells)
    else:
        for j in range(cells):
            tl.store(target + j, tl.zeros((LB,), out.dtype.element_ty), live)
    # The threads that store an element and those that load it next need not be the same.
    tl.debug_barrier()


@triton.jit(do_not_specialize=["planes", "D", "H", "W", "OD", "OH", "KH", "KW"])
def route_planes(
    grad, index, out, origins_d, origins_h, origins_w, planes, D, H, W, OD, OH, OW, inner,
    dilation_d, dilation_h, dilation_w, KH, KW,
    LAST: tl.constexpr, FOURS: tl.constexpr, OE: tl.constexpr, DEEP: tl.constexpr, WHOLE: tl.constexpr,
    AT_ONCE: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """A lane owns the cells of one channel, and adds the gradients of its windows one by one, in their order.

    Where lanes run along inner (`LAST`) cells are zero before. OW comes divided by the power of two OE.

    Of windows side by side those with one maximum follow each other, and the next maximum is farther on: where that
    holds each cell is loaded and stored once. A place need not be a maximum's, so it is looked at.
    """
    OW = OW * OE
    lane = tl.program_id(0).to(tl.int64) * LB + tl.arange(0, LB)
    live = lane < planes
    c = lane % inner
    n = lane // inner
    source = n * OD * OH * OW * inner + c
    target = out + (n * D * H * W * inner + c)
    if not LAST:
        clear_planes(target, out, live, planes, D * H * W, LB)
    by_width = (tl.full((), 4294967296, tl.int64) + (KW - 1)) // KW
    by_height = (tl.full((), 4294967296, tl.int64) + (KH - 1)) // KH
    for od in range(OD):
        origin_d = tl.load(origins_d + od)
        for oh in range(OH):
            origin_h = tl.load(origins_h + oh)
            line = source + (od * OH + oh).to(tl.int64) * OW * inner
            for begin in range(0, OW, AT_ONCE):
                columns = ()
                cells = ()
                terms = ()
                oks = ()
                are_odd = ~live & live
                for k in tl.static_range(AT_ONCE):
                    ok = live
                    column = begin + k + tl.zeros((LB,), tl.int32)
                    if not WHOLE:
                        ok = live & (column < OW)
                    at = line + (begin + k) * inner
                    if FOURS:
                        if k % 4 == 0:
                            places = fours(index + at, column, live, OW, 0)
                            grads = fours(grad + at, column, live, OW, 0)
                        place = places[k % 4].to(tl.int32)
                        terms = terms + (grads[k % 4].to(ACC),)
                    else:
                        place = tl.load(index + at, ok, other=0).to(tl.int32)
                        terms = terms + (tl.load(grad + at, ok, other=0).to(ACC),)
                    rest = divided(place, by_width)
                    w = tl.load(origins_w + tl.minimum(begin + k, OW - 1)) + (place - rest * KW) * dilation_w
                    there = ok & inside(w, W)
                    row = rest
                    if DEEP:
                        slice_of = divided(rest, by_height)
                        row = rest - slice_of * KH
                        d = origin_d + slice_of * dilation_d
                        there = there & inside(d, D)
                    h = origin_h + row * dilation_h
                    there = there & inside(h, H)
                    if DEEP:
                        h += d * H
                    if WIDE:
                        h = h.to(tl.int64)
                    cell = (h * W + w) * inner
                    are_odd = are_odd | (ok & ~there)
                    if k > 0:
                        if not WHOLE:
                            cell = tl.where(ok, cell, cells[k - 1])
                            w = tl.where(ok, w, columns[k - 1])
                        are_odd = are_odd | ((cell != cells[k - 1]) & (w <= columns[k - 1]))
                    columns = columns + (w,)
                    cells = cells + (cell,)
                    oks = oks + (there,)
                if tl.max(are_odd.to(tl.int32)) == 0:
                    starts = (live,)
                    values = (tl.load(target + cells[0], live, other=0).to(ACC),)
                    for k in tl.static_range(1, AT_ONCE):
                        starts = starts + (live & (cells[k] != cells[k - 1]),)
                        values = values + (tl.load(target + cells[k], starts[k], other=0).to(ACC),)
                    total = values[0]
                    for k in tl.static_range(AT_ONCE):
                        if k > 0:
                            tl.store(target + cells[k - 1], narrowed(total, out), starts[k])
                            total = tl.where(starts[k], values[k], total)
                        total = rounded(total + terms[k], out)
                    tl.store(target + cells[AT_ONCE - 1], narrowed(total, out), live)
                else:
                    for k in tl.static_range(AT_ONCE):
                        before = tl.load(target + cells[k], oks[k], other=0).to(ACC)
                        tl.store(target + cells[k], narrowed(before + terms[k], out), oks[k])
                        tl.debug_barrier()
                tl.debug_barrier()
