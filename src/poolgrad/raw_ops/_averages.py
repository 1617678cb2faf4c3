"""Average pooling and its gradients."""

from __future__ import annotations

from typing import Any

from poolgrad import arguments, attributes, dispatch
from poolgrad.attributes import Attributes
from poolgrad.dtypes import FLOATS
from poolgrad.plan import make
from poolgrad.specs import Spec, op

Array = Any


def _average(spec: Spec, name: str, value: Array, a: Attributes, stock: str) -> Array:
    attributes.refuse_depthwise(a, strides_too=spec.spatial == 3)
    info = dispatch.inspect(name, value)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    plan = make("mean", "none", dtype, attributes.folded(name, info.shape, a, stock=stock))
    return dispatch.execute(plan, {"input": value}, {"input": name})


def _average_grad(spec: Spec, orig_input_shape: object, grad: Array, a: Attributes) -> Array:
    attributes.refuse_depthwise(a, strides_too=spec.spatial == 3)
    info = dispatch.inspect("grad", grad)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    shape = arguments.integers(
        "orig_input_shape", orig_input_shape, length=spec.spatial + 2, least=0, most=arguments.INT64_MAX, arrays=True
    )
    folded = attributes.folded("orig_input_shape", shape, a, stock="backward")
    dispatch.checked_like(info, folded.output_shape, dtype, "the result")
    return dispatch.execute(make("spread", "none", dtype, folded), {"data": grad}, {"data": "grad"})


@op("mean", dtypes=FLOATS, inputs=("value",))
def AvgPool(
    spec: Spec, /, *, value: Array, ksize: Any, strides: Any, padding: str, data_format: str = "NHWC", name: Any = None
) -> Array:
    """The average of each window; padding does not count.

    >>> import numpy as np
    >>> x = np.arange(1.0, 10.0, dtype=np.float32).reshape(1, 3, 3, 1)
    >>> AvgPool(value=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME").ravel().tolist()
    [3.0, 4.5, 7.5, 9.0]
    """
    return _average(spec, "value", value, attributes.read(2, ksize, strides, padding, data_format), "")


@op("spread", dtypes=FLOATS, inputs=("orig_input_shape", "grad"))
def AvgPoolGrad(
    spec: Spec,
    /,
    *,
    orig_input_shape: Any,
    grad: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: Any = None,
) -> Array:
    """The gradient of AvgPool: each window's gradient is shared out evenly over its cells.

    >>> import numpy as np
    >>> grad = np.full((1, 1, 2, 1), 6, np.float32)
    >>> AvgPoolGrad(orig_input_shape=[1, 1, 4, 1], grad=grad, ksize=[1, 1, 3, 1], strides=[1, 1, 2, 1],
    ...             padding="SAME").ravel().tolist()
    [2.0, 2.0, 5.0, 3.0]
    """
    return _average_grad(spec, orig_input_shape, grad, attributes.read(2, ksize, strides, padding, data_format))


@op("mean", spatial=3, dtypes=FLOATS, inputs=("input",))
def AvgPool3D(
    spec: Spec, /, *, input: Array, ksize: Any, strides: Any, padding: str, data_format: str = "NDHWC", name: Any = None
) -> Array:
    """The average of each window of a volume; padding does not count.

    >>> import numpy as np
    >>> x = np.arange(8.0).reshape(1, 2, 2, 2, 1)
    >>> AvgPool3D(input=x, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID").ravel().tolist()
    [3.5]
    """
    return _average(spec, "input", input, attributes.read(3, ksize, strides, padding, data_format), "forward")


@op("spread", spatial=3, dtypes=FLOATS, inputs=("orig_input_shape", "grad"))
def AvgPool3DGrad(
    spec: Spec,
    /,
    *,
    orig_input_shape: Any,
    grad: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: Any = None,
) -> Array:
    """The gradient of AvgPool3D: each window's gradient is shared out evenly over its cells.

    >>> import numpy as np
    >>> grad = np.full((1, 1, 1, 1, 1), 8, np.float32)
    >>> AvgPool3DGrad(orig_input_shape=[1, 2, 2, 2, 1], grad=grad, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1],
    ...               padding="SAME").ravel().tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]
    """
    return _average_grad(spec, orig_input_shape, grad, attributes.read(3, ksize, strides, padding, data_format))
