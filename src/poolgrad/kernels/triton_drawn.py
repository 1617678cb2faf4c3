"""Maxima of windows that each plane draws by PyTorch's rule, in Triton: where windows start follows from samples."""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_maxima import exceeds
from poolgrad.kernels.triton_tiles import flat, inside, rounded


@triton.jit
def drawn_start(samples, at, o, outputs, slope, last, live, ACC: tl.constexpr):
    """Where window `o` of an axis starts, in the samples' precision: see `torch_fractional_line`."""
    sample = tl.load(samples + at, live, other=0).to(ACC)
    step = rounded(o.to(ACC), samples)
    final = rounded((outputs - 1).to(ACC), samples)
    moved = rounded(rounded(step + sample, samples) * slope, samples).to(tl.int64)
    first = rounded(sample * slope, samples).to(tl.int64)
    return tl.where(step == final, last, moved - first)


@triton.jit(do_not_specialize=["total", "D", "H", "W", "OD", "OH", "OW", "spatial"])
def best_drawn(
    x, samples, out, index, leaves, slopes, total, D, H, W, OD, OH, OW, inner, spatial,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, AT_D: tl.constexpr, AT_H: tl.constexpr, AT_W: tl.constexpr,
    CHECKS: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr, COMPARED: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """The largest of each window, NaN first, and its place in its plane.

    A plane has `spatial` samples, of which AT_D, AT_H and AT_W are the axes'. Where some window may leave its axis
    (`CHECKS`), `leaves` becomes 1 then.
    """
    i, n, od, oh, ow, c, live = flat(total, OD, OH, OW, inner, LB, WIDE)
    at = (n * inner + c) * spatial
    slope_d = tl.load(slopes).to(ACC)
    slope_h = tl.load(slopes + 1).to(ACC)
    slope_w = tl.load(slopes + 2).to(ACC)
    d = drawn_start(samples, at + AT_D, od, OD, slope_d, D - KD, live, ACC)
    h = drawn_start(samples, at + AT_H, oh, OH, slope_h, H - KH, live, ACC)
    w = drawn_start(samples, at + AT_W, ow, OW, slope_w, W - KW, live, ACC)
    if CHECKS:
        fits = inside(d, D - KD + 1) & inside(h, H - KH + 1) & inside(w, W - KW + 1)
        tl.store(leaves, 1, tl.max((live & ~fits).to(tl.int32)) > 0)
        live = live & fits
    place = (d * H + h) * W + w
    base = x + n * D * H * W * inner + c
    best = tl.load(base + place * inner, live, other=0)
    found = place
    for a in range(KD):
        for b in range(KH):
            for e in range(KW):
                cell = place + ((a * H + b).to(tl.int64) * W + e)
                value = tl.load(base + cell * inner, live, other=0)
                better = exceeds(value.to(COMPARED), best.to(COMPARED), True)
                best = tl.where(better, value, best)
                found = tl.where(better, cell, found)
    tl.store(out + i, best, live)
    tl.store(index + i, found, live)
