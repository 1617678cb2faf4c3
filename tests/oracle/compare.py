"""How results are compared: bit for bit, except for float averages, whose measure is the exact value.

float16 and bfloat16 averages: at most 1 ulp from the correctly rounded value.
float32 and float64 averages: at most 2 ulp further from the exact value than TensorFlow's result.
Where TensorFlow cannot serve (see `cases`), the reference does.
"""

import contextlib
from fractions import Fraction
from typing import Any

import numpy as np

from poolgrad import reference

from .model import Array, Call

FLOATS = ("float16", "bfloat16", "float32", "float64")
MEANS = {"AvgPool": "value", "AvgPool3D": "input", "FractionalAvgPool": "value"}
SPREADS = {"AvgPoolGrad": "grad", "AvgPool3DGrad": "grad", "FractionalAvgPoolGrad": "out_backprop"}
AVERAGES = MEANS | SPREADS


def keywords(call: Call) -> dict[str, Any]:
    """Arguments for poolgrad and for the reference."""
    attributes = dict(call.attributes)
    if "Targmax" in attributes:
        attributes["Targmax"] = np.dtype(attributes["Targmax"])
    return {**call.arrays, **attributes}


def as_tuple(result: Any) -> tuple[Array, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


def has_layout(call: Call) -> bool:
    """The op has a data_format, and the call pools over spatial axes only."""
    depthwise = list(call.attributes.get("ksize", [1]))[-1] > 1
    return not call.op.startswith("Fractional") and "Argmax" not in call.op and not depthwise


def channels_first(call: Call) -> Call:
    """The same call in NCHW or NCDHW."""
    layout = "NCDHW" if "3D" in call.op else "NCHW"
    order = [0, len(layout) - 1, *range(1, len(layout) - 1)]
    arrays = {
        name: array[order] if array.ndim == 1 else np.ascontiguousarray(np.moveaxis(array, -1, 1))
        for name, array in call.arrays.items()
    }
    attributes = call.attributes | {"data_format": layout}
    for name in ("ksize", "strides"):
        if name in attributes:
            attributes[name] = [attributes[name][i] for i in order]
    if "explicit_paddings" in attributes:
        pads = attributes["explicit_paddings"]
        attributes["explicit_paddings"] = [n for i in order for n in pads[2 * i : 2 * i + 2]]
    return Call(call.op, call.id, arrays, attributes, call.quirk)


def channels_last(outputs: tuple[Array, ...]) -> tuple[Array, ...]:
    return tuple(np.ascontiguousarray(np.moveaxis(output, 1, -1)) for output in outputs)


def reference_result(call: Call) -> tuple[Array, ...]:
    run = reference.RAW_OPS[call.op]
    return as_tuple(run(**keywords(call), stock_windows=call.uses_stock_windows))


def our_result(call: Call) -> tuple[Array, ...]:
    from poolgrad import raw_ops

    windows = raw_ops.stock_windows() if call.uses_stock_windows else contextlib.nullcontext()
    with windows:
        return as_tuple(getattr(raw_ops, call.op)(**keywords(call)))


def is_float_average(call: Call) -> bool:
    return call.op in AVERAGES and call.arrays[AVERAGES[call.op]].dtype.name in FLOATS


def assert_same_form(expected: Array, actual: Array) -> None:
    assert isinstance(actual, np.ndarray)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)


def bits(values: Array) -> Array:
    """The bytes of each element as an integer; all NaN become one."""
    if values.dtype.name not in FLOATS:
        return values
    unsigned = values.view(f"u{values.dtype.itemsize}")
    canonical = np.array(np.nan).astype(values.dtype).view(unsigned.dtype)
    return np.where(np.isnan(values.astype(np.float64)), canonical, unsigned)


def assert_same_bits(expected: Array, actual: Array) -> None:
    assert_same_form(expected, actual)
    differs = bits(np.ascontiguousarray(expected)) != bits(np.ascontiguousarray(actual))
    where = [tuple(int(i) for i in index) for index in np.argwhere(differs)[:5]]
    found = [(index, expected[index], actual[index]) for index in where]
    assert not found, f"{int(differs.sum())} elements differ; (index, expected, actual): {found}"


def exact_values(call: Call) -> Array:
    return reference.exact_average(call.op, **keywords(call), stock_windows=call.uses_stock_windows)


def is_special(exact: Array) -> Array:
    """Where an exact value is missing because the result is not finite."""
    return np.array([value is None for value in exact.ravel()], bool).reshape(exact.shape)


def magnitudes(call: Call) -> Array:
    """The exact averages of the absolute values: what rounding errors are proportional to."""
    name = AVERAGES[call.op]
    size = np.abs(call.arrays[name].astype(np.float64)).astype(call.arrays[name].dtype)
    changed = Call(call.op, call.id, call.arrays | {name: size}, call.attributes, call.quirk)
    return exact_values(changed)


def cells(call: Call) -> int:
    """An upper bound on the terms of one sum."""
    given = call.arrays[AVERAGES[call.op]]
    inside = int(np.prod(given.shape[1:-1]))
    if call.op in ("AvgPool", "AvgPool3D"):
        return min(inside, int(np.prod(call.attributes["ksize"])))
    return inside


def may_overflow(call: Call, sizes: Array) -> Array:
    """Where a sum of the window's terms can exceed the largest finite value."""
    dtype = call.arrays[AVERAGES[call.op]].dtype
    terms = cells(call) if call.op in MEANS else 1
    limit = reference.largest_finite(dtype)
    flags = [size is None or size * terms > limit for size in sizes.ravel()]
    return np.array(flags, bool).reshape(sizes.shape)


def error(value: Any, exact: Fraction) -> Fraction:
    return abs(Fraction(float(value)) - exact)


def assert_close_average(call: Call, theirs: Array | None, ours: Array) -> None:
    """`theirs` is TensorFlow's result, or None where the correctly rounded value is the measure."""
    rounded = reference_result(call)[0]
    assert_same_form(rounded, ours)
    exact = exact_values(call)
    special = is_special(exact)
    assert_same_bits(rounded[special], ours[special])
    compared = ~special & ~may_overflow(call, magnitudes(call))
    for index in zip(*np.nonzero(compared), strict=True):
        value, goal = float(ours[index]), exact[index]
        step = reference.ulp(goal, ours.dtype)
        assert np.isfinite(value), (index, value, float(goal))
        if theirs is None or ours.dtype.name in ("float16", "bfloat16"):
            allowed, off = step, error(value, Fraction(float(rounded[index])))
        else:
            allowed, off = error(theirs[index], goal) + 2 * step, error(value, goal)
        assert off <= allowed, (index, value, float(goal), f"off by {float(off / step)} ulp")


def comparable_part(call: Call, theirs: tuple[Array, ...] | None) -> tuple[Array, ...] | None:
    """TensorFlow's outputs with our sign of zero where its own is arbitrary; None where all of it is."""
    if theirs is None or call.quirk in ("Q3", "nan3d"):
        return None
    if call.quirk == "zero3d":
        ours = reference_result(call)
        return tuple(np.where((a == 0) & (b == 0), b, a) for a, b in zip(theirs, ours, strict=True))
    return theirs


def assert_agrees(call: Call, theirs: tuple[Array, ...] | None, ours: tuple[Array, ...]) -> None:
    """Our outputs against TensorFlow's, or against the reference where TensorFlow cannot serve."""
    if theirs is not None:
        assert len(ours) == len(theirs)
        for expected, actual in zip(theirs, ours, strict=True):
            assert_same_form(expected, actual)
    theirs = comparable_part(call, theirs)
    expected_outputs = theirs or reference_result(call)
    if is_float_average(call):
        assert_close_average(call, theirs[0] if theirs else None, ours[0])
        expected_outputs, ours = expected_outputs[1:], ours[1:]
    for expected, actual in zip(expected_outputs, ours, strict=True):
        assert_same_bits(expected, actual)
