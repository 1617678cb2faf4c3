"""With outlines in place of arrays every op checks what it always checks, and says what its result will be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import InvalidArgumentError, UnsupportedError, raw_ops
from poolgrad.calls import DATA
from poolgrad.dtypes import name_of
from poolgrad.outlines import Outline, outline

from .good_calls import RAW, Arguments, arguments_of, function
from .wrong_arguments import Wrong, sizes_and_words
from .wrong_arrays import arrays_and_numbers

WRONG = [wrong for wrong in (*sizes_and_words(), *arrays_and_numbers()) if wrong.name in RAW]

# Only the data can tell.
BY_VALUE = ("must have entries from", "must hold the maxima")


def outlined(given: Arguments) -> Arguments:
    """The same arguments, data replaced by outlines where an outline can say all that matters."""
    return {key: outline(value) if key in DATA and _is_plain(value) else value for key, value in given.items()}


def _is_plain(value: Any) -> bool:
    return type(value) is np.ndarray and name_of(value.dtype) is not None


def parts(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize("name", RAW)
def test_outline_of_the_result(name: str) -> None:
    made = parts(function(name)(**RAW[name]))
    found = parts(function(name)(**outlined(RAW[name])))
    assert [outline(array) for array in found] == [outline(array) for array in made]
    assert isinstance(found[0], Outline)


@pytest.mark.parametrize("wrong", [pytest.param(wrong, id=wrong.id) for wrong in WRONG])
def test_outlines_are_refused_alike(wrong: Wrong) -> None:
    given = arguments_of(wrong.name, wrong.changes)
    with pytest.raises(wrong.error) as caught:
        function(wrong.name)(**given)
    text = str(caught.value)
    if any(words in text for words in BY_VALUE):
        assert function(wrong.name)(**outlined(given)) is not None
        return
    with pytest.raises(wrong.error) as again:
        function(wrong.name)(**outlined(given))
    assert str(again.value) == text


def test_every_op_is_refused_something() -> None:
    assert {wrong.name for wrong in WRONG} == set(RAW)


@pytest.mark.parametrize(
    ("changes", "error", "code", "argument", "expected"),
    [
        pytest.param(
            {"grad": Outline((2, 3, 2, 2), "float32")}, InvalidArgumentError, "PG201", "grad", (2, 2, 2, 2), id="shape"
        ),
        pytest.param(
            {"grad": Outline((2, 2, 2, 2), "float64")}, InvalidArgumentError, "PG202", "grad", "float32", id="dtype"
        ),
        pytest.param(
            {"orig_input": Outline((2, 4, 4, 2), "complex64")}, UnsupportedError, "PG202", "orig_input", None, id="none"
        ),
        pytest.param({"padding": "same"}, InvalidArgumentError, "PG203", None, None, id="word"),
        pytest.param({"ksize": [2, 1, 1, 1]}, UnsupportedError, "PG204", None, None, id="batch"),
    ],
)
def test_errors_carry_a_code(
    changes: Arguments, error: type[Exception], code: str, argument: str | None, expected: Any
) -> None:
    with pytest.raises(error) as caught:
        raw_ops.MaxPoolGrad(**(outlined(RAW["MaxPoolGrad"]) | changes))
    raised: Any = caught.value
    assert (raised.code, raised.argument, raised.expected) == (code, argument, expected)
    assert str(raised).startswith("MaxPoolGrad: ")


def test_nothing_is_filled_from_outlines() -> None:
    with pytest.raises(TypeError, match="out must be None"):
        poolgrad.avg_pool(Outline((1, 4, 4, 1), "float32"), 2, out=np.zeros((1, 2, 2, 1), np.float32))
