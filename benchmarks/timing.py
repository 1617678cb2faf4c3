"""Interleaved rounds: one call of each contestant after the other, until each has been heard long enough."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

SETTLE = 0.008  # seconds in which the threads of the contestant before go to sleep: OpenMP's wait for some in a loop


@dataclass(frozen=True)
class Patience:
    """How often to repeat: at least so many calls and so many seconds; of slow calls fewer."""

    repeats: int = 5
    seconds: float = 1.5
    most: int = 300

    def satisfied(self, times: list[float]) -> bool:
        """Whether these times are enough."""
        spent = sum(times)
        if len(times) >= self.most:
            return True
        if len(times) >= self.repeats:
            return spent >= self.seconds
        return len(times) >= min(2, self.repeats) and spent >= 2 * self.seconds


@dataclass(frozen=True)
class Measurement:
    """Seconds for one call."""

    median: float
    minimum: float
    repeats: int


def summarize(times: list[float], calls: int = 1) -> Measurement:
    """Median and minimum of the times of a number of calls each."""
    return Measurement(statistics.median(times) / calls, min(times) / calls, len(times))


def clock(call: Callable[[], Any], calls: int = 1) -> float:
    """Seconds for some calls; the last result goes after the clock has stopped."""
    start = time.perf_counter()
    for _ in range(calls):
        result = call()
    stop = time.perf_counter()
    del result
    return stop - start


def calls_for(call: Callable[[], Any], seconds: float) -> int:
    """How many calls take about this long."""
    count = 1
    while (spent := clock(call, count)) < seconds / 2:
        count = min(4 * count, max(count + 1, int(count * seconds / max(spent, 1e-9))))
    return count


def measure(
    contestants: Mapping[str, Callable[[], Any]], patience: Patience, *, tiny: bool = False, settle: bool = False
) -> dict[str, Measurement]:
    """Time contestants in rounds. Tiny calls are timed in batches of about 2 ms."""
    calls = {name: calls_for(call, 0.002) if tiny else 1 for name, call in contestants.items()}
    times: dict[str, list[float]] = {name: [] for name in contestants}
    waiting = set(contestants)
    while waiting:
        for name, call in contestants.items():
            if name not in waiting:
                continue
            if settle:
                time.sleep(SETTLE)
            times[name].append(clock(call, calls[name]))
            if patience.satisfied(times[name]):
                waiting.discard(name)
    return {name: summarize(found, calls[name]) for name, found in times.items()}
