"""Gradients go to what maxima selected, in Triton: the same sums as on every processor, in the order of windows."""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_tiles import (
    SIZES,
    flat,
    inside,
    marching,
    narrowed,
    phases,
    quad,
    quads,
    rounded,
    segment,
    sources,
    store_fours,
    store_phases,
)


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


_ADD_CHOSEN = """{
.reg .b32 low, high, one;
prmt.b32 low, $6, 0, 0x4140;
prmt.b32 high, $6, 0, 0x4342;
set.eq.u32.f16x2 low, low, $7;
set.eq.u32.f16x2 high, high, $8;
and.b32 low, low, $4;
and.b32 high, high, $5;
mov.b32 one, ONE;
fma.rn.TYPEx2 $0, low, one, $2;
fma.rn.TYPEx2 $1, high, one, $3;
}"""
_ADD_FLOAT16 = tl.constexpr(_ADD_CHOSEN.replace("ONE", "0x3C003C00").replace("TYPE", "f16"))
_ADD_BFLOAT16 = tl.constexpr(_ADD_CHOSEN.replace("ONE", "0x3F803F80").replace("TYPE", "bf16"))


@triton.jit
def chosen(total, grad, place, number: tl.constexpr, like, ROUNDS: tl.constexpr, PACKED: tl.constexpr):
    """A sum with a gradient if that goes to place `number`.

    `PACKED` sums have the type itself. Two of them are added by one instruction, gradients that go elsewhere as zeros:
    sums begin with zero and never become a negative one, which alone that would change. Places are compared as if they
    were (tiny) numbers of 16 bits.
    """
    if PACKED:
        wanted = tl.full(total.shape, number, tl.int16)
        if total.dtype == tl.float16:
            found = tl.inline_asm_elementwise(
                _ADD_FLOAT16, "=r,=r,r,r,r,r,r,r,r", [total, grad, place, wanted], dtype=tl.float16, is_pure=True,
                pack=4,
            )  # fmt: skip
        else:
            found = tl.inline_asm_elementwise(
                _ADD_BFLOAT16, "=r,=r,r,r,r,r,r,r,r", [total, grad, place, wanted], dtype=tl.bfloat16, is_pure=True,
                pack=4,
            )  # fmt: skip
    else:
        found = accumulated(total, grad.to(total.dtype), place == number, like, ROUNDS)
    return found


@triton.jit
def all_chosen(
    sums, term, place, row: tl.constexpr, column: tl.constexpr, like,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    """The same for KM sums along the axis that a program goes, of a window in this row and column over them."""
    found = ()
    for k in tl.static_range(KM):
        one = chosen(
            sums[k], term, place, (k * KH + (KH - 1 - row)) * KW + (KW - 1 - column), like,
            k < KM - 1 or row * KW + column > 1, PACKED,
        )  # fmt: skip
        found = found + (one,)
    return found


@triton.jit(do_not_specialize=["QD", "QH", "QW", *SIZES])
def route_tile(
    grad, index, out, rows, QD, QH, QW, D, H, W, OD, OH, OW, inner,
    KD: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    SD: tl.constexpr, SH: tl.constexpr, SW: tl.constexpr,
    PD: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr, ACC: tl.constexpr,
    PACKED: tl.constexpr, WE: tl.constexpr, OE: tl.constexpr,
):  # fmt: skip
    """Gradients go to the places that are named: a program owns all phases of the cells of its tile, as `spread_tile`.

    Places have one byte, and 255 is none.
    """
    W = W * WE
    OW = OW * OE
    n, dq, hq, wq, c, live, base, line_step, plane_step = phases(
        rows, QD, QH, QW, OD, OH, OW, inner, LAST, RB, LB, WIDE
    )
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
                                at = base + (far_d * plane_step + far_h * line_step)
                                if LAST:
                                    ok = in_h & inside(wq + far_w, OW)
                                    place = tl.load(index + at + far_w * inner, ok, other=255)
                                    term = tl.load(grad + at + far_w * inner, ok, other=0)
                                else:
                                    place = quad(
                                        index + at, wq, (f % SW + PW) // SW - ((KW + SW - 1) // SW - 1 - e),
                                        in_h, OW, 255, OE >= 4,
                                    )  # fmt: skip
                                    term = quad(
                                        grad + at, wq, (f % SW + PW) // SW - ((KW + SW - 1) // SW - 1 - e),
                                        in_h, OW, 0, OE >= 4,
                                    )  # fmt: skip
                                total = chosen(
                                    total, term, place,
                                    (((f // (SH * SW) + PD) % SD + ((KD + SD - 1) // SD - 1 - a) * SD) * KH
                                     + (f // SW % SH + PH) % SH + ((KH + SH - 1) // SH - 1 - b) * SH) * KW
                                    + (f % SW + PW) % SW + ((KW + SW - 1) // SW - 1 - e) * SW,
                                    out, (a * ((KH + SH - 1) // SH) + b) * ((KW + SW - 1) // SW) + e > 1, PACKED,
                                )  # fmt: skip
        results = results + (narrowed(total, out),)
    store_phases(results, out, n, dq, hq, wq, c, live, D, H, W, inner, SD, SH, SW, LAST)


@triton.jit(do_not_specialize=["rows", "M", "H", "OM", "OH", "QW", "STEPS"])
def route_march(
    grad, index, out, rows, M, H, W, OM, OH, OW, inner: tl.constexpr, QW, STEPS,
    KM: tl.constexpr, KH: tl.constexpr, KW: tl.constexpr,
    PM: tl.constexpr, PH: tl.constexpr, PW: tl.constexpr,
    DEEP: tl.constexpr, LAST: tl.constexpr, RB: tl.constexpr, LB: tl.constexpr,
    ACC: tl.constexpr, PACKED: tl.constexpr, WE: tl.constexpr, OE: tl.constexpr,
):  # fmt: skip
    """The same at stride 1, along the axis that is slowest in the order of windows: a step takes what the windows at
    one place of it selected, for all results that these reach, whose sums wait in registers.

    Where inner is 1 a row is four cells along W, QW times as many as there are.
    """
    W = W * WE
    OW = OW * OE
    if LAST:
        n, h, w, c, begin, live = marching(rows, H, W, inner, M, STEPS, DEEP, LAST, RB, LB)
    else:
        begin, block = segment(M, STEPS)
        n, _, h, w, live = quads(block, rows, 1, H if DEEP else 1, QW, RB)
    cell_step = tl.full((), 1, tl.int64) * inner
    line_step = cell_step * OW
    step = line_step * OH if DEEP else line_step
    to_step = cell_step * W * H if DEEP else cell_step * W
    FM: tl.constexpr = PM - (KM - 1)
    FH: tl.constexpr = PH - (KH - 1)
    FW: tl.constexpr = PW - (KW - 1)
    source = (n * OM + (begin + FM)) * step + w * cell_step
    target = (n * M + begin) * to_step + w * cell_step
    if DEEP:
        source += (h + FH) * line_step
        target += h * (cell_step * W)
    if LAST:
        source += c
        target += c
    oks = ()
    for b in tl.static_range(KH):
        ok = live
        if DEEP:
            ok = ok & inside(h + (b + FH), OH)
        for e in tl.static_range(KW if LAST else 1):
            oks = oks + ((ok & inside(w + (e + FW), OW)) if LAST else ok,)
    sums = (tl.zeros((RB, LB), ACC),) * (KM - 1)
    for t in range(STEPS + KM - 1):
        is_there = inside(begin + t + FM, OM)
        sums = sums + (tl.zeros((RB, LB), ACC),)
        for b in tl.static_range(KH):
            for e in tl.static_range(KW):
                if LAST:
                    ok = tl.where(is_there, oks[b * KW + e], False)
                    at = source + (b * line_step + (e + FW) * cell_step)
                    place = tl.load(index + at, ok, other=255)
                    term = tl.load(grad + at, ok, other=0)
                else:
                    ok = tl.where(is_there, oks[b], False)
                    place = quad(index + (source + b * line_step), w, e + FW, ok, OW, 255, OE >= 4)
                    term = quad(grad + (source + b * line_step), w, e + FW, ok, OW, 0, OE >= 4)
                sums = all_chosen(sums, term, place, b, e, out, KM, KH, KW, PACKED)
        now = t - (KM - 1)
        fits = tl.where((now >= 0) & (begin + now < M), live, False)
        to = out + target + now * to_step
        if LAST:
            tl.store(to, narrowed(sums[0], out), fits)
        else:
            store_fours(narrowed(sums[0], out), to, w, fits, W)
        sums = sums[1:]
        source += step


@triton.jit(do_not_specialize=SIZES)
def route_any(
    grad, index, x, reference, out, first_d, first_h, first_w, count_d, count_h, count_w,
    origins_d, origins_h, origins_w, total, D, H, W, OD, OH, OW, inner, most_d, most_h, most_w,
    step_d, step_h, step_w, dilation_d, dilation_h, dilation_w, scale_d, scale_h,
    BY: tl.constexpr, LAST_SLOWEST: tl.constexpr, LB: tl.constexpr, WIDE: tl.constexpr, ACC: tl.constexpr,
):  # fmt: skip
    """The same for any windows: each cell looks at the windows over it, in their order, and takes from those that
    selected it by place or by value."""
    i, n, d, h, w, c, live = flat(total, D, H, W, inner, LB, WIDE)
    fd, cd = sources(first_d, count_d, d, live)
    fh, ch = sources(first_h, count_h, h, live)
    fw, cw = sources(first_w, count_w, w, live)
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
