"""The demo as a picture: gradients and results as heat maps, framed by the windows that tie them together.

The figure is one pair of axes measured in pixels, y down, so that every text has a place of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, style
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from poolgrad.demo import Example, Outcome, axes, worked_cell
from poolgrad.windows import bounds

WIDTH = 1400
_DPI = 100
_MARGIN = 40
_HEADER = 148
_TITLES = 112
_SPACE = 44
_GAP = 28
_LARGEST_CELL = 52
# Neighbouring windows differ in colour and in dashes, so that neither alone has to tell them apart.
_FRAMES: dict[tuple[int, int], tuple[str, Any]] = {
    (0, 0): ("#000000", "-"),
    (0, 1): ("#0057a8", (0, (5, 1.5))),
    (1, 0): ("#00633a", (0, (1.4, 1.2))),
    (1, 1): ("#7b1fa2", (0, (6, 1.5, 1.5, 1.5))),
}
# Of the colour scale only the light part, on which black text can be read.
_REACH = 0.3
_READING = (
    "Each gradient and the window it belongs to have frames of the same colour and dashes.",
    "Numbers are the computed values, written as fractions. In orig_input, cells that get a gradient are bold.",
)


@dataclass(frozen=True, slots=True)
class Panel:
    """One heat map: cells [height, width] of an array, or of its slice along depth."""

    name: str
    cells: Any
    depth: int | None
    largest: float

    @property
    def label(self) -> str:
        return self.name if self.depth is None else f"{self.name}, depth {self.depth}"


def draw(outcomes: list[Outcome], path: Path) -> None:
    """Write the picture of these examples as PNG."""
    tops = list(itertools.accumulate((_height(outcome) for outcome in outcomes), initial=_HEADER))
    with style.context("default"):
        figure = Figure(figsize=(WIDTH / _DPI, tops[-1] / _DPI), dpi=_DPI)
        page = figure.add_axes((0, 0, 1, 1))
        _draw_header(page)
        for outcome, top in zip(outcomes, tops, strict=False):
            _draw_example(page, outcome, top)
        page.set(xlim=(0, WIDTH), ylim=(tops[-1], 0))
        page.set_axis_off()
        with path.open("wb") as file:
            FigureCanvasAgg(figure).print_png(file)


def _panels(outcome: Outcome) -> list[Panel]:
    """The heat maps of an example from left to right."""
    panels = []
    for name, array in (outcome.example.arrays | {"result": outcome.result}).items():
        cells, largest = array[0, ..., 0], float(np.abs(array).max(initial=0))
        if name == "orig_output":
            continue
        if cells.ndim == 2:
            panels.append(Panel(name, cells, None, largest))
        else:
            panels += [Panel(name, cells[depth], depth, largest) for depth in range(len(cells))]
    return panels


def _cell_size(panels: list[Panel]) -> int:
    columns = sum(panel.cells.shape[1] for panel in panels)
    return min(_LARGEST_CELL, (WIDTH - 2 * _MARGIN - _GAP * (len(panels) - 1)) // columns)


def _height(outcome: Outcome) -> int:
    panels = _panels(outcome)
    return _TITLES + _cell_size(panels) * max(len(panel.cells) for panel in panels) + _SPACE


def _draw_header(page: Axes) -> None:
    page.text(_MARGIN, 44, "Where pooling sends its gradients", fontsize=18, weight="bold", va="center")
    for number, line in enumerate(_READING):
        page.text(_MARGIN, 82 + 22 * number, line, fontsize=10.5, va="center")
    left, right = WIDTH - _MARGIN - 380, WIDTH - _MARGIN
    scale = np.array([[_tint(value, 1) for value in np.linspace(-1, 1, 191)]])
    page.imshow(scale, extent=(left, right, 70, 48), aspect="auto")
    page.add_patch(Rectangle((left, 48), right - left, 22, fill=False, linewidth=0.8))
    page.text((left + right) / 2, 34, "Colour, for each array by itself", fontsize=10, ha="center", va="center")
    for x, text, side in ((left, "minus its largest", "left"), (right, "its largest size", "right")):
        page.text(x, 84, text, fontsize=9.5, ha=side, va="center")
    page.text((left + right) / 2, 84, "0", fontsize=9.5, ha="center", va="center")


def _draw_example(page: Axes, outcome: Outcome, top: float) -> None:
    example, panels = outcome.example, _panels(outcome)
    size = _cell_size(panels)
    page.plot((_MARGIN, WIDTH - _MARGIN), (top, top), color="#999999", linewidth=0.8)
    page.text(_MARGIN, top + 24, example.title, fontsize=13, weight="bold", va="center")
    page.text(_MARGIN, top + 50, example.sentence, fontsize=10, va="center")
    left = _MARGIN
    for panel in panels:
        page.text(left, top + 96, panel.label, fontsize=9.5, va="center")
        _draw_panel(page, panel, outcome, (left, top + _TITLES), size)
        left += panel.cells.shape[1] * size + _GAP
    page.text(_MARGIN, top + 72, f"For example, {worked_cell(example)}.", fontsize=10, va="center", color="#444444")


def _draw_panel(page: Axes, panel: Panel, outcome: Outcome, corner: tuple[float, float], size: int) -> None:
    for (row, column), value in np.ndenumerate(panel.cells):
        x, y = corner[0] + column * size, corner[1] + row * size
        is_input = panel.name == "orig_input"
        tint = (1.0, 1.0, 1.0, 1.0) if is_input else _tint(value, panel.largest)
        page.add_patch(Rectangle((x, y), size, size, facecolor=tint, edgecolor="#bbbbbb", linewidth=0.7))
        weight = "bold" if is_input and outcome.result[0, panel.depth, row, column, 0] else "normal"
        page.text(x + size / 2, y + size / 2, _words(value), fontsize=9, weight=weight, ha="center", va="center")
    for output, (start, stop), inset in _frames(panel, outcome.example):
        colour, dashes = _FRAMES[output[0] % 2, output[1] % 2]
        x, y = corner[0] + start[1] * size + inset, corner[1] + start[0] * size + inset
        width, height = ((stop[axis] - start[axis]) * size - 2 * inset for axis in (1, 0))
        page.add_patch(
            Rectangle((x, y), width, height, fill=False, edgecolor=colour, linestyle=dashes, linewidth=1.5)
        )


Span = tuple[tuple[int, int], tuple[int, int]]


def _frames(panel: Panel, example: Example) -> Iterator[tuple[tuple[int, int], Span, float]]:
    """Row and column of each output, first cell and end of its frame in a panel, and how far inside to draw it."""
    *depth, high, wide = axes(example)
    if panel.name not in ("orig_input", "result"):
        for row, column in np.ndindex(panel.cells.shape):
            yield (row, column), ((row, column), (row + 1, column + 1)), 3
        return
    if depth and not any(start <= (panel.depth or 0) < stop for start, stop in _all_bounds(depth[0])):
        return
    for (row, rows), (column, columns) in itertools.product(
        enumerate(_all_bounds(high)), enumerate(_all_bounds(wide))
    ):
        # Of two windows that share cells one is drawn further inside, so that their edges do not lie on each other.
        yield (row, column), ((rows[0], columns[0]), (rows[1], columns[1])), 3 + 3 * ((row + column) % 2)


def _all_bounds(axis: Any) -> list[tuple[int, int]]:
    return [bounds(axis, output) for output in range(axis.outputs)]


def _tint(value: float, largest: float) -> Any:
    """Blue below zero, white at zero, red above; safe for colour-blind eyes."""
    share = value / largest if largest and math.isfinite(value) else 0.0
    return colormaps["RdBu_r"](0.5 + _REACH * share)


def _words(value: float) -> str:
    """A value as the fraction it stands for, where there is a simple one."""
    if not math.isfinite(value):
        return str(value)
    fraction = Fraction(float(value)).limit_denominator(100)
    return str(fraction) if abs(fraction - Fraction(float(value))) < 1e-6 else f"{value:.4g}"
