"""The README's table of ops, made from the code. `--check` compares; without it the README is rewritten."""

from __future__ import annotations

import sys
from pathlib import Path

from poolgrad.dtypes import FLOATS, FRACTIONAL, REALS
from poolgrad.raw_ops import OPS

README = Path(__file__).parents[1] / "README.md"
BEGIN, END = "<!-- ops: made by tools/readme_table.py -->\n", "<!-- end of ops -->\n"

DTYPES = {FLOATS: "floats", REALS: "floats, integers", FRACTIONAL: "floats, int32, int64"}


def table() -> str:
    """One row an op: dtypes, layouts, paddings."""
    rows = ["| op | dtypes | layouts | padding |", "|---|---|---|---|"]
    for spec in OPS.values():
        layouts = " ".join(spec.formats)
        rows.append(f"| {spec.name} | {DTYPES[spec.dtypes]} | {layouts} | {' '.join(spec.paddings) or '–'} |")
    names = f"floats: {', '.join(FLOATS)}; integers: {', '.join(REALS[len(FLOATS) :])}"
    return "\n".join([*rows, "", names, ""])


def updated(text: str) -> str:
    """The README with the table of now."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + table() + END + rest.split(END)[1]


def main(arguments: list[str]) -> int:
    text = README.read_text()
    if "--check" not in arguments:
        README.write_text(updated(text))
        return 0
    if text != updated(text):
        print("the table of ops in README.md is old: run `nox -s readme`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
