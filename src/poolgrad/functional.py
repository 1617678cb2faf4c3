"""Pooling over 1, 2 or 3 spatial axes under plain names.

An array has a batch axis, its spatial axes and a channel axis: ``[batch, ..., channels]`` or, with
``layout="channels_first"``, ``[batch, channels, ...]``. A NaN in a window wins. Gradients of max go to the first
maximum or, with ``ties="all"``, whole to every one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from poolgrad import arguments, dispatch
from poolgrad.calls import named, remembered
from poolgrad.dispatch import ArrayInfo
from poolgrad.dtypes import FLOATS, INDICES, REALS
from poolgrad.errors import InvalidArgumentError
from poolgrad.plan import Folded, Plan, Shape, checked_size, flat, fold, make, with_argmax, with_offsets
from poolgrad.windows import Padding, make_axis, span

Array = Any
Numbers = int | Sequence[int]
Pads = str | Sequence[tuple[int, int]]

LAYOUTS = ("channels_last", "channels_first")
SELECTORS = {"first": "first_nan", "all": "all_equal"}


class MaxPoolOffsets(NamedTuple):
    """Maxima, and the place of each inside its window."""

    output: Array
    offsets: Array


class MaxPoolArgmax(NamedTuple):
    """Maxima, and the flat spatial index of each in the input."""

    output: Array
    argmax: Array


def spatial_axes(name: str, shape: Shape, layout: object) -> tuple[int, int]:
    """First spatial axis and their number."""
    order = arguments.choice("layout", layout, LAYOUTS)
    if not 3 <= len(shape) <= 5:
        raise InvalidArgumentError(
            f"{name} must have 3 to 5 dimensions, batch, 1 to 3 spatial axes and channels, got shape {list(shape)}"
        )
    checked_size(name, shape)
    return (2 if order == "channels_first" else 1), len(shape) - 2


def _paddings(padding: object, axes: int, windows: Shape, dilations: Shape) -> tuple[Padding, ...]:
    if isinstance(padding, str):
        return (arguments.choice("padding", padding, ("valid", "same")),) * axes
    if not isinstance(padding, list | tuple):
        came = arguments.describe(padding)
        raise TypeError(f"padding must be 'valid', 'same' or one (before, after) pair an axis, got {came}")
    checked = arguments.pairs("padding", padding, axes)
    for pair, window, dilation in zip(checked, windows, dilations, strict=True):
        if max(pair) >= span(window, dilation):
            raise InvalidArgumentError(
                f"padding must be smaller than the window, which reaches {span(window, dilation)} cells, got {pair}"
            )
    return checked


def _folded(
    name: str, shape: Shape, geometry: tuple[object, object, object, object, object], *, numbered: bool = False
) -> tuple[Folded, Shape]:
    """Shapes and windows of a call, and its window; ``geometry`` is window, stride, padding, dilation, layout."""
    window, stride, padding, dilation, layout = geometry
    first, axes = spatial_axes(name, shape, layout)
    windows = arguments.per_axis("window", window, axes)
    strides = windows if stride is None else arguments.per_axis("stride", stride, axes)
    dilations = arguments.per_axis("dilation", dilation, axes)
    pads = _paddings(padding, axes, windows, dilations)
    made = tuple(
        make_axis(f"axis {first + k}", shape[first + k], windows[k], strides[k], pads[k], dilations[k])
        for k in range(axes)
    )
    folded = fold(shape, first, made, numbered=numbered)
    checked_size("the result", folded.output_shape)
    return folded, windows


def read_input_shape(value: object) -> Shape:
    """The shape of the array that was pooled, as a caller gives it."""
    return arguments.integers("input_shape", value, least=0, most=arguments.INT64_MAX, arrays=True)


def checked_offsets(info: ArrayInfo, plan: Plan) -> None:
    """Refuse offsets of another shape or dtype than max_pool gives for these windows."""
    if info.dtype != plan.index_dtype:
        raise InvalidArgumentError(
            f"{info.name} must have dtype {plan.index_dtype}, the smallest for this window, got {info.dtype_text}"
        )
    dispatch.checked_like(info, plan.output_shape, plan.index_dtype, info.name)


@remembered
@named
def avg_pool(
    x: Array,
    window: Numbers,
    stride: Numbers | None = None,
    padding: Pads = "valid",
    dilation: Numbers = 1,
    layout: str = "channels_last",
    *,
    out: Array | None = None,
) -> Array:
    """The average of each window; padding does not count.

    Args:
        x: array of float16, bfloat16, float32 or float64
        window: cells of a window, one number or one an axis
        stride: steps between windows, the window itself by default
        padding: "valid", "same" (TensorFlow's rule) or one (before, after) pair an axis
        dilation: steps between the cells of a window
        layout: "channels_last" or "channels_first"
        out: array to fill instead of a new one

    >>> import numpy as np
    >>> avg_pool(np.arange(6.0).reshape(1, 6, 1), 2).ravel().tolist()
    [0.5, 2.5, 4.5]
    """
    info = dispatch.inspect("x", x)
    dtype = dispatch.checked_dtype(info, FLOATS)
    folded, _ = _folded("x", info.shape, (window, stride, padding, dilation, layout))
    return dispatch.execute(make("mean", "none", dtype, folded), {"input": x}, {"input": "x"}, out)


@remembered
@named
def avg_pool_grad(
    grad: Array,
    input_shape: Sequence[int],
    window: Numbers,
    stride: Numbers | None = None,
    padding: Pads = "valid",
    dilation: Numbers = 1,
    layout: str = "channels_last",
    *,
    out: Array | None = None,
) -> Array:
    """The gradient of avg_pool: each window's gradient is shared out evenly over its cells.

    Args:
        grad: gradient of avg_pool's result
        input_shape: shape of avg_pool's input
        window, stride, padding, dilation, layout, out: as in avg_pool

    >>> import numpy as np
    >>> avg_pool_grad(np.array([2.0, 4.0]).reshape(1, 2, 1), (1, 5, 1), 2).ravel().tolist()
    [1.0, 1.0, 2.0, 2.0, 0.0]
    """
    info = dispatch.inspect("grad", grad)
    dtype = dispatch.checked_dtype(info, FLOATS)
    folded, _ = _folded("input_shape", read_input_shape(input_shape), (window, stride, padding, dilation, layout))
    dispatch.checked_like(info, folded.output_shape, dtype, "the result")
    return dispatch.execute(make("spread", "none", dtype, folded), {"data": grad}, {"data": "grad"}, out)


@remembered
@named
def max_pool(
    x: Array,
    window: Numbers,
    stride: Numbers | None = None,
    padding: Pads = "valid",
    dilation: Numbers = 1,
    layout: str = "channels_last",
    *,
    return_offsets: bool = False,
    return_argmax: bool = False,
    out: Any = None,
) -> Any:
    """The largest element of each window; a NaN wins.

    Args:
        x: array of a float or integer dtype
        window, stride, padding, dilation, layout: as in avg_pool
        return_offsets: also give the winner's place inside its window, in the smallest unsigned dtype that holds it
        return_argmax: also give the winner's flat spatial index in the input, as int64
        out: array to fill instead of a new one, or a pair of them

    >>> import numpy as np
    >>> x = np.array([1.0, 5.0, 4.0, 7.0]).reshape(1, 4, 1)
    >>> y, offsets = max_pool(x, 2, return_offsets=True)
    >>> y.ravel().tolist(), offsets.ravel().tolist(), offsets.dtype
    ([5.0, 7.0], [1, 1], dtype('uint8'))
    """
    info = dispatch.inspect("x", x)
    dtype = dispatch.checked_dtype(info, REALS)
    offsets, argmax = arguments.flag("return_offsets", return_offsets), arguments.flag("return_argmax", return_argmax)
    if offsets and argmax:
        raise InvalidArgumentError("return_offsets and return_argmax must not both be True: one call gives one index")
    folded, windows = _folded("x", info.shape, (window, stride, padding, dilation, layout), numbered=argmax)
    plan = make("maximum", "first_nan", dtype, folded)
    if offsets:
        plan = with_offsets(plan, windows)
        return MaxPoolOffsets(*dispatch.execute(plan, {"input": x}, {"input": "x"}, out))
    if argmax:
        plan = with_argmax(plan, "int64", "plane")
        return MaxPoolArgmax(*dispatch.execute(plan, {"input": x}, {"input": "x"}, out))
    return dispatch.execute(plan, {"input": x}, {"input": "x"}, out)


def _selected(
    family: str,
    grad: Array,
    x: Array | None,
    geometry: tuple[object, object, object, object, object],
    ties: object,
    offsets: Array | None,
    input_shape: Sequence[int] | None,
    out: Array | None,
) -> Array:
    """max_pool_grad and its adjoint: the selector comes from the input or from saved offsets."""
    selector = SELECTORS[arguments.choice("ties", ties, tuple(SELECTORS))]
    info = dispatch.inspect("grad", grad)
    dtype = dispatch.checked_dtype(info, REALS)
    arrays, names = {"data": grad}, {"data": "grad"}
    if offsets is None:
        if input_shape is not None:
            raise InvalidArgumentError("input_shape must be left out unless offsets are given: x has the shape")
        if x is None:
            raise TypeError("x must be the array that was pooled, or offsets must be given, got None for both")
        shape = dispatch.inspect("x", x).shape
        arrays["input"], names["input"] = x, "x"
    else:
        if x is not None:
            raise InvalidArgumentError("x must be None where offsets are given: they stand in its place")
        if selector != "first_nan":
            raise InvalidArgumentError(f"ties must be 'first' with offsets: they name one winner, got {ties!r}")
        if input_shape is None:
            raise TypeError("input_shape must be given with offsets, got None")
        shape, selector = read_input_shape(input_shape), "offset"
        arrays["index"], names["index"] = offsets, "offsets"
    folded, windows = _folded("x" if offsets is None else "input_shape", shape, geometry)
    plan = make(family, selector, dtype, folded)
    if offsets is None:
        dispatch.checked_like(dispatch.inspect("x", x), shape, dtype, "grad")
    else:
        plan = with_offsets(plan, windows)
        checked_offsets(dispatch.inspect("offsets", offsets), plan)
    dispatch.checked_like(info, folded.output_shape if family == "route" else shape, dtype, "grad")
    return dispatch.execute(plan, arrays, names, out)


@remembered
@named
def max_pool_grad(
    grad: Array,
    x: Array | None,
    window: Numbers,
    stride: Numbers | None = None,
    padding: Pads = "valid",
    dilation: Numbers = 1,
    layout: str = "channels_last",
    *,
    ties: str = "first",
    offsets: Array | None = None,
    input_shape: Sequence[int] | None = None,
    out: Array | None = None,
) -> Array:
    """The gradient of max_pool: each window's gradient goes to its first maximum, or whole to all of them.

    Args:
        grad: gradient of max_pool's result
        x: max_pool's input, or None where `offsets` and `input_shape` stand in its place
        window, stride, padding, dilation, layout, out: as in max_pool
        ties: "first" or "all"
        offsets: what max_pool gave with return_offsets=True; the input is then not read again
        input_shape: shape of max_pool's input, with `offsets`

    >>> import numpy as np
    >>> x = np.array([1.0, 5.0, 5.0, 7.0]).reshape(1, 4, 1)
    >>> grad = np.array([10.0, 20.0, 30.0]).reshape(1, 3, 1)
    >>> max_pool_grad(grad, x, 2, stride=1).ravel().tolist()
    [0.0, 30.0, 0.0, 30.0]
    >>> _, offsets = max_pool(x, 2, stride=1, return_offsets=True)
    >>> max_pool_grad(grad, None, 2, stride=1, offsets=offsets, input_shape=x.shape).ravel().tolist()
    [0.0, 30.0, 0.0, 30.0]
    >>> max_pool_grad(grad, x, 2, stride=1, ties="all").ravel().tolist()
    [0.0, 30.0, 20.0, 30.0]
    """
    return _selected("route", grad, x, (window, stride, padding, dilation, layout), ties, offsets, input_shape, out)


@remembered
@named
def max_pool_grad_grad(
    grad: Array,
    x: Array | None,
    window: Numbers,
    stride: Numbers | None = None,
    padding: Pads = "valid",
    dilation: Numbers = 1,
    layout: str = "channels_last",
    *,
    ties: str = "first",
    offsets: Array | None = None,
    input_shape: Sequence[int] | None = None,
    out: Array | None = None,
) -> Array:
    """The gradient of max_pool_grad in its `grad`, its transpose: what `grad` holds at each window's maximum.

    Args:
        grad: array of the shape of max_pool's input
        x, window, stride, padding, dilation, layout, offsets, input_shape, out: as in max_pool_grad
        ties: "first", or "all" for the sum over all maxima

    >>> import numpy as np
    >>> x = np.array([1.0, 5.0, 5.0, 7.0]).reshape(1, 4, 1)
    >>> max_pool_grad_grad(np.arange(4.0).reshape(1, 4, 1), x, 2, stride=1).ravel().tolist()
    [1.0, 1.0, 3.0]
    """
    return _selected("pick", grad, x, (window, stride, padding, dilation, layout), ties, offsets, input_shape, out)


def _unpool_plan(family: str, name: str, argmax: Array, input_shape: Shape, layout: object, dtype: str) -> Plan:
    index = dispatch.inspect("argmax", argmax)
    index_dtype = dispatch.checked_dtype(index, INDICES)
    first, axes = spatial_axes("argmax", index.shape, layout)
    after = first + axes
    if len(input_shape) != len(index.shape):
        raise InvalidArgumentError(
            f"{name} must have {len(index.shape)} dimensions like argmax, got shape {list(input_shape)}"
        )
    if input_shape[:first] + input_shape[after:] != index.shape[:first] + index.shape[after:]:
        raise InvalidArgumentError(
            f"argmax must have the input's batch and channels, got shapes {list(index.shape)} and {list(input_shape)}"
        )
    checked_size("input_shape", input_shape)
    folded = flat(input_shape, index.shape, first, axes)
    return with_argmax(make(family, "given", dtype, folded), index_dtype, "plane")


@remembered
@named
def max_unpool(
    values: Array, argmax: Array, input_shape: Sequence[int], layout: str = "channels_last", *, out: Array | None = None
) -> Array:
    """Values back at the places they came from, zeros elsewhere; values for one place add up.

    Args:
        values: pooled values or gradients
        argmax: what max_pool gave with return_argmax=True, or any spatial index of the same shape as `values`
        input_shape: shape of max_pool's input
        layout, out: as in max_pool

    >>> import numpy as np
    >>> y, argmax = max_pool(np.array([1.0, 5.0, 7.0, 4.0]).reshape(1, 4, 1), 2, return_argmax=True)
    >>> max_unpool(y, argmax, (1, 4, 1)).ravel().tolist()
    [0.0, 5.0, 7.0, 0.0]
    """
    info = dispatch.inspect("values", values)
    dtype = dispatch.checked_dtype(info, REALS)
    plan = _unpool_plan("route", "input_shape", argmax, read_input_shape(input_shape), layout, dtype)
    dispatch.checked_like(info, plan.output_shape, dtype, "the result")
    return dispatch.execute(plan, {"data": values, "index": argmax}, {"data": "values", "index": "argmax"}, out)


@remembered
@named
def max_unpool_grad(grad: Array, argmax: Array, layout: str = "channels_last", *, out: Array | None = None) -> Array:
    """The gradient of max_unpool, its transpose: what `grad` holds at the given places.

    Args:
        grad: array of the shape of max_pool's input
        argmax, layout, out: as in max_unpool

    >>> import numpy as np
    >>> max_unpool_grad(np.arange(4.0).reshape(1, 4, 1), np.array([1, 2]).reshape(1, 2, 1)).ravel().tolist()
    [1.0, 2.0]
    """
    info = dispatch.inspect("grad", grad)
    dtype = dispatch.checked_dtype(info, REALS)
    plan = _unpool_plan("pick", "grad", argmax, info.shape, layout, dtype)
    return dispatch.execute(plan, {"data": grad, "index": argmax}, {"data": "grad", "index": "argmax"}, out)
