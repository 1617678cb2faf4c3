"""The table of blocks as JSON, from which the editor draws everything."""

from __future__ import annotations

from typing import Any

from poolgrad import raw_ops
from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.fields import Field
from poolgrad.pages.kinds import Kind
from poolgrad.raw_ops import OPS


def palette() -> list[dict[str, Any]]:
    """Every kind of block, in the order of the table."""
    return [_kind(kind) for kind in BLOCKS.values()]


def _kind(kind: Kind) -> dict[str, Any]:
    return {
        "op": kind.op,
        "group": kind.group,
        "summary": kind.summary,
        "pins": [{"name": pin.name, "text": pin.text, "typed": pin.typed and _field(pin.typed)} for pin in kind.pins],
        "fields": [_field(field) for field in kind.fields],
        "outputs": list(kind.outputs),
        "reference": _reference(kind),
    }


def _reference(kind: Kind) -> str:
    """The op's own docstring, or what is known of a plain block."""
    if kind.op in OPS:
        return getattr(raw_ops, kind.op).__doc__ or kind.summary
    texts = {pin.name: pin.text for pin in kind.pins} | {field.name: field.text for field in kind.fields}
    lines = [f"    {name}: {text}" for name, text in texts.items()]
    return "\n".join([kind.summary, *(["", "Args:", *lines] if lines else [])])


def _field(field: Field) -> dict[str, Any]:
    return {
        "name": field.name,
        "kind": field.kind,
        "text": field.text,
        "required": field.is_required,
        "default": None if field.is_required else field.default,
        "choices": list(field.choices),
        "initial": field.initial,
    }
