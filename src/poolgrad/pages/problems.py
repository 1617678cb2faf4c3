"""What can be wrong with a page. Each kind of fault has a code that stays the same from version to version."""

from __future__ import annotations

from dataclasses import dataclass

from poolgrad.errors import PoolGradError

# PG0: the file is no page. PG1: a block or a wire. PG2: arrays that do not fit. PG3: limits. PG4: the run. PG5: expect.
CODES = {
    "PG001": "unreadable",
    "PG002": "bad-structure",
    "PG003": "unknown-field",
    "PG004": "unknown-version",
    "PG005": "bad-id",
    "PG006": "duplicate-id",
    "PG007": "unknown-page",
    "PG101": "unknown-op",
    "PG102": "unknown-attribute",
    "PG103": "missing-attribute",
    "PG104": "bad-attribute",
    "PG105": "bad-wire",
    "PG106": "missing-wire",
    "PG107": "wired-twice",
    "PG108": "cycle",
    "PG109": "bad-value",
    "PG110": "bad-file",
    "PG201": "shape-mismatch",
    "PG202": "dtype-mismatch",
    "PG203": "invalid-argument",
    "PG204": "unsupported",
    "PG205": "wrong-type",
    "PG206": "not-known-before-the-run",
    "PG301": "too-many-elements",
    "PG302": "too-much-memory",
    "PG303": "too-large",
    "PG401": "waits",
    "PG402": "failed",
    "PG403": "out-of-memory",
    "PG501": "not-as-expected",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault and where it is: a page, a block of it, a pin or attribute of the block, as far as that is known."""

    code: str
    message: str
    page: str = ""
    block: str = ""
    place: str = ""
    expected: tuple[int, ...] | str | None = None

    @property
    def name(self) -> str:
        """The code in words."""
        return CODES[self.code]

    @property
    def where(self) -> str:
        """Block and place as they are written in wires.

        >>> Problem("PG201", "Expected grad shape to be [2], but got [3]", block="dx", place="grad").where
        'dx.grad'
        """
        return ".".join(part for part in (self.block, self.place) if part)

    def __str__(self) -> str:
        return f"{self.code} {self.name}{f' at {self.where}' if self.where else ''}: {self.message}"

    def as_json(self) -> dict[str, object]:
        """The problem as JSON, without what is not known."""
        fields: dict[str, object] = {"code": self.code, "name": self.name, "page": self.page, "block": self.block}
        fields |= {"place": self.place, "message": self.message}
        fields["expected"] = list(self.expected) if isinstance(self.expected, tuple) else self.expected
        return {key: given for key, given in fields.items() if given not in ("", None)}


class PageError(PoolGradError):
    """A page that cannot be read, or a block that cannot be computed; ``problem`` says what and where."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem), code=problem.code)
        self.problem = problem


def fault(code: str, message: str, *, block: str = "", place: str = "") -> PageError:
    """An error to raise."""
    return PageError(Problem(code, message, block=block, place=place))
