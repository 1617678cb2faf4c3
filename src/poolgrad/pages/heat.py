"""Heat maps of arrays as SVG: slices along height and width, one colour scale that is fixed at zero."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from poolgrad.pages.values import Array

MOST_SLICES, MOST_CELLS = 8, 32
_CELL = 26
_AXES = {4: ("batch", "channel"), 5: ("batch", "depth", "channel")}
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


def slices(array: Array) -> Iterator[tuple[str, Array]]:
    """Planes of an array with their names: height and width of images and volumes, else the last two axes.

    >>> [name for name, plane in slices(np.zeros((1, 2, 4, 5, 1)))]
    ['depth 0', 'depth 1']
    """
    names = _AXES.get(array.ndim)
    if names is None:
        flat = array.reshape(1, -1) if array.ndim < 2 else array
        planes = flat.reshape(math.prod(flat.shape[:-2]), *flat.shape[-2:])
        yield from ((f"plane {n}" if len(planes) > 1 else "", plane) for n, plane in enumerate(planes))
        return
    turned = np.moveaxis(array, -1, -3)
    for place in itertools.product(*map(range, turned.shape[:-2])):
        parts = zip(names, place, turned.shape, strict=False)
        yield ", ".join(f"{name} {n}" for name, n, size in parts if size > 1), turned[place]


def heat_maps(array: Array) -> str:
    """The first slices of an array, and a word about what is left out."""
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    shown = list(itertools.islice(slices(values), MOST_SLICES + 1))
    figures = [_figure(name, plane, largest) for name, plane in shown[:MOST_SLICES]]
    if len(shown) > MOST_SLICES:
        figures.append(f"<p class='soft'>only the first {MOST_SLICES} slices are shown</p>")
    return "".join(figures)


def _figure(name: str, plane: Array, largest: float) -> str:
    part = plane[:MOST_CELLS, :MOST_CELLS]
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
    cut = "" if part.shape == plane.shape else f" (the first {height} x {width} of {plane.shape[0]} x {plane.shape[1]})"
    size = f'width="{width * _CELL}" height="{height * _CELL}"'
    return f"<figure><svg {size}>{''.join(cells)}</svg><figcaption>{name}{cut}</figcaption></figure>"
