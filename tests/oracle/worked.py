"""Worked examples: small calls with results computed by hand, as (name, op, arguments, flat output)."""

from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest

from .model import Array

INF, NAN = np.inf, np.nan
LOWEST = float(np.finfo(np.float32).min)
Row: TypeAlias = tuple[str, str, dict[str, Any], list[float]]


def plane(values: Any, dtype: Any = np.float32) -> Array:
    """A list of rows, or one row, as [1, height, width, 1]."""
    grid = np.atleast_2d(np.array(values, dtype))
    return grid.reshape(1, *grid.shape, 1)


def volume(values: Any, dtype: Any = np.float32) -> Array:
    """One row as [1, 1, 1, width, 1]."""
    return np.array(values, dtype).reshape(1, 1, 1, -1, 1)


def window(height: int, width: int, stride: tuple[int, int] = (1, 1), padding: str = "VALID") -> dict[str, Any]:
    return {"ksize": [1, height, width, 1], "strides": [1, *stride, 1], "padding": padding}


def row(width: int, stride: int = 1, padding: str = "VALID") -> dict[str, Any]:
    return window(1, width, (1, stride), padding)


def solid(width: int, stride: int = 1, padding: str = "VALID") -> dict[str, Any]:
    return {"ksize": [1, 1, 1, width, 1], "strides": [1, 1, 1, stride, 1], "padding": padding}


def shape(*sizes: int) -> Array:
    return np.array(sizes, np.int32)


def triple(x: Array, y: Array, grad: Array) -> dict[str, Any]:
    return {"orig_input": x, "orig_output": y, "grad": grad}


def edges(high: list[int], wide: list[int]) -> dict[str, Any]:
    return {"row_pooling_sequence": np.array(high), "col_pooling_sequence": np.array(wide)}


NINE = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
SIXTEEN = np.arange(16).reshape(4, 4)
PEAK = [[1, 5], [5, 2]]
LINE = [1, 3, 3, 2]
TWO_IMAGES = np.array([1, 9, 2, 3, 7, 1, 4, 5], np.float32).reshape(2, 1, 2, 2)
HALVES: dict[str, Any] = {"pooling_ratio": [1, 2, 2, 1], "deterministic": True, "seed": 1}
STOCK = {"stock_windows": True}
NINE_SMOOTHED = [3, 4, 4.5, 6, 7, 7.5, 7.5, 8.5, 9]
FIRST_OF_FOUR = plane([12, 0, 0, 0])
LONG_HALF = np.eye(1, 2100, dtype=np.float16) * np.float16(2100)
LONG_BFLOAT = np.eye(1, 300, dtype=np.float32).astype(ml_dtypes.bfloat16) * ml_dtypes.bfloat16(300)

AVERAGES: list[Row] = [
    ("same-k3-s2-n5", "AvgPool", {"value": plane([1, 2, 3, 4, 5])} | row(3, 2, "SAME"), [1.5, 3, 4.5]),
    ("same-k3-s2-n4", "AvgPool", {"value": plane([1, 2, 3, 4])} | row(3, 2, "SAME"), [2, 3.5]),
    ("same-k2-s2", "AvgPool", {"value": plane(NINE)} | window(2, 2, (2, 2), "SAME"), [3, 4.5, 7.5, 9]),
    ("same-k2-s1", "AvgPool", {"value": plane(NINE)} | window(2, 2, padding="SAME"), NINE_SMOOTHED),
    ("valid-n2-k3-s1", "AvgPool", {"value": plane([1, 2])} | row(3), []),
    ("valid-n2-k4-s2", "AvgPool", {"value": plane([1, 2])} | row(4, 2), []),
    ("valid-n2-k5-s2", "AvgPool", {"value": plane([1, 2])} | row(5, 2), []),
    ("nan", "AvgPool", {"value": plane([1, NAN])} | row(2), [NAN]),
    ("both-infinities", "AvgPool", {"value": plane([INF, -INF])} | row(2), [NAN]),
    ("infinity", "AvgPool", {"value": plane([-INF, 3])} | row(2), [-INF]),
    ("float16-no-overflow", "AvgPool", {"value": plane([40000, 40000], np.float16)} | row(2), [40000]),
    ("bfloat16-count", "AvgPool", {"value": LONG_BFLOAT.reshape(1, 1, 300, 1)} | row(300), [1]),
    ("bfloat16-count-3d", "AvgPool3D", {"input": LONG_BFLOAT.reshape(1, 1, 1, 300, 1)} | solid(300), [1]),
    ("float16-count", "AvgPool", {"value": LONG_HALF.reshape(1, 1, 2100, 1)} | row(2100), [1]),
    ("nan-3d", "AvgPool3D", {"input": volume([1, NAN])} | solid(2), [NAN]),
    ("float64-3d", "AvgPool3D", {"input": volume([1, 1e-20, -1], "float64")} | solid(3), [1e-20 / 3]),
    ("one-lowest-3d", "AvgPool3D", {"input": volume([LOWEST, 4])} | solid(2), [LOWEST / 2]),
    ("lowest-3d", "AvgPool3D", {"input": volume([LOWEST, LOWEST])} | solid(2), [LOWEST]),
    ("same-k2-s5-3d", "AvgPool3D", {"input": volume(range(5))} | solid(2, 5, "SAME"), [0.5]),
    ("shifted-k2-s5-3d", "AvgPool3D", {"input": volume(range(5))} | solid(2, 5, "SAME") | STOCK, [1.5]),
]
SPREADS: list[Row] = [
    (
        "k5-n4-true",
        "AvgPoolGrad",
        {"orig_input_shape": shape(1, 1, 4, 1), "grad": FIRST_OF_FOUR} | row(5, 1, "SAME"),
        [4, 4, 4, 0],
    ),
    (
        "k5-n4-stock",
        "AvgPoolGrad",
        {"orig_input_shape": shape(1, 1, 4, 1), "grad": FIRST_OF_FOUR} | row(5, 1, "SAME") | STOCK,
        [3, 3, 3, 3],
    ),
    (
        "ones",
        "AvgPoolGrad",
        {"orig_input_shape": shape(1, 3, 3, 1), "grad": plane(np.ones((3, 3)))} | window(2, 2, padding="SAME"),
        [0.25, 0.5, 0.75, 0.5, 1, 1.5, 0.75, 1.5, 2.25],
    ),
    (
        "sixes",
        "AvgPoolGrad",
        {"orig_input_shape": shape(1, 1, 4, 1), "grad": plane([6, 6])} | row(3, 2, "SAME"),
        [2, 2, 5, 3],
    ),
    (
        "float16-ninth",
        "AvgPoolGrad",
        {"orig_input_shape": shape(1, 3, 3, 1), "grad": plane([1], np.float16)} | window(3, 3),
        [0.111083984375] * 9,
    ),
    (
        "rising",
        "AvgPoolGrad",
        {"orig_input_shape": shape(1, 3, 3, 1), "grad": plane(NINE)} | window(2, 2, padding="SAME"),
        [0.25, 0.75, 2, 1.25, 3, 6.25, 4.5, 9.75, 17.25],
    ),
    (
        "empty-grad",
        "AvgPoolGrad",
        {"orig_input_shape": shape(1, 1, 2, 1), "grad": np.zeros((1, 1, 0, 1), np.float32)} | row(3),
        [0, 0],
    ),
]
MAXIMA: list[Row] = [
    ("3d-n4-k1-s4", "MaxPool3D", {"input": volume(range(4))} | solid(1, 4, "SAME"), [0]),
    ("3d-n4-k1-s4-stock", "MaxPool3D", {"input": volume(range(4))} | solid(1, 4, "SAME") | STOCK, [1]),
    ("3d-n7-k1-s4", "MaxPool3D", {"input": volume(range(7))} | solid(1, 4, "SAME"), [0, 4]),
    ("3d-n7-k1-s4-stock", "MaxPool3D", {"input": volume(range(7))} | solid(1, 4, "SAME") | STOCK, [1, 5]),
    ("3d-n5-k2-s5", "MaxPool3D", {"input": volume(range(5))} | solid(2, 5, "SAME"), [1]),
    ("3d-n5-k2-s5-stock", "MaxPool3D", {"input": volume(range(5))} | solid(2, 5, "SAME") | STOCK, [2]),
    ("3d-n5-k1-s4", "MaxPool3D", {"input": volume(range(5))} | solid(1, 4, "SAME"), [0, 4]),
    ("3d-n5-k1-s4-stock", "MaxPool3D", {"input": volume(range(5))} | solid(1, 4, "SAME") | STOCK, [0, 4]),
    (
        "explicit",
        "MaxPool",
        {"input": plane(SIXTEEN + 1), "explicit_paddings": [0, 0, 1, 1, 1, 1, 0, 0]} | window(2, 2, (2, 2), "EXPLICIT"),
        [1, 3, 4, 9, 11, 12, 13, 15, 16],
    ),
    ("infinite", "MaxPool", {"input": plane([-INF, -INF])} | row(2), [LOWEST]),
    ("infinite-float16", "MaxPool", {"input": plane([-INF, -INF], np.float16)} | row(2), [-65504]),
    ("nan-skipped", "MaxPool", {"input": plane([NAN, 1, NAN])} | row(3), [1]),
    ("all-nan", "MaxPoolV2", {"input": plane([NAN, NAN])} | row(2), [LOWEST]),
    ("first-zero", "MaxPool", {"input": plane([-0.0, 0.0])} | row(2), [-0.0]),
    (
        "depthwise",
        "MaxPool",
        {"input": np.arange(1, 9, dtype=np.float32).reshape(1, 1, 2, 4)}
        | {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2], "padding": "VALID"},
        [2, 4, 6, 8],
    ),
    ("3d-uint8", "MaxPool3D", {"input": volume([3, 200, 7], np.uint8)} | solid(2), [200, 200]),
    ("3d-int16-padded", "MaxPool3D", {"input": volume([-9, -5], np.int16)} | solid(2, 1, "SAME"), [-5, -5]),
    ("3d-infinite", "MaxPool3D", {"input": volume([-INF, -INF])} | solid(2), [-INF]),
    ("3d-infinite-padded", "MaxPool3D", {"input": volume([-INF, -INF])} | solid(2, 1, "SAME"), [-INF, LOWEST]),
    ("3d-nan-skipped", "MaxPool3D", {"input": volume([NAN, 1])} | solid(2), [1]),
    ("argmax", "MaxPoolWithArgmax", {"input": TWO_IMAGES} | row(2, 2), [2, 9, 7, 5]),
    ("argmax-leading-nan", "MaxPoolWithArgmax", {"input": plane([NAN, 1])} | row(2), [NAN]),
    ("argmax-later-nan", "MaxPoolWithArgmax", {"input": plane([1, NAN])} | row(2), [1]),
    ("argmax-infinite", "MaxPoolWithArgmax", {"input": plane([-INF, -INF])} | row(2), [-INF]),
]
ROUTES: list[Row] = [
    ("first-tie", "MaxPoolGrad", triple(plane(LINE), plane([3, 3, 3]), plane([1, 10, 100])) | row(2), [0, 11, 100, 0]),
    ("first-peak", "MaxPoolGrad", triple(plane(PEAK), plane([5]), plane([10])) | window(2, 2), [0, 10, 0, 0]),
    ("unread-output", "MaxPoolGradV2", triple(plane(PEAK), plane([-7]), plane([10])) | window(2, 2), [0, 10, 0, 0]),
    ("leading-nan", "MaxPoolGrad", triple(plane([NAN, 1]), plane([1]), plane([1])) | row(2), [1, 0]),
    ("later-nan", "MaxPoolGrad", triple(plane([1, NAN]), plane([1]), plane([1])) | row(2), [1, 0]),
    ("all-infinite", "MaxPoolGrad", triple(plane([-INF] * 2), plane([LOWEST]), plane([1])) | row(2), [1, 0]),
    (
        "uint8-wraps",
        "MaxPoolGrad",
        triple(plane([0, 9, 0], "uint8"), plane([9, 9], "uint8"), plane([200, 100], "uint8")) | row(2),
        [0, 44, 0],
    ),
    (
        "nine",
        "MaxPoolGrad",
        triple(plane(NINE), plane([[5, 6], [8, 9]]), plane([[1, 2], [3, 4]])) | window(2, 2),
        [0, 0, 0, 0, 1, 2, 0, 3, 4],
    ),
    (
        "empty-output",
        "MaxPoolGrad",
        triple(plane([1, 2]), plane([]).reshape(1, 1, 0, 1), plane([]).reshape(1, 1, 0, 1)) | row(3),
        [0, 0],
    ),
    (
        "all-ties",
        "MaxPool3DGrad",
        triple(volume(LINE), volume([3, 3, 3]), volume([1, 10, 100])) | solid(2),
        [0, 11, 110, 0],
    ),
    ("near-one", "MaxPool3DGrad", triple(volume([1, 1.000005]), volume([1.000005]), volume([1])) | solid(2), [1, 1]),
    ("near-zero", "MaxPool3DGrad", triple(volume([1e-6, 5e-6]), volume([5e-6]), volume([1])) | solid(2), [1, 1]),
    ("not-near", "MaxPool3DGrad", triple(volume([0, 1e-5]), volume([1e-5]), volume([1])) | solid(2), [0, 1]),
    ("infinite", "MaxPool3DGrad", triple(volume([INF, 1]), volume([INF]), volume([1])) | solid(2), [0, 0]),
    (
        "integers-equal",
        "MaxPool3DGrad",
        triple(volume([4, 5, 5], "int8"), volume([5, 5], "int8"), volume([100, 100], "int8")) | solid(2),
        [0, -56, 100],
    ),
    ("no-match", "MaxPool3DGrad", triple(volume([1, 2]), volume([7]), volume([1])) | solid(2), [0, 0]),
    (
        "shifted-forward",
        "MaxPool3DGrad",
        triple(volume([0, 1, 2, 3]), volume([1]), volume([9])) | solid(1, 4, "SAME"),
        [0, 0, 0, 0],
    ),
    ("not-maximum", "MaxPool3DGrad", triple(volume([1, 2]), volume([1]), volume([1])) | solid(2), [1, 0]),
    (
        "k5-n4-true",
        "MaxPool3DGrad",
        triple(volume([5, 1, 1, 5]), volume([5, 5, 5, 5]), volume([1, 0, 0, 0])) | solid(5, 1, "SAME"),
        [1, 0, 0, 0],
    ),
    (
        "k5-n4-stock",
        "MaxPool3DGrad",
        triple(volume([5, 1, 1, 5]), volume([5, 5, 5, 5]), volume([1, 0, 0, 0])) | solid(5, 1, "SAME") | STOCK,
        [1, 0, 0, 1],
    ),
    (
        "repeated-argmax",
        "MaxPoolGradWithArgmax",
        {"input": plane([0, 0, 0, 0]), "grad": plane([1, 2]), "argmax": plane([3, 3], np.int64)} | row(2, 2),
        [0, 0, 0, 3],
    ),
    (
        "argmax-in-next-image",
        "MaxPoolGradWithArgmax",
        {"input": np.zeros((2, 1, 2, 1), np.float32), "grad": np.array([5, 7], np.float32).reshape(2, 1, 1, 1)}
        | {"argmax": np.array([3, 0]).reshape(2, 1, 1, 1)}
        | row(2, 2),
        [0, 0, 7, 5],
    ),
]
PICKS: list[Row] = [
    ("ties", "MaxPoolGradGrad", triple(plane(LINE), plane([3, 3, 3]), plane([1, 2, 3, 4])) | row(2), [2, 2, 3]),
    ("peak-5", "MaxPoolGradGrad", triple(plane(PEAK), plane([5]), plane([[1, 2], [3, 4]])) | window(2, 2), [2]),
    ("peak-2", "MaxPoolGradGradV2", triple(plane(PEAK), plane([2]), plane([[1, 2], [3, 4]])) | window(2, 2), [4]),
    ("peak-none", "MaxPoolGradGrad", triple(plane(PEAK), plane([-7]), plane([[1, 2], [3, 4]])) | window(2, 2), [0]),
    ("nine", "MaxPoolGradGrad", triple(plane(NINE), plane([[5, 6], [8, 9]]), plane(NINE)) | window(2, 2), [5, 6, 8, 9]),
    (
        "explicit",
        "MaxPoolGradGrad",
        triple(plane(LINE), plane([1, 3, 2]), plane([1, 2, 3, 4]))
        | row(2, 2, "EXPLICIT")
        | {"explicit_paddings": [0, 0, 0, 0, 1, 1, 0, 0]},
        [1, 2, 4],
    ),
    ("nan", "MaxPoolGradGrad", triple(plane([NAN, NAN]), plane([NAN]), plane([1, 2])) | row(2), [0]),
    ("all-infinite", "MaxPoolGradGrad", triple(plane([-INF, -INF]), plane([LOWEST]), plane([1, 2])) | row(2), [0]),
    ("solid", "MaxPool3DGradGrad", triple(volume(LINE), volume([3, 3, 3]), volume([1, 2, 3, 4])) | solid(2), [2, 2, 3]),
    (
        "argmax",
        "MaxPoolGradGradWithArgmax",
        {"input": TWO_IMAGES, "grad": TWO_IMAGES * 10, "argmax": np.array([2, 1, 0, 3]).reshape(2, 1, 1, 2)}
        | row(2, 2),
        [20, 90, 70, 50],
    ),
]
SHARED: dict[str, Any] = {"orig_input_tensor_shape": np.array([1, 1, 3, 1])} | edges([0, 1], [0, 1, 3])
FRACTIONS: list[Row] = [
    ("disjoint", "FractionalAvgPool", {"value": plane(SIXTEEN)} | HALVES, [2.5, 4.5, 10.5, 12.5]),
    ("overlap", "FractionalAvgPool", {"value": plane(SIXTEEN), "overlapping": True} | HALVES, [5, 6.5, 11, 12.5]),
    (
        "overlap-2-3",
        "FractionalAvgPool",
        {"value": plane([1, 2, 3, 4, 5]), "pooling_ratio": [1, 1, 2.5, 1], "overlapping": True}
        | {"deterministic": True, "seed": 1},
        [2, 4],
    ),
    ("truncated", "FractionalAvgPool", {"value": plane([[-7, 0], [0, 0]], np.int32)} | HALVES, [-1]),
    ("half", "FractionalAvgPool", {"value": plane([[1, 2], [3, 5]], np.float16)} | HALVES, [2.75]),
    ("disjoint", "FractionalMaxPool", {"value": plane(SIXTEEN)} | HALVES, [5, 7, 13, 15]),
    ("overlap", "FractionalMaxPool", {"value": plane(SIXTEEN), "overlapping": True} | HALVES, [10, 11, 14, 15]),
    ("infinite", "FractionalMaxPool", {"value": plane([[-INF, NAN], [NAN, -INF]])} | HALVES, [LOWEST]),
    (
        "truncated",
        "FractionalAvgPoolGrad",
        {"orig_input_tensor_shape": np.array([1, 2, 2, 1]), "out_backprop": plane([-7], np.int32)}
        | edges([0, 2], [0, 2]),
        [-1, -1, -1, -1],
    ),
    (
        "shared-cell",
        "FractionalAvgPoolGrad",
        SHARED | {"out_backprop": plane([3, 3]), "overlapping": True},
        [1.5, 3, 1.5],
    ),
    (
        "shared-cell-integers",
        "FractionalAvgPoolGrad",
        SHARED | {"out_backprop": plane([3, 3], np.int32), "overlapping": True},
        [1, 3, 1],
    ),
    (
        "first-tie",
        "FractionalMaxPoolGrad",
        {"orig_input": plane([[7, 7, 1], [7, 0, 2]]), "orig_output": plane([7, 2]), "out_backprop": plane([4, 5])}
        | edges([0, 2], [0, 2, 3]),
        [4, 0, 0, 0, 0, 5],
    ),
]
EXAMPLES = [
    pytest.param(op, arguments, expected, id=f"{op}-{name}")
    for name, op, arguments, expected in AVERAGES + SPREADS + MAXIMA + ROUTES + PICKS + FRACTIONS
]
