"""What GPU kernels are told of an axis' windows: small arrays on the device, kept for the next call."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import torch

from poolgrad.kernels.gpu_launch import kept
from poolgrad.plan import BACK, Plan
from poolgrad.windows import Axis, common_cells, divisors, origins, sources

_KEPT = 4096
_MOST_PARTS = {"float16": 2**13, "bfloat16": 2**16, "float32": 2**29, "float64": math.inf}
"""Weights of windows up to which a product with an element is exact in the precision of a sum."""


@dataclass(frozen=True, slots=True)
class Table:
    """Sources of the results along an axis: first, first + step, ...; at most ``most`` of them."""

    first: torch.Tensor
    count: torch.Tensor
    step: int
    most: int


def _moved(values: Any, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    return kept(torch.from_numpy(np.ascontiguousarray(values)).to(dtype), device)


@functools.lru_cache(maxsize=_KEPT)
def table(axis: Axis, back: bool, device: torch.device) -> Table:
    """The sources of an axis."""
    first, count, step = sources(axis, back)
    most = int(count.max(initial=0))
    return Table(_moved(first, torch.int32, device), _moved(count, torch.int32, device), step, most)


@functools.lru_cache(maxsize=_KEPT)
def origins_of(axis: Axis, device: torch.device) -> torch.Tensor:
    """First places of windows."""
    return _moved(origins(axis), torch.int32, device)


@functools.lru_cache(maxsize=_KEPT)
def divisors_of(axis: Axis, device: torch.device) -> torch.Tensor:
    """What averages divide by along an axis."""
    return _moved(divisors(axis), torch.float64, device)


@functools.lru_cache(maxsize=_KEPT)
def skips_of(axis: Axis, device: torch.device) -> torch.Tensor:
    """Places of windows before their first cell in the input."""
    return _moved((sources(axis, back=False)[0] - origins(axis)) // axis.dilation, torch.int32, device)


@functools.lru_cache(maxsize=_KEPT)
def whole_of(axis: Axis, device: torch.device) -> torch.Tensor:
    """Is a window cut by no edge? All in a table are whole."""
    whole = sources(axis, back=False)[1] == axis.window
    return _moved(whole | bool(axis.starts), torch.int32, device)


@functools.lru_cache(maxsize=_KEPT)
def box(axis: Axis) -> int:
    """Places of a window along an axis."""
    return int(sources(axis, back=False)[1].max(initial=1)) if axis.starts else axis.window


class Shares(NamedTuple):
    """How an average divides.

    ``parts`` are exact numbers of common parts an axis, in the precision of sums, whose product a window gives to its
    cells; none if there are no such numbers, or if all windows are alike.
    """

    parts: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None
    # The factor at the end, high and low; the weight of every window; the common part and its reciprocal.
    numbers: torch.Tensor
    weighs: str  # "own" weights or divisors of windows, the "same" for all, or "none" before the end
    are_exact: bool


def _reciprocal(value: float) -> tuple[float, float]:
    high = 1 / value
    exact = Fraction(high) * Fraction(value)
    back = float(exact)
    return high, ((1 - back) - float(exact - Fraction(back))) / value


def _common_part(count: int) -> float:
    mantissa, _ = math.frexp(float(count))
    return 1.0 if mantissa == 0.5 else mantissa


@functools.lru_cache(maxsize=_KEPT)
def shares(plan: Plan, device: torch.device) -> Shares:
    """How the averages of a plan divide."""
    by_axis = [divisors(axis) for axis in plan.axes]
    are_same = all((numbers == numbers[0]).all() for numbers in by_axis)
    volume = math.prod(int(numbers[0]) for numbers in by_axis)
    common, part = [common_cells(axis) for axis in plan.axes], _common_part(plan.common_count)
    are_exact = math.prod(common) == plan.common_count
    weigh = are_exact and plan.common_count <= _MOST_PARTS[plan.dtype]
    parts = None
    if plan.family not in BACK:
        factor, weight = _reciprocal(float(volume)), 1.0
    else:
        factor = _reciprocal(part)
        weight = part / volume
        if are_same and are_exact and plan.dtype == "float32":  # in doubles a power of two changes no bit
            factor, weight = _reciprocal(float(volume)), 1.0
        if weigh and not are_same:
            scale = part / plan.common_count
            exact = [count / numbers for count, numbers in zip(common, by_axis, strict=True)]
            kind = torch.float32 if plan.dtype.endswith("16") else torch.float64
            d, h, w = (_moved(values, kind, device) for values in (exact[0] * scale, *exact[1:]))
            parts = d, h, w
    numbers = _moved(np.array([*factor, weight, part, *_reciprocal(part)]), torch.float64, device)
    weighs = "own" if not are_same else "none" if weight == 1.0 else "same"
    return Shares(parts, numbers, weighs, weigh)
