"""Averages and their gradients as exact fractions, rounded once at the end.

Where a window holds an infinity or a NaN the result follows IEEE arithmetic instead.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ._numbers import Array, DType, nearest
from ._windows import Index, Windows, at, lengths, outputs

# What the sum over a window is divided by, from the place of its output and its cells.
Divisor = Callable[[Index, list[Index]], int]


@dataclass(frozen=True)
class Exact:
    """Sums split in two: the exact sum of all finite terms, and the float sum of the others."""

    finite: Array
    special: Array

    def fractions(self) -> Array:
        """Fractions, with None where the result is not finite."""
        result = self.finite.copy()
        result[self.special != 0] = None
        return result

    def rounded(self, dtype: DType) -> Array:
        values = [nearest(value, dtype) for value in self.finite.ravel()]
        finite = np.array(values, dtype=np.float64).reshape(self.finite.shape)
        return np.where(self.special == 0, finite, self.special).astype(dtype)


def split(values: Array) -> Exact:
    wide = values.astype(np.float64)
    is_finite = np.isfinite(wide)
    finite = np.empty(wide.shape, dtype=object)
    finite.ravel()[:] = [Fraction(float(value)) for value in np.where(is_finite, wide, 0.0).ravel()]
    return Exact(finite, np.where(is_finite, 0.0, wide))


def zeros(shape: Index) -> Exact:
    finite = np.empty(shape, dtype=object)
    finite.ravel()[:] = [Fraction(0)] * finite.size
    return Exact(finite, np.zeros(shape))


def _cells(index: Index, cells: list[Index]) -> int:
    return max(len(cells), 1)


def mean(values: Array, windows: Windows, divisor: Divisor = _cells) -> Exact:
    """The average of each window of a channels-last array; 0 for a window without cells."""
    terms = split(values)
    total = zeros((values.shape[0], *lengths(windows), values.shape[-1]))
    with np.errstate(invalid="ignore"):
        for index, cells in outputs(windows):
            for cell in cells:
                at(total.finite, index)[...] += at(terms.finite, cell)
                at(total.special, index)[...] += at(terms.special, cell)
            at(total.finite, index)[...] /= divisor(index, cells)
    return total


def spread(grad: Array, windows: Windows, shape: Index, divisor: Divisor = _cells) -> Exact:
    """Each gradient shared equally over its window, for a channels-last input of the given shape."""
    terms = split(grad)
    total = zeros(shape)
    with np.errstate(invalid="ignore"):
        for index, cells in outputs(windows):
            share = at(terms.finite, index) / divisor(index, cells)
            for cell in cells:
                at(total.finite, cell)[...] += share
                at(total.special, cell)[...] += at(terms.special, index)
    return total
