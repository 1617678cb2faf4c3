"""The twenty raw ops by their TensorFlow names, from the definitions in the sibling modules.

Every op takes `stock_windows`: with True, the windows of TensorFlow's stock CPU kernels where these differ
from the clipped ones (gradients with a window longer than the input, 3-D forwards with a stride longer than
the window).
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from . import _averages, _maxima
from ._averages import Exact
from ._fractional import (
    exact_fractional_avg_pool,
    exact_fractional_avg_pool_grad,
    fractional_avg_pool,
    fractional_avg_pool_grad,
    fractional_max_pool,
    fractional_max_pool_grad,
)
from ._numbers import Array
from ._windows import Pooling

Sizes: TypeAlias = Sequence[int]
FORMATS = {4: "NHWC", 5: "NDHWC"}


def _pooling(
    rank: int,
    ksize: Sizes,
    strides: Sizes,
    padding: str,
    data_format: str | None = None,
    explicit_paddings: Sizes | None = None,
) -> Pooling:
    flat = [[int(size) for size in np.ravel(np.asarray(sizes))] for sizes in (ksize, strides)]
    return Pooling(flat[0], flat[1], padding, data_format or FORMATS[rank], explicit_paddings or ())


def _exact_mean(values: Array, pooling: Pooling, rule: str) -> Exact:
    last = pooling.channels_last(values)
    total = _averages.mean(last, pooling.windows(last.shape, rule))
    return Exact(pooling.restored(total.finite), pooling.restored(total.special))


def _exact_spread(shape: Array, grad: Array, pooling: Pooling, rule: str) -> Exact:
    sizes = pooling.shape_channels_last(np.asarray(shape).tolist())
    total = _averages.spread(pooling.channels_last(grad), pooling.windows(sizes, rule), sizes)
    return Exact(pooling.restored(total.finite), pooling.restored(total.special))


def _exact_avg_pool(*, value: Array, stock_windows: bool = False, **attributes: Any) -> Exact:
    return _exact_mean(np.asarray(value), _pooling(4, **attributes), "true")


def _exact_avg_pool_3d(*, input: Array, stock_windows: bool = False, **attributes: Any) -> Exact:
    return _exact_mean(np.asarray(input), _pooling(5, **attributes), "shifted" if stock_windows else "true")


def _exact_avg_pool_grad(
    *, orig_input_shape: Array, grad: Array, stock_windows: bool = False, **attributes: Any
) -> Exact:
    rule = "unclipped" if stock_windows else "true"
    return _exact_spread(orig_input_shape, np.asarray(grad), _pooling(len(orig_input_shape), **attributes), rule)


def _avg_pool(*, value: Array, **attributes: Any) -> Array:
    return _exact_avg_pool(value=value, **attributes).rounded(np.asarray(value).dtype)


def _avg_pool_3d(*, input: Array, **attributes: Any) -> Array:
    return _exact_avg_pool_3d(input=input, **attributes).rounded(np.asarray(input).dtype)


def _avg_pool_grad(*, grad: Array, **attributes: Any) -> Array:
    return _exact_avg_pool_grad(grad=grad, **attributes).rounded(np.asarray(grad).dtype)


def _max_pool(*, input: Array, stock_windows: bool = False, **attributes: Any) -> Array:
    pooling = _pooling(4, **attributes)
    last = pooling.channels_last(input)
    if pooling.depth_window > 1:
        return pooling.restored(_maxima.depthwise_max(last, pooling.depth_window))
    return pooling.restored(_maxima.floored_max(last, pooling.windows(last.shape)))


def _max_pool_grad(
    *, orig_input: Array, orig_output: Array, grad: Array, stock_windows: bool = False, **attributes: Any
) -> Array:
    pooling = _pooling(4, **attributes)
    last = pooling.channels_last(orig_input)
    _, where = _maxima.winners(last, pooling.windows(last.shape))
    return pooling.restored(_maxima.route_to_winner(pooling.channels_last(grad), where, last.shape))


def _max_pool_grad_grad(
    *, orig_input: Array, orig_output: Array, grad: Array, stock_windows: bool = False, **attributes: Any
) -> Array:
    pooling = _pooling(np.ndim(orig_input), **attributes)
    last, targets, given = (pooling.channels_last(a) for a in (orig_input, orig_output, grad))
    return pooling.restored(_maxima.pick_first_equal(last, targets, given, pooling.windows(last.shape)))


def _max_pool_3d(*, input: Array, stock_windows: bool = False, **attributes: Any) -> Array:
    pooling = _pooling(5, **attributes)
    last = pooling.channels_last(input)
    windows = pooling.windows(last.shape, "shifted" if stock_windows else "true")
    return pooling.restored(_maxima.padded_max(last, windows, int(np.prod(pooling.ksize))))


def _max_pool_3d_grad(
    *, orig_input: Array, orig_output: Array, grad: Array, stock_windows: bool = False, **attributes: Any
) -> Array:
    pooling = _pooling(5, **attributes)
    last, targets, given = (pooling.channels_last(a) for a in (orig_input, orig_output, grad))
    windows = pooling.windows(last.shape, "unclipped" if stock_windows else "true")
    return pooling.restored(_maxima.route_to_near(last, targets, given, windows))


def _max_pool_with_argmax(
    *,
    input: Array,
    ksize: Sizes,
    strides: Sizes,
    padding: str,
    Targmax: Any = np.int64,
    include_batch_in_index: bool = False,
    stock_windows: bool = False,
) -> tuple[Array, Array]:
    values = np.asarray(input)
    best, where = _maxima.winners(values, _pooling(4, ksize, strides, padding).windows(values.shape))
    batch, channels = values.shape[0], values.shape[-1]
    index = where * channels + np.arange(channels)
    if include_batch_in_index:
        index = index + np.arange(batch).reshape(-1, 1, 1, 1) * int(np.prod(values.shape[1:]))
    return best, index.astype(np.dtype(Targmax))


def _max_pool_grad_with_argmax(
    *, input: Array, grad: Array, argmax: Array, include_batch_in_index: bool = False, **attributes: Any
) -> Array:
    """Only the shape of `input` matters."""
    return _maxima.route_by_argmax(np.asarray(grad), np.asarray(argmax), np.shape(input), include_batch_in_index)


def _max_pool_grad_grad_with_argmax(
    *, input: Array, grad: Array, argmax: Array, include_batch_in_index: bool = False, **attributes: Any
) -> Array:
    flat = _maxima.flat_targets(np.asarray(argmax), np.shape(input), include_batch_in_index)
    picked: Array = np.asarray(grad).ravel()[flat]
    return picked


RAW_OPS: dict[str, Callable[..., Any]] = {
    "AvgPool": _avg_pool,
    "AvgPoolGrad": _avg_pool_grad,
    "AvgPool3D": _avg_pool_3d,
    "AvgPool3DGrad": _avg_pool_grad,
    "MaxPool": _max_pool,
    "MaxPoolV2": _max_pool,
    "MaxPoolGrad": _max_pool_grad,
    "MaxPoolGradV2": _max_pool_grad,
    "MaxPoolGradGrad": _max_pool_grad_grad,
    "MaxPoolGradGradV2": _max_pool_grad_grad,
    "MaxPool3D": _max_pool_3d,
    "MaxPool3DGrad": _max_pool_3d_grad,
    "MaxPool3DGradGrad": _max_pool_grad_grad,
    "MaxPoolWithArgmax": _max_pool_with_argmax,
    "MaxPoolGradWithArgmax": _max_pool_grad_with_argmax,
    "MaxPoolGradGradWithArgmax": _max_pool_grad_grad_with_argmax,
    "FractionalAvgPool": fractional_avg_pool,
    "FractionalAvgPoolGrad": fractional_avg_pool_grad,
    "FractionalMaxPool": fractional_max_pool,
    "FractionalMaxPoolGrad": fractional_max_pool_grad,
}

_EXACT: dict[str, Callable[..., Exact]] = {
    "AvgPool": _exact_avg_pool,
    "AvgPoolGrad": _exact_avg_pool_grad,
    "AvgPool3D": _exact_avg_pool_3d,
    "AvgPool3DGrad": _exact_avg_pool_grad,
    "FractionalAvgPool": exact_fractional_avg_pool,
    "FractionalAvgPoolGrad": exact_fractional_avg_pool_grad,
}


def exact_average(op: str, **keywords: Any) -> Array:
    """The unrounded values of an averaging op: an object array of Fractions, None where not finite."""
    return _EXACT[op](**keywords).fractions()
