"""The demo as a picture: gradients and results as heat maps, framed by the windows that tie them together.

The figure is one pair of axes measured in pixels, y down, so that every text has a place of its own.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import colormaps, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from poolgrad.demo import Example, Outcome, axes, worked_cell
from poolgrad.windows import Axis, bounds

WIDTH = 1400
_DPI = 100
_MARGIN = 40
_HEADER = 148
_TITLES = 110
_SPACE = 30
_GAP = 26
_WIDEST_CELL = 66
_CELL_HEIGHT = 38
# Neighbouring windows differ in colour and in dashes, so that neither alone has to tell them apart.
_FRAMES: dict[tuple[int, int], tuple[str, Any]] = {
    (0, 0): ("#000000", "-"),
    (0, 1): ("#0057a8", (0, (5, 1.5))),
    (1, 0): ("#00633a", (0, (1.4, 1.2))),
    (1, 1): ("#7b1fa2", (0, (6, 1.5, 1.5, 1.5))),
}
# Of the colour scale only the light part, on which black text can be read.
_REACH = 0.27
_READING = (
    "A gradient and its window have frames of the same colour and dashes, in the same order of rows and columns.",
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
        """What stands above it."""
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
        figure.savefig(path, format="png", dpi=_DPI)


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


def _cell_width(panels: list[Panel]) -> int:
    columns: int = sum(panel.cells.shape[1] for panel in panels)
    return min(_WIDEST_CELL, (WIDTH - 2 * _MARGIN - _GAP * (len(panels) - 1)) // columns)


def _height(outcome: Outcome) -> int:
    rows = max(len(panel.cells) for panel in _panels(outcome))
    return _TITLES + _CELL_HEIGHT * rows + _SPACE


def _draw_header(page: Axes) -> None:
    page.text(_MARGIN, 44, "Where pooling sends its gradients", fontsize=18, weight="bold", va="center")
    for number, line in enumerate(_READING):
        page.text(_MARGIN, 82 + 22 * number, line, fontsize=10.5, va="center")
    left, right = WIDTH - _MARGIN - 380, WIDTH - _MARGIN
    scale = np.array([[_tint(value, 1) for value in np.linspace(-1, 1, 191)]])
    page.imshow(scale, extent=(left, right, 70, 48), aspect="auto")
    page.add_patch(Rectangle((left, 48), right - left, 22, fill=False, linewidth=0.8))
    page.text((left + right) / 2, 34, "Colours; each array has its own scale", fontsize=10, ha="center", va="center")
    for x, text, side in ((left, "minus its largest size", "left"), (right, "its largest size", "right")):
        page.text(x, 84, text, fontsize=9.5, ha=side, va="center")
    page.text((left + right) / 2, 84, "0", fontsize=9.5, ha="center", va="center")


def _draw_example(page: Axes, outcome: Outcome, top: float) -> None:
    panels = _panels(outcome)
    page.plot((_MARGIN, WIDTH - _MARGIN), (top, top), color="#999999", linewidth=0.8)
    page.text(_MARGIN, top + 24, outcome.example.title, fontsize=13, weight="bold", va="center")
    page.text(_MARGIN, top + 49, outcome.example.sentence, fontsize=10, va="center")
    shown = f"For example, {worked_cell(outcome.example)}."
    page.text(_MARGIN, top + 70, shown, fontsize=10, va="center", color="#444444")
    left, width = _MARGIN, _cell_width(panels)
    for panel in panels:
        page.text(left, top + 96, panel.label, fontsize=9.5, va="center")
        _draw_cells(page, panel, outcome.result, (left, top + _TITLES), width)
        _draw_frames(page, panel, outcome.example, (left, top + _TITLES), width)
        left += panel.cells.shape[1] * width + _GAP


def _draw_cells(page: Axes, panel: Panel, result: Any, corner: tuple[float, float], width: int) -> None:
    is_input = panel.name == "orig_input"
    for (row, column), value in np.ndenumerate(panel.cells):
        x, y = corner[0] + column * width, corner[1] + row * _CELL_HEIGHT
        tint = "white" if is_input else _tint(value, panel.largest)
        page.add_patch(Rectangle((x, y), width, _CELL_HEIGHT, facecolor=tint, edgecolor="#bbbbbb", linewidth=0.7))
        weight = "bold" if is_input and result[0, panel.depth, row, column, 0] else "normal"
        middle = (x + width / 2, y + _CELL_HEIGHT / 2)
        page.text(*middle, _words(value), fontsize=9, weight=weight, ha="center", va="center")


def _draw_frames(page: Axes, panel: Panel, example: Example, corner: tuple[float, float], width: int) -> None:
    """Frame each gradient, or each window in the input and the result."""
    if panel.name in ("orig_input", "result"):
        high, wide = (_all_bounds(axis) for axis in axes(example)[-2:])
    else:
        high, wide = ([(number, number + 1) for number in range(size)] for size in panel.cells.shape)
    overlap = any(before[1] > after[0] for side in (high, wide) for before, after in itertools.pairwise(side))
    for (row, rows), (column, columns) in itertools.product(enumerate(high), enumerate(wide)):
        # Of two windows that share cells one is drawn further inside, so that their edges do not lie on each other.
        inset = 5 if overlap and (row + column) % 2 else 2
        x, y = corner[0] + columns[0] * width + inset, corner[1] + rows[0] * _CELL_HEIGHT + inset
        across, down = (columns[1] - columns[0]) * width, (rows[1] - rows[0]) * _CELL_HEIGHT
        colour, dashes = _FRAMES[row % 2, column % 2]
        frame = Rectangle((x, y), across - 2 * inset, down - 2 * inset, fill=False, edgecolor=colour, linewidth=1.5)
        frame.set_linestyle(dashes)
        page.add_patch(frame)


def _all_bounds(axis: Axis) -> list[tuple[int, int]]:
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
