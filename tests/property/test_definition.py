"""The functional API against the slow reference, and the order of summation as the documentation defines it."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import poolgrad
from poolgrad import raw_ops, reference

from .shapes import FLOATS, REALS, Array, Geometry, any_bits, geometries, same_bits

SEEDS = st.integers(0, 2**32 - 1)


def by_reference(function: Any, *arrays: Any, geometry: Geometry, **options: Any) -> Any:
    g = geometry
    return function(*arrays, g.window, g.stride, g.padding, g.dilation, **options)


@given(geometries(), SEEDS, st.sampled_from(REALS))
def test_max_pool(geometry: Geometry, seed: int, dtype: Any) -> None:
    x = any_bits(seed, geometry.shape, dtype)
    values, offsets, argmax = by_reference(reference.max_pool, x, geometry=geometry)
    with_offsets = poolgrad.max_pool(x, **geometry.keywords, return_offsets=True)
    with_argmax = poolgrad.max_pool(x, **geometry.keywords, return_argmax=True)
    assert same_bits(poolgrad.max_pool(x, **geometry.keywords), values)
    assert same_bits(with_offsets.output, values)
    assert with_offsets.offsets.dtype == np.uint8
    assert np.array_equal(with_offsets.offsets, offsets)
    assert same_bits(with_argmax.output, values)
    assert np.array_equal(with_argmax.argmax, argmax)


@pytest.mark.parametrize("ties", ["first", "all"])
@given(geometries(), SEEDS, st.sampled_from(REALS), st.booleans())
def test_max_gradients(ties: str, geometry: Geometry, seed: int, dtype: Any, tied: bool) -> None:
    x = any_bits(seed, geometry.shape, dtype)
    if tied:
        x = x.ravel()[np.random.default_rng(seed).integers(0, min(3, x.size), x.size)].reshape(x.shape)
    g, v = any_bits(seed + 1, geometry.output_shape, dtype), any_bits(seed + 2, geometry.shape, dtype)
    expected = by_reference(reference.max_pool_grad, x, g, geometry=geometry, ties=ties)
    assert same_bits(poolgrad.max_pool_grad(g, x, **geometry.keywords, ties=ties), expected)
    again = by_reference(reference.max_pool_grad_grad, x, v, geometry=geometry, ties=ties)
    actual = poolgrad.max_pool_grad_grad(v, x, **geometry.keywords, ties=ties)
    if ties == "first":  # the winner's value itself, while the reference adds it to zero
        again, actual = again + np.zeros_like(again), actual + np.zeros_like(actual)
    assert same_bits(actual, again)


@pytest.mark.parametrize("channels", [1, 3, 66])
@pytest.mark.parametrize(("window", "stride"), [((1, 3), (1, 1)), ((2, 3), (1, 2)), ((4, 5), (2, 2)), ((3, 2), (3, 1))])
def test_one_nan_counts_where_it_leads(window: tuple[int, int], stride: tuple[int, int], channels: int) -> None:
    """One at a time: a second NaN would make the kernel look where it must look for the first."""
    attributes = {"ksize": [1, *window, 1], "strides": [1, *stride, 1], "padding": "SAME"}
    plain = np.random.default_rng(len(window)).standard_normal((1, 4, 5, channels)).astype(np.float32)
    for place in np.ndindex(4, 5):
        x = plain.copy()
        x[(0, *place, channels // 2)] = np.nan
        expected = reference.RAW_OPS["MaxPoolWithArgmax"](input=x, **attributes)
        actual = raw_ops.MaxPoolWithArgmax(input=x, **attributes)
        assert same_bits(actual.output, expected[0])
        assert np.array_equal(actual.argmax, expected[1])


# What one rounding at the end leaves: half an ulp, and a little for the sums in twice the precision.
@given(geometries(), SEEDS, st.sampled_from([np.float32, np.float64]))
def test_averages_are_rounded_once(geometry: Geometry, seed: int, dtype: Any) -> None:
    rng = np.random.default_rng(seed)
    x, g = (rng.standard_normal(shape).astype(dtype) for shape in (geometry.shape, geometry.output_shape))
    mean = by_reference(reference.avg_pool, x, geometry=geometry)
    spread = by_reference(reference.avg_pool_grad, g, x.shape, geometry=geometry)
    np.testing.assert_array_max_ulp(poolgrad.avg_pool(x, **geometry.keywords), mean, maxulp=1)
    np.testing.assert_array_max_ulp(poolgrad.avg_pool_grad(g, x.shape, **geometry.keywords), spread, maxulp=1)


@given(geometries(), SEEDS, st.sampled_from(FLOATS))
def test_averages_of_odd_values(geometry: Geometry, seed: int, dtype: Any) -> None:
    """NaN and infinities reach exactly the elements the reference says."""
    x, g = any_bits(seed, geometry.shape, dtype), any_bits(seed + 1, geometry.output_shape, dtype)
    mean = by_reference(reference.avg_pool, x, geometry=geometry)
    spread = by_reference(reference.avg_pool_grad, g, x.shape, geometry=geometry)
    pairs = [
        (poolgrad.avg_pool(x, **geometry.keywords), mean),
        (poolgrad.avg_pool_grad(g, x.shape, **geometry.keywords), spread),
    ]
    for actual, expected in pairs:
        odd = ~np.isfinite(expected.astype(np.float64))
        assert np.array_equal(~np.isfinite(actual.astype(np.float64)), odd)
        assert same_bits(actual[odd], expected[odd])


def cells(size: int, o: int, window: int, stride: int, pad: int, dilation: int) -> list[int]:
    return [c for c in (o * stride - pad + i * dilation for i in range(window)) if 0 <= c < size]


def axes_of(geometry: Geometry) -> list[list[list[int]]]:
    """Cells of each window, for three axes."""
    rows = zip(
        geometry.shape[1:-1], geometry.output_shape[1:-1], geometry.window, geometry.stride, geometry.padding,
        geometry.dilation, strict=True,
    )  # fmt: skip
    axes = [[cells(n, o, k, s, pad[0], d) for o in range(outputs)] for n, outputs, k, s, pad, d in rows]
    return [[[0]]] * (3 - len(axes)) + axes


def volume(array: Array) -> Array:
    return array.reshape(array.shape[0], *(1,) * (5 - array.ndim), *array.shape[1:])


def summed(terms: Array) -> Array:
    """Sum over the first three axes (D, H, W): D innermost, then H, then W, each from zero and ascending."""
    total = np.zeros(terms.shape[3:], terms.dtype)
    for w in range(terms.shape[2]):
        column = np.zeros_like(total)
        for h in range(terms.shape[1]):
            line = np.zeros_like(total)
            for d in range(terms.shape[0]):
                line = line + terms[d, h, w]
            column = column + line
        total = total + column
    return total


def common_part(*axes: list[list[int]]) -> float:
    """The common multiple of all windows' cells, scaled by a power of two to more than a half and at most one."""
    common = math.prod(math.lcm(*(len(held) for held in axis)) for axis in axes)
    common = common if common <= 2**53 else 1
    return common / 2 ** (common - 1).bit_length()


WIDER = {np.float16: np.float32, ml_dtypes.bfloat16: np.float32, np.float32: np.float64}


@pytest.mark.parametrize("dtype", list(WIDER))
@given(geometries(most=5), SEEDS)
def test_order_of_summation(dtype: Any, geometry: Geometry, seed: int) -> None:
    wide = WIDER[dtype]
    rng = np.random.default_rng(seed)
    x, g = (rng.standard_normal(shape).astype(dtype) for shape in (geometry.shape, geometry.output_shape))
    d_axis, h_axis, w_axis = axes_of(geometry)
    common = common_part(d_axis, h_axis, w_axis)
    source, mean = np.moveaxis(volume(x), 0, -2).astype(wide), np.zeros(volume(g).shape, dtype)
    shares = np.zeros((len(d_axis), len(h_axis), len(w_axis), *source.shape[3:]), wide)
    for i, d in enumerate(d_axis):
        for j, h in enumerate(h_axis):
            for k, w in enumerate(w_axis):
                count = wide(len(d) * len(h) * len(w))
                mean[:, i, j, k] = (summed(source[np.ix_(d, h, w)]) * wide(1 / float(count))).astype(dtype)
                parts = wide(common / float(count))
                shares[i, j, k] = volume(g)[:, i, j, k].astype(wide) * parts
    assert same_bits(poolgrad.avg_pool(x, **geometry.keywords), mean.reshape(g.shape))
    spread = np.zeros(volume(x).shape, dtype)
    for place in np.ndindex(*spread.shape[1:4]):
        over = [
            [o for o, held in enumerate(axis) if c in held] for axis, c in zip(axes_of(geometry), place, strict=True)
        ]
        spread[(slice(None), *place)] = (summed(shares[np.ix_(*over)]) * wide(1 / common)).astype(dtype)
    assert same_bits(poolgrad.avg_pool_grad(g, x.shape, **geometry.keywords), spread.reshape(x.shape))
