"""Calls that are kept and those that are not, what tells whether one was repeated, and what it would give otherwise."""

from __future__ import annotations

from typing import Any

import poolgrad
from poolgrad import calls

from .good_calls import GOOD, Arguments, function

# Never repeated: their windows stand in tables, or are drawn.
DRAWN = [name for name in GOOD if name.lower().startswith("fractional")]
KEPT = [name for name in GOOD if name not in DRAWN and name != "pooling_sequence"]


def hits(name: str) -> int:
    return calls.KEPT[name.partition(".")[0]].hits


def size(name: str) -> int:
    return calls.KEPT[name.partition(".")[0]].size


def same(left: Any, right: Any) -> bool:
    """Equal in type, dtype, shape, memory order and bits."""
    if type(left) is not type(right):
        return False
    if isinstance(left, str):
        return bool(left == right)
    if isinstance(left, tuple):
        return len(left) == len(right) and all(map(same, left, right))
    flags = ("c_contiguous", "f_contiguous", "owndata", "writeable", "aligned")
    return (
        (left.dtype, left.dtype.char, left.shape) == (right.dtype, right.dtype.char, right.shape)
        and all(getattr(left.flags, flag) == getattr(right.flags, flag) for flag in flags)
        and left.tobytes() == right.tobytes()
    )


def ordinary(name: str, given: Arguments) -> Any:
    calls.remember(False)
    try:
        return outcome(name, given)
    finally:
        calls.remember(True)


def outcome(name: str, given: Arguments) -> Any:
    try:
        return function(name)(**given)
    except (poolgrad.PoolGradError, TypeError) as error:
        return f"{type(error).__name__}: {error}"
