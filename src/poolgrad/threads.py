"""How many threads a call may use."""

from __future__ import annotations

import os

from poolgrad import arguments, machine
from poolgrad.errors import InvalidArgumentError

_MOST = 1024
_VARIABLE = "POOLGRAD_NUM_THREADS"
_chosen: int | None = None


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
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= _MOST):
        raise InvalidArgumentError(f"{_VARIABLE} must be a number from 1 to {_MOST}, got {text[:60]!r}")
    return int(text)


def set_num_threads(count: int | None) -> None:
    """Let calls use up to this many threads; None goes back to the default. Results do not depend on it.

    >>> set_num_threads(2)
    >>> get_num_threads()
    2
    >>> set_num_threads(None)
    """
    global _chosen
    _chosen = None if count is None else arguments.integer("count", count, least=1, most=_MOST)
