"""Blocks that are no pooling ops: sources, shapes, small arithmetic, comparison, and what is only looked at."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from poolgrad import arguments, dispatch
from poolgrad.dtypes import FLOATS, INDICES, INTEGERS, REALS
from poolgrad.errors import InvalidArgumentError
from poolgrad.outlines import Outline
from poolgrad.pages.fields import Field
from poolgrad.pages.kinds import Arguments, Kind, Pin
from poolgrad.pages.values import DISTRIBUTIONS, Array, Value, array_of, numpy_dtype, outline_of, random_array
from poolgrad.plan import Shape, checked_size

_MOST_KNOWN = 2**16

_DTYPE = Field("dtype", "choice", "dtype of the array", "float32", REALS, "float32")
_SHAPE = Field("shape", "integers", "shape of the array", initial=[1, 4, 4, 1])
_SHAPE_PIN = Pin("shape", "shape of the result", _SHAPE)


def _shape(shape: Any, name: str = "shape") -> Shape:
    sizes = arguments.integers(name, shape, least=0, most=arguments.INT64_MAX, arrays=True)
    checked_size(name, sizes)
    return sizes


def _const_outline(*, value: Value, dtype: str, shape: list[int] | None) -> Any:
    """Integers are known before the run: they may be shapes of other blocks."""
    outline = outline_of(value, dtype, None if shape is None else tuple(shape))
    is_small = math.prod(outline.shape) <= _MOST_KNOWN
    return _const(value=value, dtype=dtype, shape=shape) if dtype in INTEGERS and is_small else outline


def _const(*, value: Value, dtype: str, shape: list[int] | None) -> Array:
    return array_of(value, dtype, None if shape is None else tuple(shape))


def _const_python(given: Arguments, dtype: str) -> str:
    form, shape = given["value"], given["shape"]
    if not isinstance(form, list | dict):
        return f"np.full({tuple(shape or ())}, {_literal(form)}, {dtype!r})"
    reshaped = "" if shape is None else f".reshape({tuple(shape)})"
    if isinstance(form, list):
        return f"np.array({_literal(form)}, {dtype!r}){reshaped}"
    if "range" in form:
        return f"np.arange({form['range'][0]}, {form['range'][1] + 1}).astype({dtype!r}){reshaped}"
    if "file" in form:
        key = f"[{form['key']!r}]" if "key" in form else ""
        return f"np.load({form['file']!r}){key}{reshaped}"
    drawn = {"distribution": form["random"], "low": form.get("low", 0), "high": form.get("high", 9)}
    return _random_python(drawn | {"seed": form["seed"], "shape": shape}, dtype)


def _literal(form: Any) -> str:
    if isinstance(form, list):
        return f"[{', '.join(map(_literal, form))}]"
    if isinstance(form, str) and "/" not in form:
        return f"float({form!r})"
    return str(form)


def _random_outline(*, shape: Any, dtype: str, distribution: str, seed: int, low: int, high: int) -> Outline:
    random_array(distribution, seed, dtype, 0, low, high)
    return Outline(_shape(shape), dtype)


def _random(*, shape: Any, dtype: str, distribution: str, seed: int, low: int, high: int) -> Array:
    sizes = _shape(shape)
    return random_array(distribution, seed, dtype, math.prod(sizes), low, high).reshape(sizes)


def _random_python(given: Arguments, dtype: str) -> str:
    shape, kind = given["shape"], given["distribution"]
    size = f"tuple({shape})" if isinstance(shape, str) else str(tuple(shape))
    calls = {
        "normal": f"standard_normal({size})",
        "uniform": f"random_sample({size})",
        "integers": f"randint({given['low']}, {given['high'] + 1}, {size}, np.int64)",
    }
    return f"np.random.RandomState({given['seed']}).{calls[kind]}.astype({dtype!r})"


def _shape_of(*, input: Any, out_type: str) -> Array:
    return np.array(input.shape, out_type)


def _filled_outline(*, shape: Any, dtype: str) -> Outline:
    numpy_dtype(dtype)
    return Outline(_shape(shape), dtype)


def _filled(op: str, make: Callable[[Shape, Any], Array]) -> Kind:
    word = op.lower()
    return Kind(
        op,
        "Sources",
        f"An array of {word}.",
        (_SHAPE_PIN,),
        (_DTYPE,),
        ("output",),
        _filled_outline,
        lambda *, shape, dtype: make(_shape(shape), numpy_dtype(dtype)),
        lambda given, dtype: f"np.{word}({given['shape']}, {dtype!r})",
    )


def _reshaped(input: Any, shape: Any) -> Shape:
    sizes = arguments.integers("shape", shape, least=-1, most=arguments.INT64_MAX, arrays=True)
    count, known = math.prod(input.shape), math.prod(size for size in sizes if size != -1)
    if sizes.count(-1) == 1 and known and count % known == 0:
        sizes = tuple(count // known if size == -1 else size for size in sizes)
    if -1 in sizes or math.prod(sizes) != count:
        raise InvalidArgumentError(
            f"shape must have the {count} elements of tensor, whose shape is {list(input.shape)}, got {list(sizes)}"
        )
    return sizes


def _sum_axes(input: Any, axis: list[int]) -> tuple[int, ...]:
    rank = len(input.shape)
    for number in axis:
        if not -rank <= number < rank:
            raise InvalidArgumentError(
                f"axis must be from {-rank} to {rank - 1} for shape {list(input.shape)}, got {axis}"
            )
    axes = tuple(number % rank for number in axis) if axis else tuple(range(rank))
    if len(set(axes)) != len(axes):
        raise InvalidArgumentError(f"axis must name each axis once, got {axis}")
    return axes


def _sum_outline(*, input: Any, axis: list[int], keep_dims: bool) -> Outline:
    axes = _sum_axes(input, axis)
    kept = [1 if number in axes else size for number, size in enumerate(input.shape)]
    shape = kept if keep_dims else [size for number, size in enumerate(kept) if number not in axes]
    return Outline(tuple(shape), input.dtype)


def _sum(*, input: Array, axis: list[int], keep_dims: bool) -> Array:
    wide = np.dtype(np.float64) if input.dtype.name in FLOATS else input.dtype
    total = np.sum(input, _sum_axes(input, axis), dtype=wide, keepdims=keep_dims)
    return np.asarray(total).astype(input.dtype)


def _sum_python(given: Arguments, dtype: str) -> str:
    axes = f", {tuple(given['axis'])}" if given["axis"] else ""
    kept = ", keepdims=True" if given["keep_dims"] else ""
    wide, narrowed = ("float64", f".astype({dtype!r})") if dtype in FLOATS else (dtype, "")
    return f"np.sum({given['input']}{axes}, dtype={wide!r}{kept}){narrowed}"


def _same(x: Any, y: Any) -> None:
    dispatch.checked_dtype(dispatch.inspect("x", x), REALS)
    dispatch.checked_like(dispatch.inspect("y", y), x.shape, x.dtype, "x")


def _pair_outline(*, x: Any, y: Any) -> Outline:
    _same(x, y)
    return Outline(x.shape, x.dtype)


def _compare_outline(*, x: Any, y: Any, tolerance: float) -> tuple[Outline, Outline]:
    _same(x, y)
    return Outline((), "int64"), Outline((), "float64")


def _compare(*, x: Array, y: Array, tolerance: float) -> tuple[Array, Array]:
    with np.errstate(invalid="ignore"):
        apart = np.abs(x.astype(np.float64) - y.astype(np.float64))
    apart = np.where((x == y) | ((x != x) & (y != y)), 0, apart)
    return np.array(np.sum(~(apart <= tolerance))), np.array(np.max(apart, initial=0.0))


def _compare_python(given: Arguments, dtype: str) -> str:
    x, y = given["x"], given["y"]
    close = f"np.isclose({x}, {y}, rtol=0, atol={given['tolerance']}, equal_nan=True)"
    return f"np.count_nonzero(~{close}), np.nanmax(np.abs(np.subtract({x}, {y}, dtype=float)), initial=0)"


def _nothing(**_: Any) -> tuple[()]:
    return ()


def _arithmetic(op: str, sign: str, summary: str, compute: Callable[[Any, Any], Any]) -> Kind:
    pins = (Pin("x", "an array"), Pin("y", "an array of the same shape and dtype"))
    return Kind(
        op,
        "Arrays",
        summary,
        pins,
        (),
        ("output",),
        _pair_outline,
        lambda *, x, y: compute(x, y),
        lambda given, dtype: f"{given['x']} {sign} {given['y']}",
    )


_RANDOM_FIELDS = (
    _DTYPE,
    Field("distribution", "choice", "how numbers are drawn", "normal", DISTRIBUTIONS, "normal"),
    Field("seed", "integer", "the same seed gives the same numbers everywhere", 0, initial=0),
    Field("low", "integer", "least number, for integers", 0, initial=0),
    Field("high", "integer", "largest number, for integers", 9, initial=9),
)

PLAIN = (
    Kind(
        "Const",
        "Sources",
        "Given numbers.",
        (),
        (
            _DTYPE,
            Field("shape", "integers", "shape, that of the value if not given", None),
            Field("value", "value", "a number, a list, a range, random numbers or a file", initial=1),
        ),
        ("output",),
        _const_outline,
        _const,
        _const_python,
    ),
    Kind(
        "Random",
        "Sources",
        "Random numbers, the same in every run.",
        (_SHAPE_PIN,),
        _RANDOM_FIELDS,
        ("output",),
        _random_outline,
        _random,
        _random_python,
    ),
    _filled("Ones", np.ones),
    _filled("Zeros", np.zeros),
    Kind(
        "Shape",
        "Arrays",
        "The shape of an array, as an array.",
        (Pin("input", "an array"),),
        (Field("out_type", "choice", "dtype of the shape", "int32", INDICES, "int32"),),
        ("output",),
        _shape_of,
        _shape_of,
        lambda given, dtype: f"np.array({given['input']}.shape, {dtype!r})",
    ),
    Kind(
        "Reshape",
        "Arrays",
        "The same elements in another shape; one size may be -1.",
        (Pin("tensor", "an array"), _SHAPE_PIN),
        (),
        ("output",),
        lambda *, tensor, shape: Outline(_reshaped(tensor, shape), tensor.dtype),
        lambda *, tensor, shape: tensor.reshape(_reshaped(tensor, shape)),
        lambda given, dtype: f"np.reshape({given['tensor']}, {given['shape']})",
    ),
    Kind(
        "Sum",
        "Arrays",
        "The sum along some axes, or of all elements.",
        (Pin("input", "an array"),),
        (
            Field("axis", "integers", "the axes to add along, all of them if none is given", [], initial=[]),
            Field("keep_dims", "flag", "whether these axes stay, with size 1", False, initial=False),
        ),
        ("output",),
        _sum_outline,
        _sum,
        _sum_python,
    ),
    _arithmetic("Add", "+", "The sum of two arrays, element by element.", np.add),
    _arithmetic("Sub", "-", "The difference of two arrays, element by element.", np.subtract),
    _arithmetic("Mul", "*", "The product of two arrays, element by element.", np.multiply),
    Kind(
        "Compare",
        "Show",
        "How many elements of two arrays differ, and by how much at most; NaN equals NaN.",
        (Pin("x", "an array"), Pin("y", "an array of the same shape and dtype")),
        (Field("tolerance", "number", "differences up to this do not count", 0, initial=0),),
        ("different", "largest"),
        _compare_outline,
        _compare,
        _compare_python,
    ),
    Kind("Result", "Show", "An array to look at.", (Pin("input", "an array"),), (), (), _nothing, _nothing),
    Kind(
        "Note",
        "Show",
        "Words on the page.",
        (),
        (Field("text", "text", "the words", initial=""),),
        (),
        _nothing,
        _nothing,
    ),
)
"""Every block that is no op of TensorFlow's pooling."""
