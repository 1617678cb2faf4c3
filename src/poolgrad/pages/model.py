"""A page as data: blocks, wires between them, and what is expected to come out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.problems import PageError, Problem, fault

_ID = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
_REFERENCE = re.compile(r"[A-Za-z]\w*(\.\w+)?")


@dataclass(frozen=True, slots=True)
class Limits:
    """How large a page may be. All of it is known before anything is allocated."""

    elements: int = 2**24
    bytes: int = 2**29
    blocks: int = 500
    wires: int = 2000
    file_bytes: int = 2**20


LIMITS = Limits()
NO_LIMITS = Limits(*[2**62] * 5)


@dataclass(frozen=True, slots=True)
class Block:
    """One block. ``attrs`` are as the page has them: JSON, or text yet to be read."""

    id: str
    op: str
    attrs: Mapping[str, Any] = field(default_factory=dict)
    at: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Port:
    """A pin or an output of a block, written ``block.name``."""

    block: str
    name: str

    def __str__(self) -> str:
        return f"{self.block}.{self.name}"


def port(text: str) -> Port:
    """A port from its text.

    >>> port("dx.output")
    Port(block='dx', name='output')
    """
    block, dot, name = text.partition(".")
    if not dot or not block or not name:
        raise fault("PG105", f"a port must be written block.name, got {text!r}")
    return Port(block, name)


@dataclass(frozen=True, slots=True)
class Wire:
    """From an output to a pin."""

    source: Port
    target: Port


@dataclass(slots=True)
class Page:
    """Blocks and wires under one name. Each page is a world of its own: ids need to differ within it only.

    ``folder`` is where files of Const blocks are looked for.

    >>> page = Page().block("x", "Const", value=[[1, 2], [3, 4]]).block("total", "Sum", input="x")
    >>> page.wires
    [Wire(source=Port(block='x', name='output'), target=Port(block='total', name='input'))]
    """

    name: str = "main"
    blocks: list[Block] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    expect: dict[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    def block(self, id: str, op: str, /, *, at: tuple[float, float] | None = None, **arguments: Any) -> Page:
        """Add a block. A pin is given as ``"other"`` or ``"other.output"``, everything else is an attribute."""
        kind, attrs = BLOCKS.get(op), {}
        for name, given in arguments.items():
            if kind and kind.pin(name) and isinstance(given, str) and _REFERENCE.fullmatch(given):
                self.wires.append(Wire(self._output(given), Port(id, name)))
            else:
                attrs[name] = list(given) if isinstance(given, tuple) else given
        self.blocks.append(Block(id, op, attrs, at))
        return self

    def _output(self, text: str) -> Port:
        """The output that a reference names; of a block alone, its first."""
        if "." in text:
            return port(text)
        kind = next((BLOCKS.get(block.op) for block in self.blocks if block.id == text), None)
        return Port(text, kind.outputs[0] if kind and kind.outputs else "output")

    def expecting(self, **values: Any) -> Page:
        """Say what the first output of each of these blocks has to be; more is said in ``expect`` itself."""
        self.expect |= {str(self._output(name)): {"value": value} for name, value in values.items()}
        return self

    def with_attribute(self, target: str, given: Any) -> Page:
        """A page with one attribute changed, ``target`` written ``block.attribute``."""
        where = port(target)
        if where.block not in {block.id for block in self.blocks}:
            raise fault("PG102", f"there is no block {where.block!r} on page {self.name!r}", place=where.name)
        wires = [wire for wire in self.wires if wire.target != where]
        blocks = [
            replace(block, attrs=dict(block.attrs) | {where.name: given}) if block.id == where.block else block
            for block in self.blocks
        ]
        return replace(self, blocks=blocks, wires=wires)


@dataclass(frozen=True, slots=True)
class Document:
    """A file of pages."""

    pages: tuple[Page, ...]
    title: str = ""

    def page(self, name: str | None = None) -> Page:
        """The page of this name, or the first one."""
        for page in self.pages:
            if name is None or page.name == name:
                return page
        names = ", ".join(repr(page.name) for page in self.pages)
        raise fault("PG007", f"there is no page {name!r} in this file, only {names}")


def check_names(page: Page, limits: Limits = LIMITS) -> None:
    """Refuse a page with bad or double ids, or with too much on it."""
    for what, count, most in (("blocks", len(page.blocks), limits.blocks), ("wires", len(page.wires), limits.wires)):
        if count > most:
            raise PageError(Problem("PG303", f"a page must have at most {most} {what}, got {count}", page.name))
    seen: set[str] = set()
    for block in page.blocks:
        if not _ID.fullmatch(block.id):
            message = f"an id must be a letter and up to 39 letters, digits or underscores, got {block.id!r}"
            raise PageError(Problem("PG005", message, page.name))
        if block.id in seen:
            raise PageError(Problem("PG006", f"two blocks have the id {block.id!r}", page.name))
        seen.add(block.id)
