"""Heat maps of arrays as SVG: slices along height and width, one colour scale that is fixed at zero."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from poolgrad.pages.axes import plane, slice_axes
from poolgrad.pages.values import Array

MOST_SLICES, MOST_CELLS = 8, 32
_CELL = 34
# Blue below zero, orange above: told apart with any kind of colour vision.
_BELOW, _ZERO, _ABOVE = (33, 102, 172), (247, 247, 247), (209, 110, 20)


def colour(value: float, largest: float) -> str:
    """The colour of a value between minus and plus the largest.

    >>> colour(0, 5), colour(5, 5), colour(-5, 5)
    ('#f7f7f7', '#d16e14', '#2166ac')
    """
    if math.isnan(value):
        return "#999999"
    share = 0.0 if not largest else min(1.0, abs(value) / largest if math.isfinite(value) else 1.0)
    end = _BELOW if value < 0 else _ABOVE
    mixed = (round(zero + share * (there - zero)) for zero, there in zip(_ZERO, end, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def slices(array: Array, layout: str | None = None) -> Iterator[tuple[str, Array]]:
    """Planes of an array with their names; an axis of size 1 goes without saying.

    >>> [name for name, plane in slices(np.zeros((1, 2, 4, 5, 1)))]
    ['depth 0', 'depth 1']
    """
    axes = slice_axes(array.shape, layout)
    for place in itertools.product(*(range(size) for _, size in axes)):
        words = (f"{name} {n}" for (name, size), n in zip(axes, place, strict=True) if size > 1)
        yield ", ".join(words), plane(array, place, layout)


def heat_maps(array: Array, layout: str | None = None) -> str:
    """The first slices of an array, and a word about what is left out."""
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    shown = list(itertools.islice(slices(values, layout), MOST_SLICES + 1))
    figures = [_figure(name, whole, largest) for name, whole in shown[:MOST_SLICES]]
    if len(shown) > MOST_SLICES:
        figures.append(f"<p class='soft'>only the first {MOST_SLICES} slices are shown</p>")
    return "".join(figures)


def _figure(name: str, whole: Array, largest: float) -> str:
    part = whole[:MOST_CELLS, :MOST_CELLS]
    height, width = part.shape
    cells = []
    for (row, column), value in np.ndenumerate(part):
        number = float(value)
        place = f'x="{column * _CELL}" y="{row * _CELL}" width="{_CELL}" height="{_CELL}"'
        title = f"<title>row {row}, column {column}: {number:.9g}</title>"
        cells.append(f'<rect {place} fill="{colour(number, largest)}" stroke="#fff">{title}</rect>')
        if max(height, width) <= 12:
            middle = f'x="{column * _CELL + _CELL / 2:g}" y="{row * _CELL + _CELL / 2 + 3:g}" text-anchor="middle"'
            ink = "#fff" if number < -0.6 * largest else "#111"
            cells.append(f'<text {middle} fill="{ink}">{number:.3g}</text>')
    cut = "" if part.shape == whole.shape else f" (the first {height} x {width} of {whole.shape[0]} x {whole.shape[1]})"
    size = f'width="{width * _CELL}" height="{height * _CELL}"'
    return f"<figure><svg {size}>{''.join(cells)}</svg><figcaption>{name}{cut}</figcaption></figure>"
