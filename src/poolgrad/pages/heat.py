"""Heat maps of arrays as SVG: slices along height and width, one colour scale that is fixed at zero."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from poolgrad.pages.values import Array
from poolgrad.plan import Shape

MOST_SLICES, MOST_CELLS = 8, 32
_CELL = 34
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


def slice_axes(shape: Shape) -> list[tuple[str, int]]:
    """The axes along which a plane is chosen, with their sizes: all but height and width, or but the last two.

    >>> slice_axes((1, 2, 4, 5, 3)), slice_axes((4, 5)), slice_axes((7, 4, 5))
    ([('batch', 1), ('depth', 2), ('channel', 3)], [], [('axis 0', 7)])
    """
    if len(shape) in _AXES:
        return list(zip(_AXES[len(shape)], (*shape[: len(shape) - 3], shape[-1]), strict=True))
    return [(f"axis {number}", size) for number, size in enumerate(shape[:-2])]


def plane(array: Array, place: Sequence[int]) -> Array:
    """One plane of an array, by its place along :func:`slice_axes`.

    >>> plane(np.arange(8).reshape(1, 2, 2, 2), [0, 1]).tolist()
    [[1, 3], [5, 7]]
    """
    turned = np.moveaxis(array, -1, -3) if array.ndim in _AXES else np.atleast_2d(array)
    found: Array = turned[tuple(place)]
    return found


def slices(array: Array) -> Iterator[tuple[str, Array]]:
    """Planes of an array with their names; an axis of size 1 goes without saying.

    >>> [name for name, plane in slices(np.zeros((1, 2, 4, 5, 1)))]
    ['depth 0', 'depth 1']
    """
    axes = slice_axes(array.shape)
    for place in itertools.product(*(range(size) for _, size in axes)):
        words = (f"{name} {n}" for (name, size), n in zip(axes, place, strict=True) if size > 1)
        yield ", ".join(words), plane(array, place)


def heat_maps(array: Array) -> str:
    """The first slices of an array, and a word about what is left out."""
    values = array.astype(np.float64)
    finite = values[np.isfinite(values)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    shown = list(itertools.islice(slices(values), MOST_SLICES + 1))
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
