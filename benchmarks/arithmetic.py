"""What arithmetic alone leaves of the memory's limit to kernels that look at every window over a cell, in vectors."""

from __future__ import annotations

import argparse
import ctypes
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bandwidth import COPIES, Probe, ProbeError, compiled, survey
from benchmarks.timing import Patience

SOURCE = Path(__file__).with_name("arithmetic.cpp")
LINE = 16  # float32
SELECTED, MEAN = 0, 1


@dataclass(frozen=True)
class Kernel:
    """Work on a line of 16 elements: `count` windows that look at it, or additions, and the bytes it moves."""

    name: str
    kind: int
    count: int
    bytes_moved: int


OFFSETS, AVERAGE = LINE * (4 + 4 + 1), LINE * (4 + 4)
KERNELS = (
    Kernel("max gradient from offsets, 3x3, stride 1", SELECTED, 9, OFFSETS),
    Kernel("max gradient from offsets, 5x5, stride 1", SELECTED, 25, OFFSETS),
    Kernel("max gradient from offsets, 3x3x3, stride 1", SELECTED, 27, OFFSETS),
    Kernel("average, 3x3, stride 1", MEAN, 4, AVERAGE),
    Kernel("average, 3x3x3, stride 1", MEAN, 6, AVERAGE),
)


@dataclass(frozen=True)
class Bound:
    """Nanoseconds for a line: of the arithmetic, and of the memory at its limit."""

    kernel: Kernel
    arithmetic: float
    memory: float

    @property
    def share(self) -> float:
        """The most that can be had of the memory's limit.

        >>> Bound(KERNELS[0], 8.0, 4.0).share, Bound(KERNELS[0], 2.0, 4.0).share
        (0.5, 1.0)
        """
        return min(1.0, self.memory / self.arithmetic)


def _nanoseconds(kernel: Kernel) -> float:
    time = ctypes.CDLL(str(compiled(SOURCE))).arithmetic_time
    time.restype = ctypes.c_double
    time.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_int]
    if time(kernel.kind, kernel.count, 1) < 0:
        raise ProbeError("these instructions are known for AVX-512 only")
    return min(time(kernel.kind, kernel.count, 10_000) for _ in range(31))


def bounds(patience: Patience) -> list[Bound]:
    """All of them, the memory measured anew beside each."""
    probe = Probe()
    found = []
    for kernel in KERNELS:
        arithmetic = _nanoseconds(kernel)
        rates = survey(probe, [1], patience)["1"]
        found.append(Bound(kernel, arithmetic, kernel.bytes_moved / max(rates[kind] for kind in COPIES) * 1e9))
    probe.close()
    return found


def main(options: argparse.Namespace) -> int:
    """Print what bounds kernels on this machine."""
    try:
        found = bounds(Patience(options.repeats, min(options.seconds, 0.3)))
    except ProbeError as error:
        print(error)
        return 1
    print(f"{'a line of 16 float32, 1 thread, ns':46} {'arithmetic':>10} {'memory':>8}   of the limit at most")
    for bound in found:
        print(f"{bound.kernel.name:46} {bound.arithmetic:10.1f} {bound.memory:8.1f}   {bound.share:.0%}")
    return 0
