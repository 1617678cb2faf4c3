"""Pages of enuSpace-TensorFlow: the JSON it writes for a page before a run, for the blocks that exist here.

Its Scope and ClientSession blocks are left out: a page is its own scope, and every block is computed. What else has
no counterpart becomes a Note that says so. Values are counted: too few or too many for the shape is a fault here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.files import normal_attributes
from poolgrad.pages.model import Block, Document, Page, Port, Wire
from poolgrad.pages.problems import fault

_DTYPES = {
    "double": "float64",
    "float": "float32",
    "int": "int32",
    "half": "float16",
    "DT_DOUBLE": "float64",
    "DT_FLOAT": "float32",
    "DT_HALF": "float16",
    "DT_BFLOAT16": "bfloat16",
    "DT_INT8": "int8",
    "DT_INT16": "int16",
    "DT_INT32": "int32",
    "DT_INT64": "int64",
    "DT_UINT8": "uint8",
    "DT_UINT16": "uint16",
}
_NEEDLESS = {"Scope", "ClientSession", "Status"}
_STEP = 220.0


def read_enuspace(data: bytes, title: str = "") -> Document:
    """A document from the bytes of such a file, UTF-16 as enuSpace writes it, or UTF-8."""
    try:
        encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        content = json.loads(data.decode(encoding))
    except (ValueError, RecursionError) as error:
        raise fault("PG001", f"this is not JSON in UTF-16 or UTF-8: {error}") from None
    objects = content.get("object") if isinstance(content, dict) else None
    if not isinstance(objects, list) or not all(isinstance(entry, dict) for entry in objects):
        raise fault("PG002", 'a page of enuSpace must be an object with a list "object"')
    page = Page()
    ids = _ids(objects)
    for number, entry in enumerate(objects):
        op = str(entry.get("symbol-name", "")).removeprefix("#")
        if op not in _NEEDLESS:
            _add(page, entry, op, ids, (number % 4 * _STEP, number // 4 * _STEP))
    kept = {block.id for block in page.blocks if block.op != "Note"}
    page.wires = [wire for wire in page.wires if {wire.source.block, wire.target.block} <= kept]
    return Document((page,), title)


def import_enuspace(path: str | Path) -> Document:
    """A document from a file that enuSpace wrote."""
    path = Path(path)
    try:
        return read_enuspace(path.read_bytes(), path.stem)
    except OSError as error:
        raise fault("PG001", f"cannot read {path}: {error.strerror or error}") from None


def _ids(objects: list[dict[str, Any]]) -> dict[str, str]:
    """Old ids to ids that are allowed here, each its own."""
    new: dict[str, str] = {}
    for entry in objects:
        old = str(entry.get("id", ""))
        name = re.sub(r"\W", "_", old, flags=re.ASCII)[:36]
        name = name if name[:1].isalpha() else f"b{name}"[:36]
        unique, number = name, 2
        while unique in new.values():
            unique, number = f"{name}_{number}", number + 1
        new[old] = unique
    return new


def _add(page: Page, entry: Mapping[str, Any], op: str, ids: Mapping[str, str], at: tuple[float, float]) -> None:
    block = ids[str(entry.get("id", ""))]
    pins = {str(pin.get("pin-name", "")): pin for pin in entry.get("input", []) if isinstance(pin, dict)}
    if op in ("Const", "Const_ex"):
        page.blocks.append(_const(block, pins, at))
        return
    kind = BLOCKS.get(op)
    if kind is None:
        page.blocks.append(Block(block, "Note", {"text": f"{op} has no counterpart here and was left out"}, at))
        return
    attrs = {}
    for name, pin in pins.items():
        source, typed = ids.get(str(pin.get("in-symbol-id", ""))), str(pin.get("pin-initial", "")).strip()
        if source and kind.pin(name):
            page.wires.append(Wire(Port(source, str(pin.get("in-symbol-pin-name", ""))), Port(block, name)))
        elif typed and (name == "attrs" or kind.field(name)):
            attrs[name] = typed
    made = Block(block, op, attrs, at)
    page.blocks.append(replace(made, attrs=normal_attributes(made)))


def _const(block: str, pins: Mapping[str, Mapping[str, Any]], at: tuple[float, float]) -> Block:
    value = pins.get("val", {})
    if value.get("pin-save") == "binary":
        return Block(block, "Note", {"text": "a Const whose numbers lie in a separate file was left out"}, at)
    named = str(pins.get("dtype", {}).get("pin-initial", "")).strip() or str(value.get("pin-type", "float"))
    attrs: dict[str, Any] = {"dtype": _DTYPES.get(named, named), "value": str(value.get("pin-initial", ""))}
    sizes = re.findall(r"\[(\d+)\]", str(value.get("pin-shape", "")))
    if sizes:
        attrs["shape"] = [int(size) for size in sizes]
    made = Block(block, "Const", attrs, at)
    return replace(made, attrs=normal_attributes(made))
