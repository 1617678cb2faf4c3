"""Places for the blocks of a page that has none: one column after another, from sources to results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from poolgrad.pages.axes import layouts, plane_shape, slice_axes
from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.checks import Checked, check
from poolgrad.pages.model import Block, Page
from poolgrad.pages.order import ordered
from poolgrad.plan import Shape

COLUMN, GAP = 340.0, 40.0
# As the studio draws blocks: heads, lines, sliders and cells, in pixels.
_HEAD, _LINE, _SLIDER, _NOTE = 50.0, 27.0, 20.0, 110.0
_MAP_WIDTH, _LARGEST_CELL = 236, 34


def _map_height(shape: Shape, layout: str | None) -> float:
    """The height of a heat map with its sliders."""
    height, width = plane_shape(shape, layout)
    cell = max(1, min(_LARGEST_CELL, _MAP_WIDTH // max(1, width)))
    sliders = sum(size > 1 for _, size in slice_axes(shape, layout))
    return 2 * _LINE + _SLIDER * sliders + cell * min(height, 256)


def _height(block: Block, checked: Checked, formats: Mapping[str, str]) -> float:
    """About how high a block is drawn: a line for each pin, attribute and output, and a map of what it gives."""
    kind = BLOCKS.get(block.op)
    if kind is None:
        return _HEAD
    shown, layout = checked.outlines.get(f"{block.id}.output"), formats.get(f"{block.id}.output")
    lines = len(kind.pins) + len(kind.fields) + len(kind.outputs)
    return _HEAD + _LINE * lines + (_map_height(shown.shape, layout) if shown else 0) + _NOTE * (block.op == "Note")


def laid_out(page: Page, height: Callable[[Block], float] | None = None, column_width: float = COLUMN) -> Page:
    """The page with every block in the column after the last of those it is wired from.

    Blocks are as high as the studio draws them, or as ``height`` says.

    >>> page = Page().block("x", "Ones", shape=[2]).block("n", "Shape", input="x")
    >>> [block.at for block in laid_out(page).blocks]
    [(0.0, 0.0), (340.0, 0.0)]
    """
    order, circular = ordered(page)
    if height is None:
        checked = check(page)
        height = partial(_height, checked=checked, formats=layouts(checked))
    column = dict.fromkeys([*order, *circular], 0)
    for name in order:
        sources = [wire.source.block for wire in page.wires if wire.target.block == name]
        column[name] = 1 + max((column[source] for source in sources if source in column), default=-1)
    used: dict[int, float] = {}
    blocks = []
    for block in page.blocks:
        place = column[block.id]
        top = used.get(place, 0.0)
        used[place] = top + height(block) + GAP
        blocks.append(replace(block, at=(place * column_width, top)))
    return replace(page, blocks=blocks)
