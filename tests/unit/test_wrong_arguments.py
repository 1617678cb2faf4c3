"""Every wrong argument is refused with the right error, which names it, and leaves the call's arrays alone."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import raw_ops

from .good_calls import (
    GOOD,
    PLAIN,
    PLANE,
    RAW,
    WITH_ARRAY_KSIZE,
    WITH_KSIZE,
    Arguments,
    arguments_of,
    function,
    ramp,
    results,
)
from .wrong_arguments import SHAPES, Wrong, sizes_and_words
from .wrong_arrays import arrays_and_numbers

WRONG = [*sizes_and_words(), *arrays_and_numbers()]
ERRORS = (poolgrad.InvalidArgumentError, poolgrad.UnsupportedError, TypeError, MemoryError)


def _bytes(given: Arguments) -> dict[str, bytes]:
    return {key: value.tobytes() for key, value in given.items() if isinstance(value, np.ndarray)}


@pytest.mark.parametrize("wrong", [pytest.param(wrong, id=wrong.id) for wrong in WRONG])
def test_refusal_says_what_is_wrong(wrong: Wrong) -> None:
    given = arguments_of(wrong.name, wrong.changes)
    before = _bytes(given)
    with pytest.raises(ERRORS) as caught:
        function(wrong.name)(**given)
    text = str(caught.value)
    assert type(caught.value) is wrong.error, text
    missing = [piece for piece in wrong.says if piece not in text]
    assert not missing, f"{text!r} lacks {missing}"
    if wrong.name in RAW or (wrong.error is not TypeError and wrong.name != "pooling_sequence"):
        assert text.startswith(wrong.name.partition(".")[0] + ": "), text
    assert re.search(r"\bgot\b|not both|left out|must be None|padding alone", text), f"{text!r} does not say what came"
    assert "\n" not in text
    assert "Traceback" not in text
    assert _bytes(given) == before


def test_rows_differ() -> None:
    ids = [wrong.id for wrong in WRONG]
    assert len(set(ids)) == len(ids)
    assert {wrong.name for wrong in WRONG} == set(GOOD)


# Other forms of good arguments.
ACCEPTED: list[tuple[str, str, Arguments]] = []
for _name in WITH_KSIZE:
    for _argument in ("ksize", "strides"):
        _good = RAW[_name][_argument]
        ACCEPTED += [
            (_name, "tuple", {_argument: tuple(_good)}),
            (_name, "numpy-integers", {_argument: [np.int16(value) for value in _good]}),
            (_name, "unsigned-integers", {_argument: [np.uint64(value) for value in _good]}),
        ]
        if _name in WITH_ARRAY_KSIZE:
            ACCEPTED += [(_name, f"{dtype}-array", {_argument: np.array(_good, dtype)}) for dtype in ("i4", "i8", "u1")]
            ACCEPTED += [
                (_name, "swapped-array", {_argument: np.array(_good, ">i4")}),
                (_name, "square-array", {_argument: np.array(_good).reshape(2, 2)}),
                (_name, "strided-array", {_argument: np.repeat(_good, 2)[::2]}),
            ]
    if "Argmax" not in _name:
        ACCEPTED.append((_name, "default-format", {"data_format": None}))
    ACCEPTED.append((_name, "name", {"name": "pool"}))
for _name, _argument in SHAPES.items():
    _good = GOOD[_name][_argument]
    ACCEPTED += [(_name, f"{dtype}-array", {_argument: np.array(_good, dtype)}) for dtype in ("i4", "i8", "u2", ">i8")]
    ACCEPTED += [(_name, "tuple", {_argument: tuple(_good)}), (_name, "list", {_argument: list(_good)})]
    ACCEPTED.append((_name, "numpy-integers", {_argument: [np.int64(value) for value in _good]}))
for _name in ("FractionalAvgPoolGrad", "FractionalMaxPoolGrad"):
    for _argument in ("row_pooling_sequence", "col_pooling_sequence"):
        ACCEPTED += [(_name, f"{d}-array", {_argument: np.array([0, 2, 4], d)}) for d in ("i4", "i8", "u1", ">i8")]
        ACCEPTED.append((_name, "tuple", {_argument: (0, np.int8(2), 4)}))
for _name in ("fractional_avg_pool_grad", "fractional_max_pool_grad", "fractional_max_pool_grad_grad"):
    ACCEPTED += [
        (_name, "arrays", {"sequences": (np.array([0, 2, 4]), np.array([0, 2, 4], "u1"))}),
        (_name, "list-of-tuples", {"sequences": [(0, 2, 4), (0, 2, 4)]}),
    ]
ACCEPTED += [
    ("avg_pool", "pair", {"window": (2, 2)}),
    ("avg_pool", "list", {"window": [2, np.int32(2)]}),
    ("avg_pool", "numpy-integer", {"window": np.uint8(2), "stride": np.int64(2), "dilation": np.int8(1)}),
    ("max_pool", "no-padding", {"padding": [(0, 0), [0, np.int64(0)]]}),
    ("max_pool", "numpy-flag", {"return_offsets": np.False_}),
    ("MaxPool", "no-explicit", {"explicit_paddings": None}),
    ("MaxPool", "empty-explicit", {"explicit_paddings": ()}),
    ("MaxPool", "zero-explicit", {"explicit_paddings": (0,) * 8, "padding": "EXPLICIT"}),
    ("AvgPool", "channel-stride", {"strides": [1, 2, 2, 5]}),
    ("FractionalAvgPool", "whole-ratios", {"pooling_ratio": (1, np.int64(2), np.float32(2), 1.0)}),
    ("fractional_max_pool", "whole-ratio", {"ratio": 2}),
    ("fractional_max_pool", "seed-pair", {"seed": (1, 0)}),
    ("pooling_sequence", "numpy-integers", {"size": np.int64(10), "outputs": np.uint8(6), "seed": (np.int8(1), 2)}),
]


@pytest.mark.parametrize(
    ("name", "changes"), [pytest.param(n, changes, id=f"{n}-{'-'.join(changes)}-{c}") for n, c, changes in ACCEPTED]
)
def test_other_forms_of_a_good_argument(name: str, changes: Arguments) -> None:
    for ours, plain in zip(results(name, changes), results(name, {}), strict=True):
        np.testing.assert_array_equal(ours, plain, strict=True)


@pytest.mark.parametrize(
    ("form", "dtype"),
    [
        pytest.param(np.int32, "int32", id="numpy-int32"),
        pytest.param(np.int64, "int64", id="numpy-int64"),
        pytest.param("int32", "int32", id="word-int32"),
        pytest.param("int64", "int64", id="word-int64"),
        pytest.param(np.dtype("int32"), "int32", id="dtype-int32"),
        pytest.param(np.dtype(">i8"), "int64", id="swapped-int64"),
        pytest.param(np.longlong, "int64", id="longlong"),
    ],
)
def test_forms_of_Targmax(form: Any, dtype: str) -> None:
    _, argmax = results("MaxPoolWithArgmax", {"Targmax": form})
    assert argmax.dtype == np.dtype(dtype)
    assert argmax.dtype.isnative
    np.testing.assert_array_equal(argmax, results("MaxPoolWithArgmax", {})[1])


def test_argmax_that_32_bits_cannot_count() -> None:
    many = np.broadcast_to(np.float32(1), (1, 2**16, 2**15, 2))
    with pytest.raises(poolgrad.InvalidArgumentError, match=r"Targmax.*int64.*int32"):
        raw_ops.MaxPoolWithArgmax(
            input=many, ksize=[1, 1, 1, 1], strides=[1, 2**15, 2**15, 1], padding="VALID", Targmax="int32"
        )


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in RAW])
class TestCall:
    def test_positional(self, name: str) -> None:
        with pytest.raises(TypeError, match=rf"{name}.*keyword"):
            function(name)(*arguments_of(name, {}).values())

    def test_missing(self, name: str) -> None:
        given = arguments_of(name, {})
        missing = next(iter(given))
        del given[missing]
        with pytest.raises(TypeError, match=rf"{name}.*'{missing}'"):
            function(name)(**given)


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in PLAIN])
def test_a_wrong_type_names_the_function_too(name: str) -> None:
    given = arguments_of(name, {})
    first = next(iter(given))
    with pytest.raises(TypeError, match=f"^{name}: {first} must be .* got 'abc'"):
        function(name)(**given | {first: "abc"})


# Misspelt, or a word of the machinery.
UNKNOWN = [*((name, word) for name in RAW for word in ("kszie", "spec")), *((name, "windwo") for name in PLAIN)]


@pytest.mark.parametrize(("name", "word"), [pytest.param(*row, id="-".join(row)) for row in UNKNOWN])
def test_unknown_keyword(name: str, word: str) -> None:
    with pytest.raises(TypeError, match=rf"{name}.*'{word}'"):
        function(name)(**arguments_of(name, {word: [1, 2, 2, 1]}))


def test_out_must_not_share_memory() -> None:
    memory = ramp(*PLANE)
    with pytest.raises(poolgrad.InvalidArgumentError, match="out must not share memory with x"):
        poolgrad.max_pool(memory, 1, out=memory)
    assert memory.tobytes() == ramp(*PLANE).tobytes()


def test_out_beside_an_input_in_one_buffer() -> None:
    buffer = ramp(2, *PLANE)
    result = poolgrad.max_pool(buffer[0], 1, out=buffer[1])
    assert np.shares_memory(result, buffer[1])
    np.testing.assert_array_equal(buffer[1], ramp(*PLANE))


def test_pair_of_outs_must_not_share_memory() -> None:
    buffer = np.zeros((2, 2, 2, 2), np.int64)
    with pytest.raises(poolgrad.InvalidArgumentError, match=r"out\[1\] must not share memory with out\[0\]"):
        poolgrad.max_pool(ramp(*PLANE, dtype="int64"), 2, return_argmax=True, out=(buffer, buffer))
    assert not buffer.any()
