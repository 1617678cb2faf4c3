"""Attributes typed as text: ``1,2,2,2,1``, ``{1,2,2,2,1}``, ``data_format_ = NDHWC;``."""

from __future__ import annotations

import re
from typing import Any

from poolgrad.pages.problems import fault

_NUMBER = r"[+-]?(?:nan|inf|\d+/[1-9]\d*|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
_TOKEN = re.compile(rf"\s*(?:(?P<number>{_NUMBER})(?![\w.])|(?P<open>[\[({{])|(?P<close>[\])}}])|(?P<comma>[,;]))\s*")
_CLOSING = {"[": "]", "(": ")", "{": "}"}

Word = int | float | str


def word(text: str) -> Word:
    """One number: an integer or a float; what JSON cannot write (``nan``, ``inf``, ``1/3``) stays text."""
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text)
    return text if re.search(r"[/n]", text) else float(text)


def numbers(name: str, text: str) -> list[Any]:
    """Numbers separated by commas or semicolons, with or without brackets of any kind, nested or not.

    >>> numbers("ksize", "1,2,2,2,1"), numbers("value", "{{1, 2.5}; {3, 1/3}}")
    ([1, 2, 2, 2, 1], [[1, 2.5], [3, '1/3']])
    """
    levels: list[list[Any]] = [[]]
    brackets: list[str] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise _bad(name, text, f"{text[position:].strip()!r} is no number")
        position = token.end()
        match token.lastgroup:
            case "number":
                levels[-1].append(word(token["number"]))
            case "open":
                brackets.append(_CLOSING[token["open"]])
                levels.append([])
            case "close":
                if not brackets or brackets.pop() != token["close"]:
                    raise _bad(name, text, f"{token['close']!r} closes nothing")
                inner = levels.pop()
                levels[-1].append(inner)
    if brackets:
        raise _bad(name, text, f"{brackets[-1]!r} is missing")
    outer = levels[0]
    return outer[0] if len(outer) == 1 and isinstance(outer[0], list) else outer


def _bad(name: str, text: str, why: str) -> Exception:
    shown = text if len(text) <= 60 else text[:57] + "..."
    return fault("PG104", f"{name} must be numbers such as 1,2,2,1: {why}, got {shown!r}", place=name)


def flag(name: str, text: str) -> bool:
    """A truth value.

    >>> flag("overlapping", "True")
    True
    """
    known = {"true": True, "1": True, "false": False, "0": False}
    if text.strip().lower() not in known:
        raise fault("PG104", f"{name} must be true or false, got {text!r}", place=name)
    return known[text.strip().lower()]


def settings(text: str) -> dict[str, str]:
    """Pairs ``name = value;``; an underscore at the end of a name does not count.

    >>> settings("data_format_ = NDHWC;")
    {'data_format': 'NDHWC'}
    """
    found: dict[str, str] = {}
    for part in filter(str.strip, text.split(";")):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        name = name.removesuffix("_")
        if not equals or not name or not value:
            raise fault("PG104", f"attrs must be pairs such as data_format_ = NDHWC;, got {text!r}", place="attrs")
        if name in found:
            raise fault("PG104", f"attrs must name {name} once, got {text!r}", place="attrs")
        found[name] = value
    return found
