"""What must hold of the maps themselves: adjoints, linearity, sums kept."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poolgrad
from poolgrad import dispatch
from poolgrad.plan import fold, make, with_offsets
from poolgrad.windows import Axis, from_sequence, make_axis

from .shapes import Array, Geometry, geometries, small_integers

SEEDS = st.integers(0, 2**32 - 1)
NAMES = {"input": "x", "reference": "y", "index": "index", "data": "data"}


def inner(a: Array, b: Array) -> float:
    return float(np.sum(a.astype(np.float64) * b.astype(np.float64)))


def windows_of(geometry: Geometry) -> tuple[Axis, ...]:
    rows = (geometry.window, geometry.stride, geometry.padding, geometry.dilation)
    return tuple(make_axis("axis", n, *row) for n, *row in zip(geometry.shape[1:-1], *rows, strict=True))


@given(geometries(), SEEDS)
def test_average_and_its_gradient_are_adjoint(geometry: Geometry, seed: int) -> None:
    x, y = small_integers(seed, geometry.shape, np.float64), small_integers(seed + 1, geometry.output_shape, np.float64)
    left = inner(poolgrad.avg_pool(x, **geometry.keywords), y)
    right = inner(x, poolgrad.avg_pool_grad(y, x.shape, **geometry.keywords))
    assert left == pytest.approx(right, rel=1e-13, abs=1e-300)


# Sums of small integers are exact, so these must agree to the last bit.
SELECTORS = ["first_max", "first_nan", "first_equal", "all_equal", "all_near"]


@pytest.mark.parametrize("selector", SELECTORS)
@given(geometries(), SEEDS, st.sampled_from([np.float16, np.float32, np.float64, np.int32]))
def test_route_and_pick_are_adjoint(selector: str, geometry: Geometry, seed: int, dtype: type) -> None:
    x, v = small_integers(seed, geometry.shape, dtype), small_integers(seed + 1, geometry.shape, dtype)
    g = small_integers(seed + 2, geometry.output_shape, dtype)
    # The reference is off the maximum in places: some windows then select nobody.
    y = poolgrad.max_pool(x, **geometry.keywords) - (small_integers(seed + 3, g.shape, dtype) == 0).astype(dtype)
    plan = make("route", selector, np.dtype(dtype).name, fold(geometry.shape, 1, windows_of(geometry)))
    routed = dispatch.execute(plan, {"input": x, "reference": y, "data": g}, NAMES)
    picked = dispatch.execute(plan.adjoint(), {"input": x, "reference": y, "data": v}, NAMES)
    assert inner(routed, v) == inner(g, picked)


@given(geometries(), SEEDS)
def test_saved_offsets_and_argmax_are_adjoint_and_equal_the_first_maximum(geometry: Geometry, seed: int) -> None:
    x, v = small_integers(seed, geometry.shape, np.float32), small_integers(seed + 1, geometry.shape, np.float32)
    g = small_integers(seed + 2, geometry.output_shape, np.float32)
    k = geometry.keywords
    saved = {"offsets": poolgrad.max_pool(x, **k, return_offsets=True).offsets, "input_shape": x.shape}
    argmax = poolgrad.max_pool(x, **k, return_argmax=True).argmax
    routed, picked = poolgrad.max_pool_grad(g, x, **k), poolgrad.max_pool_grad_grad(v, x, **k)
    for back in (poolgrad.max_pool_grad(g, None, **k, **saved), poolgrad.max_unpool(g, argmax, x.shape)):
        assert np.array_equal(back, routed)
    for forth in (poolgrad.max_pool_grad_grad(v, None, **k, **saved), poolgrad.max_unpool_grad(v, argmax)):
        assert np.array_equal(forth, picked)
    assert inner(routed, v) == inner(g, picked)


@given(geometries(), SEEDS)
def test_picking_from_the_input_itself_gives_the_maximum(geometry: Geometry, seed: int) -> None:
    x = small_integers(seed, geometry.shape, np.int16)
    assert np.array_equal(
        poolgrad.max_pool_grad_grad(x, x, **geometry.keywords), poolgrad.max_pool(x, **geometry.keywords)
    )


@given(geometries(), SEEDS)
def test_every_gradient_arrives(geometry: Geometry, seed: int) -> None:
    g = small_integers(seed, geometry.output_shape, np.float64)
    x = small_integers(seed + 1, geometry.shape, np.float64)
    assert poolgrad.max_pool_grad(g, x, **geometry.keywords).sum() == g.sum()
    spread = poolgrad.avg_pool_grad(g, x.shape, **geometry.keywords)
    assert spread.sum() == pytest.approx(g.sum(), rel=1e-13)


@given(geometries(), SEEDS, st.integers(-3, 3), st.integers(-3, 3))
def test_linear_in_the_gradient(geometry: Geometry, seed: int, a: int, b: int) -> None:
    x = small_integers(seed, geometry.shape, np.float64)
    g, h = (small_integers(seed + s, geometry.output_shape, np.float64) for s in (1, 2))
    k = geometry.keywords

    def route(grad: Array) -> Array:
        return poolgrad.max_pool_grad(grad, x, **k)

    def spread(grad: Array) -> Array:
        return poolgrad.avg_pool_grad(grad, x.shape, **k)

    assert np.array_equal(route(a * g + b * h), a * route(g) + b * route(h))
    np.testing.assert_allclose(spread(a * g + b * h), a * spread(g) + b * spread(h), rtol=1e-12, atol=1e-12)


@given(geometries(dilated=False), SEEDS, st.booleans())
def test_fractional_pairs_are_adjoint(geometry: Geometry, seed: int, overlapping: bool) -> None:
    x, v = (small_integers(seed + s, geometry.shape, np.float64) for s in (0, 1))
    ratio = min(1.0 + seed % 9 / 10, min(geometry.shape[1:-1]))
    pooled = poolgrad.fractional_max_pool(x, ratio, overlapping=overlapping, seed=seed)
    cells = {"sequences": pooled.sequences, "overlapping": overlapping}
    g = small_integers(seed + 2, pooled.output.shape, np.float64)
    for ties in ("first", "all"):
        routed = poolgrad.fractional_max_pool_grad(g, x, **cells, ties=ties)
        assert inner(routed, v) == inner(g, poolgrad.fractional_max_pool_grad_grad(v, x, **cells, ties=ties))
    means = poolgrad.fractional_avg_pool(v, **cells).output
    shares = poolgrad.fractional_avg_pool_grad(g, x.shape, **cells)
    assert inner(shares, v) == pytest.approx(inner(g, means), rel=1e-13, abs=1e-300)


def test_offsets_of_fractional_windows_are_not_needed_but_tables_equal_numbers() -> None:
    x = small_integers(5, (2, 9, 3), np.float32)
    even = poolgrad.fractional_max_pool(x, sequences=([0, 3, 6, 9],)).output
    assert np.array_equal(even, poolgrad.max_pool(x, 3))
    table = from_sequence(9, (0, 3, 6, 9), overlapping=False)
    assert (table.starts, table.stops) == ((0, 3, 6), (3, 6, 9))


def test_plan_of_offsets_takes_the_smallest_type() -> None:
    folded = fold((1, 300, 1), 1, (make_axis("axis", 300, 257, 1, "valid"),))
    plan = make("maximum", "first_nan", "float32", folded)
    assert with_offsets(plan, (256,)).index_dtype == "uint8"
    assert with_offsets(plan, (257,)).index_dtype == "uint16"
