"""Element types: exact values, rounding to nearest even, and arithmetic rounded at each step.

Sixteen-bit brain floats are recognised by name, so that the package that defines them is never imported.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]
DType: TypeAlias = np.dtype[Any]


@dataclass(frozen=True)
class Format:
    """A binary floating-point format: bits of precision and exponents of its smallest and largest units."""

    precision: int
    smallest: int
    largest: int


FORMATS = {
    "float16": Format(11, -24, 15),
    "bfloat16": Format(8, -133, 127),
    "float32": Format(24, -149, 127),
    "float64": Format(53, -1074, 1023),
}


def is_float(dtype: DType) -> bool:
    return dtype.name in FORMATS


def power_of_two(exponent: int) -> Fraction:
    return Fraction(2**exponent) if exponent >= 0 else Fraction(1, 2**-exponent)


def largest_finite(dtype: DType) -> Fraction:
    form = FORMATS[dtype.name]
    return (2 - power_of_two(1 - form.precision)) * power_of_two(form.largest)


def lowest(dtype: DType) -> Array:
    """The most negative finite value, as an array without axes."""
    value = -float(largest_finite(dtype)) if is_float(dtype) else int(np.iinfo(dtype).min)
    return np.array(value).astype(dtype)


def ulp_exponent(value: Fraction, dtype: DType) -> int:
    form = FORMATS[dtype.name]
    if value == 0:
        return form.smallest
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < power_of_two(exponent):
        exponent -= 1
    return max(exponent - form.precision + 1, form.smallest)


def ulp(value: Fraction, dtype: DType) -> Fraction:
    """The distance between neighbours of `dtype` around an exact value."""
    return power_of_two(ulp_exponent(value, dtype))


def nearest(value: Fraction, dtype: DType) -> float:
    """The value of `dtype` nearest to an exact one, ties to even, as a Python float."""
    exponent = ulp_exponent(value, dtype)
    steps = round(abs(value) / power_of_two(exponent))
    sign = -1.0 if value < 0 else 1.0
    if steps * power_of_two(exponent) > largest_finite(dtype):
        return sign * math.inf
    return sign * math.ldexp(float(steps), exponent)


def comparable(values: Array) -> Array:
    """The same values in a type that NumPy itself can compare."""
    return values.astype(np.float32) if values.dtype.name == "bfloat16" else values


def add(left: Array, right: Array) -> Array:
    """left + right, rounded (floats) or wrapped (integers) into their common type."""
    with np.errstate(all="ignore"):
        return (comparable(left) + comparable(right)).astype(left.dtype)


def subtract(left: Array, right: Array) -> Array:
    with np.errstate(all="ignore"):
        return (comparable(left) - comparable(right)).astype(left.dtype)
