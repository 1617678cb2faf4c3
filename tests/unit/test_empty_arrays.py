"""Arrays without elements: results have the right shape, gradients of nothing are zeros, or TensorFlow's refusal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poolgrad

from .good_calls import ARRAYS, GOOD, HALVED, HALVED_VOLUME, PLANE, VOLUME, Arguments, arguments_of, function, results
from .wrong_arguments import SHAPES

Shape = tuple[int, ...]

# TensorFlow refuses empty arrays in these, or draws no cells for an axis without any.
REFUSED = {
    "MaxPoolWithArgmax": "input must not be empty",
    "MaxPool3DGradGrad": "orig_input must not be empty",
    "FractionalAvgPool": "pooling_ratio must not be larger than the input, 0",
    "FractionalMaxPool": "pooling_ratio must not be larger than the input, 0",
    "FractionalAvgPoolGrad": "orig_input_tensor_shape must have entries of at least 1, got 0",
    "FractionalMaxPoolGrad": "orig_input must have 4 dimensions, none of them 0",
}
NAMES = [name for name in GOOD if name != "pooling_sequence"]
FRACTIONAL = [name for name in NAMES if name.startswith("fractional")]


def _without(shape: Shape, axis: int) -> Shape:
    sizes = list(shape)
    sizes[axis] = 0
    return tuple(sizes)


def _emptied(name: str, axis: int) -> Arguments:
    """The good call with this axis of all its arrays empty."""
    changes: Arguments = {a: np.zeros(_without(GOOD[name][a].shape, axis), GOOD[name][a].dtype) for a in ARRAYS[name]}
    if name in SHAPES:
        changes[SHAPES[name]] = _without(tuple(GOOD[name][SHAPES[name]]), axis)
    return changes


AXES = {"batch": 0, "height": 1, "width": 2, "channels": -1}


@pytest.mark.parametrize("axis", [pytest.param(axis, id=word) for word, axis in AXES.items()])
@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in NAMES if name not in REFUSED])
def test_empty_axis(name: str, axis: int) -> None:
    if name in FRACTIONAL and axis in (1, 2):
        with pytest.raises(poolgrad.InvalidArgumentError, match=r"(ratio|sequences\[.\]) must .* got \d"):
            function(name)(**arguments_of(name, _emptied(name, axis)))
        return
    # The borders of fractional cells come beside the result and have one axis.
    wanted = [_without(array.shape, axis) for array in results(name, {}) if array.ndim > 1]
    got = [array for array in results(name, _emptied(name, axis)) if array.ndim > 1]
    assert [array.shape for array in got] == wanted
    assert [array.dtype for array in got] == [array.dtype for array in results(name, {}) if array.ndim > 1]


@pytest.mark.parametrize("axis", [pytest.param(axis, id=word) for word, axis in AXES.items()])
@pytest.mark.parametrize(("name", "text"), [pytest.param(name, text, id=name) for name, text in REFUSED.items()])
def test_empty_axis_refused(name: str, text: str, axis: int) -> None:
    with pytest.raises(poolgrad.InvalidArgumentError, match=text):
        function(name)(**arguments_of(name, _emptied(name, axis)))


# A window of five on four cells at stride 1 has no outputs; one of six is an error.
TALL: dict[int, Arguments] = {
    4: {"ksize": [1, 5, 2, 1], "strides": [1, 1, 2, 1]},
    5: {"ksize": [1, 5, 2, 2, 1], "strides": [1, 1, 2, 2, 1]},
    0: {"window": (5, 2), "stride": (1, 2)},
}
WITH_WINDOWS = [name for name in NAMES if "ksize" in GOOD[name] or "window" in GOOD[name]]


def _tall(name: str) -> Arguments:
    changes: Arguments = dict(TALL[len(GOOD[name].get("ksize", ()))])
    for argument in ARRAYS[name]:
        good = GOOD[name][argument]
        if good.shape in (HALVED, HALVED_VOLUME):
            changes[argument] = np.zeros(_without(good.shape, 1), good.dtype)
    return changes


@pytest.mark.parametrize("name", [pytest.param(n, id=n) for n in WITH_WINDOWS if n != "MaxPool3DGradGrad"])
def test_empty_output_of_an_input_that_is_not(name: str) -> None:
    changes = _tall(name)
    if name == "max_pool_grad.offsets" or name == "max_pool_grad_grad.offsets":
        changes["offsets"] = np.zeros((2, 0, 2, 2), np.uint8)
    for array, good in zip(results(name, changes), results(name, {}), strict=True):
        whole = good.shape in (PLANE, VOLUME)
        assert array.shape == (good.shape if whole else _without(good.shape, 1))
        assert array.dtype == good.dtype
        assert not array.any()


def test_empty_output_refused() -> None:
    with pytest.raises(poolgrad.InvalidArgumentError, match="orig_output must not be empty"):
        function("MaxPool3DGradGrad")(**arguments_of("MaxPool3DGradGrad", _tall("MaxPool3DGradGrad")))


def test_no_places_to_unpool() -> None:
    nothing: dict[str, Any] = {"values": np.zeros((2, 0, 2, 2)), "argmax": np.zeros((2, 0, 2, 2), np.int32)}
    np.testing.assert_array_equal(poolgrad.max_unpool(**nothing, input_shape=PLANE), np.zeros(PLANE), strict=True)
    assert poolgrad.max_unpool_grad(np.zeros(PLANE), nothing["argmax"]).shape == (2, 0, 2, 2)


def test_places_in_an_empty_input() -> None:
    argmax = np.zeros((2, 2, 2, 2), np.int64)
    with pytest.raises(poolgrad.InvalidArgumentError, match=r"argmax must have entries .* got 0 at \[0, 0, 0, 0\]"):
        poolgrad.max_unpool(np.ones((2, 2, 2, 2)), argmax, (2, 0, 4, 2))


@pytest.mark.parametrize("padding", [pytest.param(word, id=word) for word in ("VALID", "SAME")])
@pytest.mark.parametrize("shape", [pytest.param(s, id="x".join(map(str, s))) for s in ((0, 0, 0, 0), (0, 4, 0, 2))])
def test_several_empty_axes(shape: Shape, padding: str) -> None:
    changes = {"value": np.zeros(shape, np.float32), "padding": padding}
    (result,) = results("AvgPool", changes)
    assert result.shape == tuple(size // 2 if axis in (1, 2) else size for axis, size in enumerate(shape))
