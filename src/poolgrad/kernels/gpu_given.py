"""Cells that an index names by their position, on a GPU: which kernels a plan gets."""

from __future__ import annotations

import math
from typing import Any

import torch

from poolgrad.kernels import triton_given as kernels
from poolgrad.kernels.gpu_launch import clear, launch, memory, step
from poolgrad.kernels.gpu_maxima import COMPARED, NONE
from poolgrad.kernels.gpu_tiles import LANES, is_wide
from poolgrad.plan import Plan

_RUN_LANES = 128


def _numbers(plan: Plan) -> tuple[int, ...]:
    """What kernels are told of an index: its entries, those of an outer element, inner ones, and steps to cells."""
    outputs = math.prod(axis.outputs for axis in plan.axes)
    return (plan.outer * outputs * plan.inner, outputs, plan.inner, *plan.index_map[:3])


def _limits(plan: Plan) -> tuple[int, bool]:
    """The first number that is too large, and whether it is one of positions or of cells."""
    limit = plan.index_map[3]
    return (limit, True) if limit >= 0 else (_cells(plan), False)


def _cells(plan: Plan) -> int:
    return plan.outer * math.prod(axis.size for axis in plan.axes) * plan.inner


def first_bad_position(plan: Plan, index: Any) -> int | None:
    """The first output whose position lies outside the input, or its part of it, if there is one."""
    total, *rest = _numbers(plan)
    programs = -(-total // LANES)
    found = torch.empty(programs, dtype=torch.int64, device=index.device)
    limit, by_position = _limits(plan)
    launch(
        kernels.bad_positions, programs, 4,
        index, found, total, *rest, limit, NONE, by_position, LANES, is_wide(total),
    )  # fmt: skip
    first = int(found.min())
    return None if first == NONE else first


def contest(plan: Plan, index: Any, is_odd: Any) -> None:
    """Fill ``is_odd`` with 1 if some position lies outside the input or occurs twice, else with 0."""
    total, *rest = _numbers(plan)
    wide = is_wide(total)
    owners = memory(_cells(plan), torch.int64 if wide else torch.int32, index.device)
    limit, by_position = _limits(plan)
    for kernel in (kernels.claim, kernels.contest):
        launch(kernel, -(-total // LANES), 4, index, owners, is_odd, total, *rest, limit, by_position, LANES, wide)


def pick(plan: Plan, data: Any, index: Any, out: Any) -> None:
    """What lies at given positions."""
    total, *rest = _numbers(plan)
    launch(kernels.pick_given, -(-total // LANES), 4, data, index, out, total, *rest, LANES, is_wide(total))


def route(plan: Plan, grad: Any, index: Any, out: Any, are_apart: bool) -> None:
    """Gradients go to given positions: where these are not all apart, sorted by them, so that each is summed by one
    program, in order."""
    total, *rest = _numbers(plan)
    clear(out)
    programs, wide, kind = -(-total // LANES), is_wide(total), COMPARED[grad.dtype]
    if are_apart:
        launch(kernels.put_given, programs, 4, grad, index, out, total, *rest, LANES, wide, kind)
        return
    cells, targets, order = (memory(total, torch.int64, index.device) for _ in range(3))
    launch(kernels.name_cells, programs, 4, index, cells, total, *rest, LANES, wide)
    step(_sort, cells, targets, order)
    launch(kernels.add_runs, -(-total // _RUN_LANES), 4, grad, order, targets, out, total, _RUN_LANES, kind)


def _sort(values: Any, in_order: Any, numbers: Any) -> None:
    torch.sort(values, stable=True, out=(in_order, numbers))
