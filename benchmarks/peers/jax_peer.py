"""JAX: `lax.reduce_window` and its derivatives, compiled by `jax.jit`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.problems import Arrays, Problem
from benchmarks.runners import Runner


@dataclass
class JaxPeer:
    """Pure functions of the given arrays."""

    name: str
    package: str = "jax"
    install: str = "jax"

    def start(self, threads: int) -> str:
        """Threads follow XLA_FLAGS and the affinity of the process, set before."""
        import jax

        jax.config.update("jax_enable_x64", True)
        return str(jax.__version__)

    def prepare(self, problem: Problem, arrays: Arrays) -> Runner | None:
        """Fresh results from the input only; integers have no gradient here."""
        if problem.results == "reused" or problem.kind == "offsets" or problem.workload.ratio:
            return None
        if problem.dtype == "uint8" and problem.direction != "forward":
            return None
        import jax

        function = jax.jit(_function(problem))
        given = [jax.numpy.asarray(array) for array in (arrays.x, arrays.grad) if array is not None]
        return Runner(lambda: function(*given).block_until_ready())

    def forget(self) -> None:
        """Drop compiled functions."""
        import jax

        jax.clear_caches()


def _function(problem: Problem) -> Callable[..., Any]:
    """The row as a function of its arrays: `x`, `grad` or both in this order."""
    import jax

    pool = _average(problem) if problem.workload.pooling == "avg" else _maximum(problem)
    if problem.direction == "forward" or (problem.direction == "second" and problem.workload.pooling == "avg"):
        return pool
    if problem.direction == "second":
        return lambda x, grad: jax.jvp(pool, (x,), (grad,))[1]
    if problem.workload.pooling == "max":
        return lambda x, grad: jax.vjp(pool, x)[1](grad)[0]
    like = jax.ShapeDtypeStruct(problem.input_shape, jax.numpy.dtype(problem.dtype))
    return lambda grad: jax.linear_transpose(pool, like)(grad)[0]


def _reduce(problem: Problem, start: Any, operation: Any) -> Callable[[Any], Any]:
    import jax

    window = problem.arranged((1, *problem.workload.window, 1))
    strides = problem.arranged((1, *problem.workload.stride, 1))
    return functools.partial(
        jax.lax.reduce_window,
        init_value=start,
        computation=operation,
        window_dimensions=window,
        window_strides=strides,
        padding=problem.workload.padding,
    )


def _maximum(problem: Problem) -> Callable[[Any], Any]:
    import jax

    least = 0 if problem.dtype == "uint8" else -np.inf
    return _reduce(problem, np.array(least).astype(jax.numpy.dtype(problem.dtype)), jax.lax.max)


def _average(problem: Problem) -> Callable[[Any], Any]:
    """Sums over counts; the counts are constants of the compiled function."""
    import jax

    dtype = jax.numpy.dtype(problem.dtype)
    total = _reduce(problem, np.array(0).astype(dtype), jax.lax.add)
    shape = problem.arranged((1, *problem.workload.shape[1:-1], 1))
    counts = np.asarray(total(jax.numpy.ones(shape, dtype)))
    return lambda x: total(x) / counts
