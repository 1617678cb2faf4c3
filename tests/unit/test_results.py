"""Where large results live: their memory is reused, within bounds, and never while somebody has it."""

from __future__ import annotations

import gc
import itertools
import os
import pickle
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import results
from poolgrad.cli import main

from .good_calls import ramp
from .scripts import script

MIB = 2**20

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the pool is Linux's")


@pytest.fixture(autouse=True)
def _pool_of_its_own() -> Iterator[None]:
    gc.collect()
    poolgrad.set_result_pool(512 * MIB)
    poolgrad.release_results()
    yield
    poolgrad.release_results()
    poolgrad.set_result_pool(None)


def result(mebibytes: float, value: int = 0) -> Any:
    """A result of this size, filled with a value."""
    x = np.full((1, int(mebibytes * 1024), 256), value, np.float32)
    return poolgrad.max_pool(x, 1)


def address(array: Any) -> int:
    return int(array.__array_interface__["data"][0])


def resident() -> int:
    with open("/proc/self/statm") as status:
        return int(status.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("size", [pytest.param(size, id=str(size)) for size in (1, 3, 4, 5.5, 33)])
def test_memory_is_used_again(size: float) -> None:
    first = result(size)
    where = address(first) // MIB
    assert results.idle_bytes() == 0
    del first
    idle = results.idle_bytes()
    assert size * MIB <= idle <= (size * MIB + 8192) * 1.125 + 4096
    second = result(size, 1)
    assert results.idle_bytes() == 0
    assert address(second) // MIB == where
    assert second.min() == 1


def test_small_results_are_not_pooled() -> None:
    result(0.9)
    assert results.idle_bytes() == 0


def test_both_results_of_a_pair_are_pooled() -> None:
    poolgrad.max_pool(ramp(1, 4096, 256), 1, return_argmax=True)
    assert results.idle_bytes() >= 4 * MIB + 8 * MIB


def test_results_are_ordinary_arrays() -> None:
    array = result(2, 3)
    assert type(array) is np.ndarray
    assert array.base is None
    assert array.flags.owndata
    assert array.flags.writeable
    assert address(array) % 64 == 0
    assert np.array_equal(pickle.loads(pickle.dumps(array)), array)
    assert np.array_equal(array.copy(), array)
    array[0, 0, 5] = 7
    array.resize((MIB,), refcheck=False)
    assert array[:8].tolist() == [3, 3, 3, 3, 3, 7, 3, 3]
    assert (array[8 : MIB // 2] == 3).all()
    assert not array[MIB // 2 :].any()
    array.resize((8,), refcheck=False)
    assert array.tolist() == [3, 3, 3, 3, 3, 7, 3, 3]


def test_results_start_half_a_page_from_the_input() -> None:
    memory = np.zeros(2 * MIB + 4096, np.uint8)
    for offset in (0, 64, 640, 2048, 2112, 4032):
        start = (-address(memory) + offset) % 4096
        x = memory[start : start + 2 * MIB].view(np.float32).reshape(1, -1, 256)
        for _ in range(2):  # the ordinary path and a call that is remembered
            found = poolgrad.max_pool(x, 1)
            assert (address(found) - address(x)) % 4096 == 2048


def test_the_bound_holds() -> None:
    poolgrad.set_result_pool(20 * MIB)
    arrays = [result(size) for size in (2, 3, 5, 9, 30)]
    largest = 0
    while arrays:
        arrays.pop()
        largest = max(largest, results.idle_bytes())
    assert 0 < largest <= 20 * MIB
    poolgrad.set_result_pool(4 * MIB)
    assert results.idle_bytes() <= 4 * MIB


def test_nothing_is_kept_without_a_pool() -> None:
    poolgrad.set_result_pool(0)
    assert poolgrad.get_result_pool() == 0
    result(8)
    assert results.idle_bytes() == 0
    poolgrad.set_result_pool(64 * MIB)
    array = result(8)
    poolgrad.set_result_pool(0)
    del array
    assert results.idle_bytes() == 0


def test_release_gives_memory_back() -> None:
    before = resident()
    result(64)
    gc.collect()
    held = results.idle_bytes()
    assert held >= 64 * MIB
    poolgrad.release_results()
    assert results.idle_bytes() == 0
    assert resident() < before + 32 * MIB


def test_live_results_never_overlap() -> None:
    choice = random.Random(1)
    live: list[tuple[int, Any]] = []
    for number in range(400):
        if live and choice.random() < 0.5:
            live.pop(choice.randrange(len(live)))
        else:
            live.append((number, result(choice.choice([1, 1.01, 1.5, 2, 3.9, 4, 4.1, 6]), number)))
        if len(live) > 12:
            live.pop(0)
        spans = sorted((address(array), address(array) + array.nbytes) for _, array in live)
        assert all(end <= start for (_, end), (start, _) in itertools.pairwise(spans))
    assert all((array == number).all() for number, array in live)


def test_memory_stays_bounded() -> None:
    poolgrad.set_result_pool(64 * MIB)
    choice = random.Random(2)
    before = resident()
    for _ in range(150):
        result(choice.uniform(1, 24))
        assert results.idle_bytes() <= 64 * MIB
    assert resident() < before + 160 * MIB


def test_failed_calls_give_their_memory_back() -> None:
    values, argmax = ramp(1, MIB, 1), np.zeros((1, MIB, 1), np.int64)
    poolgrad.max_unpool(values, argmax, (1, MIB, 1))
    held = results.idle_bytes()
    argmax[0, 77, 0] = -1
    for _ in range(5):
        with pytest.raises(poolgrad.InvalidArgumentError, match="got -1"):
            poolgrad.max_unpool(values, argmax, (1, MIB, 1))
        assert results.idle_bytes() == held


def test_many_threads() -> None:
    def work(number: int) -> bool:
        choice = random.Random(number)
        for turn in range(40):
            array = result(choice.choice([1, 2, 4.5]), number + turn)
            if not (array == number + turn).all():
                return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert all(pool.map(work, range(6)))


SCRIPT = """
import numpy as np
from poolgrad import results
x = np.ones((1, 2**12, 256), np.float32)
"""
FORK = """
import os
kept = poolgrad.max_pool(x, 1)
poolgrad.max_pool(x, 1)
readable, writable = os.pipe()
child = os.fork()
if child == 0:
    idle = results.idle_bytes()
    mine = poolgrad.max_pool(2 * x, 1)
    del kept
    good = idle > 2**22 and mine.min() == 2 and results.idle_bytes() > 2**22
    os.write(writable, b'good' if good else b'bad')
    os._exit(0)
os.waitpid(child, 0)
print(os.read(readable, 10).decode(), kept.max(), results.idle_bytes() > 2**22)
"""


def test_fork() -> None:
    quiet = "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n"
    assert script(quiet + SCRIPT + FORK) == "good 1.0 True"


def test_results_outlive_the_interpreter() -> None:
    assert script(SCRIPT + "import sys; sys.kept = poolgrad.max_pool(x, 1); print(sys.kept.max())") == "1.0"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        pytest.param("0", 0, id="none"),
        pytest.param("1000000", 1000000, id="bytes"),
        pytest.param(" 512M ", 2**29, id="mebibytes"),
        pytest.param("3G", 3 * 2**30, id="gibibytes"),
        pytest.param("7K", 7 * 2**10, id="kibibytes"),
    ],
)
def test_environment(text: str, count: int) -> None:
    assert script("print(poolgrad.get_result_pool())", POOLGRAD_RESULT_POOL=text) == str(count)


def test_environment_switches_off() -> None:
    code = SCRIPT + "poolgrad.max_pool(x, 1); print(results.idle_bytes())"
    assert script(code, POOLGRAD_RESULT_POOL="0") == "0"
    assert int(script(code)) > 2**22
    assert script("print(poolgrad.get_result_pool())", POOLGRAD_RESULT_POOL="") == script(
        "print(poolgrad.get_result_pool())"
    )


@pytest.mark.parametrize("text", [pytest.param(text, id=text[:6]) for text in ("-1", "1.5G", "lots", "5T", "9" * 5000)])
def test_wrong_environment(text: str) -> None:
    printed = script(SCRIPT + "poolgrad.max_pool(x, 1)", POOLGRAD_RESULT_POOL=text)
    assert printed.startswith("InvalidArgumentError: max_pool: POOLGRAD_RESULT_POOL must be a number of bytes")
    assert text[:50] in printed


def test_default_is_a_part_of_the_memory() -> None:
    poolgrad.set_result_pool(None)
    there = results.machine.memory()
    assert there is not None
    assert poolgrad.get_result_pool() == min(there // 8, 2**31)


@pytest.mark.parametrize(
    ("count", "error"),
    [
        pytest.param(-1, poolgrad.InvalidArgumentError, id="negative"),
        pytest.param(1.5, TypeError, id="fraction"),
        pytest.param("1G", TypeError, id="text"),
        pytest.param(True, TypeError, id="flag"),
        pytest.param(2**70, poolgrad.InvalidArgumentError, id="too-many"),
    ],
)
def test_wrong_counts(count: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="count must be"):
        poolgrad.set_result_pool(count)
    assert poolgrad.get_result_pool() == 512 * MIB


def test_info_tells_of_the_pool(capsys: pytest.CaptureFixture[str]) -> None:
    result(8)
    main(["info"])
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("Results"))
    assert line == "Results       up to 512 MiB kept for reuse, 9 MiB now"
    poolgrad.set_result_pool(0)
    main(["info"])
    assert "Results       not kept\n" in capsys.readouterr().out
