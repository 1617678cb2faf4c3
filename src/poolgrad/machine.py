"""What this process may use of the machine: processors and memory, as set by affinity and container limits."""

from __future__ import annotations

import functools
import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def _words(path: Path) -> list[str]:
    return " ".join(_lines(path)).split()


def _groups() -> list[Path]:
    """The control groups this process is in, innermost first."""
    lines = [line.split(":", 2)[-1] for line in _words(Path("/proc/self/cgroup"))]
    folders = [_CGROUP]
    for line in lines:
        inner = _CGROUP / line.lstrip("/")
        folders = [inner, *(parent for parent in inner.parents if parent.is_relative_to(_CGROUP)), *folders]
    return folders


def _quota() -> float:
    """Processors a container's quota allows, or infinity."""
    allowed = math.inf
    for folder in _groups():
        match _words(folder / "cpu.max"):
            case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
                allowed = min(allowed, int(quota) / int(period))
    match _words(_CGROUP / "cpu" / "cpu.cfs_quota_us"), _words(_CGROUP / "cpu" / "cpu.cfs_period_us"):
        case [quota], [period] if quota.isdigit() and period.isdigit() and int(period):
            allowed = min(allowed, int(quota) / int(period))
    return allowed


@functools.cache
def processors() -> int:
    """Processors this process may use, at least one."""
    try:
        count = len(os.sched_getaffinity(0))
    except (AttributeError, OSError):
        count = os.cpu_count() or 1
    return max(1, math.ceil(min(count, _quota())))


@functools.cache
def memory() -> int | None:
    """Bytes of memory and swap this process could ever have, or None if the system does not say."""
    total: float = math.inf
    for line in _lines(Path("/proc/meminfo")):
        match line.split():
            case ["MemTotal:", kilobytes, _]:
                total = int(kilobytes) * 1024
            case ["SwapTotal:", kilobytes, _]:
                total += int(kilobytes) * 1024
    for folder in _groups():
        match _words(folder / "memory.max"):
            case [limit] if limit.isdigit():
                total = min(total, int(limit))
    return None if math.isinf(total) else int(total)
