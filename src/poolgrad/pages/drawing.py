"""A page as it is drawn: blocks with pins, attributes and outputs, and wires between them, as SVG."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.checks import check
from poolgrad.pages.layout import laid_out
from poolgrad.pages.model import Block, Page
from poolgrad.pages.runner import Outcome
from poolgrad.pages.summaries import kind_of

_WIDTH, _HEAD, _LINE, _COLUMN = 220, 40, 18, 280
_LETTERS = 34


def drawing(page: Page, outcomes: Iterable[Outcome]) -> str:
    """The SVG of a page within HTML, each block as it came out."""
    drawn = [block for block in page.blocks if block.op in BLOCKS and block.op != "Note"]
    # Cards are smaller here than in the studio, and stand closer.
    page = laid_out(replace(page, blocks=drawn), _height, _COLUMN)
    shown = {block.id: block for block in page.blocks}
    found = {outcome.block: outcome for outcome in outcomes}
    left = min((_at(block)[0] for block in shown.values()), default=0) - 20
    top = min((_at(block)[1] for block in shown.values()), default=0) - 20
    right = max((_at(block)[0] for block in shown.values()), default=0) + _WIDTH + 20
    low = max((_at(block)[1] + _height(block) for block in shown.values()), default=0) + 20
    wires = "".join(
        _wire(shown[w.source.block], w.source.name, shown[w.target.block], w.target.name, found)
        for w in page.wires
        if w.source.block in shown and w.target.block in shown
    )
    cards = "".join(_card(block, found.get(block.id)) for block in shown.values())
    width, height = right - left, low - top
    size = f'width="{width:g}" height="{height:g}" viewBox="{left:g} {top:g} {width:g} {height:g}"'
    return f'<svg class="drawing" {size} role="img" aria-label="blocks and wires">{wires}{cards}</svg>'


def picture(page: Page) -> str:
    """A page as an SVG file: its blocks with their shapes and faults, as the check before a run gives them."""
    checked = check(page)
    outcomes = []
    for block in page.blocks:
        problems = tuple(problem for problem in checked.problems if problem.block == block.id)
        outputs = {name: part for name, part in checked.outlines.items() if name.partition(".")[0] == block.id}
        status = "done" if not problems else "waits" if problems[0].code == "PG401" else "failed"
        outcomes.append(Outcome(block.id, block.op, status, outputs, problems))
    head, _, rest = drawing(page, outcomes).removeprefix("<svg ").partition(">")
    return f'<svg xmlns="http://www.w3.org/2000/svg" {head}><style>{style()}</style>{rest}\n'


def style() -> str:
    """The style sheet of drawings and reports."""
    return Path(__file__).with_name("report.css").read_text("utf-8")


def _at(block: Block) -> tuple[float, float]:
    return block.at or (0.0, 0.0)


def _height(block: Block) -> float:
    kind = BLOCKS[block.op]
    return _HEAD + _LINE * max(len(kind.pins) + len(kind.outputs) + len(block.attrs), 1) + 6


def _row(number: int) -> float:
    return _HEAD + _LINE * number + 8


def _places(outcome: Outcome | None) -> set[str]:
    return {problem.place for problem in outcome.problems} if outcome else set()


def _wire(source: Block, output: str, target: Block, pin: str, outcomes: dict[str, Outcome]) -> str:
    kinds = BLOCKS[source.op], BLOCKS[target.op]
    pins = [entry.name for entry in kinds[1].pins]
    if output not in kinds[0].outputs or pin not in pins:
        return ""
    x0, y0 = _at(source)[0] + _WIDTH, _at(source)[1] + _row(len(kinds[0].pins) + kinds[0].outputs.index(output))
    x1, y1 = _at(target)[0], _at(target)[1] + _row(pins.index(pin))
    bend = max(40.0, abs(x1 - x0) / 2)
    cut = " cut" if pin in _places(outcomes.get(target.id)) else ""
    return f'<path class="wire{cut}" d="M{x0:g} {y0:g}C{x0 + bend:g} {y0:g} {x1 - bend:g} {y1:g} {x1:g} {y1:g}"/>'


def _card(block: Block, outcome: Outcome | None) -> str:
    kind, (x, y), bad = BLOCKS[block.op], _at(block), _places(outcome)
    status = outcome.status if outcome else "failed"
    lines = [
        f'<rect class="card" width="{_WIDTH}" height="{_height(block):g}" rx="7"/>',
        f'<text class="op" x="10" y="17">{escape(block.op)}</text>',
        f'<text class="soft" x="10" y="33">{escape(block.id)}</text>',
    ]
    if outcome and outcome.problems:
        first = outcome.problems[0]
        label = f"{first.code} {first.name}" if first.code != "PG401" else first.message
        lines.append(f'<text class="bad" x="{_WIDTH - 8}" y="33" text-anchor="end">{escape(label)}</text>')
    for number, pin in enumerate(kind.pins):
        mark = " bad" if pin.name in bad else ""
        lines.append(f'<circle class="dot{mark}" cx="0" cy="{_row(number):g}" r="4"/>')
        lines.append(f'<text class="{mark.strip()}" x="10" y="{_row(number) + 4:g}">{escape(pin.name)}</text>')
    for number, (name, given) in enumerate(block.attrs.items(), len(kind.pins) + len(kind.outputs)):
        mark = "bad" if name in bad else "soft"
        lines.append(f'<text class="{mark}" x="10" y="{_row(number) + 4:g}">{escape(_shortened(name, given))}</text>')
    for number, output in enumerate(kind.outputs, len(kind.pins)):
        part = outcome.outputs.get(f"{block.id}.{output}") if outcome else None
        text = f"{output} {kind_of(part)}" if part else output
        lines.append(f'<circle class="dot" cx="{_WIDTH}" cy="{_row(number):g}" r="4"/>')
        lines.append(f'<text x="{_WIDTH - 10}" y="{_row(number) + 4:g}" text-anchor="end">{escape(text)}</text>')
    return f'<g class="{status}" transform="translate({x:g} {y:g})">{"".join(lines)}</g>'


def _shortened(name: str, given: Any) -> str:
    flat = isinstance(given, list) and not any(isinstance(part, list) for part in given)
    text = ",".join(map(str, given)) if flat else given if isinstance(given, str) else json.dumps(given)
    words = f"{name} {text}"
    return words if len(words) <= _LETTERS else f"{words[: _LETTERS - 1]}…"
