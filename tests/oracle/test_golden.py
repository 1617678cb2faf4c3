"""`poolgrad.raw_ops` against recorded TensorFlow results, or the reference where none can be recorded."""

import pytest

import poolgrad

from .cases import SEED, calls
from .compare import assert_agrees, channels_first, channels_last, has_layout, our_result
from .golden import load
from .model import Array, Call, Failure

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


UNRECORDED = [call for call in calls(SEED) if not call.is_recorded]


@pytest.mark.parametrize("call", [pytest.param(c, id=c.id) for c in UNRECORDED if not c.is_refused])
def test_same_result_as_reference(call: Call) -> None:
    assert_agrees(call, None, our_result(call))


@pytest.mark.parametrize("call", [pytest.param(c, id=c.id) for c in UNRECORDED if c.is_refused])
def test_refused_where_tensorflow_is_unsafe(call: Call) -> None:
    with pytest.raises(REFUSALS):
        our_result(call)
