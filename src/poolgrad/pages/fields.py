"""Attributes of blocks: what each may hold, and how it is read from JSON or from text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from poolgrad import arguments
from poolgrad.pages import text
from poolgrad.pages.problems import fault

REQUIRED: Any = type("Required", (), {"__repr__": lambda self: "required"})()
"""The default of an attribute that has none."""


@dataclass(frozen=True, slots=True)
class Field:
    """One attribute. ``kind`` is integers, integer, numbers, number, choice, flag, value or text.

    ``default`` holds where a page says nothing, ``initial`` is what an editor writes into a new block.
    """

    name: str
    kind: str
    text: str = ""
    default: Any = REQUIRED
    choices: tuple[str, ...] = ()
    initial: Any = None

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED


def read(field: Field, given: Any) -> Any:
    """The attribute as JSON, whether it was given as such or as text.

    >>> read(Field("ksize", "integers"), "{1,2,2,1}"), read(Field("padding", "choice", choices=("SAME",)), " SAME ")
    ([1, 2, 2, 1], 'SAME')
    """
    if given is None and field.default is None:
        return None
    return _READERS[field.kind](field, given)


def spelled_out(attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes by name, those in the text of ``attrs`` among them.

    >>> spelled_out({"padding": "SAME", "attrs": "data_format_ = NDHWC;"})
    {'padding': 'SAME', 'data_format': 'NDHWC'}
    """
    given = {name: entry for name, entry in attrs.items() if name != "attrs"}
    if "attrs" in attrs:
        if not isinstance(attrs["attrs"], str):
            raise fault("PG104", f"attrs must be text, got {arguments.describe(attrs['attrs'])}", place="attrs")
        for name, entry in text.settings(attrs["attrs"]).items():
            if name in given:
                raise fault("PG104", f"{name} must be given once, got it in attrs too", place=name)
            given[name] = entry
    return given


def _integers(field: Field, given: Any) -> list[int]:
    entries = text.numbers(field.name, given) if isinstance(given, str) else given
    return list(arguments.integers(field.name, entries, most=arguments.INT64_MAX))


def _integer(field: Field, given: Any) -> int:
    return arguments.integer(field.name, _single(field, given), most=arguments.INT64_MAX)


def _numbers(field: Field, given: Any) -> list[Any]:
    entries = text.numbers(field.name, given) if isinstance(given, str) else given
    if not isinstance(entries, list) or not all(map(_is_number, entries)):
        raise fault(
            "PG104", f"{field.name} must be a list of numbers, got {arguments.describe(given)}", place=field.name
        )
    return entries


def _number(field: Field, given: Any) -> Any:
    number = _single(field, given)
    if not _is_number(number):
        raise fault("PG104", f"{field.name} must be a number, got {arguments.describe(given)}", place=field.name)
    return number


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _single(field: Field, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    entries = text.numbers(field.name, given)
    if len(entries) != 1:
        raise fault("PG104", f"{field.name} must be one number, got {given!r}", place=field.name)
    return entries[0]


def _choice(field: Field, given: Any) -> str:
    return arguments.choice(field.name, given.strip() if isinstance(given, str) else given, field.choices)


def _flag(field: Field, given: Any) -> bool:
    return text.flag(field.name, given) if isinstance(given, str) else arguments.flag(field.name, given)


def _text(field: Field, given: Any) -> str:
    if not isinstance(given, str):
        raise fault("PG104", f"{field.name} must be text, got {arguments.describe(given)}", place=field.name)
    return given


def _value(field: Field, given: Any) -> Any:
    if not isinstance(given, str):
        return given
    entries = text.numbers(field.name, given)
    is_bare = not any(bracket in given for bracket in "[({")
    return entries[0] if len(entries) == 1 and is_bare else entries


_READERS = {
    "integers": _integers,
    "integer": _integer,
    "numbers": _numbers,
    "number": _number,
    "choice": _choice,
    "flag": _flag,
    "text": _text,
    "value": _value,
}
