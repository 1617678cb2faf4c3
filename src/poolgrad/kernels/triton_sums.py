"""Averages and their gradients in Triton: one order of summation, over D, then H, then W, as on every processor.

A program computes each of its results whole: no atomics, and no bit depends on the tile. Sums have twice the precision
of the elements. For float64 (``PAIR``) that is the unevaluated sum of two: all sums are written as (high, low), and
where the low part is not used the compiler drops it.
"""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_tiles import first_lane, inside, narrowed, pairs, row_live, tile

_SIZES = ["rows", "D", "H", "OD", "OH"]


@triton.jit
def plus(high, low, other_high, other_low, PAIR: tl.constexpr):
    """The sum of two sums."""
    total = high + other_high
    if PAIR:
        part = total - high
        error = (high - (total - part)) + (other_high - part)
        low = error + (low + other_low)
    return total, low


@triton.jit
def _upper_half(value):
    bits = value.to(tl.int64, bitcast=True)
    return (bits & -134217728).to(tl.float64, bitcast=True)


@triton.jit
def product(a, b):
    """The exact product of two doubles, by halves that lose no bit when multiplied."""
    a_upper = _upper_half(a)
    b_upper = _upper_half(b)
    a_lower = a - a_upper
    b_lower = b - b_upper
    main = a * b
    return main, ((a_upper * b_upper - main) + a_upper * b_lower + a_lower * b_upper) + a_lower * b_lower


@triton.jit
def share(value, weight, PAIR: tl.constexpr):
    """What a window gives to each of its cells."""
    if PAIR:
        high, low = product(value, weight)
    else:
        high = value * weight
        low = high
    return high, low


@triton.jit
def scaled(high, low, factor, factor_low, PAIR: tl.constexpr):
    """A sum times a reciprocal."""
    high = high + 0.0
    if PAIR:
        # After cancellation all of the value may be in the low part; an infinite sum leaves NaN there.
        zero = high * 0.0
        high, low = plus(high, tl.where(zero == 0.0, zero, 0.0), tl.where(low == low, low, 0.0), 0.0, True)
        main, rest = product(high, factor)
        rest = rest + (high * factor_low + low * factor)
        total = main + rest
        high = tl.where(total == total, total, main)
    else:
        high = high * factor
    return high


@triton.jit
def reciprocal(count, ACC: tl.constexpr, PAIR: tl.constexpr):
    """1 / count in the precision of a sum."""
    high = 1.0 / count
    low = high
    if PAIR:
        back, rest = product(high, count)
        low = ((1.0 - back) - rest) / count
    return high.to(ACC), low.to(ACC)


@triton.jit(do_not_specialize=["total", "sources", "results", "most", "step", "middle", "last"])
def axis_sum(
    x, x_low, out, out_low, first, count, own, before, after, numbers,
    total, sources, results, beneath, most, step, middle, last, inner,
    WEIGHS: tl.constexpr, DIVIDES: tl.constexpr, ENDS: tl.constexpr, STARTS: tl.constexpr,
    LB: tl.constexpr, WIDE: tl.constexpr, ACC: tl.constexpr, PAIR: tl.constexpr,
):  # fmt: skip
    """Sums along one axis of [above, sources, beneath]: result o has the sources first[o], first[o] + step, ...

    The first axis weighs (spread), the last one divides (mean) or ends with one factor. What an average divides by is
    the product of three numbers, one an axis: of the axis itself (`own`), and of two others (`before`, `after`).
    """
    i = tl.program_id(0)
    if WIDE:
        i = i.to(tl.int64)
    i = i * LB + tl.arange(0, LB)
    live = i < total
    b = i % beneath
    row = i // beneath
    o = row % results
    above = row // results
    begin = tl.load(first + o, live, other=0)
    n = tl.load(count + o, live, other=0)
    at = (above.to(tl.int64) * sources + begin) * beneath + b
    if WEIGHS:
        cell = b // inner
        divisor = tl.load(before + cell // last, live, other=1.0) * tl.load(after + cell % last, live, other=1.0)
    high = tl.zeros((LB,), ACC)
    low = tl.zeros((LB,), ACC)
    for j in range(most):
        ok = live & (j < n)
        term = tl.load(x + at, ok, other=0).to(ACC)
        term_low = tl.zeros((LB,), ACC)
        if PAIR and not STARTS:
            term_low = tl.load(x_low + at, ok, other=0)
        if WEIGHS:
            parts = tl.load(numbers + 3) / (divisor * tl.load(own + begin + j * step, ok, other=1.0))
            term, term_low = share(term, parts.to(ACC), PAIR)
        high, low = plus(high, low, term, term_low, PAIR)
        at += step.to(tl.int64) * beneath
    if DIVIDES:
        middle_at = above % middle
        last_at = above // middle % last
        divisor = tl.load(own + o, live, other=1.0) * tl.load(before + middle_at, live, other=1.0)
        factor, factor_low = reciprocal(divisor * tl.load(after + last_at, live, other=1.0), ACC, PAIR)
        high = scaled(high, low, factor, factor_low, PAIR)
    elif ENDS:
        high = scaled(high, low, tl.load(numbers + 4).to(ACC), tl.load(numbers + 5).to(ACC), PAIR)
    tl.store(out + i, narrowed(high, out), live)
    if PAIR and not (DIVIDES or ENDS):
        tl.store(out_low + i, low, live)


@triton.jit(do_not_specialize=_SIZES)
def mean_tile(
    x, out, divisors_d, divisors_h, divisors_w, numbers, rows, D, H, W, OD, OH, OW, inner,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    GD: tl.constexpr, GH: tl.constexpr, GW: tl.constexpr,
    WEIGHS: tl.constexpr, LAST: tl.constexpr, PAIRS: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr,
    WIDE: tl.constexpr, ACC: tl.constexpr, PAIR: tl.constexpr, WE: tl.constexpr, OE: tl.constexpr,
):  # fmt: skip
    """The averages of a tile of windows. W and OW come divided by the powers of two WE and OE: so the compiler knows
    what lines are multiples of."""
    W = W * WE
    OW = OW * OE
    n, od, oh, ow, c, live = tile(rows, OD, OH, OW, inner, LAST, RB, LB, WIDE)
    d = od * SD - PD
    h = oh * SH - PH
    w = ow * SW - PW
    line_step = tl.full((), 1, tl.int64) * W * inner
    plane_step = line_step * H
    base = x + (((n * D + d) * H + h) * W + w) * inner + c
    total = tl.zeros((RB, LB), ACC)
    total_low = total
    if PAIRS:
        rows_live = row_live(rows, RB, OW, LB, WIDE)
        for q in tl.static_range((KW - 1 - PW) // 2 + (PW + 1) // 2 + 1):
            columns = (tl.zeros((RB, LB), ACC),) * 4
            for b in tl.static_range(KH):
                lines = (tl.zeros((RB, LB), ACC),) * 4
                for a in tl.static_range(KD):
                    row = x + ((n * D + d + a * GD) * H + h + b * GH) * W
                    some = rows_live & inside(d + a * GD, D) & inside(h + b * GH, H)
                    both = pairs(row, 2 * (first_lane(OW, LB) + q - (PW + 1) // 2), some, W, 0, RB, LB)
                    even, even_low = plus(lines[0], lines[1], both[0].to(ACC), 0.0 * lines[1], PAIR)
                    odd, odd_low = plus(lines[2], lines[3], both[1].to(ACC), 0.0 * lines[3], PAIR)
                    lines = (even, even_low, odd, odd_low)
                even, even_low = plus(columns[0], columns[1], lines[0], lines[1], PAIR)
                odd, odd_low = plus(columns[2], columns[3], lines[2], lines[3], PAIR)
                columns = (even, even_low, odd, odd_low)
            for k in tl.static_range(2):
                if (2 * (q - (PW + 1) // 2) + k + PW >= 0) and (2 * (q - (PW + 1) // 2) + k + PW < KW):
                    total, total_low = plus(total, total_low, columns[2 * k], columns[2 * k + 1], PAIR)
    else:
        for e in tl.static_range(KW):
            in_w = live & inside(w + e * GW, W)
            column = tl.zeros((RB, LB), ACC)
            column_low = column
            for b in tl.static_range(KH):
                in_h = in_w & inside(h + b * GH, H)
                line = tl.zeros((RB, LB), ACC)
                line_low = line
                for a in tl.static_range(KD):
                    at = base + (a * GD * plane_step + b * GH * line_step + e * GW * inner)
                    term = tl.load(at, in_h & inside(d + a * GD, D), other=0).to(ACC)
                    line, line_low = plus(line, line_low, term, 0.0 * line_low, PAIR)
                column, column_low = plus(column, column_low, line, line_low, PAIR)
            total, total_low = plus(total, total_low, column, column_low, PAIR)
    if WEIGHS == "own":
        divisor = tl.load(divisors_d + od, live, other=1.0) * tl.load(divisors_h + oh, live, other=1.0)
        factor, factor_low = reciprocal(divisor * tl.load(divisors_w + ow, live, other=1.0), ACC, PAIR)
    else:
        factor = tl.load(numbers).to(ACC)
        factor_low = tl.load(numbers + 1).to(ACC)
    total = scaled(total, total_low, factor, factor_low, PAIR)
    at = out + (((n * OD + od) * OH + oh) * OW + ow) * inner + c
    tl.store(at, narrowed(total, out), live)


@triton.jit(do_not_specialize=["QD", "QH", *_SIZES])
def spread_tile(
    grad, out, parts_d, parts_h, parts_w, numbers, rows, QD, QH, QW, D, H, W, OD, OH, OW, inner,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    WEIGHS: tl.constexpr, LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
    ACC: tl.constexpr, PAIR: tl.constexpr, WE: tl.constexpr, OE: tl.constexpr,
):  # fmt: skip
    """Gradients shared over windows: a program owns S cells an axis for each place of its tile, all phases of them."""
    W = W * WE
    OW = OW * OE
    n, dq, hq, wq, c, live = tile(rows, QD, QH, QW, inner, LAST, RB, LB, WIDE)
    line_step = tl.full((), 1, tl.int64) * OW * inner
    plane_step = line_step * OH
    base = grad + (((n * OD + dq) * OH + hq) * OW + wq) * inner + c
    factor = tl.load(numbers).to(ACC)
    factor_low = tl.load(numbers + 1).to(ACC)
    weight = tl.load(numbers + 2).to(ACC)
    results = ()
    for f in tl.static_range(SD * SH * SW):
        total = tl.zeros((RB, LB), ACC)
        total_low = total
        for e in tl.static_range((KW + SW - 1) // SW):
            far_w = (f % SW + PW) // SW - ((KW + SW - 1) // SW - 1 - e)
            if (f % SW + PW) % SW + ((KW + SW - 1) // SW - 1 - e) * SW < KW:
                in_w = live & inside(wq + far_w, OW)
                column = tl.zeros((RB, LB), ACC)
                column_low = column
                for b in tl.static_range((KH + SH - 1) // SH):
                    far_h = (f // SW % SH + PH) // SH - ((KH + SH - 1) // SH - 1 - b)
                    if (f // SW % SH + PH) % SH + ((KH + SH - 1) // SH - 1 - b) * SH < KH:
                        in_h = in_w & inside(hq + far_h, OH)
                        line = tl.zeros((RB, LB), ACC)
                        line_low = line
                        for a in tl.static_range((KD + SD - 1) // SD):
                            far_d = (f // (SH * SW) + PD) // SD - ((KD + SD - 1) // SD - 1 - a)
                            if (f // (SH * SW) + PD) % SD + ((KD + SD - 1) // SD - 1 - a) * SD < KD:
                                ok = in_h & inside(dq + far_d, OD)
                                at = base + (far_d * plane_step + far_h * line_step + far_w * inner)
                                term = tl.load(at, ok, other=0).to(ACC)
                                if WEIGHS == "own":
                                    parts = tl.load(parts_d + dq + far_d, ok, other=0.0)
                                    parts = parts * tl.load(parts_h + hq + far_h, ok, other=0.0)
                                    parts = parts * tl.load(parts_w + wq + far_w, ok, other=0.0)
                                    term, term_low = share(term, parts.to(ACC), PAIR)
                                elif WEIGHS == "same":
                                    term, term_low = share(term, weight, PAIR)
                                else:
                                    term_low = tl.zeros((RB, LB), ACC)
                                line, line_low = plus(line, line_low, term, term_low, PAIR)
                        column, column_low = plus(column, column_low, line, line_low, PAIR)
                total, total_low = plus(total, total_low, column, column_low, PAIR)
        results = results + (narrowed(scaled(total, total_low, factor, factor_low, PAIR), out),)
    store_phases(results, out, n, dq, hq, wq, c, live, rows, D, H, W, inner, SD, SH, SW, LAST, RB, LB, WIDE)


@triton.jit(do_not_specialize=["rows", "QW", "D", "H", "OD", "OH"])
def spread_rows(
    grad, out, numbers, rows, QW, D, H, W, OD, OH, OW, inner,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    WEIGHS: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
    ACC: tl.constexpr, PAIR: tl.constexpr,
):  # fmt: skip
    """The same for windows that tile, all alike, with lanes along inner: programs that follow each other fill memory in
    its order, row by row, and what rows have in common is read again, from the cache."""
    n, d, h, wq, c, live = tile(rows, D, H, QW, inner, True, RB, LB, WIDE)
    dq = d // SD
    hq = h // SH
    ok = live & (dq < OD) & (hq < OH) & (wq < OW)
    high = tl.load(grad + (((n * OD + dq) * OH + hq) * OW + wq) * inner + c, ok, other=0).to(ACC)
    low = tl.zeros((RB, LB), ACC)
    if WEIGHS == "same":
        high, low = share(high, tl.load(numbers + 2).to(ACC), PAIR)
    for _ in tl.static_range(3):
        high, low = plus(tl.zeros((RB, LB), ACC), tl.zeros((RB, LB), ACC), high, low, PAIR)
    result = narrowed(scaled(high, low, tl.load(numbers).to(ACC), tl.load(numbers + 1).to(ACC), PAIR), out)
    line = ((n * D + d) * H + h) * W
    for g in tl.static_range(SW):
        w = wq * SW + g
        tl.store(out + (line + w) * inner + c, result, live & (w < W))


@triton.jit
def store_phases(
    results, out, n, dq, hq, wq, c, live, rows, D, H, W, inner,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr, LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr,
    WIDE: tl.constexpr,
):  # fmt: skip
    """Stores all phases of a tile's cells; two phases along lanes as one piece of memory."""
    for f in tl.static_range(SD * SH):
        d = dq * SD + f // SH
        h = hq * SH + f % SH
        line = ((n * D + d) * H + h) * W
        fits = live & (d < D) & (h < H)
        if LAST or SW != 2:
            for g in tl.static_range(SW):
                w = wq * SW + g
                tl.store(out + (line + w) * inner + c, results[f * SW + g], fits & (w < W))
        else:
            both = tl.interleave(results[f * 2], results[f * 2 + 1])
            w = 2 * first_lane((W + 1) // 2, LB) + tl.arange(0, LB * 2)[None, :]
            some = row_live(rows, RB, (W + 1) // 2, LB, WIDE) & (d < D) & (h < H)
            tl.store(out + line + w, both, some & (w < W))


@triton.jit(do_not_specialize=["outer", "D", "H", "W", "AD", "AH", "AW"])
def slide_inner(
    x, out, by_d, by_h, by_w, numbers, outer, D, H, W, AD, AH, AW, inner,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    FD: tl.constexpr, FH: tl.constexpr, FW: tl.constexpr,
    SPREAD: tl.constexpr, WEIGHS: tl.constexpr, HR: tl.constexpr, WS: tl.constexpr,
    RB: tl.constexpr, LB: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """Stride 1, lanes along inner: HR rows of results, WS cells along W, whose columns are summed once each.

    Result w has the sources w + FW ... w + FW + KW - 1, of AW; likewise along H and D.
    """
    lane_blocks = tl.cdiv(inner, LB)
    segments = tl.cdiv(W, WS)
    strips = tl.cdiv(H, HR)
    pid = tl.program_id(0)
    lanes = pid % lane_blocks * LB + tl.arange(0, LB)[None, :]
    pid = pid // lane_blocks
    begin = pid % segments * WS
    pid = pid // segments
    h0 = pid % strips * HR
    pid = pid // strips
    d = pid % D
    n = (pid // D) * RB + tl.arange(0, RB)[:, None]
    live = (n < outer) & (lanes < inner)
    cell_step = tl.full((), 1, tl.int64) * inner
    source = x + n.to(tl.int64) * AD * AH * AW * inner + lanes
    result = out + n.to(tl.int64) * D * H * W * inner + lanes
    zero = tl.zeros((RB, LB), ACC)
    ring = (zero,) * ((KW - 1) * HR)
    steps = ()
    oks = ()
    parts = ()
    for i in tl.static_range(HR + KH - 1):
        for k in tl.static_range(KD):
            ok = inside(h0 + (i + FH), AH) & inside(d + (k + FD), AD)
            oks = oks + (ok,)
            steps = steps + (((d + (k + FD)) * AH + (h0 + (i + FH))).to(tl.int64) * AW * cell_step,)
            if SPREAD and WEIGHS == "own":
                part = tl.load(by_h + h0 + (i + FH), ok, other=0.0) * tl.load(by_d + d + (k + FD), ok, other=0.0)
                parts = parts + (part,)
    source += (begin + FW) * cell_step
    factor = tl.load(numbers).to(ACC)
    weight = tl.load(numbers + 2).to(ACC)
    for t in range(WS + KW - 1):
        aw = begin + t + FW
        in_w = inside(aw, AW)
        if SPREAD and WEIGHS == "own":
            part_w = tl.load(by_w + aw, in_w, other=0.0)
        lines = ()
        for i in tl.static_range(HR + KH - 1):
            line = zero
            for k in tl.static_range(KD):
                ok = in_w & oks[i * KD + k]
                term = tl.load(source + steps[i * KD + k], tl.where(ok, live, False), other=0).to(ACC)
                if SPREAD and WEIGHS == "own":
                    term = term * (part_w * parts[i * KD + k]).to(ACC)
                if SPREAD and WEIGHS == "same":
                    term = term * weight
                line = line + term
            lines = lines + (line,)
        columns = ()
        for r in tl.static_range(HR):
            column = lines[r]
            for k in tl.static_range(1, KH):
                column = column + lines[r + k]
            columns = columns + (column,)
        w = begin + t - (KW - 1)
        ring = ring + columns
        for r in tl.static_range(HR):
            total = ring[r]
            for k in tl.static_range(1, KW):
                total = total + ring[k * HR + r]
            h = h0 + r
            fits = (w >= begin) & (w < W) & (h < H)
            scale = factor
            if WEIGHS == "own" and not SPREAD:
                divisor = tl.load(by_d + d) * tl.load(by_h + h, fits, other=1.0) * tl.load(by_w + w, fits, other=1.0)
                scale = (1.0 / divisor).to(ACC)
            to = result + ((d * H + h).to(tl.int64) * W + w) * cell_step
            tl.store(to, narrowed((total + 0.0) * scale, out), tl.where(fits, live, False))
        ring = ring[HR:]
        source += cell_step


@triton.jit(do_not_specialize=["lanes", "D", "H", "W", "AD", "AH", "AW"])
def slide_rows(
    x, out, by_d, by_h, by_w, numbers, lanes, D, H, W, AD, AH, AW,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    FD: tl.constexpr, FH: tl.constexpr, FW: tl.constexpr,
    SPREAD: tl.constexpr, WEIGHS: tl.constexpr, HS: tl.constexpr, LB: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """The same where inner is 1: lanes are all (n, d, w), and rows are taken one after the other, HS of them."""
    segments = tl.cdiv(H, HS)
    begin = tl.program_id(0) % segments * HS
    lane = (tl.program_id(0) // segments).to(tl.int64) * LB + tl.arange(0, LB)
    live = lane < lanes
    w = (lane % W).to(tl.int32)
    row = lane // W
    d = (row % D).to(tl.int32)
    n = row // D
    result = out + ((n * D + d) * H + begin) * W + w
    planes = ()
    for a in tl.static_range(KD):
        planes = planes + (x + ((n * AD + (d + (a + FD))) * AH + (begin + FH)) * AW + w,)
    factor = tl.load(numbers).to(ACC)
    weight = tl.load(numbers + 2).to(ACC)
    oks = ()
    parts = ()
    for e in tl.static_range(KW):
        for a in tl.static_range(KD):
            ok = live & inside(d + (a + FD), AD) & inside(w + (e + FW), AW)
            oks = oks + (ok,)
            if SPREAD and WEIGHS == "own":
                part = tl.load(by_w + w + (e + FW), ok, other=0.0) * tl.load(by_d + d + (a + FD), ok, other=0.0)
                parts = parts + (part,)
    if WEIGHS == "own" and not SPREAD:
        divisor = tl.load(by_d + d, live, other=1.0) * tl.load(by_w + w, live, other=1.0)
    ring = (tl.zeros((LB,), ACC),) * ((KH - 1) * KW)
    for t in range(HS + KH - 1):
        ah = begin + t + FH
        in_h = inside(ah, AH)
        if SPREAD and WEIGHS == "own":
            part_h = tl.load(by_h + ah, in_h, other=0.0)
        new = ()
        for e in tl.static_range(KW):
            line = tl.zeros((LB,), ACC)
            for a in tl.static_range(KD):
                at = planes[a] + (e + FW)
                term = tl.load(at, tl.where(in_h, oks[e * KD + a], False), other=0).to(ACC)
                if SPREAD and WEIGHS == "own":
                    term = term * (parts[e * KD + a] * part_h).to(ACC)
                if SPREAD and WEIGHS == "same":
                    term = term * weight
                line = line + term
            new = new + (line,)
        ring = ring + new
        total = tl.zeros((LB,), ACC)
        for e in tl.static_range(KW):
            column = ring[e]
            for b in tl.static_range(1, KH):
                column = column + ring[b * KW + e]
            total = total + column
        now = t - (KH - 1)
        fits = (now >= 0) & (begin + now < H)
        scale = factor
        if WEIGHS == "own" and not SPREAD:
            scale = (1.0 / (divisor * tl.load(by_h + begin + now, fits, other=1.0))).to(ACC)
        tl.store(result + now * W, narrowed((total + 0.0) * scale, out), tl.where(fits, live, False))
        ring = ring[KW:]
        moved = ()
        for a in tl.static_range(KD):
            moved = moved + (planes[a] + AW,)
        planes = moved
