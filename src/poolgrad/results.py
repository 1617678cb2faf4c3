"""How much memory of results that have died may be kept for the next ones."""

from __future__ import annotations

import os
import re
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from poolgrad import _core, arguments, machine
from poolgrad.errors import InvalidArgumentError

LEAST = 2**20  # bytes of a result that comes from the pool; as in native/results.h
_MOST = 2**60
_VARIABLE = "POOLGRAD_RESULT_POOL"
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}
_bytes: int | None = None


def _default() -> int:
    text = os.environ.get(_VARIABLE, "").strip()
    if not text:
        return min((machine.memory() or 0) // 8, 2**31)
    match = re.fullmatch(r"([0-9]{1,18})([KMG]?)", text, re.ASCII)
    if match is None or int(match[1]) * _UNITS[match[2]] > _MOST:
        raise InvalidArgumentError(
            f"{_VARIABLE} must be a number of bytes such as 0, 1000000 or 512M, got {text[:60]!r}"
        )
    return int(match[1]) * _UNITS[match[2]]


def get_result_pool() -> int:
    """Bytes of results that have died which are kept for the next ones: what was set, else ``POOLGRAD_RESULT_POOL``,
    else an eighth of the memory this process may have, 2 GiB at most.

    >>> get_result_pool() >= 0
    True
    """
    global _bytes
    if _bytes is None:
        set_result_pool(_default())
    return _bytes or 0


def set_result_pool(count: int | None) -> None:
    """Keep up to this many bytes of results that have died for the next ones; 0 keeps none, None is the default.

    Only results of a mebibyte or more are concerned, and only on Linux. What lies idle for long goes back by itself.

    >>> set_result_pool(2**28)
    >>> get_result_pool()
    268435456
    >>> set_result_pool(None)
    """
    global _bytes
    wanted = None if count is None else arguments.integer("count", count, least=0, most=_MOST)
    wanted = _default() if wanted is None else wanted
    if not _core.has_result_pool():
        wanted = 0
    _core.set_result_pool(wanted)
    _bytes = wanted


def refuse_vast(shape: tuple[int, ...], dtype: object, needed: int) -> None:
    """Refuse a result of more bytes than this process can ever have: Linux would grant it, and end us later."""
    there = machine.memory()
    if there is not None and needed > there:
        raise MemoryError(
            f"the result of shape {list(shape)} and dtype {dtype} needs {needed / 2**30:.1f} GiB,"
            f" and this process cannot have more than {there / 2**30:.1f} GiB"
        )


def empty(shape: tuple[int, ...], dtype: np.dtype, near: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A new array of LEAST bytes or more, which will be computed from the one at ``near``."""
    get_result_pool()  # the default is not known before somebody asks
    return cast(npt.NDArray[Any], _core.empty(shape, dtype, near))


def empty_bytes(count: int, near: int) -> npt.NDArray[Any]:
    """LEAST or more new bytes, of which a result will be made from what lies at the address ``near``."""
    get_result_pool()
    return cast(npt.NDArray[Any], _core.empty_bytes(count, near))


def release_results() -> None:
    """Give the memory of results that have died back to the system now. Arrays in use stay as they are.

    >>> release_results()
    """
    _core.release_results()


def idle_bytes() -> int:
    """Bytes that are kept now."""
    return _core.idle_result_bytes()
