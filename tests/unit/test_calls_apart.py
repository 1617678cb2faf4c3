"""Calls that are like one before are taken for it, and no others are, however alike."""

from __future__ import annotations

import contextvars
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import poolgrad
from poolgrad import calls, raw_ops
from poolgrad.kernels import cpu

from .good_calls import GOOD, PLANE, Arguments, arguments_of, misaligned, ramp
from .kept import hits, ordinary, outcome, same

pytestmark = pytest.mark.usefixtures("nothing_kept")


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


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda x: x.view(Own), id="subclass"),
        pytest.param(lambda x: np.asfortranarray(x), id="fortran"),
        pytest.param(lambda x: np.repeat(x, 2, axis=2)[:, :, ::2], id="strided"),
        pytest.param(misaligned, id="misaligned"),
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


def test_every_argument_is_data_or_counts_by_value() -> None:
    """An array argument is data exactly if good calls give it as an array of the inputs' rank."""
    for name, given in GOOD.items():
        for key, value in given.items():
            if isinstance(value, np.ndarray):
                assert key in calls.DATA, (name, key)
