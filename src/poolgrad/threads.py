"""How many threads a call may use."""

from __future__ import annotations

import operator
import os

from poolgrad import machine
from poolgrad.errors import InvalidArgumentError

_MOST = 1024
_VARIABLE = "POOLGRAD_NUM_THREADS"
_chosen: int | None = None


def _checked(name: str, value: object) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    count = operator.index(value)
    if not 1 <= count <= _MOST:
        raise InvalidArgumentError(f"{name} must be from 1 to {_MOST}, got {count}")
    return count


def origin() -> str:
    """Where the number of threads comes from."""
    if _chosen is not None:
        return "from set_num_threads"
    if os.environ.get(_VARIABLE, "").strip():
        return f"from {_VARIABLE}"
    return "the processors this process may use"


def get_num_threads() -> int:
    """Threads a call may use: what was set, else ``POOLGRAD_NUM_THREADS``, else the processors this process may use.

    >>> get_num_threads() >= 1
    True
    """
    if _chosen is not None:
        return _chosen
    text = os.environ.get(_VARIABLE, "").strip()
    if not text:
        return machine.processors()
    if not text.isdigit():
        raise InvalidArgumentError(f"{_VARIABLE} must be a number from 1 to {_MOST}, got {text!r}")
    return _checked(_VARIABLE, int(text))


def set_num_threads(count: int | None) -> None:
    """Let calls use up to this many threads; None goes back to the default. Results do not depend on it.

    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    >>> set_num_threads(None)
    """
    global _chosen
    _chosen = None if count is None else _checked("count", count)
