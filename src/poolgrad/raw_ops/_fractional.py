"""Fractional pooling and its gradients."""

from __future__ import annotations

import functools
import secrets
from typing import Any, NamedTuple

from poolgrad import arguments, dispatch
from poolgrad.dtypes import FRACTIONAL, REALS
from poolgrad.errors import InvalidArgumentError, UnsupportedError
from poolgrad.philox import Philox, sequence
from poolgrad.plan import Shape, checked_size, fold_sequences, make
from poolgrad.specs import Spec, op
from poolgrad.windows import fractional_outputs

Array = Any


class FractionalPoolOutput(NamedTuple):
    """Pooled values, and the borders of the cells along height and width."""

    output: Array
    row_pooling_sequence: Array
    col_pooling_sequence: Array


def _seeds(deterministic: object, seed: object, seed2: object, *attributes: object) -> tuple[int, int]:
    first = arguments.integer("seed", seed, most=arguments.INT64_MAX)
    second = arguments.integer("seed2", seed2, most=arguments.INT64_MAX)
    if not arguments.flag("deterministic", deterministic):
        if first or second:
            raise InvalidArgumentError(
                f"seed and seed2 must be 0 unless deterministic is True, got {first} and {second}"
            )
        return secrets.randbits(64), secrets.randbits(64)
    return (first, second) if first or second else _drawn_once(repr(attributes))


@functools.cache
def _drawn_once(attributes: str) -> tuple[int, int]:
    """Without seeds a deterministic op repeats what it drew for the same attributes first."""
    return secrets.randbits(64), secrets.randbits(64)


def _fractional_outputs(name: str, shape: Shape, ratio: tuple[float, ...]) -> tuple[int, ...]:
    if ratio[0] != 1 or ratio[3] != 1:
        raise UnsupportedError(f"pooling_ratio must be 1 on batch and channels, got {list(ratio)}")
    if len(shape) != 4:
        raise InvalidArgumentError(f"{name} must have 4 dimensions (NHWC), got {len(shape)}: shape {list(shape)}")
    for axis, (size, number) in enumerate(zip(shape, ratio, strict=True)):
        if size < number:
            raise InvalidArgumentError(
                f"pooling_ratio must not be larger than the input, {size} along axis {axis} of {name}, got {number}"
            )
    return tuple(fractional_outputs(n, r) for n, r in zip(shape[1:3], ratio[1:3], strict=True))


def _fractional(
    spec: Spec, value: Array, pooling_ratio: object, pseudo_random: object, overlapping: object, seeds: tuple[int, int]
) -> FractionalPoolOutput:
    name = spec.inputs[0]
    info = dispatch.inspect(name, value)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    pattern, share = (arguments.flag("pseudo_random", pseudo_random), arguments.flag("overlapping", overlapping))
    outputs = _fractional_outputs(name, info.shape, arguments.ratios("pooling_ratio", pooling_ratio, 4))
    generator = Philox(*seeds)
    borders = [sequence(n, o, pattern, generator) for n, o in zip(info.shape[1:3], outputs, strict=True)]
    folded = fold_sequences(info.shape, 1, borders, share)
    selector = "none" if spec.family == "mean" else "floor"
    output = dispatch.execute(make(spec.family, selector, dtype, folded), {"input": value}, {"input": name})
    rows, columns = (dispatch.vector(one, value, name) for one in borders)
    return FractionalPoolOutput(output, rows, columns)


def _fractional_grad_borders(shape: Shape, output_shape: Shape, rows: object, columns: object) -> list[tuple[int, ...]]:
    return [
        arguments.sequence(name, value, output_shape[axis], shape[axis])
        for axis, name, value in ((1, "row_pooling_sequence", rows), (2, "col_pooling_sequence", columns))
    ]


@op("mean", dtypes=FRACTIONAL, inputs=("value",), outputs=("output", "row_pooling_sequence", "col_pooling_sequence"))
def FractionalAvgPool(
    spec: Spec,
    /,
    *,
    value: Array,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: Any = None,
) -> FractionalPoolOutput:
    """The average of each cell of a grid whose borders are drawn at random, for ratios between whole numbers.

    >>> import numpy as np
    >>> x = np.arange(16.0).reshape(1, 4, 4, 1)
    >>> y, rows, columns = FractionalAvgPool(value=x, pooling_ratio=[1, 2, 2, 1], deterministic=True, seed=1)
    >>> y.ravel().tolist(), rows.tolist()
    ([2.5, 4.5, 10.5, 12.5], [0, 2, 4])
    """
    seeds = _seeds(deterministic, seed, seed2, spec.name, pooling_ratio, pseudo_random, overlapping)
    return _fractional(spec, value, pooling_ratio, pseudo_random, overlapping, seeds)


@op(
    "spread",
    dtypes=FRACTIONAL,
    inputs=("orig_input_tensor_shape", "out_backprop", "row_pooling_sequence", "col_pooling_sequence"),
)
def FractionalAvgPoolGrad(
    spec: Spec,
    /,
    *,
    orig_input_tensor_shape: Any,
    out_backprop: Array,
    row_pooling_sequence: Any,
    col_pooling_sequence: Any,
    overlapping: bool = False,
    name: Any = None,
) -> Array:
    """The gradient of FractionalAvgPool: each cell's gradient is shared out evenly over its elements.

    >>> import numpy as np
    >>> grad = np.array([3, 3], np.float32).reshape(1, 1, 2, 1)
    >>> FractionalAvgPoolGrad(orig_input_tensor_shape=[1, 1, 3, 1], out_backprop=grad, row_pooling_sequence=[0, 1],
    ...                       col_pooling_sequence=[0, 1, 3], overlapping=True).ravel().tolist()
    [1.5, 3.0, 1.5]
    """
    info = dispatch.inspect("out_backprop", out_backprop)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    shape = arguments.integers(
        "orig_input_tensor_shape", orig_input_tensor_shape, length=4, least=1, most=arguments.INT64_MAX, arrays=True
    )
    checked_size("orig_input_tensor_shape", shape)
    if len(info.shape) != 4 or 0 in info.shape:
        raise InvalidArgumentError(f"out_backprop must have 4 dimensions, none of them 0, got shape {list(info.shape)}")
    borders = _fractional_grad_borders(shape, info.shape, row_pooling_sequence, col_pooling_sequence)
    folded = fold_sequences(shape, 1, borders, arguments.flag("overlapping", overlapping))
    dispatch.checked_like(info, folded.output_shape, dtype, "the result")
    return dispatch.execute(make("spread", "none", dtype, folded), {"data": out_backprop}, {"data": "out_backprop"})


@op(
    "maximum",
    "floor",
    dtypes=REALS,
    inputs=("value",),
    outputs=("output", "row_pooling_sequence", "col_pooling_sequence"),
)
def FractionalMaxPool(
    spec: Spec,
    /,
    *,
    value: Array,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: Any = None,
) -> FractionalPoolOutput:
    """The largest element of each cell of a grid whose borders are drawn at random.

    >>> import numpy as np
    >>> x = np.arange(16).reshape(1, 4, 4, 1)
    >>> y, rows, columns = FractionalMaxPool(value=x, pooling_ratio=[1, 2, 2, 1], overlapping=True)
    >>> y.ravel().tolist()
    [10, 11, 14, 15]
    """
    seeds = _seeds(deterministic, seed, seed2, spec.name, pooling_ratio, pseudo_random, overlapping)
    return _fractional(spec, value, pooling_ratio, pseudo_random, overlapping, seeds)


@op(
    "route",
    "first_max",
    dtypes=REALS,
    inputs=("orig_input", "orig_output", "out_backprop", "row_pooling_sequence", "col_pooling_sequence"),
)
def FractionalMaxPoolGrad(
    spec: Spec,
    /,
    *,
    orig_input: Array,
    orig_output: Array,
    out_backprop: Array,
    row_pooling_sequence: Any,
    col_pooling_sequence: Any,
    overlapping: bool = False,
    name: Any = None,
) -> Array:
    """The gradient of FractionalMaxPool: each cell's gradient goes to its first maximum, which `orig_output` must hold.

    >>> import numpy as np
    >>> x = np.array([1, 5, 2], np.float32).reshape(1, 1, 3, 1)
    >>> y = np.array([5, 5], np.float32).reshape(1, 1, 2, 1)
    >>> FractionalMaxPoolGrad(orig_input=x, orig_output=y, out_backprop=y, row_pooling_sequence=[0, 1],
    ...                       col_pooling_sequence=[0, 1, 3], overlapping=True).ravel().tolist()
    [0.0, 10.0, 0.0]
    """
    info, pooled = dispatch.inspect("orig_input", orig_input), dispatch.inspect("orig_output", orig_output)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    for argument, shape in (("orig_input", info.shape), ("orig_output", pooled.shape)):
        if len(shape) != 4 or 0 in shape:
            raise InvalidArgumentError(f"{argument} must have 4 dimensions, none of them 0, got shape {list(shape)}")
    borders = _fractional_grad_borders(info.shape, pooled.shape, row_pooling_sequence, col_pooling_sequence)
    folded = fold_sequences(info.shape, 1, borders, arguments.flag("overlapping", overlapping))
    dispatch.checked_like(pooled, folded.output_shape, dtype, "orig_input")
    dispatch.checked_like(dispatch.inspect("out_backprop", out_backprop), folded.output_shape, dtype, "orig_input")
    plan = make("route", "first_max", dtype, folded, verify=True)
    arrays = {"input": orig_input, "reference": orig_output, "data": out_backprop}
    return dispatch.execute(plan, arrays, {"input": "orig_input", "reference": "orig_output", "data": "out_backprop"})
