"""The order in which the blocks of a page can be computed."""

from __future__ import annotations

from collections.abc import Mapping

from poolgrad.pages.model import Page


def ordered(page: Page) -> tuple[list[str], list[str]]:
    """Ids so that each block comes after those it is wired from, as in the page otherwise; and those in circles.

    Blocks that only wait for a circle are in the order, after all others.

    >>> page = Page().block("y", "Shape", input="x").block("x", "Ones", shape=[2])
    >>> ordered(page)
    (['x', 'y'], [])
    """
    ids = [block.id for block in page.blocks]
    wires = {(wire.source.block, wire.target.block) for wire in page.wires}
    before = {name: {a for a, b in wires if b == name and a in ids} for name in ids}
    after = {name: {b for a, b in wires if a == name and b in ids} for name in ids}
    order = _peeled(ids, before)
    rest = [name for name in ids if name not in set(order)]
    waiting = _peeled(rest, {name: after[name] & set(rest) for name in rest})
    return [*order, *reversed(waiting)], [name for name in rest if name not in set(waiting)]


def _peeled(ids: list[str], needs: Mapping[str, set[str]]) -> list[str]:
    """Those that need nothing, then those that need only these, and so on."""
    left = {name: set(needs[name]) for name in ids}
    users: dict[str, list[str]] = {name: [] for name in ids}
    for name in ids:
        for other in left[name]:
            users[other].append(name)
    peeled = [name for name in ids if not left[name]]
    for name in peeled:
        for user in users[name]:
            left[user].discard(name)
            if not left[user]:
                peeled.append(user)
    return peeled
