"""A call like one before is repeated without a second look at its arguments, and nothing can tell the difference."""

from __future__ import annotations

import copy
import gc
import inspect
import pickle
import sys
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import calls, raw_ops

from .good_calls import HALVED, PLANE, RAW, WITH_OUT, Arguments, arguments_of, function, ramp, results
from .kept import DRAWN, KEPT, hits, ordinary, outcome, same, size
from .scripts import script
from .wrong_arguments import Wrong, sizes_and_words
from .wrong_arrays import arrays_and_numbers

pytestmark = pytest.mark.usefixtures("nothing_kept")


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in KEPT])
def test_second_call_is_a_repetition(name: str) -> None:
    given = arguments_of(name, {})
    wanted = ordinary(name, given)
    first = function(name)(**given)
    before = hits(name)
    second = function(name)(**given)
    assert hits(name) == before + 1
    assert same(first, wanted)
    assert same(second, wanted)
    assert not any(np.shares_memory(a, b) for a, b in zip(_arrays(first), _arrays(second), strict=True))


def _arrays(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in KEPT])
def test_data_is_read_anew(name: str) -> None:
    function(name)(**arguments_of(name, {}))
    given = arguments_of(name, {})
    for key, array in given.items():
        if isinstance(array, np.ndarray) and key in ("x", "input", "value", "grad", "orig_input", "values"):
            array[...] = array[::-1]
    before = hits(name)
    found = function(name)(**given)
    assert hits(name) == before + 1
    assert same(found, ordinary(name, given))


def with_outs(name: str) -> tuple[Arguments, list[Any], list[Any]]:
    """Arguments with arrays to fill, those arrays, and what must come to be in them."""
    given = arguments_of(name, {})
    wanted = _arrays(ordinary(name, given))
    outs = [np.full_like(array, 99) for array in wanted]
    return given | {"out": outs[0] if len(outs) == 1 else tuple(outs)}, outs, wanted


FILLED = [name for name in KEPT if name in WITH_OUT]


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in FILLED])
def test_given_arrays_are_filled_by_a_repetition(name: str) -> None:
    function(name)(**with_outs(name)[0])
    before = hits(name)
    given, outs, wanted = with_outs(name)
    found = _arrays(function(name)(**given))
    assert hits(name) == before + 1
    assert all(array is out for array, out in zip(found, outs, strict=True))
    assert all(map(same, outs, wanted))
    # Without arrays to fill it is another call.
    del given["out"]
    assert all(map(same, _arrays(function(name)(**given)), wanted))
    assert hits(name) == before + 1


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in FILLED])
def test_arrays_that_cannot_be_filled_are_refused_by_a_repetition_too(name: str) -> None:
    for _ in range(2):
        function(name)(**with_outs(name)[0])
    before = hits(name)
    for k in range(len(with_outs(name)[1])):
        given, outs, _ = with_outs(name)
        outs[k].flags.writeable = False
        assert "writable" in outcome(name, given)
        assert all((out == 99).all() for out in outs)
    for key in given:
        if key in calls.DATA and isinstance(given[key], np.ndarray) and key != "out":
            given, outs, _ = with_outs(name)
            memory = np.zeros(given[key].nbytes + outs[0].nbytes, np.uint8)
            # The last element of the input is the first one of the result.
            start = given[key].nbytes - outs[0].itemsize
            shared = memory[start : start + outs[0].nbytes].view(outs[0].dtype).reshape(outs[0].shape)
            given[key] = memory[: given[key].nbytes].view(given[key].dtype).reshape(given[key].shape)
            given["out"] = shared if len(outs) == 1 else (shared, outs[1])
            assert "share memory" in outcome(name, given), key
            assert not memory.any()
    assert hits(name) == before


def test_pair_of_arrays_with_shared_memory_is_refused_by_a_repetition_too() -> None:
    given = {"x": ramp(*PLANE, dtype="int64"), "window": 2, "return_argmax": True}
    for _ in range(2):
        poolgrad.max_pool(**given, out=(np.zeros(HALVED, np.int64), np.zeros(HALVED, np.int64)))
    before, memory = hits("max_pool"), np.zeros(HALVED, np.int64)
    assert "share memory" in outcome("max_pool", given | {"out": (memory, memory)})
    assert hits("max_pool") == before


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in DRAWN])
def test_drawn_windows_are_not_kept(name: str) -> None:
    results(name, {})
    results(name, {})
    if name in RAW:
        assert size(name) == 0
    else:
        assert name.partition(".")[0] not in calls.KEPT


WRONG = [wrong for wrong in (*sizes_and_words(), *arrays_and_numbers()) if wrong.name in KEPT]


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in KEPT])
def test_errors_stay_the_same(name: str) -> None:
    wrong_calls: list[Wrong] = [wrong for wrong in WRONG if wrong.name == name]
    assert wrong_calls
    for wrong in wrong_calls:
        for _ in range(2):
            function(name)(**arguments_of(name, {}))
            if name in FILLED:
                function(name)(**with_outs(name)[0])
        given = arguments_of(name, wrong.changes)
        assert same(outcome(name, given), ordinary(name, given)), wrong.id


def test_number_of_calls_is_bounded() -> None:
    x = ramp(1, 3000, 1)
    for stride in range(1, 2500):
        poolgrad.max_pool(x, 1, stride)
    assert 0 < size("max_pool") <= 1024


def test_arrays_are_not_kept_alive() -> None:
    x = ramp(*PLANE)
    ended = weakref.ref(x)
    poolgrad.avg_pool(x, 2)
    poolgrad.fractional_avg_pool(x, 1.5, seed=1)
    with pytest.raises(TypeError):
        poolgrad.avg_pool(x, "2")  # type: ignore[arg-type]
    del x
    gc.collect()
    assert ended() is None


def test_arguments_are_not_kept_alive() -> None:
    counts = []
    for _ in range(3):
        counts.append((sys.getrefcount(np.dtype("float32")), sys.getrefcount(raw_ops.MaxPoolWithArgmaxOutput)))
        for _ in range(100):
            results("MaxPoolWithArgmax", {})
    assert counts[1] == pytest.approx(counts[2], abs=20)


def test_bad_data_is_found_again() -> None:
    given = arguments_of("max_unpool", {})
    for _ in range(2):
        poolgrad.max_unpool(**given)
    given["argmax"][1, 1, 0, 1] = 99
    for _ in range(2):
        with pytest.raises(poolgrad.InvalidArgumentError, match=r"got 99 at \[1, 1, 0, 1\]"):
            poolgrad.max_unpool(**given)


def test_many_threads_share_the_memory() -> None:
    arrays = [ramp(1, 8 + k % 5, 8, 2, period=7 + k) for k in range(8)]
    wanted = [ordinary("avg_pool", {"x": x, "window": 2}).tobytes() for x in arrays]

    def work(number: int) -> bool:
        for turn in range(400):
            x = arrays[(number + turn) % 8]
            if poolgrad.avg_pool(x, 2).tobytes() != wanted[(number + turn) % 8]:
                return False
            if turn % 50 == number:
                calls.KEPT["avg_pool"].clear()
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


INTERRUPT = """
import os, signal, threading, time
import numpy as np
poolgrad.set_num_threads(1)
for size in (40, 64, 96, 144, 216):
    x = (np.arange(size**3) % 1009).reshape(1, size, size, size, 1).astype(np.float32)
    begin = time.perf_counter()
    poolgrad.max_pool_grad(x, x, 15, 1, 'same')
    whole = time.perf_counter() - begin
    if whole > 0.8:
        break
def send():
    time.sleep(whole / 4)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=send, daemon=True).start()
begin = time.perf_counter()
try:
    poolgrad.max_pool_grad(x, x, 15, 1, 'same')
    print('was never interrupted')
except KeyboardInterrupt:
    print((time.perf_counter() - begin) / whole)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="sends signals")
def test_a_repetition_can_be_interrupted() -> None:
    assert 0.2 < float(script(INTERRUPT)) < 0.9


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in ("avg_pool", "AvgPool")])
def test_functions_are_like_functions(name: str) -> None:
    found = function(name)
    assert inspect.isroutine(found)
    assert inspect.unwrap(found) is not found
    assert repr(found).startswith(f"<function {name} at ")
    assert pickle.loads(pickle.dumps(found)) is copy.deepcopy(found) is weakref.ref(found)() is found
    bound = type("Owner", (), {"method": found})().method
    assert bound.__func__ is found
    with pytest.raises(TypeError, match=name):
        bound()
