"""Maxima, what they select and where gradients go, on a GPU: which kernels a plan gets."""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import Any

import torch
import triton.language as tl

from poolgrad.kernels import triton_even as evenly
from poolgrad.kernels import triton_maxima as kernels
from poolgrad.kernels import triton_picks as picks
from poolgrad.kernels import triton_planes as planes_of
from poolgrad.kernels import triton_routes as routes
from poolgrad.kernels.gpu_launch import clear, kept, launch, memory
from poolgrad.kernels.gpu_tables import box, origins_of, skips_of, table, whole_of
from poolgrad.kernels.gpu_tiles import (
    EVEN,
    EVEN_LANE,
    LANES,
    PLANES,
    PLANES_AT_ONCE,
    ROUTE,
    ROUTE_BACK,
    March,
    back_tiles,
    balanced,
    both_sizes,
    evens,
    front_tiles,
    has_pairs,
    inner_block,
    is_plain,
    is_small,
    is_wide,
    line_sizes,
    window_numbers,
)
from poolgrad.plan import Plan
from poolgrad.windows import Axis

COMPARED = {
    torch.float16: tl.float32,
    torch.bfloat16: tl.float32,
    torch.float32: tl.float32,
    torch.float64: tl.float64,
    torch.int32: tl.int32,
    torch.int64: tl.int64,
}
"""Types in which elements are compared and added."""
NONE = 2**62
_MOST_TAPS = 32  # windows over a cell that are looked at one by one
_LEAST_PLANES = 4096
_MOST_PLACES = 2**16  # of a window, for their quotients to be exact


@functools.lru_cache(maxsize=64)
def _lowest(dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return kept(torch.full((1,), torch.finfo(dtype).min, dtype=dtype), device)


def _outputs(plan: Plan) -> int:
    return plan.outer * math.prod(axis.outputs for axis in plan.axes) * plan.inner


def _inputs(plan: Plan) -> int:
    return plan.outer * math.prod(axis.size for axis in plan.axes) * plan.inner


def maximum(plan: Plan, x: Any, out: Any, index: Any) -> None:
    """Fill ``out`` with maxima and ``index`` with where they are; either may be missing."""
    if not (is_plain(plan) and is_small(plan, back=False)):
        _passes(plan, x, out, index)
    elif _marches(plan) and plan.selector != "first_max":
        _best_march(plan, x, out, index)
    else:
        _tile(plan, x, out, index)


def _marches(plan: Plan) -> bool:
    """Do windows go on by one cell, and do they share cells along D or H?"""
    plain = all(axis.stride == 1 and axis.dilation == 1 for axis in plan.axes)
    return plain and (plan.axes[0].window > 1 or plan.axes[1].window > 1)


def _lanes(plan: Plan, sizes: tuple[int, int, int]) -> tuple[bool, int, int]:
    """Does a plan go along D? How many rows of inner elements lie side by side then, and how many steps are there?"""
    d, h, w = sizes
    deep = plan.axes[0].window > 1
    return (True, plan.outer * h * w, d) if deep else (False, plan.outer * d * w, h)


def _blocks(march: March, inner: int, rows: int, length: int, lanes: int) -> tuple[int, int, int]:
    """Programs that go along an axis, their steps, and rows of a tile."""
    steps, row_block = balanced(length, march.steps), max(march.lanes // lanes, 1)
    return -(-rows // row_block) * -(-inner // lanes) * -(-length // steps), steps, row_block


def _along(plan: Plan, deep: bool) -> tuple[int, ...]:
    """Sizes, windows and pads of the axis that a kernel goes along and of those beside it."""
    d, h, w = plan.axes
    axes = (d, h, w) if deep else (h, Axis(1, 1), w)
    return (*(axis.size for axis in axes), *(axis.outputs for axis in axes), plan.inner,
            *(axis.window for axis in axes), *(axis.pad for axis in axes))  # fmt: skip


def _best_march(plan: Plan, x: Any, out: Any, index: Any) -> None:
    d, h, w = (axis.outputs for axis in plan.axes)
    deep, rows, length = _lanes(plan, (d, h, w))
    last = plan.inner > 1
    march = ROUTE[last, deep]
    lanes = inner_block(plan.inner, march.lanes) if last else march.lanes
    if last:
        programs, steps, row_block = _blocks(march, plan.inner, rows, length, lanes)
    else:
        programs, steps, row_block = _blocks(march, rows, 1, length, lanes)
    numbers = _along(plan, deep)
    launch(
        kernels.best_march, programs, march.warps,
        x, x if out is None else out, x if index is None else index, _lowest(x.dtype, x.device), rows,
        *numbers[:7], plan.axes[0].size, *plan.index_map[:3], steps, *numbers[7:], *_rules(plan),
        index is not None, plan.numbering == "position", out is not None,
        deep, last, row_block, lanes, COMPARED[x.dtype],
    )  # fmt: skip


def _rules(plan: Plan) -> tuple[bool, bool, bool]:
    """Does NaN win, is there a floor, may it be infinite?"""
    return plan.selector in ("first_nan", "all_equal"), plan.selector == "floor", plan.infinite_floor


def _tile(plan: Plan, x: Any, out: Any, index: Any) -> None:
    t = front_tiles(plan)
    launch(
        kernels.best_tile, t.programs, t.warps,
        x, x if out is None else out, x if index is None else index, _lowest(x.dtype, x.device),
        t.rows, *line_sizes(plan), plan.inner, *plan.index_map[:3],
        *window_numbers(plan), *(axis.dilation for axis in plan.axes), *_rules(plan), index is not None,
        plan.numbering == "position", out is not None, t.last, has_pairs(plan), t.row_block, t.lane_block, t.is_wide,
        COMPARED[x.dtype], *evens(plan),
    )  # fmt: skip


def _scales(plan: Plan) -> tuple[int, int, int]:
    """What a step along an axis adds to the number of a cell: among the places of its window, or in the input."""
    if plan.numbering == "position":
        return plan.axes[1].size * plan.axes[2].size, plan.axes[2].size, 1
    return box(plan.axes[1]) * box(plan.axes[2]), box(plan.axes[2]), 1


def _passes(plan: Plan, x: Any, out: Any, index: Any) -> None:
    """The largest along W, H and D one after the other, in memory: for windows of any kind and size."""
    device, position = x.device, plan.numbering == "position"
    sizes = [axis.size for axis in plan.axes]
    scales = _scales(plan)
    number_dtype = torch.int64 if math.prod(sizes) >= 2**31 or scales[0] * box(plan.axes[0]) >= 2**31 else torch.int32
    now, numbers = x, x
    nan_wins, floor, infinite = _rules(plan)
    for k in (2, 1, 0):
        axis, t = plan.axes[k], table(plan.axes[k], False, device)
        if k < 2 and axis.size == axis.outputs == axis.window == 1:
            continue
        source, sizes[k] = sizes[k], axis.outputs
        beneath = math.prod(sizes[k + 1 :]) * plan.inner
        total = plan.outer * math.prod(sizes) * plan.inner
        best = memory(total, x.dtype, device)
        found = memory(total, number_dtype, device) if index is not None else x
        launch(
            kernels.axis_best, -(-total // LANES), 4,
            now, numbers, best, found, t.first, t.count, origins_of(axis, device), total, source, axis.outputs, beneath,
            t.most, t.step, scales[k], k == 2, position, nan_wins, index is not None, LANES, is_wide(total),
            COMPARED[x.dtype],
        )  # fmt: skip
        now, numbers = best, found
    keeps = not nan_wins and not floor
    tables = [table(axis, False, device) for axis in plan.axes]
    marks = [skips_of(axis, device) if keeps else whole_of(axis, device) for axis in plan.axes]
    total = _outputs(plan)
    launch(
        kernels.finish_best, -(-total // LANES), 4,
        x, now, numbers, now if out is None else out, now if index is None else index, _lowest(x.dtype, device),
        *(t.first for t in tables), *marks, total, *both_sizes(plan), plan.inner, *plan.index_map[:3], *scales,
        keeps, floor, infinite, index is not None, position, out is not None, LANES, is_wide(total),
        COMPARED[x.dtype],
    )  # fmt: skip


def _place_dtype(plan: Plan) -> torch.dtype:
    """Short places, if one more number is left for none."""
    return torch.uint8 if math.prod(box(axis) for axis in plan.axes) < 255 else torch.int32


def _selected(plan: Plan, arrays: dict[str, Any]) -> tuple[str, Any]:
    """How cells are selected, by "place", "equal" or "near", and by which array."""
    if plan.selector == "offset":
        return "place", arrays["index"]
    if plan.selector == "all_near":
        return "near", arrays["reference"]
    x, device = arrays["input"], arrays["input"].device
    if plan.selector == "all_equal":
        best = memory(_outputs(plan), x.dtype, device)
        maximum(plan, x, best, None)
        return "equal", best
    is_equal = plan.selector == "first_equal"
    places = memory(_outputs(plan), torch.int32 if is_equal else _place_dtype(plan), device)
    if is_equal:
        _pick(plan, "first", x, x, x, arrays["reference"], places)
    else:
        maximum(replace(plan, numbering="offset"), x, None, places)
    return "place", places


def route(plan: Plan, arrays: dict[str, Any], out: Any) -> None:
    """Gradients go to the selected cells."""
    how, by = _selected(plan, arrays)
    grad = arrays["data"]
    if how != "place":
        _route_any(plan, how, grad, grad, arrays["input"], by, out)
    elif is_plain(plan) and is_small(plan, back=True) and by.dtype == torch.uint8 and not plan.last_axis_slowest:
        if _is_even(plan, grad):
            _even(plan, grad, by, out)
        elif _marches(plan):
            _march(plan, grad, by, out)
        else:
            _route(plan, grad, by, out)
    elif _has_planes(plan) and plan.selector != "first_equal" and not plan.last_axis_slowest:
        _route_planes(plan, grad, by, out)
    else:
        _route_any(plan, how, grad, by, grad, grad, out)


def _is_packed(tensor: Any) -> bool:
    """Are two elements added by one instruction?"""
    return tensor.element_size() == 2 and _capability(tensor) >= (8, 0)


def _capability(tensor: Any) -> tuple[int, int]:
    """Of a CUDA device."""
    if not tensor.is_cuda or torch.version.cuda is None:
        return (0, 0)
    major, minor = torch.cuda.get_device_capability(tensor.device)
    return int(major), int(minor)


def _sums(grad: Any) -> tuple[Any, bool]:
    """The type of sums, and whether it is the elements' own."""
    packed = _is_packed(grad)
    own = tl.float16 if grad.dtype == torch.float16 else tl.bfloat16
    return own if packed else COMPARED[grad.dtype], packed


def _route(plan: Plan, grad: Any, places: Any, out: Any) -> None:
    cells, t = back_tiles(plan)
    launch(
        routes.route_tile, t.programs, t.warps,
        grad, places, out, t.rows, *cells, *line_sizes(plan), plan.inner,
        *window_numbers(plan), t.last, t.row_block, t.lane_block, t.is_wide, *_sums(grad), *evens(plan),
    )  # fmt: skip


def _march(plan: Plan, grad: Any, places: Any, out: Any) -> None:
    d, h, w = (axis.size for axis in plan.axes)
    last = plan.inner > 1
    columns = w if last else -(-w // 4)
    deep, rows, length = _lanes(plan, (d, h, columns))
    march = ROUTE_BACK[last, deep, grad.element_size() == 2]
    lanes = inner_block(plan.inner, march.lanes) if last else 4
    programs, steps, row_block = _blocks(march, plan.inner, rows, length, lanes)
    sizes, along = line_sizes(plan), _along(plan, deep)
    launch(
        routes.route_march, programs, march.warps,
        grad, places, out, rows, *along[:2], sizes[2], *along[3:5], sizes[5], plan.inner, columns, steps, *along[7:],
        deep, last, row_block, lanes, *_sums(grad), *evens(plan),
    )  # fmt: skip


def _is_even(plan: Plan, grad: Any) -> bool:
    """Are windows as many as cells, one cell apart, and elements short, for lanes of some? A lane of single elements
    has one neighbour along W on either side."""
    if not _marches(plan) or grad.element_size() != 2 or any(axis.outputs != axis.size for axis in plan.axes):
        return False
    last = plan.axes[2]
    fits = plan.inner % EVEN_LANE == 0 or (plan.inner == 1 and last.window == 3 and last.pad == 1)
    return fits and _span(plan) >= EVEN_LANE


def _span(plan: Plan) -> int:
    """Elements at one place of the axis that a kernel goes along."""
    deep = plan.axes[0].window > 1
    return math.prod(axis.size for axis in plan.axes[1 if deep else 2 :]) * plan.inner


def _has_factors(tensor: Any) -> bool:
    """Does one instruction make ones and zeros of the elements' type?"""
    return tensor.dtype == torch.float16 or _capability(tensor) >= (9, 0)


def _even(plan: Plan, grad: Any, places: Any, out: Any) -> None:
    deep, span, line = plan.axes[0].window > 1, _span(plan), plan.axes[2].size * plan.inner
    outer, length = (plan.outer, plan.axes[0].size) if deep else (plan.outer * plan.axes[0].size, plan.axes[1].size)
    march = EVEN[plan.inner > 1, deep]
    in_place = -(-span // EVEN_LANE)
    programs, steps, row_block = _blocks(march, 1, outer * in_place, length, EVEN_LANE)
    evens_of = math.gcd(span, 16), math.gcd(line, 16)
    packed = _sums(grad)
    words = (
        packed[1] and plan.inner == 1 and min(evens_of) >= 4 and all(t.data_ptr() % 4 == 0 for t in (grad, places, out))
    )
    launch(
        evenly.route_even, programs, march.warps,
        grad, places, out, outer * in_place, in_place, length, span // evens_of[0], line // evens_of[1], _inputs(plan),
        steps, *_along(plan, deep)[7:], plan.inner, row_block, EVEN_LANE, *packed, _has_factors(grad), words, *evens_of,
    )  # fmt: skip


def _has_planes(plan: Plan) -> bool:
    """Do many windows share a cell, in enough channels for each to be a lane?"""
    taps = math.prod(-(-box(axis) // axis.stride) for axis in plan.axes)
    places = math.prod(box(axis) for axis in plan.axes)
    return taps > _MOST_TAPS and places < _MOST_PLACES and plan.outer * plan.inner >= _LEAST_PLANES


def _route_planes(plan: Plan, grad: Any, places: Any, out: Any) -> None:
    if plan.inner > 1:
        clear(out)
    planes, (depth, _, last) = plan.outer * plan.inner, plan.axes
    at_once = min(PLANES_AT_ONCE, key=lambda size: (-(-last.outputs // size) * size, -size))
    *sizes, outputs = both_sizes(plan)
    even = evens(plan)[1]
    launch(
        planes_of.route_planes, -(-planes // PLANES.lanes), PLANES.warps,
        grad, places, out, *(origins_of(axis, out.device) for axis in plan.axes), planes, *sizes, outputs // even,
        plan.inner, *(axis.dilation for axis in plan.axes), box(plan.axes[1]), box(last),
        plan.inner > 1, plan.inner == 1 and even >= 4, even, depth.size > 1 or box(depth) > 1,
        last.outputs % at_once == 0, at_once, PLANES.lanes, _inputs(plan) // plan.outer >= 2**31, COMPARED[grad.dtype],
    )  # fmt: skip


def _route_any(plan: Plan, how: str, grad: Any, places: Any, x: Any, reference: Any, out: Any) -> None:
    device, total = out.device, _inputs(plan)
    tables = [table(axis, True, device) for axis in plan.axes]
    scales = _scales(replace(plan, numbering="offset"))
    launch(
        routes.route_any, -(-total // LANES), 4,
        grad, places, x, reference, out, *(t.first for t in tables), *(t.count for t in tables),
        *(origins_of(axis, device) for axis in plan.axes), total, *both_sizes(plan), plan.inner,
        *(t.most for t in tables), *(t.step for t in tables), *(axis.dilation for axis in plan.axes), *scales[:2],
        how, plan.last_axis_slowest, LANES, is_wide(total), COMPARED[grad.dtype],
    )  # fmt: skip


def pick(plan: Plan, arrays: dict[str, Any], out: Any) -> None:
    """What lies at the selected cells, summed."""
    how, by = _selected(plan, arrays)
    data = arrays["data"]
    if how == "place":
        _pick(plan, how, data, by, data, data, out)
    else:
        _pick(plan, how, data, data, arrays["input"], by, out)


def _pick(plan: Plan, how: str, data: Any, places: Any, x: Any, reference: Any, out: Any) -> None:
    device, total = out.device, _outputs(plan)
    tables = [table(axis, False, device) for axis in plan.axes]
    launch(
        picks.pick_any, -(-total // LANES), 4,
        data, places, x, reference, out, *(t.first for t in tables), *(t.count for t in tables),
        *(origins_of(axis, device) for axis in plan.axes), total, *both_sizes(plan), plan.inner,
        *(t.most for t in tables), *(axis.dilation for axis in plan.axes), box(plan.axes[1]), box(plan.axes[2]),
        how, LANES, is_wide(total), COMPARED[data.dtype],
    )  # fmt: skip


def first_bad_place(plan: Plan, index: Any) -> int | None:
    """The first output whose offset names no cell of its window, if there is one."""
    device, total = index.device, _outputs(plan)
    tables = [table(axis, False, device) for axis in plan.axes]
    programs = -(-total // LANES)
    found = torch.empty(programs, dtype=torch.int64, device=device)
    launch(
        picks.bad_places, programs, 4,
        index, found, *(t.first for t in tables), *(t.count for t in tables),
        *(origins_of(axis, device) for axis in plan.axes), total, *(axis.outputs for axis in plan.axes), plan.inner,
        *(axis.dilation for axis in plan.axes), box(plan.axes[1]), box(plan.axes[2]), NONE,
        LANES, is_wide(total),
    )  # fmt: skip
    first = int(found.min())
    return None if first == NONE else first


def first_odd_maximum(plan: Plan, x: Any, reference: Any) -> int | None:
    """The first given maximum that is not that of its window, if there is one."""
    best = torch.empty(_outputs(plan), dtype=x.dtype, device=x.device)
    maximum(plan, x, best, None)
    odd = ~(best == reference.as_strided((best.numel(),), (1,)))
    return int(odd.nonzero()[0]) if bool(odd.any()) else None
