"""What a run found: rows, their comparisons, and the file they are kept in."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.timing import Measurement

OURS = "poolgrad"


@dataclass
class Result:
    """One measured row. Times are seconds for one call, by contestant."""

    name: str
    workload: str
    pooling: str
    dtype: str
    data_format: str
    direction: str
    kind: str
    results: str
    threads: int
    tiny: bool
    fewest_bytes: int
    times: dict[str, Measurement] = field(default_factory=dict)
    bandwidths: dict[str, float] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    error: str = ""

    @property
    def limit(self) -> float | None:
        """Seconds in which memory could move the fewest bytes; tiny calls have none."""
        if self.tiny or not self.bandwidths:
            return None
        return self.fewest_bytes / max(self.bandwidths.values())

    def share(self, contestant: str = OURS) -> float | None:
        """The limit over a contestant's time."""
        if self.limit is None or contestant not in self.times:
            return None
        return self.limit / self.times[contestant].median

    def best_peer(self) -> str | None:
        """The fastest of the others."""
        peers = [name for name in self.times if name != OURS]
        return min(peers, key=lambda name: self.times[name].median, default=None)

    def factor(self) -> float | None:
        """How many times faster than the best peer poolgrad is."""
        peer = self.best_peer()
        if peer is None or OURS not in self.times:
            return None
        return self.times[peer].median / self.times[OURS].median

    def group(self) -> str:
        """Which mean the row counts in."""
        if self.tiny:
            return "tiny calls"
        names = {"forward": "forwards", "gradient": "gradients", "second": "second order", "training": "both ways"}
        direction = names[self.direction]
        return f"{direction}, {self.results}"


@dataclass
class Run:
    """A machine, and what was measured on it."""

    machine: dict[str, Any] = field(default_factory=dict)
    rows: list[Result] = field(default_factory=list)


def geometric_mean(values: Iterable[float]) -> float | None:
    """The mean of ratios.

    >>> geometric_mean([1, 4])
    2.0
    """
    logarithms = [math.log(value) for value in values]
    return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None


def means(rows: Iterable[Result]) -> dict[str, tuple[float, int]]:
    """For each group the mean factor to the best peer, and how many rows it is over."""
    factors: dict[str, list[float]] = {}
    for row in rows:
        factor = row.factor()
        if factor is not None:
            factors.setdefault(row.group(), []).append(factor)
            if not row.tiny:
                factors.setdefault(row.group().partition(",")[0], []).append(factor)
    found = {}
    for group, values in sorted(factors.items()):
        mean = geometric_mean(values)
        if mean is not None:
            found[group] = (mean, len(values))
    return found


def per_byte(rows: Iterable[Result]) -> dict[tuple[str, int], float]:
    """For rows of other dtypes: time for a byte, relative to their float32 row."""
    by_name = {(row.name, row.threads): row for row in rows if OURS in row.times}
    found = {}
    for (name, threads), row in by_name.items():
        single = by_name.get((name.replace(f"/{row.dtype}/", "/float32/"), threads))
        if row.dtype != "float32" and single is not None:
            own, base = (r.times[OURS].median / r.fewest_bytes for r in (row, single))
            found[name, threads] = own / base
    return found


def result_from(values: dict[str, Any]) -> Result:
    """A row from its JSON form."""
    times = {name: Measurement(**measured) for name, measured in values["times"].items()}
    return Result(**(values | {"times": times}))


def write(run: Run, path: Path) -> None:
    """Keep a run as JSON."""
    path.write_text(json.dumps(asdict(run), indent=1) + "\n")


def read(path: Path) -> Run:
    """A run from JSON."""
    values = json.loads(path.read_text())
    return Run(values["machine"], [result_from(row) for row in values["rows"]])
