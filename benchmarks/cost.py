"""How the time for an element grows with the size of the array, the window and the threads; poolgrad alone."""

from __future__ import annotations

import argparse
import gc
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import poolgrad
from benchmarks import ours
from benchmarks.picture import figure
from benchmarks.problems import Problem, Workload, make_arrays
from benchmarks.runs import describe_machine, progress
from benchmarks.timing import Patience, measure
from poolgrad import machine

FAMILIES = (
    ("avg", "forward", ""),
    ("avg", "gradient", ""),
    ("max", "forward", ""),
    ("max", "gradient", "input"),
    ("max", "gradient", "offsets"),
)
CHANNELS = 64
MEGABYTE = 2**20
LARGEST = 4 * 2**30
COPIES = 5  # arrays of the input's size that a call and its making may hold at once
WINDOWS = (2, 3, 4, 5, 7, 9, 13, 17, 21, 25)


@dataclass(frozen=True)
class Point:
    """One measured call: what varied, its value, and nanoseconds for an element of the input."""

    varied: str
    value: float
    family: str
    nanoseconds: float


def sizes(memory: int | None) -> list[int]:
    """Bytes of the input, each four times the one before, as far as memory goes.

    >>> [size // 2**20 for size in sizes(2**30)]
    [1, 4, 16, 64]
    """
    room = min(LARGEST, (memory or 2**33) // COPIES)
    found, size = [], MEGABYTE
    while size <= room:
        found.append(size)
        size *= 4
    return found


def workload(pooling: str, window: int, stride: int, size: int) -> Workload:
    """Images of 64 x 64 x 64 channels, as many as make up the size; a megabyte is one."""
    batch = max(1, size // (64 * 64 * CHANNELS * 4))
    shape = (batch, 64, 64, CHANNELS)
    return Workload(f"{pooling}{window}", pooling, shape, (window,) * 2, (stride,) * 2, "SAME")


@dataclass(frozen=True)
class Step:
    """One call to be measured."""

    varied: str
    value: float
    problem: Problem
    threads: int

    @property
    def family(self) -> str:
        kind = f" ({self.problem.kind})" if self.problem.kind else ""
        return f"{self.problem.workload.pooling} {self.problem.direction}{kind}"


def steps(threads: list[int], largest: int, windows: tuple[int, ...] = WINDOWS) -> Iterator[Step]:
    """All calls, by what varies."""
    one = threads[0]
    for pooling, direction, kind in FAMILIES:
        for size in (size for size in sizes(machine.memory()) if size <= largest):
            work = workload(pooling, 3, 2, size)
            yield Step("megabytes", size / MEGABYTE, _problem(work, direction, kind), one)
        for window in windows:
            work = workload(pooling, window, 1, 16 * MEGABYTE)
            yield Step("window", window, _problem(work, direction, kind), one)
        for count in threads:
            work = workload(pooling, 3, 1, min(64 * MEGABYTE, largest))
            yield Step("threads", count, _problem(work, direction, kind), count)


def _problem(work: Workload, direction: str, kind: str) -> Problem:
    return Problem(work, direction=direction, kind=kind, results="reused")


def point(step: Step, patience: Patience) -> Point:
    """Measure one call."""
    poolgrad.set_num_threads(step.threads)
    arrays = make_arrays(step.problem)
    runner = ours.prepare(step.problem, arrays)
    runner.call()
    found = measure({"": runner.call}, patience)[""]
    elements = math.prod(step.problem.input_shape)
    return Point(step.varied, step.value, step.family, found.median / elements * 1e9)


def text(points: list[Point]) -> str:
    """A table for each thing that varied."""
    lines = []
    families = list(dict.fromkeys(found.family for found in points))
    for varied in dict.fromkeys(found.varied for found in points):
        own = {(found.value, found.family): found.nanoseconds for found in points if found.varied == varied}
        lines.append(f"\nnanoseconds for an element of the input, by {varied}")
        lines.append(varied.rjust(10) + "".join(family.rjust(24) for family in families))
        for value in sorted({value for value, _ in own}):
            cells = (f"{own[value, family]:.3f}" if (value, family) in own else "-" for family in families)
            lines.append(f"{value:g}".rjust(10) + "".join(cell.rjust(24) for cell in cells))
    return "\n".join(lines)


def draw(points: list[Point], path: Path) -> None:
    """One panel for each thing that varied, one line for each family."""
    made, first = figure(10, 3.6)
    made.delaxes(first)
    varied = list(dict.fromkeys(found.varied for found in points))
    for place, name in enumerate(varied):
        axes = made.add_subplot(1, len(varied), place + 1)
        for family in dict.fromkeys(found.family for found in points):
            own = [(f.value, f.nanoseconds) for f in points if f.varied == name and f.family == family]
            if own:
                axes.plot(*zip(*sorted(own), strict=True), marker="o", markersize=3, label=family)
        axes.set(xlabel=name, yscale="log", xscale="log" if name == "megabytes" else "linear")
        axes.grid(alpha=0.3)
    made.axes[0].set_ylabel("ns for an element of the input")
    made.axes[0].legend(fontsize=6)
    made.savefig(path)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of this command."""
    cores = machine.processors()
    parser.add_argument("--most-threads", type=int, default=cores)
    parser.add_argument("--largest", type=int, default=LARGEST // MEGABYTE, metavar="MB", help="largest array")
    parser.add_argument("--repeats", type=int, default=Patience.repeats)
    parser.add_argument("--seconds", type=float, default=0.5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--picture", type=Path, metavar="FILE")


def _collected(planned: list[Step], take: Callable[[Step], Point]) -> list[Point]:
    points: list[Point] = []
    try:
        for done, step in enumerate(planned, 1):
            progress(f"[{done} of {len(planned)}] {step.family}: {step.varied} {step.value:g}")
            points.append(take(step))
            gc.collect()
    except KeyboardInterrupt:
        progress("interrupted: this is what there is")
    finally:
        poolgrad.set_num_threads(None)
    return points


def main(options: argparse.Namespace) -> int:
    """Measure, print, keep and draw."""
    threads = list(range(1, options.most_threads + 1))
    planned = list(steps(threads, options.largest * MEGABYTE))
    points = _collected(planned, lambda step: point(step, Patience(options.repeats, options.seconds)))
    print(text(points))
    if options.json:
        found: dict[str, Any] = {"machine": describe_machine(), "points": [asdict(p) for p in points]}
        options.json.write_text(json.dumps(found, indent=1) + "\n")
    if options.picture and points:
        draw(points, options.picture)
    return 0 if len(points) == len(planned) else 1
