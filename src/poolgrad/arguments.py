"""Reading what a caller typed: each function takes the argument's name and value, and returns it checked or raises.

Errors name the argument, say what was expected and what came.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from poolgrad.errors import InvalidArgumentError

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def describe(value: object) -> str:
    """A value in a few words, for an error.

    >>> describe(2.5), describe([1, 2]), describe(np.zeros((2, 3), np.float32))
    ('2.5 (float)', '[1, 2] (list)', 'a float32 array of shape (2, 3)')
    """
    if value is None:
        return "None"
    if isinstance(value, np.ndarray):
        text = str(value.dtype)
        return f"{'an' if text[:1] in 'aeio' else 'a'} {text} array of shape {value.shape}"
    return f"{_shown(value)} ({type(value).__name__})"


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 128:
        return f"an integer of {value.bit_length()} bits"
    try:
        text = repr(value)
    except ValueError:  # Python does not write out integers of thousands of digits
        return f"a {type(value).__name__}"
    return text if len(text) <= 60 else text[:57] + "..."


def _is_integer(value: object) -> bool:
    return hasattr(value, "__index__") and not isinstance(value, bool | np.bool_ | np.ndarray)


def _entries(name: str, value: object, wanted: str, arrays: bool) -> list[Any]:
    if isinstance(value, np.ndarray) and arrays:
        if value.dtype.kind not in "iu":
            raise TypeError(f"{name} must be {wanted}, got {describe(value)}")
        return [int(entry) for entry in value.ravel()]
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be {wanted}, got {describe(value)}")
    return list(value)


def integers(
    name: str,
    value: object,
    *,
    length: int | None = None,
    least: int | None = None,
    most: int = INT32_MAX,
    arrays: bool = False,
    any_shape: bool = False,
) -> tuple[int, ...]:
    """A list or tuple of integers (with ``arrays`` an integer vector too) of this length and range.

    >>> integers("ksize", [1, 2, 2, 1], length=4, least=1)
    (1, 2, 2, 1)
    """
    floor = -most - 1 if least is None else least
    if arrays and hasattr(value, "__array__") and not isinstance(value, np.ndarray | np.generic):
        value = np.asarray(value)  # another library's vector
    if (
        isinstance(value, list | tuple)
        and len(value) == length
        and all(type(entry) is int and floor <= entry <= most for entry in value)
    ):
        return tuple(value)  # the usual case, without a word prepared for an error
    count = "" if length is None else f"{length} "
    wanted = f"a list or tuple of {count}integers{', or an integer array' if arrays else ''}"
    entries = _entries(name, value, wanted, arrays)
    if isinstance(value, np.ndarray) and value.ndim != 1 and not any_shape:
        raise InvalidArgumentError(f"{name} must be a vector, got {describe(value)}")
    for entry in entries:
        if not _is_integer(entry):
            raise TypeError(f"{name} must be {wanted}, got {describe(entry)} in {name}={describe(value)}")
    numbers = tuple(operator.index(entry) for entry in entries)
    if length is not None and len(numbers) != length:
        raise InvalidArgumentError(f"{name} must have {length} entries, got {len(numbers)}: {name}={describe(value)}")
    for number in numbers:
        if not floor <= number <= most:
            _check_range(f"{name} must have entries of", number, least, most, f" in {_shown(list(numbers))}")
    return numbers


def _check_range(must: str, number: int, least: int | None, most: int, where: str = "") -> None:
    floor = -most - 1 if least is None else least
    if number < floor:
        raise InvalidArgumentError(f"{must} at least {floor}, got {_shown(number)}{where}")
    if number > most:
        raise InvalidArgumentError(f"{must} at most {most}, got {_shown(number)}{where}")


def integer(name: str, value: object, *, least: int | None = None, most: int = INT32_MAX) -> int:
    """One integer of this range.

    >>> integer("size", 3, least=1)
    3
    """
    if not _is_integer(value):
        raise TypeError(f"{name} must be an integer, got {describe(value)}")
    number = operator.index(value)  # type: ignore[arg-type]
    _check_range(f"{name} must be", number, least, most)
    return number


def per_axis(name: str, value: object, axes: int) -> tuple[int, ...]:
    """One positive integer for all axes, or one an axis.

    >>> per_axis("window", 2, 3), per_axis("window", (2, 3), 2)
    ((2, 2, 2), (2, 3))
    """
    if _is_integer(value):
        return (integer(name, value, least=1),) * axes
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be an integer or a tuple of {axes} integers, got {describe(value)}")
    return integers(name, value, length=axes, least=1)


def pairs(name: str, value: Sequence[object], axes: int) -> tuple[tuple[int, int], ...]:
    """One (before, after) pair of non-negative integers an axis.

    >>> pairs("padding", [(1, 0), (0, 2)], 2)
    ((1, 0), (0, 2))
    """
    if len(value) != axes:
        raise InvalidArgumentError(
            f"{name} must have a (before, after) pair for each of {axes} axes, got {describe(value)}"
        )
    checked = []
    for number, pair in enumerate(value):
        before, after = integers(f"{name}[{number}]", pair, length=2, least=0)
        checked.append((before, after))
    return tuple(checked)


def choice(name: str, value: object, allowed: Sequence[str]) -> str:
    """One of a few words.

    >>> choice("padding", "SAME", ["SAME", "VALID"])
    'SAME'
    """
    words = ", ".join(repr(word) for word in allowed)
    if not isinstance(value, str):
        raise TypeError(f"{name} must be one of {words}, got {describe(value)}")
    if value not in allowed:
        near = [word for word in allowed if word.casefold() == value.casefold()]
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise InvalidArgumentError(f"{name} must be one of {words}, got {value!r}{hint}")
    return value


def flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {describe(value)}")
    return bool(value)


def ratios(name: str, value: object, length: int) -> tuple[float, ...]:
    """A list or tuple of real numbers, each at least one."""
    wanted = f"a list or tuple of {length} numbers"
    if not isinstance(value, list | tuple):
        raise TypeError(f"{name} must be {wanted}, got {describe(value)}")
    if len(value) != length:
        raise InvalidArgumentError(f"{name} must have {length} entries, got {len(value)}: {name}={describe(value)}")
    numbers = []
    for entry in value:
        if not (_is_integer(entry) or isinstance(entry, float | np.floating)):
            raise TypeError(f"{name} must be {wanted}, got {describe(entry)} in {name}={describe(value)}")
        try:
            number = float(entry)
        except OverflowError:
            number = math.inf
        if not number >= 1 or math.isinf(number):
            raise InvalidArgumentError(
                f"{name} must have finite entries of at least 1, got {_shown(entry)} in {name}={describe(value)}"
            )
        numbers.append(number)
    return tuple(numbers)


def sequence(name: str, value: object, outputs: int | None, size: int) -> tuple[int, ...]:
    """Borders of fractional cells: from 0, ascending, one more than outputs if that is known, none beyond the input."""
    borders = integers(name, value, least=0, most=INT64_MAX, arrays=True)
    if len(borders) < 2:
        raise InvalidArgumentError(f"{name} must have at least 2 entries, got {len(borders)}")
    if outputs is not None and len(borders) != outputs + 1:
        raise InvalidArgumentError(
            f"{name} must have {outputs + 1} entries, one more than outputs along this axis, got {len(borders)}"
        )
    if borders[0] != 0:
        raise InvalidArgumentError(f"{name} must start at 0, got {borders[0]}")
    for before, after in itertools.pairwise(borders):
        if after <= before:
            raise InvalidArgumentError(f"{name} must be strictly increasing, got {after} after {before}")
    if borders[-1] > size:
        raise InvalidArgumentError(f"{name} must not go beyond the input's {size} cells, got {borders[-1]}")
    return borders
