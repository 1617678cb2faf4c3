"""Running a page: each block in turn, whatever can be computed, and a comparison with what was expected."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from poolgrad.errors import RAISED
from poolgrad.outlines import Outline, outline
from poolgrad.pages.axes import layouts
from poolgrad.pages.checks import Checked, Step, check, problem_of
from poolgrad.pages.model import LIMITS, Document, Limits, Page
from poolgrad.pages.problems import PageError, Problem
from poolgrad.pages.values import Array, Value, array_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a block: ``done``, ``failed`` or ``waits``; its outputs; and how long it took."""

    block: str
    op: str
    status: str
    outputs: Mapping[str, Outline]
    problems: tuple[Problem, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """A page that was run. ``results`` are arrays by port, such as ``results["dx.output"]``, ``layouts`` the data
    formats of those that an op gave or took."""

    page: Page
    results: Mapping[str, Array]
    outcomes: tuple[Outcome, ...]
    layouts: Mapping[str, str]

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All faults, in the order of the blocks."""
        return tuple(problem for outcome in self.outcomes for problem in outcome.problems)


def run(page: Page | Document, *, limits: Limits = LIMITS, progress: Callable[[Outcome], object] | None = None) -> Run:
    """Check a page, then compute each block that can be computed; a fault in one stops only those that wait for it.

    Args:
        page: a page, or a document, of which the first page is run
        limits: how large it may be, told from inferred shapes
        progress: called with each block's outcome as it comes

    >>> page = Page().block("x", "Const", value=[[1, 2], [3, 4]]).block("total", "Sum", input="x")
    >>> run(page).results["total.output"]
    array(10., dtype=float32)
    """
    checked = check(page.page() if isinstance(page, Document) else page, limits)
    results: dict[str, Array] = {}
    outcomes = []
    for outcome in _outcomes(checked, results):
        outcomes.append(outcome)
        if progress:
            progress(outcome)
    return Run(checked.page, results, tuple(outcomes), layouts(checked))


def _outcomes(checked: Checked, results: dict[str, Array]) -> Iterator[Outcome]:
    """Blocks in order, their results kept; then those that have no place in it, and ends of wires that lead nowhere."""
    failed: set[str] = set()
    for step in checked.steps:
        outcome = _outcome(step, checked, results, failed)
        if outcome.status != "done":
            failed.add(step.block.id)
        yield outcome
    names = {block.id: block.op for block in checked.page.blocks}
    ordered = {step.block.id for step in checked.steps}
    for name in dict.fromkeys([*names, *(problem.block for problem in checked.problems)]):
        if name not in ordered:
            yield Outcome(name, names.get(name, ""), "failed", {}, _faults(checked, name))


def _faults(checked: Checked, block: str) -> tuple[Problem, ...]:
    return tuple(problem for problem in checked.problems if problem.block == block)


def _outcome(step: Step, checked: Checked, results: dict[str, Array], failed: set[str]) -> Outcome:
    """Compute one block if nothing is in the way, and keep its results."""
    block, page = step.block, checked.page
    faults = _faults(checked, block.id)
    waiting = sorted({source.block for source in step.feeds.values()} & failed)
    if not faults and waiting:
        faults = (Problem("PG401", f"waits for {', '.join(waiting)}", page.name, block.id),)
    if faults:
        status = "waits" if faults[0].code == "PG401" else "failed"
        return Outcome(block.id, block.op, status, {}, faults)
    start = time.perf_counter()
    try:
        made = step.kind.compute(**step.arguments(results))
    except (PageError, *RAISED) as error:
        return Outcome(block.id, block.op, "failed", {}, (problem_of(error, page, block, "PG402"),))
    seconds = time.perf_counter() - start
    parts = made if isinstance(made, tuple) else (made,)
    new = {f"{block.id}.{name}": np.asarray(part) for name, part in zip(step.kind.outputs, parts, strict=True)}
    results |= new
    return Outcome(block.id, block.op, "done", {name: outline(part) for name, part in new.items()}, (), seconds)


def unmet(done: Run) -> tuple[Problem, ...]:
    """Where a run is not as its page expects; blocks that fail are faults too unless their error is expected.

    >>> page = Page().block("x", "Const", value=[1, 2]).expecting(x=[1, 3])
    >>> [problem.message for problem in unmet(run(page))]
    ['output must be 3.0 at [1], got 2.0; 1 of 2 values differ']
    """
    page, problems = done.page, []
    expected_errors = {name: wanted["error"] for name, wanted in page.expect.items() if "error" in wanted}
    codes: dict[str, list[str]] = {}
    for problem in done.problems:
        codes.setdefault(problem.block, []).append(problem.code)
        if problem.block not in expected_errors and problem.code != "PG401":
            problems.append(problem)
    for block, code in expected_errors.items():
        if code not in codes.get(block, []):
            came = ", ".join(codes.get(block, [])) or "none"
            problems.append(Problem("PG501", f"expected the error {code}, got {came}", page.name, block))
    for name, wanted in page.expect.items():
        if "error" not in wanted:
            block, _, place = name.partition(".")
            message = _difference(wanted, done.results.get(name), page, place)
            problems += [Problem("PG501", message, page.name, block, place)] if message else []
    return tuple(problems)


def _difference(wanted: Mapping[str, Any], got: Array | None, page: Page, place: str) -> str:
    """What differs, in words, or nothing."""
    if got is None:
        return "there is no result to compare"
    dtype, shape = wanted.get("dtype", got.dtype.name), tuple(wanted.get("shape", got.shape))
    if (got.shape, got.dtype.name) != (shape, dtype):
        return f"{place} must be {dtype}{list(shape)}, got {got.dtype}{list(got.shape)}"
    if "value" not in wanted:
        return ""
    try:
        right = array_of(Value(wanted["value"], page.folder), dtype, shape)
    except (PageError, *RAISED) as error:
        return f"what is expected cannot be read: {error}"
    with np.errstate(invalid="ignore"):
        apart = np.abs(got.astype(np.float64) - right.astype(np.float64)) > wanted.get("tolerance", 0)
    apart = (apart | (np.isnan(got) != np.isnan(right))) & (got != right)
    if not apart.any():
        return ""
    first = tuple(int(n) for n in np.argwhere(apart)[0])
    return (
        f"{place} must be {right[first]} at {list(first)}, got {got[first]};"
        f" {np.count_nonzero(apart)} of {got.size} values differ"
    )
