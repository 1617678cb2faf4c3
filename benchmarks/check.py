"""Nothing wrong is timed: results against the slow reference, and peers against ours."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks import ours
from benchmarks.problems import Array, Problem, make_arrays, raw_call
from poolgrad import reference

# Distance from 1 to the next number.
STEPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
PEER_STEPS = 64  # a peer's sums may be rounded at every step
SAMPLES = 4096


class WrongResultError(AssertionError):
    """A result differs from the reference."""


def tolerance(expected: Array, dtype: str, steps: float) -> Array:
    """So many units in the last place of each expected value; a little near zero, where terms cancel."""
    step = STEPS.get(dtype, 0.0)
    wide = np.abs(expected.astype(np.float64))
    largest = float(wide.max()) if wide.size else 0.0
    allowed: Array = steps * step * wide + steps * step * step * largest
    return allowed


def worst_difference(expected: Array, actual: Array, allowed: Array | float) -> float:
    """The largest difference beyond what is allowed, or 0."""
    wide = [values.astype(np.float64) for values in (expected, actual)]
    difference = np.abs(wide[0] - wide[1])
    beyond = ~(difference <= allowed)
    return float(difference[beyond].max()) if beyond.any() else 0.0


def check_against_reference(problem: Problem) -> None:
    """Compare a small case of a row with the reference: averages within 2 units in the last place, maxima exactly."""
    small = problem.smaller()
    arrays = make_arrays(small, exact=True)
    runner = ours.prepare(small, arrays)
    actual = runner.to_numpy(runner.call())
    call = raw_call(small, arrays)
    expected: Any = reference.RAW_OPS[call.op](**call.keywords())
    expected = np.asarray(expected[0] if isinstance(expected, tuple) else expected)
    if (actual.shape, actual.dtype) != (expected.shape, expected.dtype):
        raise WrongResultError(f"{problem.name}: {actual.dtype}{actual.shape}, not {expected.dtype}{expected.shape}")
    averages = small.workload.pooling == "avg"
    allowed = tolerance(expected, small.dtype, 2) if averages else 0.0
    worst = worst_difference(expected, actual, allowed)
    if worst:
        raise WrongResultError(f"{problem.name}: differs from the reference by {worst:g} in a small case")


def sample(result: Array, count: int = SAMPLES) -> Array:
    """Elements at random places, the same for every array of one shape."""
    places = np.random.default_rng(7).integers(0, max(1, math.prod(result.shape)), count)
    picked: Array = result[np.unravel_index(places, result.shape)]
    return picked


def peer_note(problem: Problem, expected: Array, actual: Array) -> str:
    """What is different in a peer's sampled result, or nothing."""
    if expected.shape != actual.shape:
        return "another shape"
    steps = 0.0 if problem.workload.pooling == "max" and problem.direction == "forward" else PEER_STEPS
    allowed = tolerance(expected, problem.dtype, steps)
    if steps:
        largest = float(np.abs(expected.astype(np.float64)).max())
        allowed = allowed + steps * STEPS.get(problem.dtype, 0.0) * largest
    wide = np.abs(expected.astype(np.float64) - actual.astype(np.float64))
    many = int((~(wide <= allowed)).sum())
    return f"{many / len(wide):.1%} of sampled elements differ, by up to {wide.max():.3g}" if many else ""
