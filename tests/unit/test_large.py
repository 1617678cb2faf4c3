"""Arrays with more than 2**31 elements: positions must not pass through 32 bits."""

from __future__ import annotations

import numpy as np
import pytest

import poolgrad
from poolgrad import machine

CELLS = 2**31 + 6
LAST = CELLS // 2 - 1

pytestmark = pytest.mark.skipif(
    (machine.memory() or 0) < 10 * 2**30, reason="needs 10 GiB of memory for arrays above 2**31 elements"
)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    values = np.zeros((1, CELLS, 1), np.uint8)
    values[0, [5, CELLS - 3, CELLS - 1], 0] = [7, 9, 11]
    return values


def test_forward_and_offsets(x: np.ndarray) -> None:
    y, offsets = poolgrad.max_pool(x, 2, return_offsets=True)
    assert y.shape == (1, CELLS // 2, 1)
    assert np.flatnonzero(y).tolist() == [2, LAST - 1, LAST]
    assert y[0, [2, LAST - 1, LAST], 0].tolist() == [7, 9, 11]
    assert offsets[0, [2, LAST - 1, LAST], 0].tolist() == [1, 1, 1]
    back = poolgrad.max_pool_grad(y, None, 2, offsets=offsets, input_shape=x.shape)
    assert np.array_equal(back, x)


def test_argmax_and_unpool(x: np.ndarray) -> None:
    window = 2**20
    y, argmax = poolgrad.max_pool(x, window, return_argmax=True, padding=((0, window - 6),))
    assert argmax[0, -1, 0] == CELLS - 1
    back = poolgrad.max_unpool(y, argmax, x.shape)
    assert np.flatnonzero(back).tolist() == [5, CELLS - 1]


def test_raw_argmax_of_a_large_image_needs_int64() -> None:
    image = np.zeros((1, 2**16, 2**15 + 1, 1), np.int8)
    call = {"ksize": [1, 2**16, 2**15, 1], "strides": [1, 2**16, 2**15 + 1, 1], "padding": "VALID"}
    with pytest.raises(poolgrad.InvalidArgumentError, match="Targmax must be int64"):
        poolgrad.raw_ops.MaxPoolWithArgmax(input=image, **call, Targmax="int32")
    image[0, -1, -2, 0] = 1
    assert poolgrad.raw_ops.MaxPoolWithArgmax(input=image, **call).argmax.ravel().tolist() == [image.size - 2]
