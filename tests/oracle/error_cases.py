"""Wrong calls as data: a good call per op, and a change that TensorFlow, or poolgrad alone (U…), refuses."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .model import Array, Call


def _ramp(*shape: int, dtype: str = "float32") -> Array:
    return np.arange(np.prod(shape)).reshape(shape).astype(dtype)


PLANE, HALVED = (1, 4, 4, 2), (1, 2, 2, 2)
VOLUME, HALVED_VOLUME = (1, 4, 4, 4, 2), (1, 2, 2, 2, 2)
FLAT: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
SOLID: dict[str, Any] = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}
RATIO: dict[str, Any] = {"pooling_ratio": [1.0, 2.0, 2.0, 1.0], "deterministic": True, "seed": 1, "seed2": 2}
SIZES: dict[str, Any] = {name: np.array([1, 2, 2, 1], np.int32) for name in ("ksize", "strides")}
TRIPLE = {"orig_input": _ramp(*PLANE), "orig_output": _ramp(*HALVED), "grad": _ramp(*HALVED)}
TWICE = TRIPLE | {"grad": _ramp(*PLANE)}
SOLID_TRIPLE = {"orig_input": _ramp(*VOLUME), "orig_output": _ramp(*HALVED_VOLUME), "grad": _ramp(*HALVED_VOLUME)}
EDGES = {"row_pooling_sequence": np.array([0, 2, 4], np.int64), "col_pooling_sequence": np.array([0, 2, 4], np.int64)}
ARGMAX = {"input": _ramp(*PLANE), "grad": _ramp(*HALVED), "argmax": _ramp(*HALVED, dtype="int64")}

GOOD: dict[str, dict[str, Any]] = {
    "AvgPool": {"value": _ramp(*PLANE)} | FLAT,
    "AvgPoolGrad": {"orig_input_shape": np.array(PLANE, np.int32), "grad": _ramp(*HALVED)} | FLAT,
    "AvgPool3D": {"input": _ramp(*VOLUME)} | SOLID,
    "AvgPool3DGrad": {"orig_input_shape": np.array(VOLUME, np.int32), "grad": _ramp(*HALVED_VOLUME)} | SOLID,
    "MaxPool": {"input": _ramp(*PLANE)} | FLAT,
    "MaxPoolV2": {"input": _ramp(*PLANE), "padding": "VALID"} | SIZES,
    "MaxPoolGrad": TRIPLE | FLAT,
    "MaxPoolGradV2": TRIPLE | {"padding": "VALID"} | SIZES,
    "MaxPoolGradGrad": TWICE | FLAT,
    "MaxPoolGradGradV2": TWICE | {"padding": "VALID"} | SIZES,
    "MaxPool3D": {"input": _ramp(*VOLUME)} | SOLID,
    "MaxPool3DGrad": SOLID_TRIPLE | SOLID,
    "MaxPool3DGradGrad": SOLID_TRIPLE | {"grad": _ramp(*VOLUME)} | SOLID,
    "MaxPoolWithArgmax": {"input": _ramp(*PLANE)} | FLAT,
    "MaxPoolGradWithArgmax": ARGMAX | FLAT,
    "MaxPoolGradGradWithArgmax": ARGMAX | {"grad": _ramp(*PLANE)} | FLAT,
    "FractionalAvgPool": {"value": _ramp(*PLANE)} | RATIO,
    "FractionalAvgPoolGrad": EDGES
    | {"orig_input_tensor_shape": np.array(PLANE, np.int64), "out_backprop": _ramp(*HALVED)},
    "FractionalMaxPool": {"value": _ramp(*PLANE)} | RATIO,
    "FractionalMaxPoolGrad": EDGES
    | {
        "orig_input": _ramp(*PLANE),
        "orig_output": np.array([10, 11, 14, 15, 26, 27, 30, 31], np.float32).reshape(HALVED),
        "out_backprop": _ramp(*HALVED),
    },
}

WITH_LIST = [op for op in GOOD if not op.startswith("Fractional") and not op.endswith("V2")]
PLANES = [op for op in WITH_LIST if "3D" not in op and op != "MaxPoolGradGradWithArgmax"]
VOLUMES = [op for op in WITH_LIST if "3D" in op]
TRIPLES = [op for op in GOOD if "orig_output" in GOOD[op] and not op.startswith("Fractional")]

# (ops, name of the case, changed arguments)
Row = tuple[list[str], str, dict[str, Any]]
ATTRIBUTES: list[Row] = [
    (PLANES, "short-ksize", {"ksize": [1, 2, 2]}),
    (PLANES, "long-ksize", {"ksize": [1, 2, 2, 1, 1]}),
    (PLANES, "short-strides", {"strides": [1, 2, 2]}),
    (PLANES, "long-strides", {"strides": [1, 2, 2, 1, 1]}),
    (PLANES, "batch-window", {"ksize": [2, 2, 2, 1]}),
    (PLANES, "batch-stride", {"strides": [2, 2, 2, 1]}),
    (PLANES, "zero-stride", {"strides": [1, 0, 2, 1]}),
    (PLANES, "negative-stride", {"strides": [1, 2, -2, 1]}),
    (PLANES, "window-and-depth", {"ksize": [1, 2, 2, 2]}),
    (PLANES, "lower-case-padding", {"padding": "same"}),
    (PLANES, "number-for-ksize", {"ksize": 2}),
    (VOLUMES, "short-ksize", {"ksize": [1, 2, 2, 1]}),
    (VOLUMES, "long-ksize", {"ksize": [1, 2, 2, 2, 1, 1]}),
    (VOLUMES, "short-strides", {"strides": [1, 2, 2, 1]}),
    (VOLUMES, "batch-window", {"ksize": [2, 2, 2, 2, 1]}),
    (VOLUMES, "depth-window", {"ksize": [1, 2, 2, 2, 2]}),
    (VOLUMES, "depth-stride", {"strides": [1, 2, 2, 2, 2]}),
    (VOLUMES, "explicit", {"padding": "EXPLICIT"}),
    (["AvgPool", "MaxPoolWithArgmax"], "explicit", {"padding": "EXPLICIT"}),
    (["AvgPool", "MaxPool", "MaxPoolGrad", "AvgPool3D"], "unknown-format", {"data_format": "XX"}),
    (["AvgPool", "MaxPool", "MaxPoolWithArgmax", "MaxPoolGradWithArgmax"], "zero-ksize", {"ksize": [1, 0, 2, 1]}),
    (["AvgPool3D", "MaxPool3D", "AvgPool3DGrad"], "zero-ksize", {"ksize": [1, 2, 0, 2, 1]}),
    (["MaxPoolV2"], "zero-ksize", {"ksize": np.array([1, 0, 2, 1], np.int32)}),
    (["MaxPoolV2", "MaxPoolGradV2", "MaxPoolGradGradV2"], "short-ksize", {"ksize": np.array([1, 2, 2], np.int32)}),
    (["MaxPoolV2", "MaxPoolGradV2"], "short-strides", {"strides": np.array([1, 2, 2], np.int32)}),
    (["AvgPool", "MaxPool", "MaxPoolWithArgmax"], "negative-output", {"ksize": [1, 6, 6, 1], "strides": [1] * 4}),
    (["AvgPool3D", "MaxPool3D"], "negative-output", {"ksize": [1, 2, 6, 2, 1], "strides": [1] * 5}),
    (["MaxPool"], "depth-uneven", {"ksize": [1, 1, 1, 3], "strides": [1, 1, 1, 3]}),
    (["MaxPool"], "depth-overlap", {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 1]}),
    (["AvgPool"], "depth", {"ksize": [1, 1, 1, 2], "strides": [1, 1, 1, 2]}),
    (["MaxPoolGrad", "MaxPoolGradGrad"], "depth-stride", {"strides": [1, 2, 2, 2]}),
    (["MaxPool", "MaxPoolGrad"], "few-pads", {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 1]}),
    (["MaxPool"], "negative-pad", {"padding": "EXPLICIT", "explicit_paddings": [0, 0, -1, 0, 0, 0, 0, 0]}),
    (["MaxPool"], "batch-pad", {"padding": "EXPLICIT", "explicit_paddings": [1, 0, 0, 0, 0, 0, 0, 0]}),
    (["MaxPool"], "wide-pad", {"padding": "EXPLICIT", "explicit_paddings": [0, 0, 2, 0, 0, 0, 0, 0]}),
]

ARGUMENTS: list[Row] = [
    (["AvgPool"], "rank", {"value": _ramp(4, 4, 2)}),
    (["MaxPool", "MaxPoolV2", "MaxPoolWithArgmax"], "rank", {"input": _ramp(4, 4, 2)}),
    (["AvgPool3D", "MaxPool3D"], "rank", {"input": _ramp(*PLANE)}),
    (["AvgPool"], "integers", {"value": _ramp(*PLANE, dtype="int32")}),
    (["MaxPool"], "complex", {"input": _ramp(*PLANE, dtype="complex64")}),
    (["MaxPoolWithArgmax"], "empty", {"input": _ramp(0, 4, 4, 2)}),
    (TRIPLES, "output-shape", {"orig_output": _ramp(1, 2, 1, 2)}),
    (TRIPLES, "grad-shape", {"grad": _ramp(1, 1, 2, 2)}),
    (["MaxPoolGrad", "MaxPoolGradGrad"], "mixed-types", {"grad": _ramp(*HALVED, dtype="float64")}),
    (["MaxPoolGrad", "MaxPoolGradGrad"], "input-rank", {"orig_input": _ramp(4, 4, 2)}),
    (["MaxPoolGradWithArgmax"], "grad-shape", {"grad": _ramp(1, 2, 1, 2)}),
    (["MaxPoolGradWithArgmax"], "argmax-shape", {"argmax": _ramp(1, 2, 1, 2, dtype="int64")}),
    (["AvgPoolGrad"], "three-sizes", {"orig_input_shape": np.array([4, 4, 2], np.int32)}),
    (["AvgPoolGrad"], "negative-size", {"orig_input_shape": np.array([1, -4, 4, 2], np.int32)}),
    (["AvgPoolGrad"], "grad-rank", {"grad": _ramp(2, 2, 2)}),
    (["AvgPool3DGrad"], "four-sizes", {"orig_input_shape": np.array(PLANE, np.int32)}),
    (["AvgPool3DGrad"], "grad-rank", {"grad": _ramp(*HALVED)}),
    (["AvgPool3DGrad"], "batch", {"grad": _ramp(2, 2, 2, 2, 2)}),
    (["AvgPool3DGrad"], "channels", {"grad": _ramp(1, 2, 2, 2, 3)}),
]

FORWARDS = ["FractionalAvgPool", "FractionalMaxPool"]
AVERAGE, MAXIMUM = ["FractionalAvgPoolGrad"], ["FractionalMaxPoolGrad"]
FRACTIONS: list[Row] = [
    (FORWARDS, "three-ratios", {"pooling_ratio": [1.0, 2.0, 1.0]}),
    (FORWARDS, "ratio-below-one", {"pooling_ratio": [1.0, 0.5, 2.0, 1.0]}),
    (FORWARDS, "batch-ratio", {"pooling_ratio": [2.0, 2.0, 2.0, 1.0]}),
    (FORWARDS, "channel-ratio", {"pooling_ratio": [1.0, 2.0, 2.0, 2.0]}),
    (FORWARDS, "ratio-above-size", {"pooling_ratio": [1.0, 5.0, 2.0, 1.0]}),
    (FORWARDS, "rank", {"value": _ramp(4, 4, 2)}),
    (FORWARDS, "empty", {"value": _ramp(0, 4, 4, 2)}),
    (FORWARDS, "seed-without-deterministic", {"deterministic": False}),
    (AVERAGE, "short-rows", {"row_pooling_sequence": np.array([0, 4], np.int64)}),
    (AVERAGE, "short-columns", {"col_pooling_sequence": np.array([0, 4], np.int64)}),
    (AVERAGE, "negative-row", {"row_pooling_sequence": np.array([-1, 2, 4], np.int64)}),
    (AVERAGE, "repeated-zero", {"col_pooling_sequence": np.array([0, 0, 4], np.int64)}),
    (AVERAGE, "three-sizes", {"orig_input_tensor_shape": np.array([4, 4, 2], np.int64)}),
    (AVERAGE, "empty-batch", {"orig_input_tensor_shape": np.array([0, 4, 4, 2], np.int64)}),
    (AVERAGE, "grad-rank", {"out_backprop": _ramp(2, 2, 2)}),
    (AVERAGE, "empty-grad", {"out_backprop": _ramp(1, 0, 2, 2)}),
    (MAXIMUM, "other-output", {"orig_output": _ramp(*HALVED)}),
    (MAXIMUM, "input-rank", {"orig_input": _ramp(4, 4, 2)}),
    (MAXIMUM, "empty-input", {"orig_input": _ramp(1, 0, 4, 2)}),
    (MAXIMUM, "row-matrix", {"row_pooling_sequence": np.array([[0, 2, 4]], np.int64)}),
]

REFUSED: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "beyond",
        "FractionalMaxPoolGrad",
        "not-more-cells-than-input",
        {
            "orig_input": _ramp(1, 4, 4, 1),
            "orig_output": _ramp(1, 4, 4, 1),
            "out_backprop": _ramp(1, 4, 4, 1),
            "row_pooling_sequence": np.arange(5, dtype=np.int64),
            "col_pooling_sequence": np.arange(5, dtype=np.int64),
        },
    ),
    ("U2", "AvgPoolGrad", "grad-shape", {"grad": _ramp(1, 2, 1, 2)}),
    ("U2", "AvgPoolGrad", "grad-batch", {"grad": _ramp(2, 2, 2, 2)}),
    ("U2", "AvgPool3DGrad", "grad-shape", {"grad": _ramp(1, 2, 1, 2, 2)}),
    ("U3", "MaxPoolGradWithArgmax", "argmax-above", {"argmax": np.full(HALVED, 32, np.int64)}),
    ("U3", "MaxPoolGradWithArgmax", "argmax-below", {"argmax": np.full(HALVED, -1, np.int64)}),
    ("U3", "MaxPoolGradGradWithArgmax", "argmax-above", {"argmax": np.full(HALVED, 32, np.int64)}),
    ("U6", "AvgPoolGrad", "zero-ksize", {"ksize": [1, 0, 2, 1]}),
    ("U6", "MaxPoolGrad", "zero-ksize", {"ksize": [1, 0, 2, 1]}),
    ("U6", "MaxPoolGradGrad", "zero-ksize", {"ksize": [1, 2, 0, 1]}),
    ("U6", "MaxPool3DGrad", "zero-ksize", {"ksize": [1, 2, 0, 2, 1]}),
    ("U6", "MaxPool3DGradGrad", "zero-ksize", {"ksize": [1, 2, 2, 0, 1]}),
    ("U7", "FractionalAvgPoolGrad", "batch", {"out_backprop": _ramp(2, 2, 2, 2)}),
    ("U7", "FractionalAvgPoolGrad", "channels", {"out_backprop": _ramp(1, 2, 2, 3)}),
    ("U7", "FractionalMaxPoolGrad", "larger-grad", {"out_backprop": _ramp(1, 2, 3, 2)}),
]


def _call(op: str, name: str, changes: dict[str, Any], quirk: str | None = None) -> Call:
    given = GOOD[op] | changes
    arrays = {key: value for key, value in given.items() if isinstance(value, np.ndarray)}
    attributes = {key: value for key, value in given.items() if key not in arrays}
    return Call(op, f"{op}-wrong-{name}", arrays, attributes, quirk)


def error_calls() -> Iterator[Call]:
    for ops, name, changes in ATTRIBUTES + ARGUMENTS + FRACTIONS:
        for op in ops:
            yield _call(op, name, changes)
    for quirk, op, name, changes in REFUSED:
        yield _call(op, name, changes, quirk)
