"""Max pooling that tells where the maxima were, and what follows from that."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np

from poolgrad import arguments, attributes, dispatch
from poolgrad.attributes import Attributes
from poolgrad.dtypes import INDICES, REALS, name_of
from poolgrad.errors import InvalidArgumentError
from poolgrad.plan import flat, make, with_argmax
from poolgrad.specs import Spec, op

Array = Any


class MaxPoolWithArgmaxOutput(NamedTuple):
    """Maxima, and the flat index of each."""

    output: Array
    argmax: Array


def _index_dtype(Targmax: object) -> str:
    if isinstance(Targmax, str | type | np.dtype):
        with contextlib.suppress(TypeError, ValueError, SyntaxError):
            name = name_of(np.dtype(Targmax))
            if name in INDICES:
                return name
    raise InvalidArgumentError(f"Targmax must be int32 or int64, got {arguments.describe(Targmax)}")


def _argmax_moved(spec: Spec, value: Array, grad: Array, argmax: Array, a: Attributes, batch: object) -> Array:
    """The gradient by argmax and its gradient."""
    info = dispatch.inspect("input", value)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    base = "batch" if arguments.flag("include_batch_in_index", batch) else "image"
    output_shape = attributes.folded("input", info.shape, a).output_shape
    index = dispatch.inspect("argmax", argmax)
    index_dtype = dispatch.checked_dtype(index, INDICES)
    dispatch.checked_like(index, output_shape, index_dtype, "argmax")
    # All axes but the batch are one: argmax may name any element of an image, or of the batch.
    plan = with_argmax(make(spec.family, "given", dtype, flat(info.shape, output_shape, 1, 3)), index_dtype, base)
    shape = info.shape if spec.family == "pick" else output_shape
    dispatch.checked_like(dispatch.inspect("grad", grad), shape, dtype, "input")
    return dispatch.execute(plan, {"data": grad, "index": argmax}, {"data": "grad", "index": "argmax"})


@op("maximum", "first_max", dtypes=REALS, inputs=("input",), outputs=("output", "argmax"))
def MaxPoolWithArgmax(
    spec: Spec,
    /,
    *,
    input: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    Targmax: Any = np.int64,
    include_batch_in_index: bool = False,
    name: Any = None,
) -> MaxPoolWithArgmaxOutput:
    """MaxPool and the flat index of each maximum, (h * W + w) * C + c, the first one where several tie.

    >>> import numpy as np
    >>> x = np.array([1, 9, 2, 3, 7, 1, 4, 5], np.float32).reshape(2, 1, 2, 2)
    >>> y, argmax = MaxPoolWithArgmax(input=x, ksize=[1, 1, 2, 1], strides=[1, 1, 2, 1], padding="VALID")
    >>> y.ravel().tolist(), argmax.ravel().tolist()
    ([2.0, 9.0, 7.0, 5.0], [2, 1, 0, 3])
    """
    a = attributes.read(2, ksize, strides, padding, "NHWC")
    info = dispatch.inspect("input", input)
    dtype = dispatch.checked_dtype(info, spec.dtypes)
    base = "batch" if arguments.flag("include_batch_in_index", include_batch_in_index) else "image"
    folded = attributes.folded("input", info.shape, a, numbered=True, channels="ignore")
    dispatch.refuse_empty(info)
    plan = with_argmax(make("maximum", "first_max", dtype, folded), _index_dtype(Targmax), base)
    return MaxPoolWithArgmaxOutput(*dispatch.execute(plan, {"input": input}, {"input": "input"}))


@op("route", "given", dtypes=REALS, inputs=("input", "grad", "argmax"))
def MaxPoolGradWithArgmax(
    spec: Spec,
    /,
    *,
    input: Array,
    grad: Array,
    argmax: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    include_batch_in_index: bool = False,
    name: Any = None,
) -> Array:
    """The gradient of MaxPoolWithArgmax: each gradient goes where `argmax` says; of `input` only the shape counts.

    >>> import numpy as np
    >>> x = np.zeros((1, 1, 4, 1), np.float32)
    >>> grad = np.array([1, 2], np.float32).reshape(1, 1, 2, 1)
    >>> argmax = np.array([3, 3]).reshape(1, 1, 2, 1)
    >>> MaxPoolGradWithArgmax(input=x, grad=grad, argmax=argmax, ksize=[1, 1, 2, 1], strides=[1, 1, 2, 1],
    ...                       padding="VALID").ravel().tolist()
    [0.0, 0.0, 0.0, 3.0]
    """
    a = attributes.read(2, ksize, strides, padding, "NHWC")
    return _argmax_moved(spec, input, grad, argmax, a, include_batch_in_index)


@op("pick", "given", dtypes=REALS, inputs=("input", "grad", "argmax"))
def MaxPoolGradGradWithArgmax(
    spec: Spec,
    /,
    *,
    input: Array,
    grad: Array,
    argmax: Array,
    ksize: Any,
    strides: Any,
    padding: str,
    include_batch_in_index: bool = False,
    name: Any = None,
) -> Array:
    """The gradient of MaxPoolGradWithArgmax in its `grad`: what `grad` holds where `argmax` says.

    >>> import numpy as np
    >>> x = np.arange(4, dtype=np.float32).reshape(1, 1, 4, 1)
    >>> argmax = np.array([1, 3]).reshape(1, 1, 2, 1)
    >>> MaxPoolGradGradWithArgmax(input=x, grad=10 * x, argmax=argmax, ksize=[1, 1, 2, 1], strides=[1, 1, 2, 1],
    ...                           padding="VALID").ravel().tolist()
    [10.0, 30.0]
    """
    a = attributes.read(2, ksize, strides, padding, "NHWC")
    return _argmax_moved(spec, input, grad, argmax, a, include_batch_in_index)
