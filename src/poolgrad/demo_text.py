"""The demo as text for a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from typing import Any

from poolgrad.demo import Outcome, worked_cell

_WIDTH = 100
_INDENT = "  "
_GAP = "     "
_MOST_WRONG = 5

Block = list[str]


def report(outcome: Outcome) -> str:
    """What an example computes, its tables, one value step by step, and the check."""
    example = outcome.example
    groups = [_blocks(name, array) for name, array in (*example.arrays.items(), ("result", outcome.result))]
    lines = [
        example.title,
        "-" * len(example.title),
        *_wrapped(example.sentence),
        "",
        *_call(outcome),
        "",
        *(_INDENT + line for line in _beside(groups)),
        "",
        *_wrapped(f"For example, {worked_cell(example)}."),
        *_wrapped(_verdict(outcome)),
    ]
    lines += [f"{_INDENT * 2}{line}" for line in outcome.wrong[:_MOST_WRONG]]
    if len(outcome.wrong) > _MOST_WRONG:
        lines.append(f"{_INDENT * 2}and {len(outcome.wrong) - _MOST_WRONG} more")
    return "\n".join(line.rstrip() for line in lines)


def _verdict(outcome: Outcome) -> str:
    """How many values are right."""
    word = "WRONG" if outcome.wrong else "ok"
    return f"{outcome.right} of {outcome.values} values as computed by hand  {word}"


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=_INDENT, subsequent_indent=_INDENT)


def _call(outcome: Outcome) -> list[str]:
    """The call with its arguments, arrays as dtype and shape, never broken inside an argument."""
    example = outcome.example
    words = [
        f"{name}={_kind(value) if name in example.arrays else repr(value)}" for name, value in example.arguments.items()
    ]
    head = f"{_INDENT}{example.op}("
    lines = [head]
    for number, word in enumerate(words):
        piece = word + (", " if number < len(words) - 1 else f") -> {_kind(outcome.result)}")
        if len(lines[-1]) + len(piece.rstrip()) > _WIDTH:
            lines.append(" " * len(head))
        lines[-1] += piece
    return lines


def _kind(array: Any) -> str:
    return f"{array.dtype}{list(array.shape)}"


def _blocks(name: str, array: Any) -> list[Block]:
    """An array [1, ..., 1] as blocks of lines: one, or one for each slice along depth."""
    cells = array[0, ..., 0]
    digits = 4 if (cells % 1).any() else 0
    texts = [f"{value:.{digits}f}" for value in cells.flat]
    width = max(map(len, texts))
    words = [text.rjust(width) for text in texts]
    height, columns = cells.shape[-2:]
    rows = [" ".join(words[start : start + columns]) for start in range(0, len(words), columns)]
    if cells.ndim == 2:
        return [[name, *rows]]
    # The name stands over the first slice only.
    heads = [[name if depth == 0 else "", f"depth {depth}"] for depth in range(len(cells))]
    return [[*head, *rows[depth * height : (depth + 1) * height]] for depth, head in enumerate(heads)]


def _beside(groups: list[list[Block]]) -> list[str]:
    """All groups side by side where they fit; else each on lines of its own, as many blocks to a line as fit."""
    room = _WIDTH - len(_INDENT)
    together = [block for group in groups for block in group]
    if _total(together) <= room:
        return _joined(together)
    lines: list[str] = []
    for group in groups:
        while group:
            count = max(n for n in range(1, len(group) + 1) if n == 1 or _total(group[:n]) <= room)
            joined = _joined(group[:count])
            # Without a name the first line is empty as it is.
            lines += ([""] if lines and joined[0].strip() else []) + joined
            group = group[count:]
    return lines


def _total(blocks: list[Block]) -> int:
    return sum(max(map(len, block)) for block in blocks) + len(_GAP) * (len(blocks) - 1)


def _joined(blocks: list[Block]) -> list[str]:
    height = max(map(len, blocks))
    padded = [[line.ljust(max(map(len, block))) for line in block + [""] * (height - len(block))] for block in blocks]
    return [_GAP.join(parts) for parts in zip(*padded, strict=True)]
