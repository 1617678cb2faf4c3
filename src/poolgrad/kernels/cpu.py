"""Plan and host memory to the native core."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from poolgrad import _core, calls
from poolgrad.errors import InvalidArgumentError
from poolgrad.plan import Plan, axis_numbers
from poolgrad.threads import get_num_threads

_forced: str | None = None


@functools.cache
def available_isas() -> tuple[str, ...]:
    """Instruction sets of this build that this processor has, best first."""
    return tuple(_core.isas())


def isa() -> str:
    """The instruction set in use: the best there is, or what ``POOLGRAD_ISA`` or :func:`force_isa` says."""
    name = _forced or os.environ.get("POOLGRAD_ISA", "").strip()
    usable = available_isas()
    if name and name not in usable:
        raise InvalidArgumentError(f"POOLGRAD_ISA must be one of {', '.join(usable)} on this processor, got {name!r}")
    return name or usable[0]


@functools.cache
def isa_once() -> str:
    """The same without a look at the environment each time."""
    return isa()


def force_isa(name: str | None) -> None:
    """Use this instruction set from now on, or with None the default again."""
    global _forced
    _forced = name
    calls.forget()
    isa_once.cache_clear()


def problem(plan: Plan) -> _core.Problem:
    """A plan in the form the core takes."""
    # Windows in a table are drawn anew with almost every call: keeping those plans would only fill memory.
    return _made(plan) if any(axis.starts for axis in plan.axes) else _kept(plan)


@functools.lru_cache(maxsize=1024)
def _kept(plan: Plan) -> _core.Problem:
    return _made(plan)


def _made(plan: Plan) -> _core.Problem:
    made = _core.Problem(
        family=plan.family,
        selector=plan.selector,
        numbering=plan.numbering,
        dtype=plan.dtype,
        index_dtype=plan.index_dtype,
        outer=plan.outer,
        inner=plan.inner,
        index=plan.index_map,
        common_count=plan.common_count,
        last_axis_slowest=plan.last_axis_slowest,
        infinite_floor=plan.infinite_floor,
        verify=plan.verify,
    )
    for number, axis in enumerate(plan.axes):
        made.set_axis(number, axis_numbers(axis), axis.starts, axis.stops)
    return made


def run(work: _core.Problem, name: str, arrays: Mapping[str, Any], out: Any, out_index: Any = None) -> int | None:
    """Fill ``out`` with this instruction set. The answer is None, or the flat position of the first bad element."""
    return work.run(
        input=arrays.get("input"),
        reference=arrays.get("reference"),
        index=arrays.get("index"),
        data=arrays.get("data"),
        out=out,
        out_index=out_index,
        threads=get_num_threads(),
        isa=name,
    )


def run_at(
    work: _core.Problem, input: int, reference: int, index: int, data: int, out: int, out_index: int, threads: int
) -> int | None:
    """The same on memory by address, 0 for none. Each must have as many elements as the problem says."""
    return work.run_at(input, reference, index, data, out, out_index, threads, isa_once())


def tensors(
    exchange: object,
    types: Sequence[object],
    size: object,
    empty_like: Callable[[Any], Any],
    threads: Callable[[], int],
    watchers: Sequence[Callable[[], Any]],
    states: Sequence[Callable[[], Any]],
) -> _core.Tensors:
    """What the core has to know of PyTorch: DLPack's C interface, the types of plain tensors and of their shapes, how
    to make one like another, the number of threads, who may watch a program, and what else a call depends on."""
    return _core.Tensors(exchange, types, size, empty_like, threads, isa_once, watchers, states)


def on_tensors(known: _core.Tensors, work: _core.Problem, likes: Sequence[Any], ordinary: Callable[..., Any]) -> Any:
    """``ordinary``, a call on tensors; where they are the host's and lie like these the core answers by itself.

    ``likes`` are data, input, reference and index, the result and its index; None for those that the call has not.
    """
    function: Any = _core.OnTensors(known, work, likes).function(ordinary)
    return functools.update_wrapper(function, ordinary)


def planes(
    window_plan: Plan, outer: int, inner: int, boxes: Sequence[Sequence[int]], lines: Sequence[tuple[float, int, int]]
) -> _core.Planes:
    """Planes whose windows are drawn one by one: ``boxes`` are sizes, window and outputs, ``lines`` those of axes.

    The plan names the maximum along an axis of as many elements as a window has cells.
    """
    sizes, window, outputs = ((*(1,) * (3 - len(box)), *box) for box in boxes)
    return _core.Planes(problem(window_plan), outer, inner, sizes, window, outputs, lines)
