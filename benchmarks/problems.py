"""One pooling to measure: its shapes, its arrays, the raw op that defines it and the bytes it has to move."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

import poolgrad
from poolgrad import raw_ops

Array: TypeAlias = npt.NDArray[Any]
Shape: TypeAlias = tuple[int, ...]

SEEDS = (1, 2)


def numpy_dtype(name: str) -> np.dtype[Any]:
    """A dtype by name, bfloat16 included."""
    if name != "bfloat16":
        return np.dtype(name)
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
    return found


@dataclass(frozen=True)
class Workload:
    """A pooling as a network has it: channels-last shape and window, or the ratio of a fractional one."""

    name: str
    pooling: str
    shape: Shape
    window: Shape = ()
    stride: Shape = ()
    padding: str = "VALID"
    ratio: float = 0.0
    tiny: bool = False

    @property
    def output_shape(self) -> Shape:
        """Shape of the pooled array, channels last."""
        sizes = self.shape[1:-1]
        if self.ratio:
            pooled = [int(size / self.ratio) for size in sizes]
        elif self.padding == "SAME":
            pooled = [-(-size // step) for size, step in zip(sizes, self.stride, strict=True)]
        else:
            pooled = [(n - k) // s + 1 for n, k, s in zip(sizes, self.window, self.stride, strict=True)]
        return (self.shape[0], *pooled, self.shape[-1])

    def smaller(self) -> Workload:
        """The same windows on an array small enough for the slow reference, edges included."""
        if self.ratio:
            sizes = [min(size, 10) for size in self.shape[1:-1]]
        else:
            axes = zip(self.shape[1:-1], self.window, self.stride, strict=True)
            sizes = [min(n, k + s + n % s + (0 if k > 8 else 2)) for n, k, s in axes]
        return replace(self, shape=(1, *sizes, min(self.shape[-1], 3)))


@dataclass(frozen=True)
class Problem:
    """One row: a workload in one dtype, layout and direction.

    ``kind`` is where the gradient of a maximum finds its winners, "input" or saved "offsets"; ``results`` says
    whether each call gives a "fresh" array or fills a "reused" one.
    """

    workload: Workload
    dtype: str = "float32"
    layout: str = "channels_last"
    direction: str = "forward"
    kind: str = ""
    results: str = "fresh"

    @property
    def name(self) -> str:
        """What filters look at, the same as in tables."""
        what = f"{self.direction}-{self.kind}" if self.kind else self.direction
        return "/".join((self.workload.name, self.dtype, self.data_format, what, self.results))

    @property
    def axes(self) -> int:
        """How many spatial axes."""
        return len(self.workload.shape) - 2

    @property
    def channels_first(self) -> bool:
        """Whether the channel axis stands before the spatial ones."""
        return self.layout == "channels_first"

    @property
    def data_format(self) -> str:
        """TensorFlow's name of the layout."""
        spatial = "DHW"[-self.axes :]
        return f"NC{spatial}" if self.channels_first else f"N{spatial}C"

    def arranged(self, sizes: Shape) -> Shape:
        """Channels-last sizes in the order of the layout."""
        return (sizes[0], sizes[-1], *sizes[1:-1]) if self.channels_first else sizes

    @property
    def input_shape(self) -> Shape:
        """Shape of the pooled array's input, in the order of the layout."""
        return self.arranged(self.workload.shape)

    @property
    def output_shape(self) -> Shape:
        """Shape of the pooled array, in the order of the layout."""
        return self.arranged(self.workload.output_shape)

    @property
    def result_shape(self) -> Shape:
        """Shape of what the row computes."""
        return self.input_shape if self.direction == "gradient" else self.output_shape

    def geometry(self) -> dict[str, Any]:
        """Keywords of the functional API."""
        work = self.workload
        return {"window": work.window, "stride": work.stride, "padding": work.padding.lower(), "layout": self.layout}

    def smaller(self) -> Problem:
        """The same row on a small array."""
        return replace(self, workload=self.workload.smaller())

    def fewest_bytes(self) -> int:
        """Bytes that must be read and written if nothing is read twice."""
        item = numpy_dtype(self.dtype).itemsize
        inputs, outputs = math.prod(self.input_shape) * item, math.prod(self.output_shape) * item
        total = inputs + outputs
        if self.kind == "input":
            total += inputs
        elif self.kind == "offsets":
            total += math.prod(self.output_shape) * (1 if math.prod(self.workload.window) <= 256 else 2)
        return total


@dataclass
class Arrays:
    """What a row's calls are given, in its layout and dtype; what a direction does not need is missing."""

    x: Array | None = None
    y: Array | None = None
    grad: Array | None = None
    offsets: Array | None = None
    sequences: tuple[Array, ...] = field(default=())


def random_array(shape: Shape, dtype: str, random: np.random.Generator) -> Array:
    """Noise, never zeros: memory moves lines of zeros faster."""
    if dtype == "uint8":
        return random.integers(0, 256, shape, np.uint8)
    if dtype in ("float32", "float64"):
        return random.standard_normal(shape, np.dtype(dtype).type)
    return random.standard_normal(shape, np.float32).astype(numpy_dtype(dtype))


def distinct_array(shape: Shape, dtype: str, random: np.random.Generator) -> Array:
    """Shuffled multiples of 1/8 that every dtype holds, without ties as far as it has enough values."""
    several = {"uint8": 256, "bfloat16": 256, "float16": 2048}.get(dtype, 2**20)
    values: Array = random.permutation(math.prod(shape)) % several
    if dtype != "uint8":
        values = (values - several // 2) / 8
    return values.astype(numpy_dtype(dtype)).reshape(shape)


def whole_array(shape: Shape, dtype: str, random: np.random.Generator) -> Array:
    """Small whole numbers, whose sums are exact in any order."""
    low = 0 if dtype == "uint8" else -4
    return random.integers(low, 5, shape).astype(numpy_dtype(dtype))


def make_arrays(problem: Problem, *, exact: bool = False, seed: int = 0) -> Arrays:
    """The arrays of a row: noise to time, or with ``exact`` values whose result does not depend on order or ties."""
    random = np.random.default_rng(seed)
    averages = problem.workload.pooling == "avg"
    make_x, make_grad = (distinct_array, whole_array) if exact and not averages else (random_array, random_array)
    arrays = Arrays()
    given = problem.input_shape if problem.direction == "second" else problem.output_shape
    if problem.direction != "forward":
        arrays.grad = make_grad(given, problem.dtype, random)
    if problem.direction == "forward" or not averages:
        arrays.x = make_x(problem.input_shape, problem.dtype, random)
    if problem.workload.ratio:
        _, *sequences = _fractional_forward(problem, np.zeros((1, *problem.input_shape[1:-1], 1), np.float32))
        arrays.sequences = tuple(sequences)
    if problem.direction == "forward" or averages:
        return arrays
    if problem.workload.ratio:
        arrays.y = _fractional_forward(problem, arrays.x)[0]
    elif problem.kind == "offsets":
        arrays.y, arrays.offsets = poolgrad.max_pool(arrays.x, **problem.geometry(), return_offsets=True)
    else:
        arrays.y = poolgrad.max_pool(arrays.x, **problem.geometry())
    return arrays


def _fractional_forward(problem: Problem, x: Array | None) -> Any:
    return raw_ops.FractionalMaxPool(value=x, **fractional_attributes(problem))


def fractional_attributes(problem: Problem) -> dict[str, Any]:
    """Attributes of a fractional forward op; every call draws the same borders."""
    ratio = problem.workload.ratio
    return {"pooling_ratio": [1.0, ratio, ratio, 1.0], "deterministic": True, "seed": SEEDS[0], "seed2": SEEDS[1]}


@dataclass(frozen=True)
class RawCall:
    """A raw op by name, with TensorFlow's keywords."""

    op: str
    arrays: dict[str, Any]
    attributes: dict[str, Any]
    shapes: dict[str, list[int]] = field(default_factory=dict)

    def keywords(self) -> dict[str, Any]:
        """All of them."""
        return {**self.shapes, **self.arrays, **self.attributes}


def raw_call(problem: Problem, arrays: Arrays) -> RawCall:
    """The raw op a row is defined by; the gradient of an average gradient is the average again."""
    if problem.workload.ratio:
        return _fractional_call(problem, arrays)
    average = problem.workload.pooling == "avg"
    name = ("AvgPool" if average else "MaxPool") + ("3D" if problem.axes == 3 else "")
    work = problem.workload
    attributes = {
        "ksize": list(problem.arranged((1, *work.window, 1))),
        "strides": list(problem.arranged((1, *work.stride, 1))),
        "padding": work.padding,
        "data_format": problem.data_format,
    }
    if problem.direction == "forward" or (problem.direction == "second" and average):
        given = "value" if average and problem.axes == 2 else "input"
        return RawCall(name, {given: arrays.x if problem.direction == "forward" else arrays.grad}, attributes)
    name += "Grad"
    if average:
        return RawCall(name, {"grad": arrays.grad}, attributes, {"orig_input_shape": list(problem.input_shape)})
    if problem.direction == "second":
        name += "Grad"
    return RawCall(name, {"orig_input": arrays.x, "orig_output": arrays.y, "grad": arrays.grad}, attributes)


def _fractional_call(problem: Problem, arrays: Arrays) -> RawCall:
    average = problem.workload.pooling == "avg"
    name = "FractionalAvgPool" if average else "FractionalMaxPool"
    if problem.direction == "forward":
        return RawCall(name, {"value": arrays.x}, fractional_attributes(problem))
    rows, columns = arrays.sequences
    given = {"out_backprop": arrays.grad, "row_pooling_sequence": rows, "col_pooling_sequence": columns}
    if average:
        return RawCall(f"{name}Grad", given, {}, {"orig_input_tensor_shape": list(problem.input_shape)})
    return RawCall(f"{name}Grad", {"orig_input": arrays.x, "orig_output": arrays.y, **given}, {})
