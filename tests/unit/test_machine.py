"""What the process may use, read from the files in which Linux tells it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from poolgrad import machine


@pytest.fixture
def cgroup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(machine, "_CGROUP", tmp_path)
    monkeypatch.setattr(machine.os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    machine.processors.cache_clear()
    machine.memory.cache_clear()
    yield tmp_path
    machine.processors.cache_clear()
    machine.memory.cache_clear()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("max 100000", 8, id="no-quota"),
        pytest.param("300000 100000", 3, id="three"),
        pytest.param("150000 100000", 2, id="one-and-a-half"),
        pytest.param("10000 100000", 1, id="a-tenth"),
        pytest.param("3200000 100000", 8, id="more-than-affinity"),
        pytest.param("", 8, id="empty"),
        pytest.param("100000 0", 8, id="no-period"),
    ],
)
def test_processors_follow_quota_and_affinity(cgroup: Path, text: str, count: int) -> None:
    (cgroup / "cpu.max").write_text(text)
    assert machine.processors() == count


def test_processors_follow_the_older_quota(cgroup: Path) -> None:
    (cgroup / "cpu").mkdir()
    (cgroup / "cpu" / "cpu.cfs_quota_us").write_text("200000\n")
    (cgroup / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert machine.processors() == 2


def test_memory_follows_the_limit_of_the_container(cgroup: Path) -> None:
    without = machine.memory()
    assert without is not None
    (cgroup / "memory.max").write_text("max\n")
    machine.memory.cache_clear()
    assert machine.memory() == without
    (cgroup / "memory.max").write_text("1048576\n")
    machine.memory.cache_clear()
    assert machine.memory() == 2**20
