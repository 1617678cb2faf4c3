"""A run as one HTML file to look at: the page as it is drawn, each result as heat maps, every fault on its block.

The file holds no script and asks for nothing from outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from poolgrad.pages.drawing import drawing, style
from poolgrad.pages.heat import heat_maps
from poolgrad.pages.runner import Outcome, Run
from poolgrad.pages.summaries import in_words, kind_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def report(title: str, runs: Iterable[Run]) -> str:
    """The HTML of some runs."""
    heading = escape(title or "A page of poolgrad")
    pages = "".join(_page(done) for done in runs)
    return (
        f'<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f'<meta name="viewport" content="width=device-width"><title>{heading}</title>'
        f"<style>{style()}</style></head>\n<body>\n<h1>{heading}</h1>\n{pages}</body>\n</html>\n"
    )


def _page(done: Run) -> str:
    page = done.page
    notes = "".join(f"<p>{escape(str(b.attrs.get('text', '')))}</p>\n" for b in page.blocks if b.op == "Note")
    problems = "".join(f'<li class="bad">{escape(str(problem))}</li>' for problem in done.problems)
    listed = f"<ul>{problems}</ul>\n" if problems else ""
    results = "".join(_result(outcome, done) for outcome in done.outcomes)
    canvas = f'<div class="canvas">{drawing(page, done.outcomes)}</div>'
    return f"<h2>Page {escape(page.name)}</h2>\n{notes}{canvas}\n{listed}{results}"


def _result(outcome: Outcome, done: Run) -> str:
    parts = []
    for name, part in outcome.outputs.items():
        array = done.results[name]
        head = f"<h3>{escape(name)} <span class='soft'>{escape(outcome.op)}</span> <code>{kind_of(part)}</code></h3>"
        maps = heat_maps(array, done.layouts.get(name))
        parts.append(f"{head}\n<p>{escape(in_words(array))}</p>\n<div class='maps'>{maps}</div>\n")
    return "".join(parts)
