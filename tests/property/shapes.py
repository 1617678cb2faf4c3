"""Random geometries and data for the property tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from poolgrad import InvalidArgumentError
from poolgrad.windows import make_axis

Array = np.ndarray[Any, np.dtype[Any]]

FLOATS = (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)
INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
REALS = FLOATS + INTEGERS


@dataclass(frozen=True)
class Geometry:
    """A channels-last shape and its windows."""

    shape: tuple[int, ...]
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    output_shape: tuple[int, ...]

    @property
    def keywords(self) -> dict[str, Any]:
        return {"window": self.window, "stride": self.stride, "padding": self.padding, "dilation": self.dilation}


@st.composite
def geometries(draw: st.DrawFn, most_axes: int = 3, most: int = 7, dilated: bool = True) -> Geometry:
    axes = draw(st.integers(1, most_axes))
    batch, channels = draw(st.integers(1, 2)), draw(st.sampled_from([1, 1, 2, 3, 5, 16, 64, 66]))
    sizes, windows, strides, pads, dilations, outputs = [], [], [], [], [], []
    for _ in range(axes):
        size, window, stride = draw(st.integers(1, most)), draw(st.integers(1, 4)), draw(st.integers(1, 4))
        dilation = draw(st.integers(1, 2)) if dilated else 1
        reach = (window - 1) * dilation
        pad = (draw(st.integers(0, reach)), draw(st.integers(0, reach)))
        try:
            axis = make_axis("axis", size, window, stride, pad, dilation)
        except InvalidArgumentError:
            assume(False)
        for row, value in zip(
            (sizes, windows, strides, pads, dilations, outputs),
            (size, window, stride, pad, dilation, axis.outputs),
            strict=True,
        ):
            row.append(value)
    return Geometry(
        (batch, *sizes, channels),
        tuple(windows),
        tuple(strides),
        tuple(pads),
        tuple(dilations),
        (batch, *outputs, channels),
    )


def small_integers(seed: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """Values with many ties, whose sums are exact in every dtype."""
    return np.random.default_rng(seed).integers(0, 6, shape).astype(dtype)


def any_bits(seed: int, shape: tuple[int, ...], dtype: Any) -> Array:
    """Values of all kinds: for floats also NaN, infinities, subnormals and both zeros."""
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind in "iu":
        return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, dtype=kind, endpoint=True)
    values = rng.standard_normal(shape).astype(kind)
    special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45, 6e-8, 65504.0, -1.0, 1.0]).astype(kind)
    where = rng.random(shape) < 0.2
    return np.where(where, special[rng.integers(0, len(special), shape)], values)


def same_bits(a: Array, b: Array) -> bool:
    """Equal dtype, shape and bytes; all NaN count as one."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind not in "iu":
        nan_a, nan_b = np.isnan(a.astype(np.float64)), np.isnan(b.astype(np.float64))
        if not np.array_equal(nan_a, nan_b):
            return False
        a, b = np.where(nan_a, np.zeros_like(a), a), np.where(nan_b, np.zeros_like(b), b)
    return a.tobytes() == b.tobytes()
