"""Whose array is this? Finds the frontend of a call's arrays without importing any library the caller did not."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from poolgrad.arguments import describe
from poolgrad.errors import InvalidArgumentError, UnsupportedError
from poolgrad.plan import Plan, Shape

# Top-level module of an array's class -> frontend.
_FRONTENDS = {
    "numpy": "poolgrad.frontends._numpy",
    "torch": "poolgrad.frontends._torch",
    "cupy": "poolgrad.frontends._cupy",
    "poolgrad": "poolgrad.frontends._outlines",
}
_LIBRARIES = ", ".join(name for name in _FRONTENDS if name != "poolgrad")


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """What a plan wants to know of an array."""

    name: str
    shape: Shape
    dtype: str | None
    dtype_text: str


class Frontend(Protocol):
    """What each module of ``poolgrad.frontends`` offers."""

    def inspect(self, name: str, array: Any) -> ArrayInfo: ...
    def execute(self, plan: Plan, arrays: Mapping[str, Any], names: Mapping[str, str], out: Any) -> Any: ...
    def vector(self, numbers: Sequence[int], like: Any) -> Any: ...


@functools.cache
def _module(library: str) -> Any:
    return importlib.import_module(_FRONTENDS[library])


@functools.cache
def _library(kind: type) -> str | None:
    for base in kind.__mro__:
        top = base.__module__.partition(".")[0]
        if top in _FRONTENDS:
            return top if issubclass(kind, _module(top).ARRAY_TYPES) else None
    return None


def frontend(name: str, array: object) -> Frontend:
    """The frontend of one array."""
    kind: type = type(array)
    library = _library(kind)
    if library is None:
        raise TypeError(f"{name} must be an array (of {_LIBRARIES}), got {describe(array)}")
    return cast(Frontend, _module(library))


def inspect(name: str, array: object) -> ArrayInfo:
    """Shape and dtype of an argument, or a TypeError that names it."""
    return frontend(name, array).inspect(name, array)


def checked_dtype(info: ArrayInfo, allowed: tuple[str, ...]) -> str:
    """The dtype of an array if the op has a kernel for it."""
    if info.dtype is None or info.dtype not in allowed:
        raise UnsupportedError(
            f"{info.name} must have one of the dtypes {', '.join(allowed)}, got {info.dtype_text}",
            code="PG202",
            argument=info.name,
        )
    return info.dtype


def checked_like(info: ArrayInfo, shape: Shape, dtype: str, whose: str) -> None:
    """Refuse an array that has not this shape and dtype."""
    if info.dtype != dtype:
        raise InvalidArgumentError(
            f"{info.name} must have the dtype of {whose}, {dtype}, got {info.dtype_text}",
            code="PG202",
            argument=info.name,
            expected=dtype,
        )
    if info.shape != shape:
        raise InvalidArgumentError(
            f"Expected {info.name} shape to be {_listed(shape)}, but got {_listed(info.shape)}",
            code="PG201",
            argument=info.name,
            expected=shape,
        )


def refuse_empty(info: ArrayInfo) -> None:
    """For ops that TensorFlow defines on arrays with elements only."""
    if 0 in info.shape:
        raise InvalidArgumentError(f"{info.name} must not be empty, got shape {list(info.shape)}")


def _listed(shape: Shape) -> str:
    return f"[{','.join(str(size) for size in shape)}]"


def execute(plan: Plan, arrays: Mapping[str, Any], names: Mapping[str, str], out: Any = None) -> Any:
    """Run a plan. ``arrays`` maps roles (input, reference, index, data) to arrays, ``names`` roles to argument names.

    ``out`` is None, an array to fill, or a pair of them for a plan that also writes an index.
    """
    first, *others = arrays
    found = frontend(names[first], arrays[first])
    for role in others:
        if frontend(names[role], arrays[role]) is not found:
            kinds = " and ".join(f"{names[r]} {describe_kind(arrays[r])}" for r in (first, role))
            raise TypeError(f"arrays must all be of one library, got {kinds}")
    return found.execute(plan, arrays, names, out)


def vector(numbers: Sequence[int], like: object, name: str) -> Any:
    """Integers as an array of the library, and on the device, of the argument ``name``."""
    return frontend(name, like).vector(numbers, like)


def describe_kind(array: object) -> str:
    """Whose array this is, for an error."""
    kind: type = type(array)
    return f"of {_library(kind)}"
