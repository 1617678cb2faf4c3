"""What a block can be: its pins, its attributes, its outputs, and what it computes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from poolgrad.pages.fields import Field

Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pin:
    """An input. A ``typed`` one counts by value: wired or given as an attribute, it is known before the run."""

    name: str
    text: str
    typed: Field | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of block.

    ``outline`` and ``compute`` take pins and attributes by name and give the outputs in order, ``outline`` from shapes
    and dtypes alone. ``python`` writes the expression of an export from names of wired arrays, attributes and the dtype
    of the first output.
    """

    op: str
    group: str
    summary: str
    pins: tuple[Pin, ...]
    fields: tuple[Field, ...]
    outputs: tuple[str, ...]
    outline: Callable[..., Any]
    compute: Callable[..., Any]
    python: Callable[[Arguments, str], str] | None = None

    def field(self, name: str) -> Field | None:
        """The attribute of this name, that of a pin that may be typed included."""
        typed = (pin.typed for pin in self.pins if pin.typed)
        return next((field for field in (*self.fields, *typed) if field.name == name), None)

    def pin(self, name: str) -> Pin | None:
        """The pin of this name."""
        return next((pin for pin in self.pins if pin.name == name), None)
