"""Cells of many elements, as networks have them, go through kernels of their own. Channels know nothing of each other,
so a few of them tell: each is compared with the definition, alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

import poolgrad
from poolgrad import reference

CHANNELS = (16, 17, 32, 48, 64, 65, 128, 129, 160)
CASES = 8  # of each number of channels


class Case(NamedTuple):
    """A geometry, drawn."""

    shape: tuple[int, ...]
    window: tuple[int, ...]
    stride: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @property
    def geometry(self) -> tuple[Any, ...]:
        return self.window, self.stride, self.pads


def draw(rng: np.random.Generator, channels: int) -> Case:
    axes = int(rng.integers(2, 4))
    window = tuple(int(k) for k in rng.choice([1, 2, 3, 3, 5], axes))
    stride = tuple(int(s) for s in rng.choice([1, 1, 2, 3], axes))
    if rng.random() < 0.5:
        stride = (stride[0],) * axes
    size = tuple(k + int(rng.integers(0, 4)) for k in window)
    wide = rng.random() < 0.5
    pads = tuple((k // 2, (k - 1) // 2) if wide else (0, 0) for k in window)
    return Case((1, *size, channels), window, stride, pads)


def whole(rng: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Whole numbers with many ties: their sums are exact in any order."""
    return rng.integers(-20, 21, shape).astype(np.float32)


@pytest.mark.parametrize("channels", CHANNELS)
def test_as_defined(channels: int) -> None:
    rng = np.random.default_rng(channels)
    for _ in range(CASES):
        case = draw(rng, channels)
        assert_as_defined(case, whole(rng, case.shape), rng)


@pytest.mark.parametrize("size", [(4, 5, 9), (6, 7, 8), (8, 8, 8)])
@pytest.mark.parametrize("channels", [16, 64])
def test_volumes_without_padding(size: tuple[int, int, int], channels: int) -> None:
    """Results near the edges have sources in one plane only; what a call before left behind must not be among them."""
    rng = np.random.default_rng(channels)
    other = (1, *(cells + 3 for cells in size), channels)
    poolgrad.avg_pool_grad(np.full(other, np.nan, np.float32), other, 3, 1, "same")
    case = Case((1, *size, channels), (3, 3, 3), (1, 1, 1), ((0, 0),) * 3)
    assert_as_defined(case, whole(rng, case.shape), rng)


@pytest.mark.parametrize("channels", [64, 65, 128, 129])
def test_many_windows_over_a_cell(channels: int) -> None:
    """A last channel by itself is still a cell of many."""
    case = Case((1, 6, 7, channels), (5, 5), (1, 1), ((2, 2),) * 2)
    rng = np.random.default_rng(channels)
    assert_as_defined(case, whole(rng, case.shape), rng)


def assert_as_defined(case: Case, x: npt.NDArray[np.float32], rng: np.random.Generator) -> None:
    some = sorted({0, x.shape[-1] // 2, x.shape[-1] - 1})
    few = np.ascontiguousarray(x[..., some])
    values, offsets, _ = reference.max_pool(few, *case.geometry)
    y, places = poolgrad.max_pool(x, *case.geometry, return_offsets=True)
    np.testing.assert_array_equal(y[..., some], values, str(case))
    np.testing.assert_array_equal(places[..., some], offsets, str(case))
    np.testing.assert_array_equal(poolgrad.max_pool(x, *case.geometry), y, str(case))
    mean = poolgrad.avg_pool(x, *case.geometry)
    np.testing.assert_array_equal(mean[..., some], reference.avg_pool(few, *case.geometry), str(case))

    grad = whole(rng, y.shape)
    given = np.ascontiguousarray(grad[..., some])
    for ties in ("first", "all"):
        found = poolgrad.max_pool_grad(grad, x, *case.geometry, ties=ties)
        wanted = reference.max_pool_grad(few, given, *case.geometry, ties=ties)
        np.testing.assert_array_equal(found[..., some], wanted, f"{case} {ties}")
    wanted = reference.max_pool_grad(few, given, *case.geometry)
    found = poolgrad.max_pool_grad(grad, None, *case.geometry, offsets=places, input_shape=x.shape)
    np.testing.assert_array_equal(found[..., some], wanted, f"{case} offsets")
    spread = poolgrad.avg_pool_grad(grad, x.shape, *case.geometry)
    np.testing.assert_array_equal(
        spread[..., some], reference.avg_pool_grad(given, few.shape, *case.geometry), str(case)
    )
