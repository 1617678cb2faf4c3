"""A call like one before is repeated without a second look at its arguments, and nothing can tell the difference."""

from __future__ import annotations

import contextvars
import copy
import gc
import inspect
import pickle
import sys
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import poolgrad
from poolgrad import calls, raw_ops
from poolgrad.kernels import cpu

from .good_calls import GOOD, HALVED, PLANE, RAW, WITH_OUT, Arguments, arguments_of, function, ramp, results
from .test_threads import script
from .wrong_arguments import Wrong, sizes_and_words
from .wrong_arrays import arrays_and_numbers

# Never repeated: their windows stand in tables, or are drawn.
DRAWN = [name for name in GOOD if name.lower().startswith("fractional")]
KEPT = [name for name in GOOD if name not in DRAWN and name != "pooling_sequence"]


@pytest.fixture(autouse=True)
def _nothing_kept() -> Iterator[None]:
    for kept in calls.KEPT.values():
        kept.clear()
    yield
    calls.remember(True)
    cpu.force_isa(None)


def hits(name: str) -> int:
    return calls.KEPT[name.partition(".")[0]].hits


def size(name: str) -> int:
    return calls.KEPT[name.partition(".")[0]].size


def same(left: Any, right: Any) -> bool:
    """Equal in type, dtype, shape, memory order and bits."""
    if type(left) is not type(right):
        return False
    if isinstance(left, str):
        return bool(left == right)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    flags = ("c_contiguous", "f_contiguous", "owndata", "writeable", "aligned")
    return (
        (left.dtype, left.dtype.char, left.shape) == (right.dtype, right.dtype.char, right.shape)
        and all(getattr(left.flags, flag) == getattr(right.flags, flag) for flag in flags)
        and left.tobytes() == right.tobytes()
    )


def ordinary(name: str, given: Arguments) -> Any:
    calls.remember(False)
    try:
        return outcome(name, given)
    finally:
        calls.remember(True)


def outcome(name: str, given: Arguments) -> Any:
    try:
        return function(name)(**given)
    except (poolgrad.PoolGradError, TypeError) as error:
        return f"{type(error).__name__}: {error}"


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


# Values that are easily taken for each other; the first of a row is good.
ALIKE: list[tuple[str, str, list[Any]]] = [
    ("avg_pool", "window", [2, True, 2.0, "2", [2], (2, 2), [2, 2], np.int64(2), np.float64(2), None, b"2"]),
    ("avg_pool", "window", [1, True, 1.0, np.True_, np.array(1), np.array([1, 1])]),
    ("avg_pool", "padding", ["valid", b"valid", "VALID", "valid ", "valid\0", "same", None, ((0, 0), (0, 0))]),
    ("avg_pool", "padding", [((0, 1), (1, 0)), [(0, 1), (1, 0)], ((0, 1, 1, 0),), (0, 1, 1, 0), ((0, 1), (1, 0), ())]),
    ("avg_pool", "stride", [None, 2, 1, (2, 1), (1, 2), 2**64, -1]),
    ("max_pool", "return_argmax", [True, 1, False, 0, np.True_, None]),
    ("AvgPoolGrad", "orig_input_shape", [list(PLANE), tuple(PLANE), np.array(PLANE, "i4"), np.array(PLANE, "i8")]),
    ("AvgPoolGrad", "orig_input_shape", [np.array(PLANE, "i4"), np.array(PLANE, ">i4"), np.array(PLANE, "f4")]),
    ("AvgPoolGrad", "orig_input_shape", [np.array(PLANE), np.array(PLANE).reshape(2, 2), np.array([2, 5, 4, 2])]),
    ("MaxPoolV2", "ksize", [np.array([1, 2, 2, 1]), np.array([1, 2, 1, 1]), np.array([1, 1, 2, 1]), [1, 2, 2, 1]]),
    ("MaxPoolWithArgmax", "Targmax", [np.int64, np.int32, "int32", np.dtype("int32"), int, float, np.dtype(">i8")]),
    ("AvgPool", "name", [None, "a", "b", 1, object()]),
    ("AvgPool", "data_format", ["NHWC", "NCHW", None, "nhwc"]),
]


@pytest.mark.parametrize(("name", "argument", "values"), [pytest.param(*row, id=f"{row[0]}-{row[1]}") for row in ALIKE])
def test_values_are_not_taken_for_each_other(name: str, argument: str, values: list[Any]) -> None:
    for _ in range(2):
        for value in values:
            given = arguments_of(name, {argument: value})
            assert same(outcome(name, given), ordinary(name, given)), value


DTYPES = ["f", "e", "d", ml_dtypes.bfloat16, "i", "l", "q", "u1", ">f4", "<f4", "?", "F"]


def test_dtypes_are_not_taken_for_each_other() -> None:
    for _ in range(2):
        for dtype in DTYPES:
            for name in ("avg_pool", "max_pool"):
                given: Arguments = {"x": ramp(*PLANE).astype(dtype), "window": 2}
                assert same(outcome(name, given), ordinary(name, given)), dtype


@pytest.mark.parametrize("dtype", [pytest.param(ml_dtypes.bfloat16, id="bfloat16"), pytest.param("q", id="longlong")])
def test_unusual_dtypes_are_repeated(dtype: Any) -> None:
    x = ramp(*PLANE).astype(dtype)
    first = poolgrad.max_pool(x, 2)
    before = hits("max_pool")
    assert same(poolgrad.max_pool(x, 2), first)
    assert hits("max_pool") == before + 1


class Own(np.ndarray[Any, np.dtype[Any]]):
    """A subclass."""


def _unaligned(x: Any) -> Any:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    array = memory[1:].view(x.dtype).reshape(x.shape)
    array[...] = x
    return array


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda x: x.view(Own), id="subclass"),
        pytest.param(lambda x: np.asfortranarray(x), id="fortran"),
        pytest.param(lambda x: np.repeat(x, 2, axis=2)[:, :, ::2], id="strided"),
        pytest.param(_unaligned, id="unaligned"),
        pytest.param(lambda x: x.astype(">f4"), id="swapped"),
        pytest.param(lambda x: x.tolist(), id="list"),
    ],
)
def test_odd_arrays_take_the_ordinary_path(change: Any) -> None:
    x = ramp(*PLANE)
    wanted = poolgrad.avg_pool(x, 2)
    before = hits("avg_pool")
    for _ in range(2):
        try:
            found = poolgrad.avg_pool(change(x), 2)
        except TypeError:
            assert isinstance(change(x), list)
        else:
            assert same(found, wanted)
    assert hits("avg_pool") == before


def test_positions_and_names_are_one_call() -> None:
    x = ramp(*PLANE)
    poolgrad.avg_pool(x, 2, 1, "same")
    before = hits("avg_pool")
    poolgrad.avg_pool(padding="same", stride=1, window=2, x=x)
    poolgrad.avg_pool(x, **{"".join(["win", "dow"]): 2, "stride": 1, "padding": "same"})
    assert hits("avg_pool") == before + 2
    with pytest.raises(TypeError):
        poolgrad.avg_pool(x, 2, 1, "same", x=x)  # type: ignore[misc]
    with pytest.raises(TypeError, match="unknown"):
        poolgrad.avg_pool(x, 2, 1, "same", unknown=1)  # type: ignore[call-arg]


def test_raw_ops_take_keywords_only() -> None:
    given = arguments_of("AvgPool", {})
    raw_ops.AvgPool(**given)
    with pytest.raises(TypeError, match="AvgPool takes keyword arguments only: value, ksize"):
        raw_ops.AvgPool(*given.values())


def test_keyword_only_arguments_stay_so() -> None:
    x = ramp(*PLANE)
    poolgrad.max_pool(x, 2, None, "valid", 1, "channels_last", return_argmax=False)
    with pytest.raises(TypeError, match="positional"):
        poolgrad.max_pool(x, 2, None, "valid", 1, "channels_last", False)  # type: ignore[misc]


def test_stock_windows_are_told_apart() -> None:
    grad = np.array([12, 0, 0, 0], np.float32).reshape(1, 1, 4, 1)

    def call() -> list[float]:
        found: list[float] = raw_ops.AvgPoolGrad(
            orig_input_shape=[1, 1, 4, 1], grad=grad, ksize=[1, 1, 5, 1], strides=[1] * 4, padding="SAME"
        ).ravel()
        return list(found)

    true, stock = [4, 4, 4, 0], [3, 3, 3, 3]
    for _ in range(3):
        assert call() == true
        with raw_ops.stock_windows():
            assert call() == stock
            context = contextvars.copy_context()
        assert call() == true
        assert context.run(call) == stock


def test_another_instruction_set_is_another_call() -> None:
    x = ramp(*PLANE)
    poolgrad.avg_pool(x, 2)
    before = hits("avg_pool")
    cpu.force_isa("base")
    poolgrad.avg_pool(x, 2)
    assert hits("avg_pool") == before
    poolgrad.avg_pool(x, 2)
    assert hits("avg_pool") == before + 1


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


def test_every_argument_is_data_or_counts_by_value() -> None:
    """An array argument is data exactly if good calls give it as an array of the inputs' rank."""
    for name, given in GOOD.items():
        for key, value in given.items():
            if isinstance(value, np.ndarray):
                assert key in calls.DATA, (name, key)
