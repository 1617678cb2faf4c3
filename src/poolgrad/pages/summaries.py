"""Results in a few words and numbers, for the terminal, for JSON and for a report."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from poolgrad.outlines import Outline
from poolgrad.pages.problems import Problem
from poolgrad.pages.runner import Run
from poolgrad.pages.values import Array

_MOST_VALUES = 2**16


def kind_of(part: Outline) -> str:
    """Dtype and shape.

    >>> kind_of(Outline((2, 3), "float32"))
    'float32[2,3]'
    """
    return f"{part.dtype}[{','.join(map(str, part.shape))}]"


def numbers_of(array: Array) -> dict[str, float | int]:
    """Least, largest, sum and how many are not zero; of none, only that.

    >>> numbers_of(np.array([1, 0, 3]))
    {'min': 0, 'max': 3, 'sum': 4, 'nonzero': 2}
    """
    if not array.size:
        return {"nonzero": 0}
    wide = array if array.dtype.kind in "iu" else array.astype(np.float64)
    with np.errstate(all="ignore"):
        found = {"min": wide.min().item(), "max": wide.max().item(), "sum": wide.sum().item()}
    return found | {"nonzero": int(np.count_nonzero(array))}


def in_words(array: Array) -> str:
    """A small array itself, of a large one its numbers.

    >>> in_words(np.array([[1.5, 2]]))
    '1.5 2'
    """
    if array.size <= 8:
        return " ".join(f"{number:g}" for number in array.astype(np.float64).ravel())
    return "  ".join(f"{name} {number:g}" for name, number in numbers_of(array).items())


def run_as_json(done: Run, unmet: tuple[Problem, ...] | None) -> dict[str, Any]:
    """A run as JSON: each block with its outputs and faults; values of small arrays, with text for NaN and infinity."""
    blocks = [
        {
            "id": outcome.block,
            "op": outcome.op,
            "status": outcome.status,
            "outputs": {name.partition(".")[2]: _output(done.results[name]) for name in outcome.outputs},
            "problems": [problem.as_json() for problem in outcome.problems],
        }
        for outcome in done.outcomes
    ]
    page: dict[str, Any] = {"name": done.page.name, "blocks": blocks}
    return page if unmet is None else page | {"unmet": [problem.as_json() for problem in unmet]}


def _output(array: Array) -> dict[str, Any]:
    made: dict[str, Any] = {"dtype": array.dtype.name, "shape": list(array.shape)}
    made |= {name: words_of(number) for name, number in numbers_of(array).items()}
    if array.size <= _MOST_VALUES:
        wide = array if array.dtype.kind in "iu" else array.astype(np.float64)
        made["value"] = [words_of(number) for number in wide.ravel().tolist()]
    return made


def words_of(number: float | int) -> float | int | str:
    """A number as JSON can hold it.

    >>> words_of(2.5), words_of(math.inf)
    (2.5, 'inf')
    """
    return str(number) if isinstance(number, float) and not math.isfinite(number) else number
