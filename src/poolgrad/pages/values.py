"""Values of Const blocks and of ``expect``: how they are written in a page, and the arrays they stand for.

A value is a number for all elements, a list of numbers (nested, or flat beside a shape), ``{"range": [first, last]}``,
``{"random": "normal", "seed": 7}`` or ``{"file": "data.npz", "key": "x"}`` with a file below the page's folder.
"""

from __future__ import annotations

import importlib
import math
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from poolgrad import arguments
from poolgrad.arguments import describe
from poolgrad.dtypes import FLOATS, REALS, name_of
from poolgrad.errors import UnsupportedError
from poolgrad.outlines import Outline
from poolgrad.pages.problems import PageError, fault
from poolgrad.plan import Shape, checked_size

Array = npt.NDArray[Any]

DISTRIBUTIONS = ("normal", "uniform", "integers")
_FORMS = {"range": {"range"}, "random": {"random", "seed", "low", "high"}, "file": {"file", "key"}}


@dataclass(frozen=True, slots=True)
class Value:
    """A value as it is written, and the folder its file may lie in."""

    form: Any
    folder: Path | None = None


def numpy_dtype(name: str) -> np.dtype[Any]:
    """The dtype of this name; bfloat16 comes from the package ml_dtypes, which nobody has to have."""
    arguments.choice("dtype", name, REALS)
    if name != "bfloat16":
        return np.dtype(name)
    try:
        kind: np.dtype[Any] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        raise UnsupportedError('dtype bfloat16 needs the package ml_dtypes: pip install "poolgrad[bfloat16]"') from None
    return kind


def number(word: Any) -> int | float | Fraction:
    """One number of a value: JSON's own, or text for what JSON lacks.

    >>> number("1/3"), number("-inf")
    (Fraction(1, 3), -inf)
    """
    if isinstance(word, int | float) and not isinstance(word, bool):
        return word
    if isinstance(word, str):
        try:
            return Fraction(word) if "/" in word else float(word)
        except (ValueError, ZeroDivisionError):
            pass
    raise _bad("PG109", f"value must hold numbers, got {describe(word)}")


def _bad(code: str, message: str) -> PageError:
    return fault(code, message, place="value")


def outline_of(value: Value, dtype: str, shape: Shape | None) -> Outline:
    """Shape and dtype of a value, without making it."""
    if shape is not None:
        checked_size("shape", arguments.integers("shape", list(shape), least=0, most=arguments.INT64_MAX))
    own = _own_shape(value, dtype)
    if own is None:
        if shape is None:
            raise fault("PG103", "shape must be given: random values do not say how many they are", place="shape")
        return Outline(shape, dtype)
    if shape is None:
        return Outline(own, dtype)
    if own and math.prod(own) != math.prod(shape):
        raise _bad("PG109", f"value must have {math.prod(shape)} numbers for shape {list(shape)}, got {math.prod(own)}")
    return Outline(shape, dtype)


def array_of(value: Value, dtype: str, shape: Shape | None) -> Array:
    """The value as an array."""
    outline = outline_of(value, dtype, shape)
    kind, count, form = numpy_dtype(dtype), math.prod(outline.shape), value.form
    if not isinstance(form, dict):
        flat = _converted(list(_words(form)), dtype, kind)
        return flat.reshape(outline.shape) if isinstance(form, list) else np.full(outline.shape, flat[0])
    if "range" in form:
        first, last = form["range"]
        return np.arange(first, last + 1).astype(kind).reshape(outline.shape)
    if "random" in form:
        drawn = random_array(form["random"], form["seed"], dtype, count, form.get("low"), form.get("high"))
        return drawn.reshape(outline.shape)
    with _opened(value) as file:
        loaded: Array = np.lib.format.read_array(file, allow_pickle=False)
    return loaded.reshape(outline.shape)


def random_array(distribution: str, seed: int, dtype: str, count: int, low: Any = None, high: Any = None) -> Array:
    """Random numbers, the same for a seed on every machine and in every version of NumPy.

    >>> random_array("integers", 7, "int32", 5, 0, 9).tolist()
    [4, 9, 6, 3, 3]
    """
    arguments.choice("distribution", distribution, DISTRIBUTIONS)
    seed = arguments.integer("seed", seed, least=0, most=2**32 - 1)
    kind = numpy_dtype(dtype)
    # NumPy promises that this generator's numbers never change.
    generator = np.random.RandomState(seed)
    if distribution == "integers":
        first = arguments.integer("low", 0 if low is None else low)
        last = arguments.integer("high", 9 if high is None else high, least=first)
        return generator.randint(first, last + 1, count, np.int64).astype(kind)
    if dtype not in FLOATS:
        raise _bad("PG109", f"distribution must be 'integers' for the dtype {dtype}, got {distribution!r}")
    drawn = generator.standard_normal(count) if distribution == "normal" else generator.random_sample(count)
    return drawn.astype(kind)


def _own_shape(value: Value, dtype: str) -> Shape | None:
    """The shape a value has by itself: () for one number, None for random ones."""
    form, kind = value.form, numpy_dtype(dtype)
    if not isinstance(form, dict):
        _converted(list(_words(form)), dtype, kind)
        return _list_shape(form) if isinstance(form, list) else ()
    source = next((name for name in _FORMS if name in form), None)
    if source is None or set(form) - _FORMS[source]:
        raise _bad("PG109", f'value must be numbers, or have "range", "random" or "file", got {describe(form)}')
    if source == "range":
        first, last = arguments.integers("range", form["range"], length=2, most=2**53)
        _converted([first, last], dtype, kind)
        if last < first:
            raise _bad("PG109", f"range must go from its first number up to its last, got {form['range']}")
        return (last - first + 1,)
    if source == "random":
        random_array(form["random"], form.get("seed", -1), dtype, 0, form.get("low"), form.get("high"))
        return None
    return _file_shape(value, dtype)


def _list_shape(entries: list[Any]) -> Shape:
    if not any(isinstance(entry, list) for entry in entries):
        return (len(entries),)
    shapes = {_list_shape(entry) if isinstance(entry, list) else () for entry in entries}
    if len(shapes) != 1:
        raise _bad("PG109", "value must have lists of equal length at each depth")
    return (len(entries), *shapes.pop())


def _words(form: Any) -> Iterator[Any]:
    if isinstance(form, list):
        for entry in form:
            yield from _words(entry)
    else:
        yield number(form)


def _converted(words: list[Any], dtype: str, kind: np.dtype[Any]) -> Array:
    if dtype in FLOATS:
        with np.errstate(over="ignore"):
            return np.array([float(word) for word in words], np.float64).astype(kind)
    limits = np.iinfo(kind)
    for entry in words:
        if entry != entry or entry in (math.inf, -math.inf) or int(entry) != entry:
            raise _bad("PG109", f"value must hold whole numbers for the dtype {dtype}, got {entry}")
        if not limits.min <= entry <= limits.max:
            raise _bad("PG109", f"value must hold numbers from {limits.min} to {limits.max} ({dtype}), got {entry}")
    return np.array([int(entry) for entry in words], kind)


def _path(value: Value) -> Path:
    """The file of a value, below the folder of its page when all links are followed."""
    name = value.form["file"]
    if not isinstance(name, str) or "\0" in name or value.folder is None:
        raise _bad("PG110", f"file must be a name below the page's folder, got {describe(name)}")
    folder = value.folder.resolve()
    path = (folder / name).resolve()
    if not path.is_relative_to(folder):
        raise _bad("PG110", f"file must lie below the page's folder, got {name!r}")
    if path.suffix not in (".npy", ".npz"):
        raise _bad("PG110", f"file must be .npy or .npz, got {name!r}")
    return path


def _opened(value: Value) -> IO[bytes]:
    """The array file, or the array inside an archive."""
    path, key = _path(value), value.form.get("key")
    try:
        if path.suffix == ".npy":
            return path.open("rb")
        with zipfile.ZipFile(path) as archive:
            return archive.open(f"{key}.npy")
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        what = f"{key!r} in {path.name}" if path.suffix == ".npz" else path.name
        raise _bad("PG110", f"file must be readable: cannot open {what}: {error}") from None


def _file_shape(value: Value, dtype: str) -> Shape:
    with _opened(value) as file:
        try:
            major, _ = np.lib.format.read_magic(file)
            reader = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
            shape, _, kind = reader(file)
        except ValueError as error:
            raise _bad("PG110", f"file must hold an array: {error}") from None
    if name_of(kind) != dtype:
        raise _bad("PG202", f"file must hold the dtype of the block, {dtype}, got {kind}")
    return tuple(shape)
