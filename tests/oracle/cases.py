"""Calls of the raw ops as data: every op over dtypes, paddings, odd sizes, ties, NaN and extreme values.

`quirk` names why TensorFlow's stock CPU kernels cannot simply be compared with:
Q1, Q2   stock windows differ from the clipped ones; comparable with the stock switch on
Q3       AvgPool3D skips cells that hold the lowest finite value
nan3d    NaN in a 3-D forward, where the stock result depends on SIMD lanes
zero3d   zeros of both signs in MaxPool3D, where the sign of the stock result depends on SIMD lanes
denormal numbers so small that TensorFlow flushes them to zero
count    more cells than the element type of an average can count
beyond   a dtype, padding or size that TensorFlow's CPU does not have; compared with the reference
ignored  paddings that TensorFlow ignores in eager mode and refuses in graphs; refused here
U1       unsafe in TensorFlow, well defined here
U2 … U7  unsafe or meaningless in TensorFlow, refused here
"""

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from poolgrad import reference

from .error_cases import error_calls
from .geometry import FRACTIONAL, PLANES, VOLUMES, Fractional, Geometry, random_fractional, random_geometry
from .model import Array, Call

SEED = 221

FLOATS = ("float16", "bfloat16", "float32", "float64")
SIGNED = ("int8", "int16", "int32", "int64")
REALS = (*FLOATS, *SIGNED, "uint8", "uint16", "uint32", "uint64")
FORWARD = (*FLOATS, *SIGNED, "uint8", "uint16")
NARROW = ("float32", "bfloat16")
DTYPES: dict[str, tuple[str, ...]] = {
    "AvgPool": FLOATS,
    "AvgPoolGrad": FLOATS,
    "AvgPool3D": NARROW,
    "AvgPool3DGrad": NARROW,
    "MaxPool": FORWARD,
    "MaxPoolV2": FORWARD,
    "MaxPoolGrad": REALS,
    "MaxPoolGradV2": REALS,
    "MaxPoolGradGrad": REALS,
    "MaxPoolGradGradV2": REALS,
    "MaxPool3D": NARROW,
    "MaxPool3DGrad": NARROW,
    "MaxPool3DGradGrad": NARROW,
    "MaxPoolWithArgmax": REALS,
    "MaxPoolGradWithArgmax": REALS,
    "MaxPoolGradGradWithArgmax": REALS,
    "FractionalAvgPool": ("float32", "float64", "int32", "int64"),
    "FractionalAvgPoolGrad": ("float32", "float64", "int32", "int64"),
    "FractionalMaxPool": ("float32", "float64", "int32", "int64"),
    "FractionalMaxPoolGrad": ("float32", "float64", "int32", "int64"),
}
EXTRA: dict[str, tuple[str, ...]] = {
    "AvgPool3D": ("float16",),
    "AvgPool3DGrad": ("float16",),
    "MaxPool": ("uint32", "uint64"),
    "MaxPoolV2": ("uint32", "uint64"),
    "MaxPoolGradGrad": ("float32", "bfloat16", "int16"),
    "MaxPool3D": tuple(name for name in REALS if name not in NARROW),
    "MaxPool3DGrad": tuple(name for name in REALS if name not in NARROW),
    "MaxPool3DGradGrad": tuple(name for name in REALS if name not in NARROW),
    "FractionalAvgPool": ("float16", "bfloat16"),
    "FractionalAvgPoolGrad": ("float16", "bfloat16"),
    "FractionalMaxPool": ("float16", "bfloat16"),
    "FractionalMaxPoolGrad": ("float16", "bfloat16"),
}
AVERAGE_KINDS = ("plain", "ties", "cancel", "large", "tiny", "infinite", "special")
MAXIMUM_KINDS = ("plain", "ties", "near", "tiny", "infinite", "special", "bottom")
WHOLE_KINDS = ("plain", "ties")


@dataclass(frozen=True)
class Sample:
    """What a generated call is made of: an op, an element type, a kind of data and a source of randomness."""

    op: str
    dtype: str
    kind: str
    rng: np.random.Generator

    def data(self, shape: tuple[int, ...], kind: str | None = None) -> Array:
        kind = kind or self.kind
        dtype = np.dtype(ml_dtypes.bfloat16 if self.dtype == "bfloat16" else self.dtype)
        if self.dtype in FLOATS:
            return self._floats(shape, kind, reference.largest_finite(dtype)).astype(dtype)
        limits = np.iinfo(dtype)
        low, high = (limits.min, limits.max) if kind == "plain" else (max(limits.min, -3), 3)
        whole: Array = self.rng.integers(low, high, shape, dtype=dtype, endpoint=True)
        return whole

    def _floats(self, shape: tuple[int, ...], kind: str, largest: Any) -> Array:
        rng = self.rng
        small = rng.integers(-2, 3, shape).astype(np.float64)
        normal = rng.normal(0, 4, shape)
        if kind == "plain":
            return normal
        if kind == "cancel":
            scale: Array = np.array([1, 2, 512, 1024, 1024])[rng.integers(0, 5, shape)]
            return np.asarray(normal * scale)
        if kind == "large":
            return rng.uniform(-0.99, 0.99, shape) * float(largest)
        if kind == "tiny":
            # Shares of one sign: where TensorFlow loses everything, no sum can lose more.
            signed = np.abs(small) if self.op.endswith("Grad") else small
            return signed * {"float16": 2.0**-23, "float64": 2.0**-1073}.get(self.dtype, 2.0**-132)
        if kind == "near":
            return small + rng.integers(-2, 3, shape) * 4e-6
        if kind == "bottom":
            return rng.choice([-np.inf, -float(largest), -np.inf], shape)
        odd = {"infinite": [np.inf, -np.inf, -0.0, 0.0], "special": [np.nan, np.inf, -np.inf, -0.0]}.get(kind)
        if odd is None:
            return small
        return np.where(rng.random(shape) < 0.35, rng.choice(odd, shape), small)


def _is_flushed(sample: Sample) -> bool:
    return sample.kind == "tiny" and sample.dtype != "float16"


def _has_both_zeros(values: Array) -> bool:
    signs = np.signbit(values.astype(np.float64)[values == 0])
    return bool(signs.any() and not signs.all())


def _quirk(sample: Sample, geometry: Geometry, arrays: dict[str, Array]) -> str | None:
    op, length, true = sample.op, geometry.output_shape, geometry.windows("true")
    if _is_flushed(sample):
        return "denormal"
    if op in ("MaxPoolGrad", "MaxPoolGradV2"):
        return "U1" if 0 in length and 0 not in geometry.shape else None
    if op in ("AvgPoolGrad", "AvgPool3DGrad", "MaxPool3DGrad"):
        return "Q1" if geometry.windows("unclipped") != true else None
    if op in ("AvgPool3D", "MaxPool3D"):
        if np.isnan(arrays["input"].astype(np.float64)).any():
            return "nan3d"
        if geometry.windows("shifted") != true:
            return "Q2"
        return "zero3d" if op == "MaxPool3D" and _has_both_zeros(arrays["input"]) else None
    countable = {"bfloat16": 256, "float16": 2048}
    if op == "AvgPool" and np.prod(geometry.window) > countable.get(arrays["value"].dtype.name, np.inf):
        return "count"
    return None


def _max_gradient_arrays(sample: Sample, geometry: Geometry, trust_output: bool) -> dict[str, Array]:
    x = sample.data(geometry.shape)
    forward = "MaxPool3D" if len(geometry.window) == 3 else "MaxPool"
    y = reference.RAW_OPS[forward](input=x, **geometry.attributes())
    if not trust_output:
        y = sample.data(y.shape, "ties")
    grad_shape = x.shape if "GradGrad" in sample.op else y.shape
    return {"orig_input": x, "orig_output": y, "grad": sample.data(grad_shape, "plain")}


def _argmax_arrays(sample: Sample, geometry: Geometry, include_batch: bool) -> dict[str, Array]:
    x = sample.data(geometry.shape)
    _, argmax = reference.RAW_OPS["MaxPoolWithArgmax"](
        input=x, include_batch_in_index=include_batch, **geometry.attributes()
    )
    grad_shape = x.shape if "GradGrad" in sample.op else argmax.shape
    return {"input": x, "grad": sample.data(grad_shape, "plain"), "argmax": argmax}


def _window_call(sample: Sample, geometry: Geometry, number: int) -> Call:
    op = sample.op
    attributes: dict[str, Any] = geometry.attributes()
    if op in ("AvgPoolGrad", "AvgPool3DGrad"):
        shape = np.array(geometry.shape, np.int32)
        arrays = {"orig_input_shape": shape, "grad": sample.data(geometry.output_shape)}
    elif "Grad" in op and "Argmax" in op:
        attributes["include_batch_in_index"] = bool(number % 2)
        arrays = _argmax_arrays(sample, geometry, bool(number % 2))
    elif "Grad" in op:
        arrays = _max_gradient_arrays(sample, geometry, trust_output=number % 4 != 3)
    else:
        arrays = {"value" if op == "AvgPool" else "input": sample.data(geometry.shape)}
    if op == "MaxPoolWithArgmax":
        attributes |= {"Targmax": ("int64", "int32")[number % 2], "include_batch_in_index": number % 3 == 0}
    if op.endswith("V2"):
        arrays |= {name: np.array(attributes.pop(name), np.int32) for name in ("ksize", "strides")}
    quirk = _quirk(sample, geometry, arrays)
    if op == "MaxPool3D" and quirk == "Q2":
        arrays["input"] = arrays["input"] + arrays["input"].dtype.type(0)  # no negative zero
    name = f"{op}-{number}-{sample.dtype}-{sample.kind}-{geometry.id}"
    return Call(op, name, arrays, attributes, quirk)


def _fractional_call(sample: Sample, geometry: Fractional, number: int) -> Call | None:
    op, attributes = sample.op, geometry.attributes()
    quirk = "denormal" if _is_flushed(sample) else None
    name = f"{op}-{number}-{sample.dtype}-{sample.kind}-{geometry.id}"
    x = sample.data(geometry.shape)
    if "Grad" not in op:
        return Call(op, name, {"value": x}, attributes, quirk)
    y, high, wide = reference.RAW_OPS[op.removesuffix("Grad")](value=x, **attributes)
    if op == "FractionalMaxPoolGrad" and len(high) * len(wide) > x.size:
        return None
    arrays = {"row_pooling_sequence": high, "col_pooling_sequence": wide}
    if op == "FractionalMaxPoolGrad":
        arrays |= {"orig_input": x, "orig_output": y, "out_backprop": sample.data(y.shape, "plain")}
    else:
        arrays |= {"orig_input_tensor_shape": np.array(x.shape, np.int64), "out_backprop": sample.data(y.shape)}
    return Call(op, name, arrays, {"overlapping": geometry.overlapping}, quirk)


def _kinds(op: str, dtype: str) -> tuple[str, ...]:
    if dtype not in FLOATS:
        return WHOLE_KINDS
    return AVERAGE_KINDS if "Avg" in op else MAXIMUM_KINDS


def _op_calls(op: str, seed: int) -> Iterator[Call | None]:
    rng = np.random.default_rng([seed, zlib.crc32(op.encode())])
    samples = [Sample(op, dtype, kind, rng) for dtype in DTYPES[op] for kind in _kinds(op, dtype)]
    rounds = max(1, 40 // len(samples))
    number = itertools.count()
    if op.startswith("Fractional"):
        for sample, fractional in zip(itertools.cycle(samples), FRACTIONAL):
            yield _fractional_call(sample, fractional, next(number))
        for sample in samples * rounds:
            yield _fractional_call(sample, random_fractional(rng), next(number))
        return
    rank = 3 if "3D" in op else 2
    can_pad = op in ("MaxPool", "MaxPoolGrad")
    everyday = [sample for sample in samples if sample.kind in ("plain", "ties", "cancel")]
    for sample, geometry in zip(itertools.cycle(everyday), VOLUMES if rank == 3 else PLANES):
        if can_pad or geometry.padding != "EXPLICIT":
            yield _window_call(sample, geometry, next(number))
    for sample in samples * rounds:
        yield _window_call(sample, random_geometry(rng, rank, can_pad), next(number))


def _extra_calls(op: str, seed: int) -> Iterator[Call | None]:
    rng = np.random.default_rng([seed, zlib.crc32(op.encode()), 1])
    number = itertools.count(1000)
    refused = ("special", "bottom", "infinite") if op == "FractionalMaxPoolGrad" else ()
    for dtype, _ in itertools.product(EXTRA.get(op, ()), range(2)):
        for kind in _kinds(op, dtype):
            sample = Sample(op, dtype, kind, rng)
            if op.startswith("Fractional") and kind not in refused:
                yield _fractional_call(sample, random_fractional(rng), next(number))
            elif not op.startswith("Fractional"):
                geometry = random_geometry(rng, 3 if "3D" in op else 2, can_pad=op == "MaxPoolGradGrad")
                yield _window_call(sample, geometry, next(number))


def _odd_calls() -> Iterator[Call]:
    """Single calls that no product of choices contains."""
    lowest = float(np.finfo(np.float32).min)
    cube: dict[str, Any] = {"ksize": [1, 1, 1, 2, 1], "strides": [1, 1, 1, 2, 1], "padding": "VALID"}
    for name, pair in {"one": [lowest, 4.0], "all": [lowest, lowest]}.items():
        values = np.array(pair, np.float32).reshape(1, 1, 1, 2, 1)
        yield Call("AvgPool3D", f"AvgPool3D-lowest-{name}", {"input": values}, cube, "Q3")
    for dtype, cells in (("bfloat16", 300), ("float16", 2100)):
        line = np.zeros((1, 1, cells, 1), ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)
        line[0, 0, 0, 0] = cells
        square: dict[str, Any] = {"ksize": [1, 1, cells, 1], "strides": [1, 1, 1, 1], "padding": "VALID"}
        yield Call("AvgPool", f"AvgPool-count-{dtype}", {"value": line}, square, "count")
    depth: dict[str, Any] = {"ksize": [1, 1, 1, 2], "strides": [1, 2, 2, 2], "padding": "VALID"}
    x = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)[..., ::-1].copy()
    yield Call("MaxPool", "MaxPool-depthwise", {"input": x}, depth)
    yield Call("MaxPoolWithArgmax", "MaxPoolWithArgmax-depthwise", {"input": x}, depth)
    ignored: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 1, 1, 1], "padding": "SAME"}
    pads = {"explicit_paddings": [0, 0, 1, 1, 1, 1, 0, 0]}
    yield Call("MaxPool", "MaxPool-ignored-paddings", {"input": x}, ignored | pads, "ignored")
    yield Call("AvgPool", "AvgPool-depth-stride", {"value": x}, ignored | {"strides": [1, 1, 1, 2]})
    scatter = {"input": np.zeros((1, 1, 4, 1), np.float32), "grad": np.array([1, 2], np.float32)}
    scatter |= {"grad": scatter["grad"].reshape(1, 1, 2, 1), "argmax": np.full((1, 1, 2, 1), 3, np.int64)}
    pairs: dict[str, Any] = {"ksize": [1, 1, 2, 1], "strides": [1, 1, 2, 1], "padding": "VALID"}
    yield Call("MaxPoolGradWithArgmax", "MaxPoolGradWithArgmax-repeated", scatter, pairs)
    grads = {"orig_input_shape": np.array([1, 1, 4, 1], np.int32), "grad": np.ones((1, 1, 2, 1), np.float32)}
    huge = {"ksize": [1, 1, 2**31 - 1, 1], "strides": [1, 1, 2, 1], "padding": "SAME"}
    yield Call("AvgPoolGrad", "AvgPoolGrad-huge-window", grads, huge)


def calls(seed: int) -> Iterator[Call]:
    """All calls made from a seed; the calls that TensorFlow refuses are the same for every seed."""
    for op in DTYPES:
        for call in _op_calls(op, seed):
            if call is not None:
                yield call
        for call in _extra_calls(op, seed):
            if call is not None:
                yield replace(call, quirk="beyond")
    yield from _odd_calls()
    yield from error_calls()
