"""Arrays of which only shape and dtype are known: what a call would give is found before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from poolgrad.plan import Plan, Shape


@dataclass(frozen=True, slots=True)
class Origin:
    """How an array would be made: the plan, and the arguments that hold its arrays, as (role, name) pairs."""

    plan: Plan
    roles: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """An array without elements. The ops take it in place of data, check everything, and answer with outlines.

    >>> from poolgrad import raw_ops
    >>> raw_ops.MaxPool(input=Outline((1, 5, 5, 3), "float32"), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1],
    ...                 padding="SAME")
    Outline(shape=(1, 3, 3, 3), dtype='float32')
    """

    shape: Shape
    dtype: str
    origin: Origin | None = field(default=None, compare=False, repr=False)


def outline(array: Any) -> Outline:
    """The outline of an array, or the outline itself.

    >>> import numpy as np
    >>> outline(np.zeros((2, 3)))
    Outline(shape=(2, 3), dtype='float64')
    """
    return array if isinstance(array, Outline) else Outline(array.shape, array.dtype.name)
