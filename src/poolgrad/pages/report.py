"""A run as one HTML file to look at: the page as it is drawn, each result as heat maps, every fault on its block.

The file holds no script and asks for nothing from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from html import escape
from pathlib import Path

from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.heat import heat_maps
from poolgrad.pages.kinds import Kind
from poolgrad.pages.layout import laid_out
from poolgrad.pages.model import Block, Page
from poolgrad.pages.runner import Outcome, Run
from poolgrad.pages.summaries import in_words, kind_of

_WIDTH, _HEAD, _LINE, _COLUMN = 220, 40, 18, 280

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report(title: str, runs: Iterable[Run]) -> str:
    """The HTML of some runs."""
    heading = escape(title or "A page of poolgrad")
    pages = "".join(_page(done) for done in runs)
    style = Path(__file__).with_name("report.css").read_text("utf-8")
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{heading}</title>'
        f"<style>{style}</style></head>\n<body>\n<h1>{heading}</h1>\n{pages}</body>\n</html>\n"
    )


def _page(done: Run) -> str:
    page = done.page
    notes = "".join(f"<p>{escape(str(b.attrs.get('text', '')))}</p>\n" for b in page.blocks if b.op == "Note")
    problems = "".join(f'<li class="bad">{escape(str(problem))}</li>' for problem in done.problems)
    listed = f"<ul>{problems}</ul>\n" if problems else ""
    results = "".join(_result(outcome, done) for outcome in done.outcomes)
    return f"<h2>Page {escape(page.name)}</h2>\n{notes}{_canvas(page, done)}\n{listed}{results}"


def _result(outcome: Outcome, done: Run) -> str:
    parts = []
    for name, part in outcome.outputs.items():
        array = done.results[name]
        head = f"<h3>{escape(name)} <span class='soft'>{escape(outcome.op)}</span> <code>{kind_of(part)}</code></h3>"
        parts.append(f"{head}\n<p>{escape(in_words(array))}</p>\n<div class='maps'>{heat_maps(array)}</div>\n")
    return "".join(parts)


def _canvas(page: Page, done: Run) -> str:
    drawn = [block for block in page.blocks if block.op in BLOCKS and block.op != "Note"]
    # Cards are smaller here than in the studio, and stand closer.
    page = laid_out(replace(page, blocks=drawn), lambda block: _height(BLOCKS[block.op]), _COLUMN)
    shown = {block.id: block for block in page.blocks}
    outcomes = {outcome.block: outcome for outcome in done.outcomes}
    left = min((_at(block)[0] for block in shown.values()), default=0) - 20
    top = min((_at(block)[1] for block in shown.values()), default=0) - 20
    right = max((_at(block)[0] for block in shown.values()), default=0) + _WIDTH + 20
    low = max((_at(block)[1] + _height(BLOCKS[block.op]) for block in shown.values()), default=0) + 20
    wires = "".join(
        _wire(shown[w.source.block], w.source.name, shown[w.target.block], w.target.name, outcomes)
        for w in page.wires
        if w.source.block in shown and w.target.block in shown
    )
    cards = "".join(_card(block, outcomes.get(block.id)) for block in shown.values())
    size = f'width="{right - left:g}" height="{low - top:g}" viewBox="{left:g} {top:g} {right - left:g} {low - top:g}"'
    return f'<div class="canvas"><svg {size} role="img" aria-label="blocks and wires">{wires}{cards}</svg></div>'


def _at(block: Block) -> tuple[float, float]:
    return block.at or (0.0, 0.0)


def _height(kind: Kind) -> float:
    return _HEAD + _LINE * max(len(kind.pins) + len(kind.outputs), 1) + 6


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
        f'<rect class="card" width="{_WIDTH}" height="{_height(kind):g}" rx="7"/>',
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
    for number, output in enumerate(kind.outputs, len(kind.pins)):
        part = outcome.outputs.get(f"{block.id}.{output}") if outcome else None
        text = f"{output} {kind_of(part)}" if part else output
        lines.append(f'<circle class="dot" cx="{_WIDTH}" cy="{_row(number):g}" r="4"/>')
        lines.append(f'<text x="{_WIDTH - 10}" y="{_row(number) + 4:g}" text-anchor="end">{escape(text)}</text>')
    return f'<g class="{status}" transform="translate({x:g} {y:g})">{"".join(lines)}</g>'
