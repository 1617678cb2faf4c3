"""The JSON schema of pages, made from the table of blocks. Editors use it; pages are checked by ``check``."""

from __future__ import annotations

from typing import Any

from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.fields import Field
from poolgrad.pages.files import FORMAT, VERSION
from poolgrad.pages.kinds import Kind
from poolgrad.pages.model import LIMITS

Schema = dict[str, Any]

_NUMBER: Schema = {"type": "number"}
_TEXT: Schema = {"type": "string"}
_INTEGERS: Schema = {"type": "array", "items": {"type": "integer"}}
# What occurs often; every attribute may also be typed as text.
_SHARED: dict[str, Schema] = {
    "id": {"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9_]{0,39}$"},
    "port": {"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9_]{0,39}\.\w+$"},
    "at": {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2},
    "integers": {"anyOf": [_INTEGERS, _TEXT]},
    "integer": {"anyOf": [{"type": "integer"}, _TEXT]},
    "numbers": {"anyOf": [{"type": "array", "items": _NUMBER}, _TEXT]},
    "number": {"anyOf": [_NUMBER, _TEXT]},
    "flag": {"anyOf": [{"type": "boolean"}, _TEXT]},
    "text": _TEXT,
    "list": {"type": "array", "items": {"anyOf": [_NUMBER, _TEXT, {"$ref": "#/$defs/list"}]}},
}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


def _object(properties: Schema, required: tuple[str, ...] = ()) -> Schema:
    made: Schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return made | ({"required": list(required)} if required else {})


def _field(field: Field) -> Schema:
    made = {"enum": list(field.choices)} if field.kind == "choice" else _ref(field.kind)
    if field.default is None:
        made = {"anyOf": [made, {"type": "null"}]}
    elif not field.is_required:
        made["default"] = field.default
    return made | {"description": field.text}


def _block(kind: Kind) -> Schema:
    attributes = {field.name: _field(field) for field in (*(p.typed for p in kind.pins if p.typed), *kind.fields)}
    # `data_format` may stand in the text of `attrs`; a pin that may be typed need not be.
    attributes["attrs"] = {"type": "string", "description": "attributes as text: data_format_ = NDHWC;"}
    required = tuple(field.name for field in kind.fields if field.is_required)
    made = _object(
        {"id": _ref("id"), "op": {"const": kind.op}, "attrs": _object(attributes, required), "at": _ref("at")},
        ("id", "op", "attrs") if required else ("id", "op"),
    )
    return made | {"description": kind.summary}


def _value() -> Schema:
    seed = {"type": "integer", "minimum": 0, "maximum": 2**32 - 1}
    drawn = {"random": {"enum": ["normal", "uniform", "integers"]}, "seed": seed}
    forms = [
        _NUMBER,
        _TEXT,
        _ref("list"),
        _object({"range": {**_INTEGERS, "minItems": 2, "maxItems": 2}}, ("range",)),
        _object({**drawn, "low": {"type": "integer"}, "high": {"type": "integer"}}, ("random", "seed")),
        _object({"file": _TEXT, "key": _TEXT}, ("file",)),
    ]
    return {"anyOf": forms, "description": "numbers, a range, random numbers, or a file below the page's folder"}


def schema() -> Schema:
    """The schema of a ``*.pool.json`` file."""
    values = {"dtype": _TEXT, "shape": _INTEGERS, "value": _ref("value"), "tolerance": _NUMBER}
    wire = {"type": "array", "items": _ref("port"), "minItems": 2, "maxItems": 2}
    page = {
        "name": _TEXT,
        "blocks": {
            "type": "array",
            "maxItems": LIMITS.blocks,
            "items": {"oneOf": [_block(k) for k in BLOCKS.values()]},
        },
        "wires": {"type": "array", "maxItems": LIMITS.wires, "items": wire},
        "expect": {
            "type": "object",
            "additionalProperties": {"anyOf": [_object({"error": _TEXT}, ("error",)), _object(values)]},
        },
    }
    made = _object(
        {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "title": _TEXT,
            "pages": {"type": "array", "minItems": 1, "items": _object(page, ("blocks",))},
        },
        ("format", "version", "pages"),
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A file of poolgrad pages",
        **made,
        "$defs": {**_SHARED, "value": _value()},
    }
