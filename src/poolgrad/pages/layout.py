"""Places for the blocks of a page that has none: one column after another, from sources to results."""

from __future__ import annotations

from dataclasses import replace

from poolgrad.pages.model import Page
from poolgrad.pages.order import ordered

COLUMN, ROW = 280.0, 180.0


def laid_out(page: Page) -> Page:
    """The page with every block in the column after the last of those it is wired from.

    >>> page = Page().block("x", "Ones", shape=[2]).block("n", "Shape", input="x")
    >>> [block.at for block in laid_out(page).blocks]
    [(0.0, 0.0), (280.0, 0.0)]
    """
    order, circular = ordered(page)
    column = dict.fromkeys([*order, *circular], 0)
    for name in order:
        sources = [wire.source.block for wire in page.wires if wire.target.block == name]
        column[name] = 1 + max((column[source] for source in sources if source in column), default=-1)
    used: dict[int, int] = {}
    blocks = []
    for block in page.blocks:
        place = column[block.id]
        row = used.get(place, 0)
        used[place] = row + 1
        blocks.append(replace(block, at=(place * COLUMN, row * ROW)))
    return replace(page, blocks=blocks)
