"""Averages and their gradients of short elements where windows are as many as cells and one cell apart, in Triton.

All planes are one line there: what a result is summed from lies at the same distances from it everywhere. Lanes have V
elements in a row (four) whatever the axes are, and go from plane to plane: so they find out once what edges change.
The order of summation is that of `triton_sums`.
"""

from __future__ import annotations

import triton
import triton.language as tl

from poolgrad.kernels.triton_tiles import as_words, inside, joined, narrowed


@triton.jit
def half(word, HIGH: tl.constexpr, TYPE: tl.constexpr):
    """One of the two elements of a word."""
    if tl.bfloat16 == TYPE:
        bits = (word & -65536) if HIGH else (word << 16)
        value = bits.to(tl.float32, bitcast=True)
    else:
        bits = (word >> 16) if HIGH else word
        value = bits.to(tl.int16).to(tl.float16, bitcast=True).to(tl.float32)
    return value


@triton.jit
def line_words(rows, KH: tl.constexpr, FH: tl.constexpr, WE: tl.constexpr, V: tl.constexpr):
    """The words that hold V elements of KH rows and their neighbours, V // 2 + 1 of a row, or one more where the first
    of these is the second half of a word."""
    found = ()
    for b in tl.static_range(KH):
        if b + FH == 0 or WE >= 4:
            own = tl.load(rows[b][:, None] + tl.arange(0, V // 2)[None, :])
            found = found + (tl.load(rows[b] - 1),) + tl.split(own) + (tl.load(rows[b] + V // 2),)
        else:
            for k in tl.static_range(V // 2 + 1 + ((b + FH) * WE + 1) % 2):
                found = found + (tl.load(rows[b] + k),)
    return found


@triton.jit
def with_row(columns, words, weights, FIRST: tl.constexpr, TYPE: tl.constexpr, V: tl.constexpr):
    """Sums of V + 2 columns with what a row adds to them, from the half FIRST of its words on.

    Weights have so few bits that products with them are exact, and may be fused.
    """
    found = ()
    for j in tl.static_range(V + 2):
        term = half(words[(j + FIRST) // 2], (j + FIRST) % 2 == 1, TYPE)
        found = found + (tl.fma(term, weights[j], columns[j]),)
    return found


@triton.jit
def weight_of(
    by_d, by_h, by_w, numbers, h, w, row: tl.constexpr, H, ok, SPREAD: tl.constexpr, WEIGHS: tl.constexpr
):  # fmt: skip
    """What sources of a row over, or under, the places [h, w] are multiplied by: zero where there is none."""
    ok = ok & inside(h + row, H)
    if SPREAD and WEIGHS == "own":
        weight = tl.load(by_d) * tl.load(by_w + w, ok, other=0.0) * tl.load(by_h + h + row, ok, other=0.0)
    elif SPREAD and WEIGHS == "same":
        weight = tl.where(ok, tl.load(numbers + 2).to(tl.float32), 0.0)
    else:
        weight = tl.where(ok, 1.0, 0.0)
    return weight


@triton.jit
def scale_of(by_d, by_h, by_w, numbers, h, w, SPREAD: tl.constexpr, WEIGHS: tl.constexpr):
    """What the sums at the places [h, w] are multiplied by."""
    if WEIGHS == "own" and not SPREAD:
        scale = (1.0 / (tl.load(by_d) * tl.load(by_w + w) * tl.load(by_h + h))).to(tl.float32)
    else:
        scale = tl.load(numbers).to(tl.float32)
    return scale


@triton.jit
def place_of(at, H, W):
    """Row and column of an element in its plane."""
    at = (at + H * W) % (H * W)
    return at // W, at % W


@triton.jit
def places(at, H, W, N: tl.constexpr):
    """Rows and then columns of N elements that follow each other."""
    h, w = place_of(at, H, W)
    rows = (h,)
    columns = (w,)
    for _ in tl.static_range(N - 1):
        w += 1
        ends = w == W
        h += ends
        w = tl.where(ends, 0, w)
        h = tl.where(h == H, 0, h)
        rows = rows + (h,)
        columns = columns + (w,)
    return rows + columns


@triton.jit
def line_march(
    x, out, by_d, by_h, by_w, numbers, lane, begin, stop, H, WQ, span,
    KH: tl.constexpr, FH: tl.constexpr, SPREAD: tl.constexpr, WEIGHS: tl.constexpr,
    LB: tl.constexpr, V: tl.constexpr, WE: tl.constexpr,
):  # fmt: skip
    """Fills the results of lanes in some spans. Gives back marks of those that may be wrong: a source beyond an edge
    is multiplied by zero, which makes NaN of an infinite one."""
    W = WQ * WE
    around = places(lane * V - 1, H, W, V + 2)
    live = lane >= 0
    weights = ()
    for b in tl.static_range(KH):
        for j in tl.static_range(V + 2):
            h = around[j]
            w = around[V + 2 + j]
            weights = weights + (weight_of(by_d, by_h, by_w, numbers, h, w, b + FH, H, live, SPREAD, WEIGHS),)
    joins = ()
    scales = ()
    for p in tl.static_range(1, V + 2):
        w = around[V + 2 + p]
        joins = joins + (tl.where(w > 0, 1.0, 0.0),)
        scales = scales + (scale_of(by_d, by_h, by_w, numbers, around[p], w, SPREAD, WEIGHS),)
    step = span * (V // 2)
    target = (out + begin * span * V)[None, None] + (lane[:, None] * V + tl.arange(0, V)[None, :])
    rows = ()
    for b in tl.static_range(KH):
        if b + FH == 0:
            shift = 0
        elif WE > 1:
            shift = (b + FH) * WQ * (WE // 2) - (1 if WE < 4 else 0)
        else:
            shift = ((b + FH) * W - (1 + (b + FH + 1) % 2)) // 2
        rows = rows + (as_words(x) + begin * step + (lane * (V // 2) + shift),)
    marks = tl.zeros((LB,), tl.float32)
    ahead = line_words(rows, KH, FH, WE, V)
    for t in tl.range(begin, stop, loop_unroll_factor=2):
        words = ahead
        move = tl.where(t + 1 < stop, step, 0)
        moved = ()
        for b in tl.static_range(KH):
            moved = moved + (rows[b] + move,)
        rows = moved
        ahead = line_words(rows, KH, FH, WE, V)
        columns = (tl.zeros((LB,), tl.float32),) * (V + 2)
        for b in tl.static_range(KH):
            # Words of the rows before: half a lane and one each, and some have one more.
            own = words[b * (V // 2 + 1) + (b if WE > 1 else (b + 1 - FH % 2) // 2) :]
            columns = with_row(columns, own, weights[b * (V + 2) :], ((b + FH) * WE + 1) % 2, x.dtype.element_ty, V)
        results = ()
        for p in tl.static_range(V):
            total = tl.fma(columns[p], joins[p], columns[p + 1])
            total = tl.fma(columns[p + 2], joins[p + 1], total)
            if p % 3 == 0 or p == V - 1:
                marks = tl.fma(total, 0.0, marks)
            results = results + (narrowed(total * scales[p], out),)
        tl.store(target, joined(results))
        target += 2 * step
    return marks


@triton.jit
def line_singly(
    x, out, by_d, by_h, by_w, numbers, lane, begin, stop, H, W, span, total,
    KH: tl.constexpr, FH: tl.constexpr, SPREAD: tl.constexpr, WEIGHS: tl.constexpr, LB: tl.constexpr, V: tl.constexpr,
):  # fmt: skip
    """The same one by one, with nothing beyond an edge: for the ends of the tensor, and what is not finite."""
    for k in range(begin * V, stop * V):
        inside_lane = k % V
        at = (k // V) * span * V + (lane * V + inside_lane)
        h, w = place_of(lane * V + inside_lane, H, W)
        live = at < total
        value = tl.zeros((LB,), tl.float32)
        for e in tl.static_range(3):
            column = tl.zeros((LB,), tl.float32)
            for b in tl.static_range(KH):
                ok = live & inside(w + (e - 1), W) & inside(h + (b + FH), H)
                term = tl.load(x + (at + (b + FH) * W + (e - 1)), ok, other=0).to(tl.float32)
                weight = weight_of(by_d, by_h, by_w, numbers, h, w + (e - 1), b + FH, H, ok, SPREAD, WEIGHS)
                column = tl.fma(term, weight, column)
            value = value + column
        scale = scale_of(by_d, by_h, by_w, numbers, h, w, SPREAD, WEIGHS)
        tl.store(out + at, narrowed(value * scale, out), live)


@triton.jit(do_not_specialize=["lanes", "H", "W", "spans", "total", "STEPS"])
def slide_line(
    x, out, by_d, by_h, by_w, numbers, lanes, H, W, spans, total, STEPS,
    KH: tl.constexpr, FH: tl.constexpr, SPREAD: tl.constexpr, WEIGHS: tl.constexpr,
    LB: tl.constexpr, V: tl.constexpr, WE: tl.constexpr,
):  # fmt: skip
    """Windows of KH by three cells; result h has the sources h + FH ... h + FH + KH - 1.

    A span is so many whole planes that lanes fill it, `lanes` of them; a program goes along STEPS of the spans. W comes
    divided by the power of two WE.
    """
    # The last program is open to one side, takes longer, and begins first. Those beside each other run together.
    program = (tl.program_id(0) + tl.num_programs(0) - 1) % tl.num_programs(0)
    blocks = tl.cdiv(lanes, LB)
    block = program % blocks
    begin = program // blocks * STEPS
    stop = tl.minimum(begin + STEPS, spans)
    lane = tl.minimum(block * LB + tl.arange(0, LB), lanes - 1)
    # Does this program look at something before the tensor, or after it?
    span = lanes.to(tl.int64)
    low = begin * span * V + block * (LB * V) + (FH * W * WE - 2)
    high = (stop - 1) * span * V + (block + 1) * (LB * V) + ((KH - 1 + FH) * W * WE + 2)
    is_open = (low < 0) | (high > total)
    if not is_open:
        marks = line_march(
            x, out, by_d, by_h, by_w, numbers, lane, begin, stop, H, W, span, KH, FH, SPREAD, WEIGHS, LB, V, WE
        )
        is_open = tl.max((marks != 0).to(tl.int32)) > 0
    if is_open:
        tl.debug_barrier()  # what was stored before is overwritten
        line_singly(
            x, out, by_d, by_h, by_w, numbers, lane, begin, stop, H, W * WE, span, total,
            KH, FH, SPREAD, WEIGHS, LB, V,
        )  # fmt: skip
