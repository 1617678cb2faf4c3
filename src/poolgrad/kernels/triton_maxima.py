"""Maxima, what they select and where gradients go, in Triton: the same choices and sums as on every processor."""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_sums import store_phases
from poolgrad.kernels.triton_tiles import first_lane, flat, inside, narrowed, pairs, rounded, row_live, tile

_SIZES = ["rows", "total", "D", "H", "OD", "OH"]


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


@triton.jit(do_not_specialize=_SIZES)
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
    n, od, oh, ow, c, live = tile(rows, OD, OH, OW, inner, LAST, RB, LB, WIDE)
    d = od * SD - PD
    h = oh * SH - PH
    w = ow * SW - PW
    line_step = tl.full((), 1, tl.int64) * W * inner
    plane_step = line_step * H
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
    i = tl.program_id(0)
    if WIDE:
        i = i.to(tl.int64)
    i = i * LB + tl.arange(0, LB)
    live = i < total
    b = i % beneath
    row = i // beneath
    o = row % results
    begin = tl.load(first + o, live, other=0)
    n = tl.load(count + o, live, other=0)
    at = ((row // results).to(tl.int64) * sources + begin) * beneath + b
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


@triton.jit(do_not_specialize=_SIZES)
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


@triton.jit
def matches(x, reference, like, BY: tl.constexpr):
    """Is a cell selected by its value? "equal" counts NaN as equal to NaN, "near" rounds as the type does."""
    if BY == "near":
        distance = tl.abs(rounded(x - reference, like))
        limit = rounded(tl.full((), 1e-5, x.dtype), like)
        found = distance < limit
    else:
        found = (x == reference) | ((x != x) & (reference != reference))
    return found


@triton.jit
def accumulated(total, grad, selected, like, ROUNDS: tl.constexpr):
    """A sum in the type itself: each addition is rounded, at the latest before the next. One or two gradients need not
    be, and the last sum is when it is stored."""
    if ROUNDS:
        total = rounded(total, like)
    return tl.where(selected, total + grad, total)


@triton.jit(do_not_specialize=["QD", "QH", *_SIZES])
def route_tile(
    grad, index, out, rows, QD, QH, QW, D, H, W, OD, OH, OW, inner,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr, ACC: tl.constexpr,
    WE: tl.constexpr, OE: tl.constexpr,
):  # fmt: skip
    """Gradients go to the places that are named: a program owns all phases of the cells of its tile, as `spread_tile`.

    Places have one byte, and 255 is none.
    """
    W = W * WE
    OW = OW * OE
    n, dq, hq, wq, c, live = tile(rows, QD, QH, QW, inner, LAST, RB, LB, WIDE)
    line_step = tl.full((), 1, tl.int64) * OW * inner
    plane_step = line_step * OH
    base = (((n * OD + dq) * OH + hq) * OW + wq) * inner + c
    results = ()
    for f in tl.static_range(SD * SH * SW):
        total = tl.zeros((RB, LB), ACC)
        for a in tl.static_range((KD + SD - 1) // SD):
            far_d = (f // (SH * SW) + PD) // SD - ((KD + SD - 1) // SD - 1 - a)
            if (f // (SH * SW) + PD) % SD + ((KD + SD - 1) // SD - 1 - a) * SD < KD:
                in_d = live & inside(dq + far_d, OD)
                for b in tl.static_range((KH + SH - 1) // SH):
                    far_h = (f // SW % SH + PH) // SH - ((KH + SH - 1) // SH - 1 - b)
                    if (f // SW % SH + PH) % SH + ((KH + SH - 1) // SH - 1 - b) * SH < KH:
                        in_h = in_d & inside(hq + far_h, OH)
                        for e in tl.static_range((KW + SW - 1) // SW):
                            far_w = (f % SW + PW) // SW - ((KW + SW - 1) // SW - 1 - e)
                            if (f % SW + PW) % SW + ((KW + SW - 1) // SW - 1 - e) * SW < KW:
                                ok = in_h & inside(wq + far_w, OW)
                                at = base + (far_d * plane_step + far_h * line_step + far_w * inner)
                                place = tl.load(index + at, ok, other=255)
                                term = tl.load(grad + at, ok, other=0).to(ACC)
                                number = (
                                    ((f // (SH * SW) + PD) % SD + ((KD + SD - 1) // SD - 1 - a) * SD) * KH
                                    + (f // SW % SH + PH) % SH + ((KH + SH - 1) // SH - 1 - b) * SH
                                ) * KW + (f % SW + PW) % SW + ((KW + SW - 1) // SW - 1 - e) * SW  # fmt: skip
                                total = accumulated(
                                    total, term, place == number, out,
                                    (a * ((KH + SH - 1) // SH) + b) * ((KW + SW - 1) // SW) + e > 1,
                                )  # fmt: skip
        results = results + (narrowed(total, out),)
    store_phases(results, out, n, dq, hq, wq, c, live, rows, D, H, W, inner, SD, SH, SW, LAST, RB, LB, WIDE)


@triton.jit
def marching(
    rows, H, W, inner, length, DEEP: tl.constexpr, LAST: tl.constexpr, STEPS: tl.constexpr,
    RB: tl.constexpr, LB: tl.constexpr,
):  # fmt: skip
    """The elements [n, h, w, c] of a program that goes along D (`DEEP`), or [n, w, c] along H, and where it begins.

    Lanes run along inner elements (`LAST`), or all of these are rows.
    """
    segments = tl.cdiv(length, STEPS)
    begin = tl.program_id(0) % segments * STEPS
    block = (tl.program_id(0) // segments).to(tl.int64)
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


@triton.jit(do_not_specialize=["rows", "M", "H", "W", "OM", "OH", "OW"])
def route_march(
    grad, index, out, rows, M, H, W, OM, OH, OW, inner: tl.constexpr,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    PM: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    DEEP: tl.constexpr, LAST: tl.constexpr, STEPS: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr,
    ACC: tl.constexpr,
):  # fmt: skip
    """The same at stride 1, along the axis that is slowest in the order of windows: a step takes what the windows at
    one place of it selected, for all results that these reach, whose sums wait in registers."""
    n, h, w, c, begin, live = marching(rows, H, W, inner, M, DEEP, LAST, STEPS, RB, LB)
    cell_step = tl.full((), 1, tl.int64) * inner
    line_step = cell_step * OW
    step = line_step * OH if DEEP else line_step
    to_step = cell_step * W * H if DEEP else cell_step * W
    FM: tl.constexpr = PM - (KM - 1)
    FH: tl.constexpr = PH - (KH - 1)
    FW: tl.constexpr = PW - (KW - 1)
    source = (n * OM + (begin + FM)) * step + w * cell_step + c
    target = (n * M + begin) * to_step + w * cell_step + c
    if DEEP:
        source += (h + FH) * line_step
        target += h * (cell_step * W)
    oks = ()
    for b in tl.static_range(KH):
        for e in tl.static_range(KW):
            ok = live & inside(w + (e + FW), OW)
            if DEEP:
                ok = ok & inside(h + (b + FH), OH)
            oks = oks + (ok,)
    sums = (tl.zeros((RB, LB), ACC),) * (KM - 1)
    for t in range(STEPS + KM - 1):
        is_there = inside(begin + t + FM, OM)
        sums = sums + (tl.zeros((RB, LB), ACC),)
        for b in tl.static_range(KH):
            for e in tl.static_range(KW):
                ok = tl.where(is_there, oks[b * KW + e], False)
                at = source + (b * line_step + (e + FW) * cell_step)
                place = tl.load(index + at, ok, other=255)
                term = tl.load(grad + at, ok, other=0).to(ACC)
                moved = ()
                for k in tl.static_range(KM):
                    selected = place == (k * KH + (KH - 1 - b)) * KW + (KW - 1 - e)
                    moved = moved + (accumulated(sums[k], term, selected, out, k < KM - 1 or b * KW + e > 1),)
                sums = moved
        now = t - (KM - 1)
        fits = (now >= 0) & (begin + now < M)
        to = out + target + now * to_step
        tl.store(to, narrowed(sums[0], out), tl.where(fits, live, False))
        sums = sums[1:]
        source += step


@triton.jit(do_not_specialize=["rows", "M", "H", "W", "OM", "OH", "OW"])
def best_march(
    x, out, index, lowest, rows, M, H, W, OM, OH, OW, inner: tl.constexpr, above, outer_step, cell_step_, inner_step,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    PM: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    NAN_WINS: tl.constexpr, FLOOR: tl.constexpr, INFINITE: tl.constexpr,
    INDEX: tl.constexpr, POSITION: tl.constexpr, WRITES: tl.constexpr,
    DEEP: tl.constexpr, LAST: tl.constexpr, STEPS: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr,
    COMPARED: tl.constexpr,
):  # fmt: skip
    """The largest of each window at stride 1, along D or H: that of a plane or row of a window is found once, and kept
    for all windows that have it. A NaN in first place cannot stay here."""
    n, h, w, c, begin, live = marching(rows, OH, OW, inner, OM, DEEP, LAST, STEPS, RB, LB)
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


@triton.jit(do_not_specialize=_SIZES)
def route_any(
    grad, index, x, reference, out, first_d, first_h, first_w, count_d, count_h, count_w,
    origins_d, origins_h, origins_w, total, D, H, W, OD, OH, OW, inner, most_d, most_h, most_w,
    step_d, step_h, step_w, dilation_d, dilation_h, dilation_w, scale_d, scale_h,
    BY: tl.constexpr, LAST_SLOWEST: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """The same for any windows: each cell looks at the windows over it, in their order, and takes from those that
    selected it by place or by value."""
    i, n, d, h, w, c, live = flat(total, D, H, W, inner, LB, WIDE)
    fd = tl.load(first_d + d, live, other=0)
    fh = tl.load(first_h + h, live, other=0)
    fw = tl.load(first_w + w, live, other=0)
    cd = tl.load(count_d + d, live, other=0)
    ch = tl.load(count_h + h, live, other=0)
    cw = tl.load(count_w + w, live, other=0)
    if BY != "place":
        value = tl.load(x + i, live, other=0).to(ACC)
    sum_of = tl.zeros((LB,), ACC)
    slow = most_w if LAST_SLOWEST else most_d
    fast = most_d if LAST_SLOWEST else most_w
    for j in range(slow):
        for b in range(most_h):
            for k in range(fast):
                a = k if LAST_SLOWEST else j
                e = j if LAST_SLOWEST else k
                ok = live & (a < cd) & (b < ch) & (e < cw)
                od = fd + a * step_d
                oh = fh + b * step_h
                ow = fw + e * step_w
                at = (((n * OD + od) * OH + oh) * OW + ow) * inner + c
                if BY == "place":
                    place = (d - tl.load(origins_d + od, ok, other=0)) // dilation_d * scale_d
                    place += (h - tl.load(origins_h + oh, ok, other=0)) // dilation_h * scale_h
                    place += (w - tl.load(origins_w + ow, ok, other=0)) // dilation_w
                    selected = ok & (tl.load(index + at, ok, other=0).to(tl.int64) == place)
                else:
                    selected = ok & matches(value, tl.load(reference + at, ok, other=0).to(ACC), out, BY)
                term = tl.load(grad + at, selected, other=0).to(ACC)
                sum_of = accumulated(sum_of, term, selected, out, True)
    tl.store(out + i, narrowed(sum_of, out), live)


@triton.jit(do_not_specialize=["planes", "D", "H", "W", "OD", "OH", "OW"])
def route_planes(
    grad, index, out, origins_d, origins_h, origins_w, planes, D, H, W, OD, OH, OW, inner,
    dilation_d, dilation_h, dilation_w, scale_d, scale_h, KW, KH,
    AT_ONCE: tl.constexpr, LB: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """The same for windows that many cells share: a lane owns the cells of one channel, which are zero, and adds the
    gradients of its windows one by one, in their order."""
    lane = tl.program_id(0).to(tl.int64) * LB + tl.arange(0, LB)
    live = lane < planes
    c = lane % inner
    n = lane // inner
    source = n * OD * OH * OW * inner + c
    target = n * D * H * W * inner + c
    for od in range(OD):
        origin_d = tl.load(origins_d + od)
        for oh in range(OH):
            origin_h = tl.load(origins_h + oh)
            line = source + (od * OH + oh).to(tl.int64) * OW * inner
            for begin in range(0, OW, AT_ONCE):
                cells = ()
                terms = ()
                oks = ()
                for k in tl.static_range(AT_ONCE):
                    ok = live & (begin + k < OW)
                    at = line + (begin + k) * inner
                    place = tl.load(index + at, ok, other=0).to(tl.int32)
                    terms = terms + (tl.load(grad + at, ok, other=0).to(ACC),)
                    origin_w = tl.load(origins_w + tl.minimum(begin + k, OW - 1))
                    rest = place // KW
                    d = origin_d + rest // KH * dilation_d
                    h = origin_h + rest % KH * dilation_h
                    w = origin_w + place % KW * dilation_w
                    cells = cells + (target + ((d.to(tl.int64) * H + h) * W + w) * inner,)
                    oks = oks + (ok & inside(d, D) & inside(h, H) & inside(w, W),)
                for k in tl.static_range(AT_ONCE):
                    before = tl.load(out + cells[k], oks[k], other=0).to(ACC)
                    tl.store(out + cells[k], narrowed(before + terms[k], out), oks[k])
                    # The threads that store an element and those that load it next need not be the same.
                    tl.debug_barrier()


@triton.jit(do_not_specialize=_SIZES)
def pick_any(
    data, index, x, reference, out, first_d, first_h, first_w, count_d, count_h, count_w,
    origins_d, origins_h, origins_w, total, D, H, W, OD, OH, OW, inner, most_d, most_h, most_w,
    dilation_d, dilation_h, dilation_w, KH, KW,
    BY: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """What lies at the selected cells of each window: of one, named by its place (none is negative), or of all that
    have a value, summed in row-major order. With BY "first" the place of the first cell equal to the reference."""
    i, n, od, oh, ow, c, live = flat(total, OD, OH, OW, inner, LB, WIDE)
    if BY == "place":
        place = tl.load(index + i, live, other=0).to(tl.int64)
        named = live & (place >= 0)
        rest = place // KW
        d = tl.load(origins_d + od, live, other=0) + rest // KH * dilation_d
        h = tl.load(origins_h + oh, live, other=0) + rest % KH * dilation_h
        w = tl.load(origins_w + ow, live, other=0) + place % KW * dilation_w
        named = named & inside(d, D) & inside(h, H) & inside(w, W)
        at = (((n * D + d) * H + h) * W + w) * inner + c
        tl.store(out + i, tl.load(data + at, named, other=0), live)
    else:
        fd = tl.load(first_d + od, live, other=0)
        fh = tl.load(first_h + oh, live, other=0)
        fw = tl.load(first_w + ow, live, other=0)
        cd = tl.load(count_d + od, live, other=0)
        ch = tl.load(count_h + oh, live, other=0)
        cw = tl.load(count_w + ow, live, other=0)
        wanted = tl.load(reference + i, live, other=0).to(ACC)
        sum_of = tl.zeros((LB,), ACC)
        found = tl.full((LB,), -1, tl.int64)
        for a in range(most_d):
            for b in range(most_h):
                for e in range(most_w):
                    ok = live & (a < cd) & (b < ch) & (e < cw)
                    d = fd + a * dilation_d
                    h = fh + b * dilation_h
                    w = fw + e * dilation_w
                    at = (((n * D + d) * H + h) * W + w) * inner + c
                    value = tl.load(x + at, ok, other=0).to(ACC)
                    if BY == "first":
                        place = (d - tl.load(origins_d + od, ok, other=0)) // dilation_d
                        place = place * KH + (h - tl.load(origins_h + oh, ok, other=0)) // dilation_h
                        place = place * KW + (w - tl.load(origins_w + ow, ok, other=0)) // dilation_w
                        found = tl.where(ok & (value == wanted) & (found < 0), place.to(tl.int64), found)
                    else:
                        selected = ok & matches(value, wanted, out, BY)
                        term = tl.load(data + at, selected, other=0).to(ACC)
                        sum_of = accumulated(sum_of, term, selected, out, True)
        if BY == "first":
            tl.store(out + i, found.to(out.dtype.element_ty), live)
        else:
            tl.store(out + i, narrowed(sum_of, out), live)


@triton.jit(do_not_specialize=_SIZES)
def bad_places(
    index, out, first_d, first_h, first_w, count_d, count_h, count_w, origins_d, origins_h, origins_w,
    total, OD, OH, OW, inner, dilation_d, dilation_h, dilation_w, KH, KW, none,
    LB: tl.constexpr, WIDE: tl.constexpr,
):  # fmt: skip
    """The first of a program's outputs whose place is not one of its window's cells in the input, or `none`."""
    i, _, od, oh, ow, _, live = flat(total, OD, OH, OW, inner, LB, WIDE)
    place = tl.load(index + i, live, other=0).to(tl.int64)
    rest = place // KW
    good = place >= 0
    d = tl.load(origins_d + od, live, other=0) + rest // KH * dilation_d - tl.load(first_d + od, live, other=0)
    h = tl.load(origins_h + oh, live, other=0) + rest % KH * dilation_h - tl.load(first_h + oh, live, other=0)
    w = tl.load(origins_w + ow, live, other=0) + place % KW * dilation_w - tl.load(first_w + ow, live, other=0)
    good = good & (d >= 0) & (d < tl.load(count_d + od, live, other=0) * dilation_d)
    good = good & (h >= 0) & (h < tl.load(count_h + oh, live, other=0) * dilation_h)
    good = good & (w >= 0) & (w < tl.load(count_w + ow, live, other=0) * dilation_w)
    tl.store(out + tl.program_id(0), tl.min(tl.where(live & ~good, i, none)))


@triton.jit(do_not_specialize=["total"])
def add_runs(grad, order, targets, out, total, LB: tl.constexpr, ACC: tl.constexpr):
    """Sums runs of equal targets, which are sorted: the program of a run's first entry adds all of it, in order."""
    i = tl.program_id(0).to(tl.int64) * LB + tl.arange(0, LB)
    live = i < total
    target = tl.load(targets + i, live, other=-1)
    starts = live & (tl.load(targets + i - 1, live & (i > 0), other=-1) != target)
    sum_of = tl.zeros((LB,), ACC)
    at = i
    going = starts
    while tl.max(going.to(tl.int32)) > 0:
        term = tl.load(grad + tl.load(order + at, going, other=0), going, other=0).to(ACC)
        sum_of = accumulated(sum_of, term, going, out, True)
        at += 1
        going = going & (at < total)
        going = going & (tl.load(targets + at, going, other=-1) == target)
    tl.store(out + target, narrowed(sum_of, out), starts)
