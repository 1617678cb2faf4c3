"""`poolgrad.raw_ops` against the installed TensorFlow on calls that no file holds: `pytest -m tensorflow`.

TensorFlow is imported inside the test, so that a run that asks for it fails where it is missing.
"""

import functools
import os

os.environ["TF_ENABLE_ONEDNN_OPTS"] = "0"

import pytest

import poolgrad

from .cases import DTYPES, SEED, calls
from .compare import assert_agrees, our_result
from .model import Call, Failure
from .record import import_tensorflow, tensorflow_result

SEEDS = (SEED + 1, SEED + 2, SEED + 3)
REFUSALS = (poolgrad.InvalidArgumentError, poolgrad.UnsupportedError, TypeError)
OPS = [op for op in DTYPES if op != "MaxPoolGradGradWithArgmax"]


@functools.cache
def _calls(seed: int) -> list[Call]:
    return list(calls(seed))


def _fault(call: Call, tensorflow: object) -> str | None:
    """What is wrong with our result, if anything."""
    theirs = tensorflow_result(tensorflow, call)
    try:
        ours = our_result(call)
    except REFUSALS as error:
        return None if isinstance(theirs, Failure) else f"{call.id}: raised {error!r}"
    if isinstance(theirs, Failure):
        return f"{call.id}: accepted, TensorFlow raised {theirs.kind}: {theirs.message}"
    try:
        assert_agrees(call, theirs, ours)
    except AssertionError as error:
        return f"{call.id}: {error}"
    return None


@pytest.mark.tensorflow
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op", OPS)
def test_same_as_installed_tensorflow(op: str, seed: int) -> None:
    tensorflow = import_tensorflow()
    chosen = [call for call in _calls(seed) if call.op == op and call.is_recorded]
    assert len(chosen) > 30
    faults = [fault for call in chosen if (fault := _fault(call, tensorflow))]
    assert not faults, "\n".join(faults)
