"""Averages and their gradients at stride 1, in Triton: programs go along an axis and keep what the next windows share.

The order of summation is that of `triton_sums`: over D, then H, then W.
"""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_tiles import fours, inside, joined, narrowed, quads, segment


@triton.jit(do_not_specialize=["outer", "D", "H", "W", "AD", "AH", "AW", "WS"])
def slide_inner(
    x, out, by_d, by_h, by_w, numbers, outer, D, H, W, AD, AH, AW, inner, WS,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    FD: tl.constexpr, FH: tl.constexpr, FW: tl.constexpr,
    SPREAD: tl.constexpr, WEIGHS: tl.constexpr, HR: tl.constexpr,
    RB: tl.constexpr, LB: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """Stride 1, lanes along inner: HR rows of results, WS cells along W, whose columns are summed once each.

    Result w has the sources w + FW ... w + FW + KW - 1, of AW; likewise along H and D. A window's own weights have so
    few bits that products with them are exact, and may be fused.
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
    sums = (zero,) * ((KW - 1) * HR)
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
                    line = tl.fma(term, part_w * parts[i * KD + k], line)
                elif SPREAD and WEIGHS == "same":
                    line = line + term * weight
                else:
                    line = line + term
            lines = lines + (line,)
        columns = ()
        for r in tl.static_range(HR):
            column = lines[r]
            for k in tl.static_range(1, KH):
                column = column + lines[r + k]
            columns = columns + (column,)
        w = begin + t - (KW - 1)
        for r in tl.static_range(HR):
            total = columns[r]
            if KW > 1:
                total = sums[r] + total
            h = h0 + r
            fits = (w >= begin) & (w < W) & (h < H)
            scale = factor
            if WEIGHS == "own" and not SPREAD:
                divisor = tl.load(by_d + d) * tl.load(by_h + h, fits, other=1.0) * tl.load(by_w + w, fits, other=1.0)
                scale = (1.0 / divisor).to(ACC)
            to = result + ((d * H + h).to(tl.int64) * W + w) * cell_step
            tl.store(to, narrowed(total * scale, out), tl.where(fits, live, False))
        waiting = ()
        for k in tl.static_range(1, KW - 1):
            for r in tl.static_range(HR):
                waiting = waiting + (sums[k * HR + r] + columns[r],)
        if KW > 1:
            sums = waiting + columns
        source += cell_step


@triton.jit
def row_sources(
    planes, w, depths, widths, AW, KD: tl.constexpr, KW: tl.constexpr, FW: tl.constexpr,
    WHOLE: tl.constexpr, ALIGNED: tl.constexpr,
):  # fmt: skip
    """What the four results of each lane have as sources in a row of KD planes: KW + 3 of each.

    Where WHOLE, sources in the results' own columns are there.
    """
    found = ()
    for a in tl.static_range(KD):
        if ALIGNED:
            four = fours(planes[a], w, depths[a], AW, 0)
        for j in tl.static_range(KW + 3):
            if ALIGNED and j + FW >= 0 and j + FW < 4:
                found = found + (four[j + FW],)
            elif WHOLE and j + FW >= 0 and j + FW < 4:
                if KD == 1:
                    found = found + (tl.load(planes[a] + (j + FW)),)
                else:
                    found = found + (tl.load(planes[a] + (j + FW), depths[a], other=0),)
            else:
                found = found + (tl.load(planes[a] + (j + FW), depths[a] & widths[j], other=0),)
    return found


@triton.jit
def moved_by(pointers, step, N: tl.constexpr):
    """N pointers, each moved on."""
    moved = ()
    for a in tl.static_range(N):
        moved = moved + (pointers[a] + step,)
    return moved


@triton.jit
def store_sums(
    columns, out, at, w, W, h, factor, divisors, by_h, KW: tl.constexpr, DIVIDES: tl.constexpr, WHOLE: tl.constexpr
):  # fmt: skip
    """Stores four results a lane, of row h, given the sums of their columns, the first of `columns`."""
    if DIVIDES:
        divisor_h = tl.load(by_h + h)
    results = ()
    for p in tl.static_range(4):
        total = columns[p]
        for e in tl.static_range(1, KW):
            total = total + columns[p + e]
        scale = factor
        if DIVIDES:
            scale = (1.0 / (divisors[p] * divisor_h)).to(total.dtype)
        results = results + (narrowed(total * scale, out),)
    if WHOLE:
        tl.store(at, joined(results))
    else:
        tl.store(at, joined(results), w[:, None] + tl.arange(0, 4)[None, :] < W)


@triton.jit(do_not_specialize=["lanes", "QW", "D", "H", "AD", "AH", "HS"])
def slide_rows(
    x, out, by_d, by_h, by_w, numbers, lanes, QW, D, H, W, AD, AH, AW, HS,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    FD: tl.constexpr, FH: tl.constexpr, FW: tl.constexpr,
    SPREAD: tl.constexpr, WEIGHS: tl.constexpr, LB: tl.constexpr, ACC: tl.constexpr,
    WE: tl.constexpr, AE: tl.constexpr, WHOLE: tl.constexpr, SAME: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """The same where inner is 1: a lane has four results side by side, and takes rows one after the other, HS of them.

    W and AW come divided by the powers of two WE and AE. Where rows begin at multiples of four elements, four sources
    are loaded at once. Where WHOLE, all four results of a lane are there: the last ones of a row may be those of two
    lanes, which find the same. SAME rows have as many sources as results. AHEAD rows are on their way while one is
    summed. Sums begin with zeros, so that none is a negative zero, and a row that is not there changes none.
    """
    DIVIDES: tl.constexpr = WEIGHS == "own" and not SPREAD
    W = W * WE
    AW = AW * AE
    begin, block = segment(H, HS)
    n, _, d, w, _ = quads(block, lanes, 1, D, QW, LB)
    if WHOLE and WE < 4:
        w = tl.minimum(w, W - 4)
    result = (out + (((n * D + d) * H + begin) * W + w))[:, None] + tl.arange(0, 4)[None, :]
    factor = tl.load(numbers).to(ACC)
    weight = tl.load(numbers + 2).to(ACC)
    first = begin + FH
    start = tl.maximum(-first, 0)
    stop = tl.minimum(HS + (KH - 1), AH - first)
    planes = ()
    depths = ()
    parts_d = ()
    for a in tl.static_range(KD):
        planes = planes + (x + (((n * AD + (d + (a + FD))) * AH + (first + start)) * AW + w),)
        depths = depths + (inside(d + (a + FD), AD),)
        if SPREAD and WEIGHS == "own":
            parts_d = parts_d + (tl.load(by_d + d + (a + FD), depths[a], other=0.0),)
    widths = ()
    parts_w = ()
    for j in tl.static_range(KW + 3):
        widths = widths + (inside(w + (j + FW), AW),)
        if SPREAD and WEIGHS == "own":
            parts_w = parts_w + (tl.load(by_w + w + (j + FW), widths[j], other=0.0),)
    divisors = ()
    if DIVIDES:
        divisor_d = tl.load(by_d + d)
        for p in tl.static_range(4):
            divisors = divisors + (divisor_d * tl.load(by_w + w + p, w + p < W, other=1.0),)
    sums = (tl.zeros((LB,), ACC),) * ((KH - 1) * (KW + 3))
    ahead = ()
    for t in tl.static_range(AHEAD):
        ahead = ahead + row_sources(planes, w, depths, widths, AW, KD, KW, FW, WHOLE and SAME, AE >= 4)
        planes = moved_by(planes, tl.where(start + (t + 1) < stop, AW, 0), KD)
    for t in range(start, stop):
        if SPREAD and WEIGHS == "own":
            part_h = tl.load(by_h + first + t)
        lines = (tl.zeros((LB,), ACC),) * (KW + 3)
        for a in tl.static_range(KD):
            if SPREAD and WEIGHS == "own":
                part = parts_d[a] * part_h
            new = ()
            for j in tl.static_range(KW + 3):
                term = ahead[a * (KW + 3) + j].to(ACC)
                if SPREAD and WEIGHS == "own":
                    new = new + (tl.fma(term, part * parts_w[j], lines[j]),)
                elif SPREAD and WEIGHS == "same":
                    new = new + (lines[j] + term * weight,)
                else:
                    new = new + (lines[j] + term,)
            lines = new
        next_row = row_sources(planes, w, depths, widths, AW, KD, KW, FW, WHOLE and SAME, AE >= 4)
        ahead = ahead[KD * (KW + 3) :] + next_row
        planes = moved_by(planes, tl.where(t + (AHEAD + 1) < stop, AW, 0), KD)
        columns = ()
        for j in tl.static_range(KW + 3):
            columns = columns + (sums[j] + lines[j],)
        waiting = ()
        for b in tl.static_range(1, KH - 1):
            for j in tl.static_range(KW + 3):
                waiting = waiting + (sums[b * (KW + 3) + j] + lines[j],)
        sums = waiting + lines
        h = t - (KH - 1)
        if (h >= 0) & (begin + h < H):
            store_sums(columns, out, result + h * W, w, W, begin + h, factor, divisors, by_h, KW, DIVIDES, WHOLE)
    for b in tl.static_range(KH - 1):
        h = stop + (b - (KH - 1))
        if (h >= 0) & (h < HS) & (begin + h < H):
            store_sums(
                sums[b * (KW + 3) :], out, result + h * W, w, W, begin + h, factor, divisors, by_h, KW, DIVIDES, WHOLE
            )
