"""What every contestant, poolgrad or peer, looks like to the clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from benchmarks.problems import Array, Arrays, Problem


def _as_array(result: Any) -> Array:
    return np.asarray(result)


@dataclass(frozen=True)
class Runner:
    """One call to time, and how to read its result as an array of the row's shape."""

    call: Callable[[], Any]
    to_numpy: Callable[[Any], Array] = _as_array


class Peer(Protocol):
    """A library, or one way to use it."""

    name: str
    package: str  # what must be importable
    install: str  # what pip needs

    def start(self, threads: int) -> str:
        """Import the library, let it use this many threads, and give its version."""

    def prepare(self, problem: Problem, arrays: Arrays) -> Runner | None:
        """A call that computes the same as the row, or None where the peer has nothing like it."""

    def forget(self) -> None:
        """Drop what was compiled or kept for the last row."""
