"""TensorFlow's attributes (ksize, strides, padding, explicit_paddings, data_format) to windows."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from poolgrad import arguments
from poolgrad.errors import InvalidArgumentError, UnsupportedError
from poolgrad.plan import Folded, Shape, checked_size, fold
from poolgrad.windows import Axis, Padding, make_axis, stock_backward, stock_forward

FORMATS = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}
_AXES = {"D": "depth", "H": "height", "W": "width", "C": "channels"}

_stock: ContextVar[bool] = ContextVar("poolgrad_stock_windows", default=False)
uses_stock_windows = _stock.get


@contextlib.contextmanager
def stock_windows() -> Iterator[None]:
    """Inside this block, use the windows of TensorFlow's stock CPU kernels where those differ from the true ones.

    They differ in average gradients and MaxPool3DGrad where the window is larger than the input, and in AvgPool3D
    and MaxPool3D with SAME padding where the stride is larger than the window. For comparing with such kernels.

    >>> import numpy as np, poolgrad
    >>> call = dict(orig_input_shape=[1, 1, 4, 1], grad=np.array([12, 0, 0, 0], np.float32).reshape(1, 1, 4, 1),
    ...             ksize=[1, 1, 5, 1], strides=[1, 1, 1, 1], padding="SAME")
    >>> poolgrad.raw_ops.AvgPoolGrad(**call).ravel().tolist()
    [4.0, 4.0, 4.0, 0.0]
    >>> with poolgrad.raw_ops.stock_windows():
    ...     poolgrad.raw_ops.AvgPoolGrad(**call).ravel().tolist()
    [3.0, 3.0, 3.0, 3.0]
    """
    token = _stock.set(True)
    try:
        yield
    finally:
        _stock.reset(token)


@dataclass(frozen=True, slots=True)
class Attributes:
    """The attributes of a call, checked one by one."""

    ksize: Shape
    strides: Shape
    padding: str
    explicit_paddings: Shape
    data_format: str

    @property
    def channel(self) -> int:
        """Which axis is the channels."""
        return self.data_format.index("C")

    @property
    def depthwise(self) -> bool:
        """Is there a window over channels?"""
        return self.ksize[self.channel] != 1


def read(
    spatial: int,
    ksize: object,
    strides: object,
    padding: object,
    data_format: object,
    *,
    explicit_paddings: object = None,
    explicit: bool = False,
    arrays: bool = False,
) -> Attributes:
    """Check the attributes of an op with this many spatial axes, all but what depends on the input's shape."""
    rank = spatial + 2
    layout = arguments.choice(
        "data_format", FORMATS[spatial][0] if data_format is None else data_format, FORMATS[spatial]
    )
    word = arguments.choice("padding", padding, ("SAME", "VALID", "EXPLICIT") if explicit else ("SAME", "VALID"))
    window = arguments.integers("ksize", ksize, length=rank, least=1, arrays=arrays, any_shape=True)
    stride = arguments.integers("strides", strides, length=rank, least=1, arrays=arrays, any_shape=True)
    pads = arguments.integers("explicit_paddings", [] if explicit_paddings is None else explicit_paddings, least=0)
    if word == "EXPLICIT":
        _check_pads(pads, window, layout)
    elif pads:
        raise InvalidArgumentError(f"explicit_paddings must be empty unless padding is 'EXPLICIT', got {list(pads)}")
    for name, values in (("ksize", window), ("strides", stride)):
        if values[0] != 1:
            raise UnsupportedError(
                f"{name} must be 1 on the batch axis: batches are not pooled, got {name}={list(values)}"
            )
    return Attributes(window, stride, word, pads, layout)


def _check_pads(pads: Shape, ksize: Shape, layout: str) -> None:
    if len(pads) != 2 * len(layout):
        raise InvalidArgumentError(
            f"explicit_paddings must have {2 * len(layout)} entries, a (before, after) pair for each axis of {layout},"
            f" got {len(pads)}: {list(pads)}"
        )
    for axis, letter in enumerate(layout):
        pair = pads[2 * axis : 2 * axis + 2]
        if letter in "NC" and any(pair):
            raise InvalidArgumentError(f"explicit_paddings must be 0 on batch and channels, got {list(pads)}")
        if letter not in "NC" and max(pair) >= ksize[axis]:
            raise InvalidArgumentError(
                f"explicit_paddings must be below the window, {ksize[axis]} along {_AXES[letter]}, got {list(pair)}"
            )


def refuse_depthwise(attributes: Attributes, *, strides_too: bool) -> None:
    """For ops that never pool across channels."""
    channel = attributes.channel
    if attributes.depthwise:
        raise UnsupportedError(
            f"ksize must be 1 on channels: this op does not pool across them, got ksize={list(attributes.ksize)}"
        )
    if strides_too and attributes.strides[channel] != 1:
        raise UnsupportedError(
            f"strides must be 1 on channels: this op does not pool across them, got strides={list(attributes.strides)}"
        )


def _check_depthwise(name: str, shape: Shape, a: Attributes) -> None:
    window, channels = a.ksize[a.channel], shape[a.channel]
    if any(size != 1 for axis, size in enumerate(a.ksize) if axis != a.channel):
        raise UnsupportedError(f"ksize must pool either across channels or across space, got ksize={list(a.ksize)}")
    if a.padding == "EXPLICIT":
        raise UnsupportedError(
            f"padding must be 'SAME' or 'VALID' when pooling across channels, got 'EXPLICIT' with ksize={list(a.ksize)}"
        )
    if channels % window:
        raise UnsupportedError(f"ksize must divide the channels of {name}, {channels}, got {window} on channels")
    if a.strides[a.channel] != window:
        raise UnsupportedError(
            f"strides must equal ksize on channels, {window}, when pooling across them, got {a.strides[a.channel]}"
        )


def folded(
    name: str, shape: Shape, a: Attributes, *, numbered: bool = False, stock: str = "", channels: str = "pool"
) -> Folded:
    """Shapes and windows of a call on an input of this shape.

    ``stock`` says which stock windows the op has ("forward", "backward" or none). ``channels`` says what a window over
    channels does: "pool" them, or "ignore", where TensorFlow checks it and goes on without.
    """
    return _folded(name, shape, a, numbered, stock if uses_stock_windows() else "", channels)


@functools.lru_cache(maxsize=1024)
def _folded(name: str, shape: Shape, a: Attributes, numbered: bool, stock: str, channels: str) -> Folded:
    if len(shape) != len(a.data_format):
        raise InvalidArgumentError(
            f"{name} must have {len(a.data_format)} dimensions ({a.data_format}), got {len(shape)}: shape {list(shape)}"
        )
    checked_size(name, shape)
    if a.depthwise:
        _check_depthwise(name, shape, a)
        if channels == "pool":
            size = shape[a.channel]
            axis = make_axis("channels", size, a.ksize[a.channel], a.ksize[a.channel], "valid")
            return fold(shape, a.channel, (axis,), numbered=numbered)
    first = 2 if a.channel == 1 else 1
    axes = tuple(_axis(k, shape[k], a, stock) for k in range(first, first + len(shape) - 2))
    result = fold(shape, first, axes, numbered=numbered)
    checked_size("the result", result.output_shape)
    return result


def _axis(k: int, size: int, a: Attributes, stock: str) -> Axis:
    padding: Padding = a.padding.lower()
    if a.padding == "EXPLICIT":
        padding = (a.explicit_paddings[2 * k], a.explicit_paddings[2 * k + 1])
    axis = make_axis(_AXES[a.data_format[k]], size, a.ksize[k], a.strides[k], padding, window_name="ksize")
    if stock == "forward":
        return stock_forward(axis)
    return stock_backward(axis) if stock == "backward" else axis
