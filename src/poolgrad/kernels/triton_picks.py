"""What lies at the cells that maxima selected, in Triton, and places that name no cell."""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_routes import accumulated, matches
from poolgrad.kernels.triton_tiles import SIZES, flat, inside, narrowed, sources


@triton.jit(do_not_specialize=SIZES)
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
        fd, cd = sources(first_d, count_d, od, live)
        fh, ch = sources(first_h, count_h, oh, live)
        fw, cw = sources(first_w, count_w, ow, live)
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


@triton.jit(do_not_specialize=SIZES)
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
