"""Outlines: nothing is computed, the result's shape and dtype are what the plan says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from poolgrad.dispatch import ArrayInfo
from poolgrad.dtypes import REALS
from poolgrad.outlines import Origin, Outline
from poolgrad.plan import Plan

ARRAY_TYPES = (Outline,)


def inspect(name: str, array: Outline) -> ArrayInfo:
    """What an outline says of itself."""
    return ArrayInfo(name, array.shape, array.dtype if array.dtype in REALS else None, array.dtype)


def vector(numbers: Sequence[int], like: Outline) -> np.ndarray:
    """Integers as an array: those that do not depend on data are known beforehand."""
    return np.array(numbers, np.int64)


def execute(plan: Plan, arrays: Mapping[str, Outline], names: Mapping[str, str], out: Any = None) -> Any:
    """The outline of the result, or of the pair (values, index)."""
    if out is not None:
        raise TypeError("out must be None: there is nothing to fill from outlines")
    origin = Origin(plan, tuple((role, names[role]) for role in arrays))
    values = Outline(plan.result_shape, plan.dtype, origin)
    if plan.family == "maximum" and plan.numbering != "ordinal":
        return values, Outline(plan.result_shape, plan.index_dtype)
    return values
