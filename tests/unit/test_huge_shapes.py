"""Sizes near the limits: refused in words and at once, or right."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

import poolgrad

from .good_calls import WITH_KSIZE, Arguments, arguments_of, function, ramp

MOST = 2**31 - 1
_FLAT = {"ksize": [1, 1, 1, 1], "strides": [1, MOST, MOST, 1], "padding": "SAME"}
_SOLID = {"ksize": [1, 1, 1, 1, 1], "strides": [1, MOST, MOST, MOST, 1], "padding": "SAME"}
_BORDERS = {"row_pooling_sequence": [0, 1], "col_pooling_sequence": [0, 1]}


def _ones(*shape: int) -> np.ndarray[Any, Any]:
    return np.ones(shape, np.float32)


def _timed(name: str, given: Arguments) -> Any:
    start = time.perf_counter()
    try:
        return function(name)(**given)
    finally:
        assert time.perf_counter() - start < 1, "a refusal must come at once"


TOO_MANY = [
    pytest.param(
        "AvgPoolGrad",
        {"orig_input_shape": [1, 2**31, 2**31, 1], "grad": _ones(1, 2, 2, 1)} | _FLAT,
        "orig_input_shape",
        id="2**62",
    ),
    pytest.param(
        "AvgPoolGrad",
        {"orig_input_shape": [2**20, 2**20, 2**20, 2**20], "grad": _ones(1, 1, 1, 1)} | _FLAT,
        "orig_input_shape",
        id="2**80",
    ),
    pytest.param(
        "AvgPoolGrad",
        {"orig_input_shape": [2**63 - 1, 2**63 - 1, 1, 1], "grad": _ones(1, 1, 1, 1)} | _FLAT,
        "orig_input_shape",
        id="2**126",
    ),
    pytest.param(
        "AvgPoolGrad",
        {"orig_input_shape": [0, 2**40, 2**40, 1], "grad": _ones(0, 1, 1, 1)} | _FLAT,
        "orig_input_shape",
        id="none-but-overflowing",
    ),
    pytest.param(
        "AvgPool3DGrad",
        {"orig_input_shape": [1, 2**21, 2**21, 2**21, 1], "grad": _ones(1, 1, 1, 1, 1)} | _SOLID,
        "orig_input_shape",
        id="3d",
    ),
    pytest.param(
        "FractionalAvgPoolGrad",
        {"orig_input_tensor_shape": [1, 2**40, 2**40, 1], "out_backprop": _ones(1, 1, 1, 1)} | _BORDERS,
        "orig_input_tensor_shape",
        id="fractional",
    ),
    pytest.param(
        "avg_pool_grad",
        {"input_shape": [1, 2**40, 2**40, 1], "grad": _ones(1, 1, 1, 1), "window": 1, "stride": MOST},
        "input_shape",
        id="plain",
    ),
    pytest.param(
        "max_unpool",
        {"input_shape": [1, 2**40, 2**40, 1], "values": _ones(1, 1, 1, 1), "argmax": np.zeros((1, 1, 1, 1), int)},
        "input_shape",
        id="unpool",
    ),
    pytest.param(
        "fractional_avg_pool_grad",
        {"input_shape": [1, 2**40, 2**40, 1], "grad": _ones(1, 1, 1, 1), "sequences": ([0, 1], [0, 1])},
        "input_shape",
        id="fractional-plain",
    ),
]


@pytest.mark.parametrize(("name", "given", "argument"), TOO_MANY)
def test_more_elements_than_can_be_counted(name: str, given: Arguments, argument: str) -> None:
    with pytest.raises(poolgrad.InvalidArgumentError, match=rf"^{name}: {argument} must have fewer than 2\*\*59 elem"):
        _timed(name, given)


# 2**44 float32 are 64 TiB; no machine that runs this has as much.
TOO_LARGE = [
    pytest.param(
        "AvgPoolGrad", {"orig_input_shape": [1, 2**22, 2**22, 1], "grad": _ones(1, 1, 1, 1)} | _FLAT, id="avg"
    ),
    pytest.param(
        "AvgPool3DGrad",
        {"orig_input_shape": [1, 2**22, 2**11, 2**11, 1], "grad": _ones(1, 1, 1, 1, 1)} | _SOLID,
        id="avg-3d",
    ),
    pytest.param(
        "FractionalAvgPoolGrad",
        {"orig_input_tensor_shape": [1, 2**22, 2**22, 1], "out_backprop": _ones(1, 1, 1, 1)} | _BORDERS,
        id="fractional",
    ),
    pytest.param(
        "avg_pool_grad",
        {
            "input_shape": [1, 2**22, 2**22, 1],
            "grad": _ones(1, 1, 1, 1),
            "window": 1,
            "stride": MOST,
            "padding": "same",
        },
        id="plain",
    ),
    pytest.param(
        "max_unpool",
        {"input_shape": [1, 2**22, 2**22, 1], "values": _ones(1, 1, 1, 1), "argmax": np.zeros((1, 1, 1, 1), int)},
        id="unpool",
    ),
    pytest.param(
        "max_pool_grad",
        {"input_shape": [1, 2**22, 2**22, 1], "grad": _ones(1, 1, 1, 1), "x": None, "window": 1, "stride": MOST}
        | {"padding": "same", "offsets": np.zeros((1, 1, 1, 1), np.uint8)},
        id="offsets",
    ),
]


@pytest.mark.parametrize(("name", "given"), TOO_LARGE)
def test_more_memory_than_there_is(name: str, given: Arguments) -> None:
    with pytest.raises(MemoryError, match=r"65536\.0 GiB.*\d+\.\d GiB") as caught:
        _timed(name, given)
    assert str(caught.value).startswith(f"{name}: the result of shape [1, 4194304, ")
    assert "float32" in str(caught.value)


def _zero_strides(*shape: int) -> np.ndarray[Any, Any]:
    return np.broadcast_to(np.float32(1), shape)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        pytest.param("AvgPool", {"value": _zero_strides(1, 2**22, 2**22, 1)} | _FLAT, id="AvgPool"),
        pytest.param("MaxPool", {"input": _zero_strides(1, 2**22, 2**22, 1)} | _FLAT, id="MaxPool"),
        pytest.param(
            "max_pool", {"x": _zero_strides(1, 2**22, 2**22, 1), "window": MOST, "padding": "same"}, id="plain"
        ),
    ],
)
def test_copy_of_a_broadcast_array_that_does_not_fit(name: str, given: Arguments) -> None:
    with pytest.raises(MemoryError, match=rf"^{name}: .*4194304"):
        _timed(name, given)


@pytest.mark.parametrize("dtype", [pytest.param(name, id=name) for name in ("float16", "float32", "float64")])
@pytest.mark.parametrize(
    "size", [pytest.param(size, id=f"2**{size.bit_length() - 1}") for size in (2**50, 2**60, 2**61)]
)
def test_nothing_with_a_huge_axis(size: int, dtype: str) -> None:
    """An empty result whose other sizes are huge: given back, or refused in words."""
    outputs = -(-size // MOST)
    given: Arguments = {"orig_input_shape": [0, size, 1, 1], "grad": np.ones((0, outputs, 1, 1), dtype)} | _FLAT
    if size < 2**59:  # the most elements there may be, empty axes not counted
        assert function("AvgPoolGrad")(**given).shape == (0, size, 1, 1)
    else:
        with pytest.raises((poolgrad.InvalidArgumentError, MemoryError), match=rf"^AvgPoolGrad: .*{size}"):
            function("AvgPoolGrad")(**given)


# Windows and strides as large as may be, with SAME: one output that covers the whole input, or the cell each starts at.
X = ramp(1, 3, 5, 2)
V = ramp(1, 3, 5, 2, 1)
WHOLE, SOLID_WHOLE = [1, MOST, MOST, 1], [1, MOST, MOST, MOST, 1]
ONE, SOLID_ONE = (1, 1, 1, 2), (1, 1, 1, 1, 1)
FLAT = {"ksize": WHOLE, "strides": WHOLE, "padding": "SAME"}
SOLID = {"ksize": SOLID_WHOLE, "strides": SOLID_WHOLE, "padding": "SAME"}
MAXIMUM, SOLID_MAXIMUM = X.max((1, 2), keepdims=True), V.max((1, 2, 3), keepdims=True)
AT_MAXIMUM = np.zeros_like(X)
for _channel in range(2):
    AT_MAXIMUM.reshape(15, 2)[X.reshape(15, 2)[:, _channel].argmax(), _channel] = 6
SOLID_AT_MAXIMA = np.where(SOLID_MAXIMUM == V, np.float32(6), np.float32(0))

HUGE = [
    ("AvgPool", {"value": X} | FLAT, X.mean((1, 2), keepdims=True, dtype=np.float64)),
    ("AvgPoolGrad", {"orig_input_shape": X.shape, "grad": np.full(ONE, 30, "f4")} | FLAT, np.full(X.shape, 2.0)),
    ("AvgPool3D", {"input": V} | SOLID, V.mean((1, 2, 3), keepdims=True, dtype=np.float64)),
    (
        "AvgPool3DGrad",
        {"orig_input_shape": V.shape, "grad": np.full(SOLID_ONE, 60, "f4")} | SOLID,
        np.full(V.shape, 2.0),
    ),
    ("MaxPool", {"input": X} | FLAT, MAXIMUM),
    ("MaxPoolV2", {"input": X} | FLAT, MAXIMUM),
    *(
        (name, {"orig_input": X, "orig_output": MAXIMUM, "grad": np.full(ONE, 6, "f4")} | FLAT, AT_MAXIMUM)
        for name in ("MaxPoolGrad", "MaxPoolGradV2")
    ),
    *(
        (name, {"orig_input": X, "orig_output": MAXIMUM, "grad": X + 1} | FLAT, MAXIMUM + 1)
        for name in ("MaxPoolGradGrad", "MaxPoolGradGradV2")
    ),
    ("MaxPool3D", {"input": V} | SOLID, SOLID_MAXIMUM),
    (
        "MaxPool3DGrad",
        {"orig_input": V, "orig_output": SOLID_MAXIMUM, "grad": np.full(SOLID_ONE, 6, "f4")} | SOLID,
        SOLID_AT_MAXIMA,
    ),
    ("MaxPool3DGradGrad", {"orig_input": V, "orig_output": SOLID_MAXIMUM, "grad": V + 1} | SOLID, SOLID_MAXIMUM + 1),
    ("MaxPoolWithArgmax", {"input": X} | FLAT, MAXIMUM),
    (
        "MaxPoolGradWithArgmax",
        {"input": X, "grad": _ones(*ONE), "argmax": np.full(ONE, 3)} | FLAT,
        2.0 * (np.arange(30) == 3).reshape(X.shape),
    ),
    ("MaxPoolGradGradWithArgmax", {"input": X, "grad": X, "argmax": np.full(ONE, 3)} | FLAT, np.full(ONE, X.flat[3])),
]


def test_every_op_with_a_window_has_a_huge_one() -> None:
    assert {name for name, _, _ in HUGE} == set(WITH_KSIZE)


@pytest.mark.parametrize(("name", "given", "wanted"), [pytest.param(n, g, w, id=n) for n, g, w in HUGE])
def test_largest_window_and_stride(name: str, given: Arguments, wanted: np.ndarray[Any, Any]) -> None:
    result = function(name)(**given)
    np.testing.assert_allclose(result[0] if isinstance(result, tuple) else result, wanted, rtol=1e-6)


@pytest.mark.parametrize("name", [pytest.param(name, id=name) for name in WITH_KSIZE])
def test_huge_window_does_not_fit_without_padding(name: str) -> None:
    given = arguments_of(name, {})
    given["ksize"] = [1, MOST, *given["ksize"][2:]]
    with pytest.raises(poolgrad.InvalidArgumentError, match=rf"(window|ksize) must fit.* {MOST} cells.*got 4 cells"):
        _timed(name, given)


@pytest.mark.parametrize("dilation", [pytest.param(d, id=str(d)) for d in (1, 7, 2**16, MOST)])
@pytest.mark.parametrize("window", [pytest.param(w, id=str(w)) for w in (3, 2**16 + 1, MOST)])
def test_huge_windows_of_plain_functions(window: int, dilation: int) -> None:
    """With SAME and an odd window each cell is the middle of its own window, and far cells are its only neighbours."""
    x = ramp(1, 5, 5, 1)
    geometry: Arguments = {"window": window, "stride": 1, "padding": "same", "dilation": dilation}
    wanted = x.max((1, 2), keepdims=True) * np.ones_like(x) if window > 5 and dilation == 1 else x
    if window == 3 and dilation == 1:
        padded = np.pad(x, [(0, 0), (1, 1), (1, 1), (0, 0)])
        wanted = np.max([padded[:, i : i + 5, j : j + 5] for i in range(3) for j in range(3)], axis=0)
    np.testing.assert_array_equal(poolgrad.max_pool(x, **geometry), wanted)


def test_offsets_in_the_largest_window() -> None:
    x = ramp(1, 3, 3, 1)
    output, offsets = poolgrad.max_pool(x, MOST, 1, "same", return_offsets=True)
    assert offsets.dtype == np.uint64
    # The middle of the window is over the output's own cell, and the maximum is cell (2, 2).
    middle = MOST // 2
    wanted = [(middle + 2 - i) * MOST + middle + 2 - j for i in range(3) for j in range(3)]
    assert offsets.ravel().tolist() == wanted
    grad = poolgrad.max_pool_grad(np.ones_like(output), None, MOST, 1, "same", offsets=offsets, input_shape=x.shape)
    assert grad.ravel().tolist() == [0] * 8 + [9]


def test_offsets_that_64_bits_cannot_count() -> None:
    with pytest.raises(poolgrad.InvalidArgumentError, match=r"window must have fewer than 2\*\*63 cells.*2147483647"):
        poolgrad.max_pool(ramp(1, 2, 2, 2, 1), MOST, padding="same", return_offsets=True)


@pytest.mark.timeout(20)
def test_dilated_window_on_a_huge_axis_is_checked_at_once() -> None:
    with pytest.raises((poolgrad.InvalidArgumentError, MemoryError)):
        _timed(
            "avg_pool_grad",
            {"grad": _ones(1, 1, 1), "input_shape": (1, 2**33, 1), "window": 3, "stride": 1}
            | {"padding": "same", "dilation": 2**22 + 1},
        )


@pytest.mark.timeout(20)
def test_sequence_longer_than_memory() -> None:
    with pytest.raises((poolgrad.InvalidArgumentError, MemoryError), match=r"^pooling_sequence: .*\d"):
        _timed("pooling_sequence", {"size": 2**62, "outputs": 2**61, "seed": 1})
