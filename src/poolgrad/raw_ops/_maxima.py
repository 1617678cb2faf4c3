"""Max pooling, its gradients and their gradients."""

from __future__ import annotations

from typing import Any

from poolgrad import attributes, dispatch
from poolgrad.attributes import Attributes
from poolgrad.dtypes import REALS
from poolgrad.plan import make
from poolgrad.specs import Spec, op

Array = Any


def _maximum(spec: Spec, value: Array, a: Attributes) -> Array:
    info = dispatch.inspect("input", value)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    three = spec.spatial == 3
    if three:
        attributes.refuse_depthwise(a, strides_too=True)
    folded = attributes.folded("input", info.shape, a, stock="forward" if three else "")
    plan = make("maximum", "first_max" if a.depthwise else "floor", dtype, folded, infinite_floor=three)
    return dispatch.execute(plan, {"input": value}, {"input": "input"})


def _maximum_grad(spec: Spec, orig_input: Array, orig_output: Array, grad: Array, a: Attributes) -> Array:
    """Both gradients and their gradients: one goes back to the input's shape, the other forth again."""
    attributes.refuse_depthwise(a, strides_too=True)
    info = dispatch.inspect("orig_input", orig_input)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    near = spec.selector == "all_near"
    folded = attributes.folded("orig_input", info.shape, a, stock="backward" if near else "")
    dispatch.checked_like(dispatch.inspect("orig_output", orig_output), folded.output_shape, dtype, "orig_input")
    plan = make(spec.family, spec.selector, dtype, folded, last_axis_slowest=near)
    shape = info.shape if spec.family == "pick" else folded.output_shape
    dispatch.checked_like(dispatch.inspect("grad", grad), shape, dtype, "orig_input")
    arrays = {"input": orig_input, "data": grad}
    if spec.selector != "first_max":
        arrays["reference"] = orig_output
    names = {"input": "orig_input", "data": "grad", "reference": "orig_output"}
    return dispatch.execute(plan, arrays, names)


@op("maximum", "floor", dtypes=REALS, inputs=("input",))
def MaxPool(
    spec: Spec,
    /,
    *,
    input: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any = [],
    data_format: str = "NHWC",
    name: Any = None,
) -> Array:
    """The largest element of each window; NaN is ignored, and padding never wins.

    >>> import numpy as np
    >>> x = np.arange(1, 17, dtype=np.uint8).reshape(1, 4, 4, 1)
    >>> MaxPool(input=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="EXPLICIT",
    ...         explicit_paddings=[0, 0, 1, 1, 1, 1, 0, 0]).ravel().tolist()
    [1, 3, 4, 9, 11, 12, 13, 15, 16]
    """
    a = attributes.read(2, ksize, strides, padding, data_format, explicit_paddings=explicit_paddings, explicit=True)
    return _maximum(spec, input, a)


@op("maximum", "floor", dtypes=REALS, inputs=("input", "ksize", "strides"))
def MaxPoolV2(
    spec: Spec, /, *, input: Array, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC", name: Any = None
) -> Array:
    """MaxPool with `ksize` and `strides` as arrays, or lists.

    >>> import numpy as np
    >>> x = np.arange(4.0).reshape(1, 2, 2, 1)
    >>> MaxPoolV2(input=x, ksize=np.array([1, 2, 2, 1]), strides=[1, 1, 1, 1], padding="VALID").ravel().tolist()
    [3.0]
    """
    return _maximum(spec, input, attributes.read(2, ksize, strides, padding, data_format, arrays=True))


@op("route", "first_max", dtypes=REALS, inputs=("orig_input", "orig_output", "grad"))
def MaxPoolGrad(
    spec: Spec,
    /,
    *,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    explicit_paddings: Any = [],
    data_format: str = "NHWC",
    name: Any = None,
) -> Array:
    """The gradient of MaxPool: each window's gradient goes to its first maximum; `orig_output` only has to fit.

    >>> import numpy as np
    >>> x = np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 4, 1)
    >>> y = np.array([3, 3, 3], np.float32).reshape(1, 1, 3, 1)
    >>> grad = np.array([1, 10, 100], np.float32).reshape(1, 1, 3, 1)
    >>> MaxPoolGrad(orig_input=x, orig_output=y, grad=grad, ksize=[1, 1, 2, 1], strides=[1, 1, 1, 1],
    ...             padding="VALID").ravel().tolist()
    [0.0, 11.0, 100.0, 0.0]
    """
    a = attributes.read(2, ksize, strides, padding, data_format, explicit_paddings=explicit_paddings, explicit=True)
    return _maximum_grad(spec, orig_input, orig_output, grad, a)


@op("route", "first_max", dtypes=REALS, inputs=("orig_input", "orig_output", "grad", "ksize", "strides"))
def MaxPoolGradV2(
    spec: Spec,
    /,
    *,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: Any = None,
) -> Array:
    """MaxPoolGrad with `ksize` and `strides` as arrays, or lists.

    >>> import numpy as np
    >>> x = np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 4, 1)
    >>> y = np.array([3, 3, 3], np.float32).reshape(1, 1, 3, 1)
    >>> MaxPoolGradV2(orig_input=x, orig_output=y, grad=y, ksize=np.array([1, 1, 2, 1]), strides=[1, 1, 1, 1],
    ...               padding="VALID").ravel().tolist()
    [0.0, 6.0, 3.0, 0.0]
    """
    return _maximum_grad(
        spec, orig_input, orig_output, grad, attributes.read(2, ksize, strides, padding, data_format, arrays=True)
    )


@op("pick", "first_equal", dtypes=REALS, inputs=("orig_input", "orig_output", "grad"))
def MaxPoolGradGrad(
    spec: Spec,
    /,
    *,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    explicit_paddings: Any = [],
    name: Any = None,
) -> Array:
    """The gradient of MaxPoolGrad in its `grad`: what `grad` holds where a window first equals `orig_output`, or 0.

    `explicit_paddings` is poolgrad's own: TensorFlow has no second derivative of a MaxPool with explicit padding.

    >>> import numpy as np
    >>> x = np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 4, 1)
    >>> y = np.array([3, 3, 3], np.float32).reshape(1, 1, 3, 1)
    >>> grad = np.array([1, 2, 3, 4], np.float32).reshape(1, 1, 4, 1)
    >>> MaxPoolGradGrad(orig_input=x, orig_output=y, grad=grad, ksize=[1, 1, 2, 1], strides=[1, 1, 1, 1],
    ...                 padding="VALID").ravel().tolist()
    [2.0, 2.0, 3.0]
    """
    a = attributes.read(2, ksize, strides, padding, data_format, explicit_paddings=explicit_paddings, explicit=True)
    return _maximum_grad(spec, orig_input, orig_output, grad, a)


@op("pick", "first_equal", dtypes=REALS, inputs=("orig_input", "orig_output", "grad", "ksize", "strides"))
def MaxPoolGradGradV2(
    spec: Spec,
    /,
    *,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: Any = None,
) -> Array:
    """MaxPoolGradGrad with `ksize` and `strides` as arrays, or lists.

    >>> import numpy as np
    >>> x = np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 4, 1)
    >>> y = np.array([3, 3, 3], np.float32).reshape(1, 1, 3, 1)
    >>> MaxPoolGradGradV2(orig_input=x, orig_output=y, grad=x, ksize=np.array([1, 1, 2, 1]), strides=[1, 1, 1, 1],
    ...                   padding="VALID").ravel().tolist()
    [3.0, 3.0, 3.0]
    """
    return _maximum_grad(
        spec, orig_input, orig_output, grad, attributes.read(2, ksize, strides, padding, data_format, arrays=True)
    )


@op("maximum", "floor", spatial=3, dtypes=REALS, inputs=("input",))
def MaxPool3D(
    spec: Spec, /, *, input: Array, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: Any = None
) -> Array:
    """The largest element of each window of a volume; NaN is ignored, and padding never wins.

    >>> import numpy as np
    >>> x = np.arange(8, dtype=np.int16).reshape(1, 2, 2, 2, 1)
    >>> MaxPool3D(input=x, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID").ravel().tolist()
    [7]
    """
    return _maximum(spec, input, attributes.read(3, ksize, strides, padding, data_format))


@op("route", "all_near", spatial=3, dtypes=REALS, inputs=("orig_input", "orig_output", "grad"))
def MaxPool3DGrad(
    spec: Spec,
    /,
    *,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: Any = None,
) -> Array:
    """The gradient of MaxPool3D: each window's gradient goes, whole, to every cell closer than 1e-5 to `orig_output`.

    >>> import numpy as np
    >>> x = np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 1, 4, 1)
    >>> y = np.array([3, 3, 3], np.float32).reshape(1, 1, 1, 3, 1)
    >>> grad = np.array([1, 10, 100], np.float32).reshape(1, 1, 1, 3, 1)
    >>> MaxPool3DGrad(orig_input=x, orig_output=y, grad=grad, ksize=[1, 1, 1, 2, 1], strides=[1, 1, 1, 1, 1],
    ...               padding="VALID").ravel().tolist()
    [0.0, 11.0, 110.0, 0.0]
    """
    return _maximum_grad(spec, orig_input, orig_output, grad, attributes.read(3, ksize, strides, padding, data_format))


@op("pick", "first_equal", spatial=3, dtypes=REALS, inputs=("orig_input", "orig_output", "grad"))
def MaxPool3DGradGrad(
    spec: Spec,
    /,
    *,
    orig_input: Array,
    orig_output: Array,
    grad: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: Any = None,
) -> Array:
    """The gradient of MaxPool3DGrad in its `grad`: what `grad` holds where a window first equals `orig_output`, or 0.

    >>> import numpy as np
    >>> x = np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 1, 4, 1)
    >>> y = np.array([3, 3, 3], np.float32).reshape(1, 1, 1, 3, 1)
    >>> MaxPool3DGradGrad(orig_input=x, orig_output=y, grad=x, ksize=[1, 1, 1, 2, 1], strides=[1, 1, 1, 1, 1],
    ...                   padding="VALID").ravel().tolist()
    [3.0, 3.0, 3.0]
    """
    for argument, array in (("orig_input", orig_input), ("orig_output", orig_output), ("grad", grad)):
        dispatch.refuse_empty(dispatch.inspect(argument, array))
    return _maximum_grad(spec, orig_input, orig_output, grad, attributes.read(3, ksize, strides, padding, data_format))
