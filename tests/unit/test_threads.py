"""Threads: how many, when none, and what else may go on at the same time: forks, other threads, an interrupt."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad.kernels import cpu

from .good_calls import GOOD, ramp, results
from .scripts import USE_ALL, script

linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")


@pytest.fixture(autouse=True)
def _default_threads() -> Iterator[None]:
    yield
    poolgrad.set_num_threads(None)


@pytest.mark.parametrize("count", [pytest.param(n, id=str(n)) for n in (1, 2, 3, 1024, np.int64(5), np.uint8(7))])
def test_set_and_get(count: Any) -> None:
    poolgrad.set_num_threads(count)
    assert poolgrad.get_num_threads() == count
    assert type(poolgrad.get_num_threads()) is int
    poolgrad.set_num_threads(None)
    assert 1 <= poolgrad.get_num_threads() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(
    ("count", "error", "text"),
    [
        pytest.param(0, poolgrad.InvalidArgumentError, "at least 1, got 0", id="zero"),
        pytest.param(-1, poolgrad.InvalidArgumentError, "at least 1, got -1", id="negative"),
        pytest.param(1025, poolgrad.InvalidArgumentError, "at most 1024, got 1025", id="many"),
        pytest.param(
            2**63, poolgrad.InvalidArgumentError, "at most 1024, got 9223372036854775808", id="beyond-64-bits"
        ),
        pytest.param(
            10**5000, poolgrad.InvalidArgumentError, "at most 1024, got an integer of", id="five-thousand-digits"
        ),
        pytest.param(True, TypeError, "integer, got True", id="flag"),
        pytest.param(np.True_, TypeError, "integer, got .*True", id="numpy-flag"),
        pytest.param(2.0, TypeError, r"integer, got 2\.0", id="float"),
        pytest.param("2", TypeError, "integer, got '2'", id="text"),
        pytest.param([2], TypeError, r"integer, got \[2\]", id="list"),
        pytest.param(np.array([2]), TypeError, "integer, got .*array", id="array"),
    ],
)
def test_wrong_count(count: Any, error: type[Exception], text: str) -> None:
    poolgrad.set_num_threads(3)
    with pytest.raises(error, match=f"count must be (an )?{text}") as caught:
        poolgrad.set_num_threads(count)
    assert type(caught.value) is error
    assert poolgrad.get_num_threads() == 3


POOL = "poolgrad.raw_ops.MaxPool(input=__import__('numpy').arange(4.0).reshape(1, 2, 2, 1), ksize=[1, 2, 2, 1],"
POOL += " strides=[1, 2, 2, 1], padding='SAME').ravel().tolist()"


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        pytest.param("3", "3 [3.0]", id="three"),
        pytest.param(" 5 ", "5 [3.0]", id="spaces"),
        pytest.param("1024", "1024 [3.0]", id="most"),
    ],
)
def test_threads_from_the_environment(text: str, printed: str) -> None:
    assert script(f"print(poolgrad.get_num_threads(), {POOL})", POOLGRAD_NUM_THREADS=text) == printed
    assert script("poolgrad.set_num_threads(2); print(poolgrad.get_num_threads())", POOLGRAD_NUM_THREADS=text) == "2"


@pytest.mark.parametrize("text", [pytest.param("", id="empty"), pytest.param("  ", id="blank")])
def test_empty_environment(text: str) -> None:
    assert script("print(poolgrad.get_num_threads())", POOLGRAD_NUM_THREADS=text) == script(
        "print(poolgrad.get_num_threads())"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("0", id="zero"),
        pytest.param("-1", id="negative"),
        pytest.param("1025", id="many"),
        pytest.param("four", id="word"),
        pytest.param("1.5", id="fraction"),
        pytest.param("0x4", id="hexadecimal"),
        pytest.param("1,2", id="list"),
        pytest.param("²", id="superscript"),
        pytest.param("9" * 5000, id="five-thousand-digits"),
    ],
)
def test_wrong_environment(text: str) -> None:
    printed = script(f"print({POOL})", POOLGRAD_NUM_THREADS=text)
    assert printed.startswith("InvalidArgumentError: ")
    assert "POOLGRAD_NUM_THREADS must be" in printed
    assert text[:50] in printed
    assert script("poolgrad.set_num_threads(1); print(poolgrad.get_num_threads())", POOLGRAD_NUM_THREADS=text) == "1"


@pytest.mark.parametrize("isa", [pytest.param(name, id=name) for name in cpu.available_isas()])
def test_isa_from_the_environment(isa: str) -> None:
    code = f"from poolgrad.kernels import cpu\nprint(cpu.isa(), {POOL})"
    assert script(code, POOLGRAD_ISA=isa) == f"{isa} [3.0]"


def test_best_isa_by_default() -> None:
    code = f"from poolgrad.kernels import cpu\nprint(cpu.isa(), {POOL})"
    assert script(code) == script(code, POOLGRAD_ISA="") == f"{cpu.available_isas()[0]} [3.0]"


@pytest.mark.parametrize("isa", [pytest.param(name, id=name) for name in ("sse9", "AVX2", "base,avx2")])
def test_unknown_isa(isa: str) -> None:
    words = ", ".join(cpu.available_isas())
    printed = script(f"print({POOL})", POOLGRAD_ISA=isa)
    assert printed.endswith(f"POOLGRAD_ISA must be one of {words} on this processor, got '{isa}'")
    assert printed.startswith("InvalidArgumentError: ")


@linux
def test_default_respects_affinity() -> None:
    some = sorted(os.sched_getaffinity(0))
    for count in {1, len(some)}:
        code = f"import os; os.sched_setaffinity(0, {some[:count]}); print(poolgrad.get_num_threads())"
        assert int(script(code)) <= count
    assert script(f"import os; os.sched_setaffinity(0, {some[:1]}); print(poolgrad.get_num_threads())") == "1"


# A thread's number is the next of a counter that all threads and processes of the system share.
COUNT_STARTS = """
import threading
import numpy as np

def number():
    found = []
    thread = threading.Thread(target=lambda: found.append(threading.get_native_id()))
    thread.start()
    thread.join()
    return found[0]

poolgrad.set_num_threads(4)
x = np.ones((1, {size}, {size}, 1), np.float32)
starts = []
for trial in range(3):
    before = number()
    for call in range(100):
        poolgrad.{call}
    starts.append(number() - before - 1)
print(min(start for start in starts if start >= 0))
"""
CALLS = [
    "max_pool(x, 2)",
    "avg_pool(x, 2)",
    "max_pool_grad(x, x, 3, 1, 'same')",
    "avg_pool_grad(x, x.shape, 3, 1, 'same')",
]


# Small work is done at once; for large work threads stay.
@linux
@pytest.mark.parametrize("size", [pytest.param(32, id="small"), pytest.param(520, id="large")])
@pytest.mark.parametrize("call", [pytest.param(call, id=call.partition("(")[0]) for call in CALLS])
def test_calls_start_no_threads(call: str, size: int) -> None:
    assert int(script(COUNT_STARTS.format(size=size, call=call))) < 50


CHILD = """
import os, signal
def in_a_child():
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        same = poolgrad.max_pool(x, 3, 2, 'same').tobytes() == wanted
        os.write(writable, str(same).encode())
        os._exit(0)
    os.close(writable)
    os.waitpid(child, 0)
    return os.read(readable, 10).decode()
"""
FORKS = {
    "pool": """
import multiprocessing
with multiprocessing.get_context('fork').Pool(2) as pool:
    found = pool.map(same_in_child, range(4))
print(all(one == wanted for one in found))
""",
    "os": f"""{CHILD}
print(in_a_child())
""",
    "os-while-computing": f"""{CHILD}
import threading
stop = threading.Event()
def busy():
    while not stop.is_set():
        poolgrad.max_pool(x, 3, 2, 'same')
helpers = [threading.Thread(target=busy) for _ in range(2)]
for helper in helpers:
    helper.start()
answers = [in_a_child() for trial in range(5)]
stop.set()
for helper in helpers:
    helper.join()
print(answers == ['True'] * 5)
""",
}


@linux
@pytest.mark.parametrize("how", [pytest.param(how, id=how) for how in FORKS])
def test_fork_after_threads(how: str) -> None:
    function = "def same_in_child(number):\n    return poolgrad.max_pool(x, 3, 2, 'same').tobytes()\n"
    quiet = "import warnings; warnings.simplefilter('ignore', DeprecationWarning)\n"
    assert script(quiet + USE_ALL + function + FORKS[how], timeout=100) == "True"


def _large(name: str, thread: int) -> Callable[[], bytes]:
    window = 2 + thread % 3
    x = ramp(2, 64 + thread, 65, 3, period=977)
    if name == "max":
        return lambda: poolgrad.max_pool(x, window, 1, "same").tobytes()
    if name == "avg":
        return lambda: poolgrad.avg_pool(x, window, 1, "same").tobytes()
    if name == "max_grad":
        return lambda: poolgrad.max_pool_grad(x, x, window, 1, "same").tobytes()
    return lambda: poolgrad.avg_pool_grad(x, x.shape, window, 1, "same").tobytes()


def test_many_callers_at_once() -> None:
    poolgrad.set_num_threads(3)
    calls = [_large(name, thread) for thread in range(8) for name in ("max", "avg", "max_grad", "avg_grad")]
    alone = [call() for call in calls]
    start = threading.Barrier(8)

    def caller(number: int) -> list[bytes]:
        start.wait()
        order = calls[number * 4 :] + calls[: number * 4]
        found = [call() for call in order]
        return found[len(calls) - number * 4 :] + found[: len(calls) - number * 4]

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(caller, range(8)):
            assert found == alone


def test_every_function_from_many_callers() -> None:
    names = list(GOOD)
    alone = {name: [array.tobytes() for array in results(name, {})] for name in names}

    def caller(number: int) -> bool:
        turned = names[number * 5 :] + names[: number * 5]
        return all([array.tobytes() for array in results(name, {})] == alone[name] for name in turned * 5)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(caller, range(8)))


# The call takes seconds; the signal comes after a tenth of one, and the process must be good for another call.
INTERRUPT = """
import os, signal, threading, time
import numpy as np
x = (np.arange({size}**3) % 1009).reshape(1, {size}, {size}, {size}, 1).astype(np.float32)
poolgrad.set_num_threads({threads})
sent = []
def send():
    time.sleep(0.1)
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
try:
    poolgrad.{call}
    print('was never interrupted')
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0])
assert poolgrad.max_pool(x[:, :4, :4, :4], 4).item() == x[:, :4, :4, :4].max()
"""
INTERRUPTED = {
    "max_pool": "max_pool(x, {window}, 1, 'same')",
    "max_pool_grad": "max_pool_grad(x, x, {window}, 1, 'same')",
    "max_pool_grad_grad": "max_pool_grad_grad(x, x, {window}, 1, 'same', ties='all')",
    "avg_pool": "avg_pool(x, {window}, 1, 'same')",
    "avg_pool_grad": "avg_pool_grad(x, x.shape, {window}, 1, 'same')",
}
LONG = [
    # What looks at each cell of each window takes long enough with small ones.
    pytest.param(call, 192, 19 if name == "max_pool_grad_grad" else 151, threads, id=f"{name}-{threads}")
    for name, call in INTERRUPTED.items()
    for threads in (1, 2)
]
LONG += [
    pytest.param(INTERRUPTED[name], 96, 95, 2, id=f"{name}-widest")
    for name in ("max_pool", "max_pool_grad", "avg_pool")
]


@linux
@pytest.mark.parametrize(("call", "size", "window", "threads"), LONG)
def test_interrupt(call: str, size: int, window: int, threads: int) -> None:
    code = INTERRUPT.format(size=size, threads=threads, call=call.format(window=window))
    assert float(script(code, timeout=25)) < 2
