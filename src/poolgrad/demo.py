"""The gradient ops on small examples, each with every value of its result computed by hand.

Tables are written as text: one line is a row, an empty line stands between two slices along depth.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from poolgrad import raw_ops
from poolgrad.windows import Axis, from_sequence, make_axis

_TOLERANCE = Fraction(1, 10**6)
_AXES = ("depth", "row", "column")


@dataclass(frozen=True, slots=True)
class Example:
    """A call, what it shows, its result by hand, and one cell of it step by step: its place, why, and the sum."""

    op: str
    sentence: str
    arguments: dict[str, Any]
    expected: str
    cell: tuple[int, ...]
    reason: str
    terms: tuple[str, ...]

    @property
    def title(self) -> str:
        """The op, with the attribute in which two examples of it differ."""
        overlapping = self.arguments.get("overlapping")
        return self.op if overlapping is None else f"{self.op}, overlapping={overlapping}"

    @property
    def arrays(self) -> dict[str, Any]:
        """The arguments that are arrays."""
        return {name: value for name, value in self.arguments.items() if isinstance(value, np.ndarray)}


@dataclass(frozen=True, slots=True)
class Outcome:
    """An example that was run: the result, how many values are as computed by hand, and what is wrong with others."""

    example: Example
    result: Any
    values: int
    right: int
    wrong: tuple[str, ...]


def table(text: str) -> Any:
    """Exact values of a table: [height, width], or [depth, height, width] where it has slices."""
    slices = [[[Fraction(word) for word in line.split()] for line in part.splitlines()] for part in _parts(text)]
    return np.array(slices if len(slices) > 1 else slices[0], dtype=object)


def _parts(text: str) -> list[str]:
    return [part for part in text.strip().split("\n\n") if part]


def _plane(text: str) -> Any:
    """A table as float32 [1, height, width, 1]."""
    return table(text).astype(np.float32)[None, ..., None]


def _volume(*slices: str) -> Any:
    """Tables as float32 [1, depth, height, width, 1]."""
    return np.stack([table(text).astype(np.float32) for text in slices])[None, ..., None]


_CUTS: dict[str, Any] = {
    "orig_input_tensor_shape": [1, 6, 7, 1],
    "out_backprop": _plane("1 2 3 \n 4 5 6 \n 7 8 9"),
    "row_pooling_sequence": [0, 2, 3, 6],
    "col_pooling_sequence": [0, 2, 5, 7],
}

EXAMPLES = (
    Example(
        op="AvgPoolGrad",
        sentence="Each window's gradient is shared out evenly over its cells; where windows overlap, the shares add"
        " up. At the right and lower edge only 2 of a window's 3 columns or rows are left.",
        arguments={
            "orig_input_shape": [1, 4, 4, 1],
            "grad": _plane("1 2 \n 3 4"),
            "ksize": [1, 3, 3, 1],
            "strides": [1, 2, 2, 1],
            "padding": "SAME",
        },
        expected="""
            1/9    1/9    4/9    1/3
            1/9    1/9    4/9    1/3
            11/18  11/18  35/18  4/3
            1/2    1/2    3/2    1
        """,
        cell=(2, 2),
        reason="lies in four windows",
        terms=("1/9", "2/6", "3/6", "4/4"),
    ),
    Example(
        op="AvgPool3DGrad",
        sentence="The same in a volume: a window of 2 x 3 x 2 cells gives each of them 1/12 of its gradient, and 1/8 at"
        " the lower edge, where only 2 x 2 x 2 cells are left.",
        arguments={
            "orig_input_shape": [1, 4, 5, 6, 1],
            "grad": _volume("1 2 3 \n 4 5 6", "7 8 9 \n 10 11 12"),
            "ksize": [1, 2, 3, 2, 1],
            "strides": [1, 2, 3, 2, 1],
            "padding": "SAME",
        },
        expected="""
            1/12   1/12   1/6    1/6    1/4    1/4
            1/12   1/12   1/6    1/6    1/4    1/4
            1/12   1/12   1/6    1/6    1/4    1/4
            1/2    1/2    5/8    5/8    3/4    3/4
            1/2    1/2    5/8    5/8    3/4    3/4

            1/12   1/12   1/6    1/6    1/4    1/4
            1/12   1/12   1/6    1/6    1/4    1/4
            1/12   1/12   1/6    1/6    1/4    1/4
            1/2    1/2    5/8    5/8    3/4    3/4
            1/2    1/2    5/8    5/8    3/4    3/4

            7/12   7/12   2/3    2/3    3/4    3/4
            7/12   7/12   2/3    2/3    3/4    3/4
            7/12   7/12   2/3    2/3    3/4    3/4
            5/4    5/4    11/8   11/8   3/2    3/2
            5/4    5/4    11/8   11/8   3/2    3/2

            7/12   7/12   2/3    2/3    3/4    3/4
            7/12   7/12   2/3    2/3    3/4    3/4
            7/12   7/12   2/3    2/3    3/4    3/4
            5/4    5/4    11/8   11/8   3/2    3/2
            5/4    5/4    11/8   11/8   3/2    3/2
        """,
        cell=(0, 0, 4),
        reason="lies in one window of 12 cells",
        terms=("3/12",),
    ),
    Example(
        op="FractionalAvgPoolGrad",
        sentence="Windows of unequal size, cut at rows 0, 2, 3, 6 and columns 0, 2, 5, 7. They do not overlap, so each"
        " cell has its share of one gradient.",
        arguments={**_CUTS, "overlapping": False},
        expected="""
            1/4  1/4  1/3  1/3  1/3  3/4  3/4
            1/4  1/4  1/3  1/3  1/3  3/4  3/4
            2    2    5/3  5/3  5/3  3    3
            7/6  7/6  8/9  8/9  8/9  3/2  3/2
            7/6  7/6  8/9  8/9  8/9  3/2  3/2
            7/6  7/6  8/9  8/9  8/9  3/2  3/2
        """,
        cell=(2, 3),
        reason="lies in one window of 1 x 3 cells",
        terms=("5/3",),
    ),
    Example(
        op="FractionalAvgPoolGrad",
        sentence="The same cuts, but each window also takes in the row and the column at its far border; there the"
        " shares of neighbouring windows add up.",
        arguments={**_CUTS, "overlapping": True},
        expected="""
            1/9   1/9   5/18    1/6    1/6    2/3     1/2
            1/9   1/9   5/18    1/6    1/6    2/3     1/2
            7/9   7/9   113/72  19/24  19/24  67/24   2
            13/9  13/9  197/72  31/24  31/24  103/24  3
            7/9   7/9   13/9    2/3    2/3    13/6    3/2
            7/9   7/9   13/9    2/3    2/3    13/6    3/2
        """,
        cell=(2, 2),
        reason="lies in four windows",
        terms=("1/9", "2/12", "4/6", "5/8"),
    ),
    Example(
        op="MaxPool3DGrad",
        sentence="Each window's gradient goes whole to every cell that holds the window's maximum, not only to the"
        " first: both cells with a 9 get the 5. A cell that wins in two windows gets both gradients.",
        arguments={
            "orig_input": _volume(
                "1 9 2 3 0 \n 4 0 5 1 7 \n 2 3 6 1 5 \n 0 1 4 2 3", "0 2 1 8 4 \n 9 3 6 2 5 \n 5 1 0 4 2 \n 3 2 5 0 6"
            ),
            "orig_output": _volume("9 8 \n 6 6"),
            "grad": _volume("5 -2 \n 3 4"),
            "ksize": [1, 2, 2, 3, 1],
            "strides": [1, 2, 2, 2, 1],
            "padding": "VALID",
        },
        expected="""
            0  5  0  0  0
            0  0  0  0  0
            0  0  7  0  0
            0  0  0  0  0

            0  0  0  -2 0
            5  0  0  0  0
            0  0  0  0  0
            0  0  0  0  4
        """,
        cell=(0, 2, 2),
        reason="holds the maximum of two windows",
        terms=("3", "4"),
    ),
)


def place(cell: tuple[int, ...]) -> str:
    """A cell in words.

    >>> place((2, 0))
    'row 2, column 0'
    """
    return ", ".join(f"{name} {number}" for name, number in zip(_AXES[-len(cell) :], cell, strict=True))


def worked_cell(example: Example) -> str:
    """One value of the result, step by step."""
    value = table(example.expected)[example.cell]
    steps = [" + ".join(example.terms), str(value)]
    if value.denominator != 1:
        steps.append(f"{float(value):.4f}".rstrip("0"))
    return f"{place(example.cell)} {example.reason}: {' = '.join(dict.fromkeys(steps))}"


def axes(example: Example) -> tuple[Axis, ...]:
    """The spatial axes of an example's input with their windows."""
    sizes, given = table(example.expected).shape, example.arguments
    if "ksize" in given:
        steps = zip(_AXES[-len(sizes) :], sizes, given["ksize"][1:-1], given["strides"][1:-1], strict=True)
        return tuple(make_axis(name, size, k, s, given["padding"].lower()) for name, size, k, s in steps)
    borders = (given["row_pooling_sequence"], given["col_pooling_sequence"])
    return tuple(from_sequence(n, b, given["overlapping"]) for n, b in zip(sizes, borders, strict=True))


def run(example: Example) -> Outcome:
    """Run an example and compare each value with the one computed by hand."""
    result = getattr(raw_ops, example.op)(**example.arguments)
    expected = table(example.expected)
    if result.shape != (1, *expected.shape, 1):
        wrong = f"the result has shape {list(result.shape)} instead of {[1, *expected.shape, 1]}"
        return Outcome(example, result, expected.size, 0, (wrong,))
    pairs = ((cell, float(result[0, *cell, 0]), value) for cell, value in np.ndenumerate(expected))
    bad = [f"{place(cell)}: {got:.4f} instead of {value}" for cell, got, value in pairs if not _same(got, value)]
    return Outcome(example, result, expected.size, expected.size - len(bad), tuple(bad))


def _same(got: float, value: Fraction) -> bool:
    return math.isfinite(got) and abs(Fraction(got) - value) <= _TOLERANCE
