"""Places for the blocks of a page that has none: one column after another, from sources to results."""

from __future__ import annotations

from dataclasses import replace

from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.model import Block, Page
from poolgrad.pages.order import ordered

COLUMN, GAP = 340.0, 40.0
_HEAD, _LINE, _MAP = 60.0, 28.0, 130.0


def _height(block: Block) -> float:
    """About how high a block is drawn: a line for each pin, attribute and output, and a map of what it gives."""
    kind = BLOCKS.get(block.op)
    if kind is None:
        return _HEAD
    return _HEAD + _LINE * (len(kind.pins) + len(kind.fields) + len(kind.outputs)) + _MAP * bool(kind.outputs)


def laid_out(page: Page) -> Page:
    """The page with every block in the column after the last of those it is wired from.

    >>> page = Page().block("x", "Ones", shape=[2]).block("n", "Shape", input="x")
    >>> [block.at for block in laid_out(page).blocks]
    [(0.0, 0.0), (340.0, 0.0)]
    """
    order, circular = ordered(page)
    column = dict.fromkeys([*order, *circular], 0)
    for name in order:
        sources = [wire.source.block for wire in page.wires if wire.target.block == name]
        column[name] = 1 + max((column[source] for source in sources if source in column), default=-1)
    used: dict[int, float] = {}
    blocks = []
    for block in page.blocks:
        place = column[block.id]
        top = used.get(place, 0.0)
        used[place] = top + _height(block) + GAP
        blocks.append(replace(block, at=(place * COLUMN, top)))
    return replace(page, blocks=blocks)
