"""`poolgrad.raw_ops` against recorded TensorFlow results, worked examples, and the reference where none is recorded."""

import contextlib
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import raw_ops

from .cases import SEED, calls
from .compare import as_tuple, assert_agrees, assert_same_bits, channels_first, channels_last, has_layout, our_result
from .golden import load
from .model import Array, Call, Failure
from .worked import EXAMPLES

RECORDED = list(load())
REFUSALS = (poolgrad.InvalidArgumentError, poolgrad.UnsupportedError, TypeError)


@pytest.mark.parametrize(
    ("call", "theirs"),
    [pytest.param(call, result, id=call.id) for call, result in RECORDED if not isinstance(result, Failure)],
)
def test_same_result_as_tensorflow(call: Call, theirs: tuple[Array, ...]) -> None:
    assert_agrees(call, theirs, our_result(call))


LAYOUTS = [(c, result) for c, result in RECORDED if not isinstance(result, Failure) and has_layout(c)]


@pytest.mark.parametrize(("call", "theirs"), [pytest.param(call, result, id=call.id) for call, result in LAYOUTS])
def test_channels_first_changes_nothing(call: Call, theirs: tuple[Array, ...]) -> None:
    assert_agrees(call, theirs, channels_last(our_result(channels_first(call))))


@pytest.mark.parametrize(
    "call", [pytest.param(call, id=call.id) for call, result in RECORDED if isinstance(result, Failure)]
)
def test_refused_like_tensorflow(call: Call) -> None:
    with pytest.raises(REFUSALS):
        our_result(call)


@pytest.mark.parametrize(("op", "arguments", "expected"), EXAMPLES)
def test_worked_example(op: str, arguments: dict[str, Any], expected: list[float]) -> None:
    given = dict(arguments)
    stock = raw_ops.stock_windows() if given.pop("stock_windows", False) else contextlib.nullcontext()
    with stock:
        actual = as_tuple(getattr(raw_ops, op)(**given))[0]
    assert_same_bits(np.array(expected, actual.dtype), actual.ravel())


UNRECORDED = [call for call in calls(SEED) if not call.is_recorded]


@pytest.mark.parametrize("call", [pytest.param(c, id=c.id) for c in UNRECORDED if not c.is_refused])
def test_same_result_as_reference(call: Call) -> None:
    assert_agrees(call, None, our_result(call))


@pytest.mark.parametrize("call", [pytest.param(c, id=c.id) for c in UNRECORDED if c.is_refused])
def test_refused_where_tensorflow_is_unsafe(call: Call) -> None:
    with pytest.raises(REFUSALS):
        our_result(call)
