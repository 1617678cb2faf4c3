"""poolgrad's own calls: raw ops where results are fresh, the functional API where they are reused."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import poolgrad
from benchmarks.problems import SEEDS, Array, Arrays, Problem, raw_call
from benchmarks.runners import Runner
from poolgrad import raw_ops

Call = functools.partial[Any]


def _first(result: Any) -> Array:
    """The values, without the borders a fractional op also gives."""
    return np.asarray(result[0] if isinstance(result, tuple) else result)


def prepare(problem: Problem, arrays: Arrays) -> Runner:
    """The call of a row."""
    if problem.results == "reused":
        # As in a loop over batches: the first call allocates the result, all others fill it again.
        call = _functional(problem, arrays)
        return Runner(functools.partial(call, out=_first(call())), _first)
    if problem.kind == "offsets":
        return Runner(_functional(problem, arrays), _first)
    call = raw_call(problem, arrays)
    return Runner(functools.partial(getattr(raw_ops, call.op), **call.keywords()), _first)


def _functional(problem: Problem, arrays: Arrays) -> Call:
    if problem.workload.ratio:
        return _fractional(problem, arrays)
    average, geometry = problem.workload.pooling == "avg", problem.geometry()
    if problem.direction == "forward":
        return functools.partial(poolgrad.avg_pool if average else poolgrad.max_pool, arrays.x, **geometry)
    if average and problem.direction == "second":
        return functools.partial(poolgrad.avg_pool, arrays.grad, **geometry)
    if average:
        return functools.partial(poolgrad.avg_pool_grad, arrays.grad, problem.input_shape, **geometry)
    function = poolgrad.max_pool_grad if problem.direction == "gradient" else poolgrad.max_pool_grad_grad
    if problem.kind == "offsets":
        saved: dict[str, Any] = {"offsets": arrays.offsets, "input_shape": problem.input_shape}
        return functools.partial(function, arrays.grad, None, **geometry, **saved)
    # MaxPool3DGrad gives to all that are closer than 1e-5 to the maximum; of the functional API this is nearest.
    ties = "all" if problem.direction == "gradient" and problem.axes == 3 else "first"
    return functools.partial(function, arrays.grad, arrays.x, **geometry, ties=ties)


def _fractional(problem: Problem, arrays: Arrays) -> Call:
    average = problem.workload.pooling == "avg"
    if problem.direction == "forward":
        function = poolgrad.fractional_avg_pool if average else poolgrad.fractional_max_pool
        return functools.partial(function, arrays.x, problem.workload.ratio, seed=SEEDS)
    if average:
        shape = problem.input_shape
        return functools.partial(poolgrad.fractional_avg_pool_grad, arrays.grad, shape, arrays.sequences)
    return functools.partial(poolgrad.fractional_max_pool_grad, arrays.grad, arrays.x, arrays.sequences)
