"""Element types by name. ``native/dtypes.h`` lists the same names; a test holds the two equal."""

from __future__ import annotations

import functools

import numpy as np

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
REALS = FLOATS + INTEGERS
FRACTIONAL = (*FLOATS, "int32", "int64")
INDICES = ("int32", "int64")
OFFSETS = ("uint8", "uint16", "uint32", "uint64")


@functools.lru_cache(maxsize=256)
def name_of(dtype: np.dtype) -> str | None:
    """The name of a dtype kernels know, or None. bfloat16 is told by its name: its package is never imported here.

    >>> name_of(np.dtype("float32"))
    'float32'
    """
    name: str = dtype.name
    known = name in REALS and dtype.fields is None and dtype.subdtype is None
    return name if known else None


def smallest_unsigned(largest: int) -> str:
    """The smallest unsigned type that holds a number.

    >>> smallest_unsigned(255), smallest_unsigned(256)
    ('uint8', 'uint16')
    """
    for name in OFFSETS:
        if largest < 2 ** (8 * np.dtype(name).itemsize):
            return name
    raise OverflowError(largest)
