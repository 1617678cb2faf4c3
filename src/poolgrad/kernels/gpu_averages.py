"""Averages and their gradients on a GPU: which kernel a plan gets, and its tiles."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
import triton.language as tl

from poolgrad.kernels import triton_lines as lines
from poolgrad.kernels import triton_slides as slides
from poolgrad.kernels import triton_sums as kernels
from poolgrad.kernels.gpu_launch import launch, memory
from poolgrad.kernels.gpu_tables import Shares, divisors_of, shares, table
from poolgrad.kernels.gpu_tiles import (
    LANES,
    LINE,
    LINE_LANE,
    SLIDE_INNER,
    SLIDE_ROWS,
    back_tiles,
    balanced,
    blocks,
    both_sizes,
    evens,
    front_tiles,
    has_pairs,
    is_plain,
    is_small,
    is_wide,
    line_sizes,
    quotients,
    tiles,
    window_numbers,
)
from poolgrad.plan import BACK, Plan
from poolgrad.windows import Axis, divisors

_SUMS = {torch.float16: tl.float32, torch.bfloat16: tl.float32, torch.float32: tl.float64, torch.float64: tl.float64}

_LINE_PROGRAMS = 2048  # that keep a GPU busy
_LINE_STEPS = 4  # spans that a program has at least, or it would take longer to look where edges are
_LINE_PLANE = 2**24


def run(plan: Plan, x: Any, out: Any) -> None:
    """Fill ``out`` with averages, or with gradients shared over windows."""
    given = shares(plan, out.device)
    back = plan.family in BACK
    if not is_plain(plan) or not is_small(plan, back) or (back and not (given.are_exact or given.weighs != "own")):
        _passes(plan, given, x, out)
    elif _is_line(plan, given, x, out):
        _line(plan, given, x, out)
    elif _slides(plan, x.dtype):
        _slide(plan, given, x, out)
    elif back and _tiles_rows(plan, given):
        _spread_rows(plan, given, x, out)
    elif back:
        _spread(plan, given, x, out)
    else:
        _mean(plan, given, x, out)


def _weights(plan: Plan, given: Shares, device: torch.device) -> tuple[Any, Any, Any]:
    if given.parts is not None:
        return given.parts
    d, h, w = (divisors_of(axis, device) for axis in plan.axes)
    return d, h, w


def _mean(plan: Plan, given: Shares, x: Any, out: Any) -> None:
    t = front_tiles(plan)
    launch(
        kernels.mean_tile, t.programs, t.warps,
        x, out, *_weights(plan, given, out.device), given.numbers, t.rows, *line_sizes(plan), plan.inner,
        *window_numbers(plan), *(axis.dilation for axis in plan.axes), given.weighs, t.last, has_pairs(plan),
        t.row_block, t.lane_block, t.is_wide, _SUMS[x.dtype], x.dtype == torch.float64, *evens(plan),
    )  # fmt: skip


def _spread(plan: Plan, given: Shares, grad: Any, out: Any) -> None:
    cells, t = back_tiles(plan)
    launch(
        kernels.spread_tile, t.programs, t.warps,
        grad, out, *_weights(plan, given, out.device), given.numbers, t.rows, *cells, *line_sizes(plan), plan.inner,
        *window_numbers(plan), given.weighs, t.last, t.row_block, t.lane_block, t.is_wide,
        _SUMS[grad.dtype], grad.dtype == torch.float64, *evens(plan),
    )  # fmt: skip


def _tiles_rows(plan: Plan, given: Shares) -> bool:
    """Do windows, all alike, lie side by side, and lanes along inner elements? Short ones gain nothing by rows."""
    tile = all(axis.window == axis.stride and axis.pad == 0 for axis in plan.axes)
    return tile and given.weighs != "own" and plan.inner > 1 and not plan.dtype.endswith("16")


def _spread_rows(plan: Plan, given: Shares, grad: Any, out: Any) -> None:
    d, h, _ = (axis.size for axis in plan.axes)
    cells = quotients(plan)[2]
    t = tiles(plan, (plan.outer, d, h, cells), back=True, most=256)
    launch(
        kernels.spread_rows, t.programs, t.warps,
        grad, out, given.numbers, t.rows, cells, *both_sizes(plan), plan.inner, *(axis.stride for axis in plan.axes),
        given.weighs, t.row_block, t.lane_block, t.is_wide,
        _SUMS[grad.dtype], grad.dtype == torch.float64,
    )  # fmt: skip


def _slides(plan: Plan, dtype: torch.dtype) -> bool:
    axes = plan.axes
    plain = all(axis.stride == 1 and axis.dilation == 1 for axis in axes)
    along = axes[2] if plan.inner > 1 else axes[1]
    return plain and along.window > 1 and math.prod(axis.window for axis in axes) > 2 and dtype != torch.float64


def _slide(plan: Plan, given: Shares, x: Any, out: Any) -> None:
    back = plan.family in BACK
    axes = plan.axes
    sizes = [(axis.size, axis.outputs) for axis in axes]
    results = [pair[0 if back else 1] for pair in sizes]
    sources = [pair[1 if back else 0] for pair in sizes]
    first = [axis.pad - (axis.window - 1) if back else -axis.pad for axis in axes]
    common = (*(axis.window for axis in axes), *first, back, given.weighs)
    weights = _weights(plan, given, out.device)
    d, h, w = results
    if plan.inner > 1:
        march = SLIDE_INNER[x.element_size() == 2, axes[0].window > 1]
        lane_block = min(march.lanes, blocks(plan.inner))
        row_block = max(1, min(march.lanes // lane_block, blocks(plan.outer)))
        rows_at_once = min(march.rows, h)
        steps = balanced(w, march.steps)
        strips = -(-w // steps) * -(-h // rows_at_once) * d
        grid = -(-plan.inner // lane_block) * strips * -(-plan.outer // row_block)
        launch(
            slides.slide_inner, grid, march.warps,
            x, out, *weights, given.numbers, plan.outer, *results, *sources, plan.inner, steps, *common,
            rows_at_once, row_block, lane_block, _SUMS[x.dtype],
        )  # fmt: skip
        return
    even = [math.gcd(side[2], 16) for side in (results, sources)]
    march = SLIDE_ROWS[x.element_size() == 2, axes[0].window > 1]
    quads = -(-w // 4)
    lanes = plan.outer * d * quads
    steps = balanced(h, march.steps)
    grid = -(-lanes // march.lanes) * -(-h // steps)
    # Single elements take more room than they gain, and so do means and short elements.
    ahead = 2 if back and axes[0].window > 1 and even[1] >= 4 and x.element_size() > 2 else 1
    launch(
        slides.slide_rows, grid, march.warps,
        x, out, *weights, given.numbers, lanes, quads, d, h, w // even[0],
        *sources[:2], sources[2] // even[1], steps, *common, march.lanes, _SUMS[x.dtype], *even,
        even[0] >= 4 or (w >= 4 and even[1] < 4), results[2] == sources[2], ahead,
    )  # fmt: skip


class _Spans(NamedTuple):
    """Planes in a span, lanes in one, spans, and how many of them a program goes along."""

    planes: int
    lanes: int
    number: int
    steps: int


def _spans(plan: Plan) -> _Spans:
    """Whole planes that lanes fill, and of these so many that few lanes of programs are idle."""
    plane = plan.axes[1].size * plan.axes[2].size
    least = LINE_LANE // math.gcd(plane, LINE_LANE)
    block = LINE.lanes * LINE_LANE
    planes = min(range(least, 8 * least + 1, least), key=lambda n: -(-n * plane // block) * block / n)
    lanes = planes * plane // LINE_LANE
    number = -(-plan.outer * plan.axes[0].size // planes)
    programs = number * -(-lanes // LINE.lanes)
    return _Spans(planes, lanes, number, min(LINE.steps, programs // _LINE_PROGRAMS))


def _is_line(plan: Plan, given: Shares, x: Any, out: Any) -> bool:
    """Do windows of short elements, as many as cells, have one neighbour along W on either side? Are there so many
    planes that it pays to look where edges are, and do products round nothing?"""
    depth, high, last = plan.axes
    if not _slides(plan, x.dtype) or plan.inner > 1 or x.element_size() != 2 or depth.window > 1:
        return False
    fits = all(axis.outputs == axis.size for axis in plan.axes) and (last.window, last.pad) == (3, 1)
    return (
        fits and high.window <= 3 and high.size * last.size <= _LINE_PLANE and _spans(plan).steps >= _LINE_STEPS
        and (given.are_exact or plan.family not in BACK) and x.data_ptr() % 4 == 0 and out.data_ptr() % 4 == 0
    )  # fmt: skip


def _line(plan: Plan, given: Shares, x: Any, out: Any) -> None:
    back = plan.family in BACK
    _, high, last = plan.axes
    spans = _spans(plan)
    even = math.gcd(last.size, 16)
    grid = -(-spans.lanes // LINE.lanes) * -(-spans.number // spans.steps)
    launch(
        lines.slide_line, grid, LINE.warps,
        x, out, *_weights(plan, given, out.device), given.numbers, spans.lanes, high.size, last.size // even,
        spans.number, x.numel(), spans.steps, high.window, high.pad - (high.window - 1) if back else -high.pad,
        back, given.weighs, LINE.lanes, LINE_LANE, even,
    )  # fmt: skip


def _is_alone(axis: Axis) -> bool:
    return axis.size == 1 and axis.outputs == 1 and int(divisors(axis)[0]) == 1


def _passes(plan: Plan, given: Shares, x: Any, out: Any) -> None:
    """Sums along D, H and W one after the other, in memory: for windows of any kind and size."""
    back, device = plan.family in BACK, out.device
    sizes = [axis.outputs if back else axis.size for axis in plan.axes]
    left = [k for k in range(3) if not (k < 2 and all(_is_alone(axis) for axis in plan.axes[: k + 1]))]
    one = divisors_of(Axis(1, 1), device)
    by = [divisors_of(axis, device) for axis in plan.axes]
    wide, pair = _SUMS[x.dtype], x.dtype == torch.float64
    temporary = torch.float32 if wide is tl.float32 else torch.float64
    now, low = x, x
    for k in left:
        t = table(plan.axes[k], back, device)
        before, source = sizes[:k], sizes[k]
        sizes[k] = plan.axes[k].size if back else plan.axes[k].outputs
        beneath, result = math.prod(sizes[k + 1 :]) * plan.inner, sizes[k]
        total = plan.outer * math.prod(before) * result * beneath
        ends = k == 2
        to = out if ends else memory(total, temporary, device)
        to_low = memory(total, temporary, device) if pair and not ends else to
        weighs = back and k == left[0]
        others = (by[1], by[2]) if k == 0 else (one, by[2]) if k == 1 else (one, one)
        last = sizes[2] if k < 2 else 1
        if not back and ends:
            others, last = (by[1], by[0]), sizes[0]
        launch(
            kernels.axis_sum, -(-total // LANES), 4,
            now, low, to, to_low, t.first, t.count, by[k], *others, given.numbers,
            total, source, result, beneath, t.most, t.step, sizes[1], last, plan.inner,
            weighs, not back and ends, back and ends, k == left[0],
            LANES, is_wide(total), wide, pair,
        )  # fmt: skip
        now, low = to, to_low
