"""Plan and tensors of a GPU to Triton kernels.

Imported when the first such tensor comes. With ``TRITON_INTERPRET=1`` the same kernels run on the host.
"""

from __future__ import annotations

import contextlib
import functools
from typing import Any

import torch

from poolgrad.errors import UnsupportedError
from poolgrad.kernels import gpu_averages, gpu_given, gpu_maxima
from poolgrad.kernels.gpu_drawn import Planes
from poolgrad.kernels.gpu_launch import Launches, Repeat, recorded
from poolgrad.plan import Plan

__all__ = ["Planes", "contest", "run"]

_FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def run(
    plan: Plan,
    arrays: dict[str, Any],
    out: Any,
    out_index: Any = None,
    *,
    is_trusted: bool = False,
    are_apart: bool = False,
    repeats: dict[int, Repeat | None] | None = None,
) -> int | None:
    """Fill ``out``, and ``out_index`` where a plan names maxima. All tensors are dense, in the plan's order.

    The answer is None, or the flat position of the first bad element. To look for one the host waits for the device:
    what is ``is_trusted``, such as an index that a kernel made, is not looked at. Of given positions that ``are_apart``
    none occurs twice. A launch that can be repeated, with other tensors for input, reference, index, data and both
    results, is put into ``repeats`` by the device's number.
    """
    if out.dtype not in _FLOATS and plan.selector != "given":
        raise UnsupportedError(f"on a GPU the dtype must be float16, bfloat16, float32 or float64, got {out.dtype}")
    with torch.cuda.device(out.device) if out.is_cuda else contextlib.nullcontext():
        bad = None if is_trusted else _first_bad(plan, arrays)
        if bad is None and repeats is not None and out.is_cuda:
            checks = not is_trusted and (plan.verify or plan.family in ("pick", "route"))
            tensors = _in_order(arrays, out, out_index)
            made = recorded(lambda: _fill(plan, arrays, out, out_index, are_apart), tensors, out.device)
            repeats[out.device.index] = None if checks else made
        elif bad is None:
            _fill(plan, arrays, out, out_index, are_apart)
        return bad


def contest(plan: Plan) -> Launches:
    """What looks at an index by position: :func:`poolgrad.kernels.gpu_given.contest`."""
    return Launches(functools.partial(gpu_given.contest, plan))


def _in_order(arrays: dict[str, Any], out: Any, out_index: Any) -> tuple[Any, ...]:
    return (*(arrays.get(role) for role in ("input", "reference", "index", "data")), out, out_index)


def _first_bad(plan: Plan, arrays: dict[str, Any]) -> int | None:
    if plan.verify:
        return gpu_maxima.first_odd_maximum(plan, arrays["input"], arrays["reference"])
    if plan.family not in ("pick", "route"):
        return None
    if plan.selector == "offset":
        return gpu_maxima.first_bad_place(plan, arrays["index"])
    if plan.selector == "given":
        return gpu_given.first_bad_position(plan, arrays["index"])
    return None


def _fill(plan: Plan, arrays: dict[str, Any], out: Any, out_index: Any, are_apart: bool) -> None:
    if plan.family in ("mean", "spread"):
        gpu_averages.run(plan, arrays["input" if plan.family == "mean" else "data"], out)
    elif plan.family == "maximum":
        gpu_maxima.maximum(plan, arrays["input"], out, out_index)
    elif plan.selector != "given":
        move = gpu_maxima.pick if plan.family == "pick" else gpu_maxima.route
        move(plan, arrays, out)
    elif plan.family == "pick":
        gpu_given.pick(plan, arrays["data"], arrays["index"], out)
    else:
        gpu_given.route(plan, arrays["data"], arrays["index"], out, are_apart)
