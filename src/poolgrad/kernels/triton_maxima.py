"""Maxima and where they are, in Triton: the same choices as on every processor."""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_tiles import (
    SIZES,
    along,
    first_lane,
    flat,
    inside,
    marching,
    narrowed,
    pairs,
    row_live,
    windows,
)


@triton.jit
def exceeds(x, best, NAN_WINS: tl.constexpr):
    """Is a value larger than the best so far? NaN is larger than all, or never."""
    if NAN_WINS:
        larger = ~(x <= best) & (best == best)
    else:
        larger = x > best
    return larger


@triton.jit
def floored(best, whole, lowest, FLOOR: tl.constexpr, INFINITE: tl.constexpr):
    """A maximum, or the lowest finite value where it is below that; windows that no edge cuts may be infinite."""
    if FLOOR:
        kept = best > lowest
        if INFINITE:
            kept = kept | whole
        best = tl.where(kept, best, lowest)
    return best


@triton.jit
def without_nan(value):
    """NaN is as low as anything."""
    return tl.where(value == value, value, float("-inf"))


@triton.jit(do_not_specialize=SIZES)
def best_tile(
    x, out, index, lowest, rows, D, H, W, OD, OH, OW, inner, outer_step, cell_step, inner_step,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    GD: tl.constexpr, GH: tl.constexpr, GW: tl.constexpr,
    NAN_WINS: tl.constexpr, FLOOR: tl.constexpr, INFINITE: tl.constexpr,
    INDEX: tl.constexpr, POSITION: tl.constexpr, WRITES: tl.constexpr,
    LAST: tl.constexpr, PAIRS: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
    COMPARED: tl.constexpr, WE: tl.constexpr, OE: tl.constexpr,
):  # fmt: skip
    """The largest of each window of a tile, and where it is: its place in the window or its position in the input.

    W and OW come divided by the powers of two WE and OE: so the compiler knows what lines are multiples of.
    """
    W = W * WE
    OW = OW * OE
    n, od, oh, ow, c, live, d, h, w, line_step, plane_step = windows(
        rows, H, W, OD, OH, OW, inner, SD, SH, SW, PD, PH, PW, LAST, RB, LB, WIDE
    )
    start = ((n * D + d) * H + h) * W + w
    base = x + start * inner + c
    # The first cell inside: no earlier one is looked at.
    skip_d = tl.maximum((GD - 1 - d) // GD, 0)
    skip_h = tl.maximum((GH - 1 - h) // GH, 0)
    skip_w = tl.maximum((GW - 1 - w) // GW, 0)
    first = base + (skip_d * GD * plane_step + skip_h * GH * line_step + skip_w * GW * inner)
    best = tl.load(first, live, other=0)
    if FLOOR:
        best = without_nan(best.to(COMPARED)).to(best.dtype)
    number = ((skip_d * KH + skip_h) * KW + skip_w) + tl.zeros((RB, LB), tl.int32)
    for a in tl.static_range(KD):
        in_d = live & inside(d + a * GD, D)
        for b in tl.static_range(KH):
            in_h = in_d & inside(h + b * GH, H)
            if PAIRS:
                row = x + ((n * D + d + a * GD) * H + h + b * GH) * W
                for q in tl.static_range((KW - 1 - PW) // 2 + (PW + 1) // 2 + 1):
                    some = (row_live(rows, RB, OW, LB, WIDE) & inside(d + a * GD, D)) & inside(h + b * GH, H)
                    both = pairs(row, 2 * (first_lane(OW, LB) + q - (PW + 1) // 2), some, W, float("-inf"), RB, LB)
                    for k in tl.static_range(2):
                        if (2 * (q - (PW + 1) // 2) + k + PW >= 0) and (2 * (q - (PW + 1) // 2) + k + PW < KW):
                            better = exceeds(both[k].to(COMPARED), best.to(COMPARED), NAN_WINS)
                            best = tl.where(better, both[k], best)
                            if INDEX:
                                place = (a * KH + b) * KW + 2 * (q - (PW + 1) // 2) + k + PW
                                number = tl.where(better, place, number)
            else:
                for e in tl.static_range(KW):
                    at = base + (a * GD * plane_step + b * GH * line_step + e * GW * inner)
                    ok = in_h & inside(w + e * GW, W)
                    value = tl.load(at, ok, other=float("-inf"))
                    better = exceeds(value.to(COMPARED), best.to(COMPARED), NAN_WINS)
                    if x.dtype.element_ty.primitive_bitwidth == 16:  # no news, but less work
                        better = better & ok
                    best = tl.where(better, value, best)
                    if INDEX:
                        number = tl.where(better, (a * KH + b) * KW + e, number)
    to = (((n * OD + od) * OH + oh) * OW + ow) * inner + c
    if WRITES:
        whole = live & (d >= 0) & (h >= 0) & (w >= 0)
        whole = whole & (d + (KD - 1) * GD < D) & (h + (KH - 1) * GH < H) & (w + (KW - 1) * GW < W)
        lowest_value = tl.load(lowest).to(COMPARED)
        tl.store(out + to, narrowed(floored(best.to(COMPARED), whole, lowest_value, FLOOR, INFINITE), out), live)
    if INDEX:
        if POSITION:
            e = number % KW
            rest = number // KW
            cell = (d + rest // KH * GD).to(tl.int64) * H + (h + rest % KH * GH)
            position = n * outer_step + (cell * W + (w + e * GW)) * cell_step + c * inner_step
            tl.store(index + to, position.to(index.dtype.element_ty), live)
        else:
            tl.store(index + to, number.to(index.dtype.element_ty), live)


@triton.jit(do_not_specialize=["total", "sources", "results", "most", "step"])
def axis_best(
    x, numbers, out, index, first, count, origins, total, sources, results, beneath, most, step, scale,
    STARTS: tl.constexpr, POSITION: tl.constexpr, NAN_WINS: tl.constexpr, INDEX: tl.constexpr,
    LB: tl.constexpr, WIDE: tl.constexpr, COMPARED: tl.constexpr,
):  # fmt: skip
    """The largest along one axis of [above, sources, beneath], and its number: that along the faster axes, and its
    place along this one times `scale`. Where NaN does not win it is as low as anything."""
    i, live, _, o, _, begin, n, at = along(first, count, total, sources, results, beneath, LB, WIDE)
    place = begin.to(tl.int64)
    if not POSITION:
        place = (place - tl.load(origins + o, live, other=0)) // step
    best = tl.load(x + at, live & (n > 0), other=float("-inf")).to(COMPARED)
    if not NAN_WINS:
        best = without_nan(best)
    number = place * scale
    if INDEX and not STARTS:
        number += tl.load(numbers + at, live & (n > 0), other=0)
    for j in range(1, most):
        at += step.to(tl.int64) * beneath
        place += step if POSITION else 1
        ok = live & (j < n)
        value = tl.load(x + at, ok, other=float("-inf")).to(COMPARED)
        better = exceeds(value, best, NAN_WINS)
        best = tl.where(better, value, best)
        if INDEX:
            new = place * scale
            if not STARTS:
                new += tl.load(numbers + at, better, other=0)
            number = tl.where(better, new, number)
    tl.store(out + i, narrowed(best, out), live)
    if INDEX:
        tl.store(index + i, number.to(index.dtype.element_ty), live)


@triton.jit(do_not_specialize=SIZES)
def finish_best(
    x, best, numbers, out, index, lowest, first_d, first_h, first_w, marks_d, marks_h, marks_w,
    total, D, H, W, OD, OH, OW, inner, outer_step, cell_step, inner_step, scale_d, scale_h, scale_w,
    KEEPS: tl.constexpr, FLOOR: tl.constexpr, INFINITE: tl.constexpr, INDEX: tl.constexpr, POSITION: tl.constexpr,
    WRITES: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr, COMPARED: tl.constexpr,
):  # fmt: skip
    """What passes along the axes leave open: a NaN in first place that stays (`KEEPS`), floors, and index bases.

    `marks` are, an axis, the place of a window's first cell in the input (`KEEPS`) or whether no edge cuts it.
    """
    i, n, d, h, w, c, live = flat(total, OD, OH, OW, inner, LB, WIDE)
    value = tl.load(best + i, live, other=0).to(COMPARED)
    if INDEX:
        number = tl.load(numbers + i, live, other=0).to(tl.int64)
    if KEEPS:
        fd = tl.load(first_d + d, live, other=0)
        fh = tl.load(first_h + h, live, other=0)
        fw = tl.load(first_w + w, live, other=0)
        cell = ((n * D + fd) * H + fh) * W + fw
        leading = tl.load(x + cell * inner + c, live, other=0).to(COMPARED)
        stays = leading != leading
        value = tl.where(stays, leading, value)
        if INDEX:
            if POSITION:
                there = (fd.to(tl.int64) * H + fh) * W + fw
            else:
                there = tl.load(marks_d + d, live, other=0).to(tl.int64) * scale_d
                there += tl.load(marks_h + h, live, other=0).to(tl.int64) * scale_h
                there += tl.load(marks_w + w, live, other=0).to(tl.int64) * scale_w
            number = tl.where(stays, there, number)
    if WRITES:
        whole = live
        if INFINITE:
            whole = live & (tl.load(marks_d + d, live, other=0) > 0) & (tl.load(marks_h + h, live, other=0) > 0)
            whole = whole & (tl.load(marks_w + w, live, other=0) > 0)
        lowest_value = tl.load(lowest).to(COMPARED)
        tl.store(out + i, narrowed(floored(value, whole, lowest_value, FLOOR, INFINITE), out), live)
    if INDEX:
        if POSITION:
            number = n * outer_step + number * cell_step + c * inner_step
        tl.store(index + i, number.to(index.dtype.element_ty), live)


@triton.jit(do_not_specialize=["rows", "M", "H", "W", "OM", "OH", "OW", "STEPS"])
def best_march(
    x, out, index, lowest, rows, M, H, W, OM, OH, OW, inner: tl.constexpr, above, outer_step, cell_step_, inner_step,
    STEPS,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    PM: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    NAN_WINS: tl.constexpr, FLOOR: tl.constexpr, INFINITE: tl.constexpr,
    INDEX: tl.constexpr, POSITION: tl.constexpr, WRITES: tl.constexpr,
    DEEP: tl.constexpr, LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr,
    COMPARED: tl.constexpr,
):  # fmt: skip
    """The largest of each window at stride 1, along D or H: that of a plane or row of a window is found once, and kept
    for all windows that have it. A NaN in first place cannot stay here."""
    n, h, w, c, begin, live = marching(rows, OH, OW, inner, OM, STEPS, DEEP, LAST, RB, LB)
    cell_step = tl.full((), 1, tl.int64) * inner
    line_step = cell_step * W
    step = line_step * H if DEEP else line_step
    to_step = cell_step * OW * OH if DEEP else cell_step * OW
    source = (n * M + (begin - PM)) * step + w * cell_step + c
    target = (n * OM + begin) * to_step + w * cell_step + c
    if DEEP:
        source += (h - PH) * line_step
        target += h * (cell_step * OW)
    oks = ()
    for b in tl.static_range(KH):
        for e in tl.static_range(KW):
            ok = live & inside(w + (e - PW), W)
            if DEEP:
                ok = ok & inside(h + (b - PH), H)
            oks = oks + (ok,)
    lowest_of_all = tl.full((RB, LB), float("-inf"), COMPARED)
    lowest_value = tl.load(lowest).to(COMPARED)
    first = tl.maximum(PW - w, 0) + (tl.maximum(PH - h, 0) * KW if DEEP else 0)
    values = (lowest_of_all,) * (KM - 1)
    numbers = (tl.zeros((RB, LB), tl.int32),) * (KM - 1)
    for t in range(STEPS + KM - 1):
        is_there = inside(begin + t - PM, M)
        value = lowest_of_all
        number = tl.zeros((RB, LB), tl.int32)
        for b in tl.static_range(KH):
            for e in tl.static_range(KW):
                at = source + (b * line_step + (e - PW) * cell_step)
                new = tl.load(x + at, tl.where(is_there, oks[b * KW + e], False), other=float("-inf"))
                new = new.to(COMPARED)
                better = exceeds(new, value, NAN_WINS)
                value = tl.where(better, new, value)
                if INDEX:
                    number = tl.where(better, b * KW + e, number)
        values = values + (value,)
        numbers = numbers + (number,)
        m = begin + t - (KM - 1)
        best = lowest_of_all
        where = first + tl.maximum(PM - m, 0) * (KH * KW) + tl.zeros((RB, LB), tl.int32)
        for k in tl.static_range(KM):
            better = exceeds(values[k], best, NAN_WINS)
            best = tl.where(better, values[k], best)
            if INDEX:
                where = tl.where(better, numbers[k] + k * KH * KW, where)
        fits = tl.where((m >= begin) & (m < OM), live, False)
        to = target + (t - (KM - 1)) * to_step
        if WRITES:
            whole = fits & inside(w - PW, W - (KW - 1)) & tl.where(inside(m - PM, M - (KM - 1)), live, False)
            if DEEP:
                whole = whole & inside(h - PH, H - (KH - 1))
            tl.store(out + to, narrowed(floored(best, whole, lowest_value, FLOOR, INFINITE), out), fits)
        if INDEX:
            if POSITION:
                rest = where // KW
                line = m - PM + rest // KH
                if DEEP:
                    line = line * H + (h - PH + rest % KH)
                else:
                    line = (n % above).to(tl.int32) * M + line
                cell = line.to(tl.int64) * W + (w - PW + where % KW)
                outer = n if DEEP else n // above
                where_to = outer * outer_step + cell * cell_step_ + c * inner_step
                tl.store(index + to, where_to.to(index.dtype.element_ty), fits)
            else:
                tl.store(index + to, where.to(index.dtype.element_ty), fits)
        values = values[1:]
        numbers = numbers[1:]
        source += step
