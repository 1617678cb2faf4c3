"""Averages and their gradients in Triton: one order of summation, over D, then H, then W, as on every processor.

A program computes each of its results whole: no atomics, and no bit depends on the tile. Sums have twice the precision
of the elements. For float64 (``PAIR``) that is the unevaluated sum of two: all sums are written as (high, low), and
where the low part is not used the compiler drops it.
"""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_tiles import (
    SIZES,
    along,
    first_lane,
    inside,
    narrowed,
    pairs,
    phases,
    quad,
    row_live,
    store_phases,
    tile,
    windows,
)


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
    i, live, above, o, b, begin, n, at = along(first, count, total, sources, results, beneath, LB, WIDE)
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


@triton.jit(do_not_specialize=SIZES)
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
    n, od, oh, ow, c, live, d, h, w, line_step, plane_step = windows(
        rows, H, W, OD, OH, OW, inner, SD, SH, SW, PD, PH, PW, LAST, RB, LB, WIDE
    )
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


@triton.jit
def weight_of(parts_d, parts_h, parts_w, d, h, w, ok, ok_w, LAST: tl.constexpr):
    """What windows give to their cells: of one an element, or of four neighbours a lane."""
    weight = tl.load(parts_d + d, ok, other=0.0) * tl.load(parts_h + h, ok, other=0.0)
    if LAST:
        weight = weight * tl.load(parts_w + w, ok & ok_w, other=0.0)
    else:
        weight = weight[:, None] * tl.load(parts_w + w, ok[:, None] & ok_w, other=0.0)
    return weight


@triton.jit(do_not_specialize=["QD", "QH", "QW", *SIZES])
def spread_tile(
    grad, out, parts_d, parts_h, parts_w, numbers, rows, QD, QH, QW, D, H, W, OD, OH, OW, inner,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    WEIGHS: tl.constexpr, LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr,
    ACC: tl.constexpr, PAIR: tl.constexpr, WE: tl.constexpr, OE: tl.constexpr,
):  # fmt: skip
    """Gradients shared over windows: a program owns S cells an axis for each place of its tile, all phases of them.

    W and OW come divided by the powers of two WE and OE.
    """
    W = W * WE
    OW = OW * OE
    n, dq, hq, wq, c, live, base, line_step, plane_step = phases(
        rows, QD, QH, QW, OD, OH, OW, inner, LAST, RB, LB, WIDE
    )
    wide = wq
    if not LAST:
        wide = wq[:, None] + tl.arange(0, 4)[None, :]
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
                in_w = inside(wide + far_w, OW)
                column = tl.zeros((RB, LB), ACC)
                column_low = column
                for b in tl.static_range((KH + SH - 1) // SH):
                    far_h = (f // SW % SH + PH) // SH - ((KH + SH - 1) // SH - 1 - b)
                    if (f // SW % SH + PH) % SH + ((KH + SH - 1) // SH - 1 - b) * SH < KH:
                        in_h = live & inside(hq + far_h, OH)
                        line = tl.zeros((RB, LB), ACC)
                        line_low = line
                        for a in tl.static_range((KD + SD - 1) // SD):
                            far_d = (f // (SH * SW) + PD) // SD - ((KD + SD - 1) // SD - 1 - a)
                            if (f // (SH * SW) + PD) % SD + ((KD + SD - 1) // SD - 1 - a) * SD < KD:
                                ok = in_h & inside(dq + far_d, OD)
                                at = grad + base + (far_d * plane_step + far_h * line_step)
                                if LAST:
                                    term = tl.load(at + far_w * inner, ok & in_w, other=0).to(ACC)
                                else:
                                    term = quad(
                                        at, wq, (f % SW + PW) // SW - ((KW + SW - 1) // SW - 1 - e),
                                        ok, OW, 0, OE >= 4,
                                    ).to(ACC)  # fmt: skip
                                if WEIGHS == "own":
                                    own = weight_of(
                                        parts_d, parts_h, parts_w, dq + far_d, hq + far_h, wide + far_w, ok, in_w, LAST
                                    )
                                    term, term_low = share(term, own.to(ACC), PAIR)
                                elif WEIGHS == "same":
                                    term, term_low = share(term, weight, PAIR)
                                else:
                                    term_low = tl.zeros((RB, LB), ACC)
                                line, line_low = plus(line, line_low, term, term_low, PAIR)
                        column, column_low = plus(column, column_low, line, line_low, PAIR)
                total, total_low = plus(total, total_low, column, column_low, PAIR)
        results = results + (narrowed(scaled(total, total_low, factor, factor_low, PAIR), out),)
    store_phases(results, out, n, dq, hq, wq, c, live, D, H, W, inner, SD, SH, SW, LAST)


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
