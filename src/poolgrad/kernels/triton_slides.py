"""Averages and their gradients at stride 1, in Triton: programs go along an axis and keep what the next windows share.

The order of summation is that of `triton_sums`: over D, then H, then W.
"""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_tiles import fours, inside, joined, narrowed, quads, segment, store_fours


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


@triton.jit
def row_sources(
    planes, w, depths, widths, in_h, AW, KD: tl.constexpr, KW: tl.constexpr, FW: tl.constexpr, ALIGNED: tl.constexpr
):  # fmt: skip
    """What the four results of each lane have as sources in a row of KD planes: KW + 3 of each."""
    found = ()
    for a in tl.static_range(KD):
        ok = tl.where(in_h, depths[a], False)
        if ALIGNED:
            four = fours(planes[a], w, ok, AW, 0)
        for j in tl.static_range(KW + 3):
            if ALIGNED and j + FW >= 0 and j + FW < 4:
                found = found + (four[j + FW],)
            else:
                found = found + (tl.load(planes[a] + (j + FW), ok & widths[j], other=0),)
    return found


@triton.jit
def moved_by(pointers, step, N: tl.constexpr):
    """N pointers, each moved on."""
    moved = ()
    for a in tl.static_range(N):
        moved = moved + (pointers[a] + step,)
    return moved


@triton.jit(do_not_specialize=["lanes", "QW", "D", "H", "AD", "AH", "HS"])
def slide_rows(
    x, out, by_d, by_h, by_w, numbers, lanes, QW, D, H, W, AD, AH, AW, HS,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    FD: tl.constexpr, FH: tl.constexpr, FW: tl.constexpr,
    SPREAD: tl.constexpr, WEIGHS: tl.constexpr, LB: tl.constexpr, ACC: tl.constexpr,
    WE: tl.constexpr, AE: tl.constexpr, AHEAD: tl.constexpr,
):  # fmt: skip
    """The same where inner is 1: a lane has four results side by side, and takes rows one after the other, HS of them.

    W and AW come divided by the powers of two WE and AE. Where rows begin at multiples of four elements, four sources
    are loaded at once. AHEAD rows are on their way while one is summed.
    """
    W = W * WE
    AW = AW * AE
    begin, block = segment(H, HS)
    n, _, d, w, live = quads(block, lanes, 1, D, QW, LB)
    result = out + (((n * D + d) * H + begin) * W + w)
    factor = tl.load(numbers).to(ACC)
    weight = tl.load(numbers + 2).to(ACC)
    planes = ()
    depths = ()
    parts_d = ()
    for a in tl.static_range(KD):
        planes = planes + (x + (((n * AD + (d + (a + FD))) * AH + (begin + FH)) * AW + w),)
        depths = depths + (live & inside(d + (a + FD), AD),)
        if SPREAD and WEIGHS == "own":
            parts_d = parts_d + (tl.load(by_d + d + (a + FD), depths[a], other=0.0),)
    widths = ()
    parts_w = ()
    for j in tl.static_range(KW + 3):
        widths = widths + (inside(w + (j + FW), AW),)
        if SPREAD and WEIGHS == "own":
            parts_w = parts_w + (tl.load(by_w + w + (j + FW), live & widths[j], other=0.0),)
    if WEIGHS == "own" and not SPREAD:
        divisor_d = tl.load(by_d + d, live, other=1.0)
        divisors = ()
        for p in tl.static_range(4):
            divisors = divisors + (divisor_d * tl.load(by_w + w + p, live & (w + p < W), other=1.0),)
    ring = (tl.zeros((LB,), ACC),) * ((KH - 1) * (KW + 3))
    ahead = ()
    for t in tl.static_range(AHEAD):
        ahead = ahead + row_sources(planes, w, depths, widths, inside(begin + t + FH, AH), AW, KD, KW, FW, AE >= 4)
        planes = moved_by(planes, AW, KD)
    for t in range(HS + KH - 1):
        ah = begin + t + FH
        if SPREAD and WEIGHS == "own":
            part_h = tl.load(by_h + ah, inside(ah, AH), other=0.0)
        terms = ahead
        next_row = row_sources(planes, w, depths, widths, inside(ah + AHEAD, AH), AW, KD, KW, FW, AE >= 4)
        ahead = ahead[KD * (KW + 3) :] + next_row
        planes = moved_by(planes, AW, KD)
        lines = (tl.zeros((LB,), ACC),) * (KW + 3)
        for a in tl.static_range(KD):
            if SPREAD and WEIGHS == "own":
                part = parts_d[a] * part_h
            new = ()
            for j in tl.static_range(KW + 3):
                term = terms[a * (KW + 3) + j].to(ACC)
                if SPREAD and WEIGHS == "own":
                    new = new + (tl.fma(term, part * parts_w[j], lines[j]),)
                elif SPREAD and WEIGHS == "same":
                    new = new + (lines[j] + term * weight,)
                else:
                    new = new + (lines[j] + term,)
            lines = new
        ring = ring + lines
        columns = ()
        for j in tl.static_range(KW + 3):
            column = ring[j]
            for b in tl.static_range(1, KH):
                column = column + ring[b * (KW + 3) + j]
            columns = columns + (column,)
        now = t - (KH - 1)
        fits = (now >= 0) & (begin + now < H)
        if WEIGHS == "own" and not SPREAD:
            divisor_h = tl.load(by_h + begin + now, fits, other=1.0)
        results = ()
        for p in tl.static_range(4):
            total = columns[p]
            for e in tl.static_range(1, KW):
                total = total + columns[p + e]
            scale = factor
            if WEIGHS == "own" and not SPREAD:
                scale = (1.0 / (divisors[p] * divisor_h)).to(ACC)
            results = results + (narrowed((total + 0.0) * scale, out),)
        store_fours(joined(results), result + now * W, w, tl.where(fits, live, False), W)
        ring = ring[KW + 3 :]
