"""Pages as files: ``*.pool.json``, UTF-8, keys in a fixed order, one block a line, results never stored."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from poolgrad.arguments import describe
from poolgrad.errors import RAISED
from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.fields import read, spelled_out
from poolgrad.pages.model import LIMITS, Block, Document, Limits, Page, Wire, check_names, port
from poolgrad.pages.problems import PageError, fault

FORMAT, VERSION = "poolgrad-page", 1
SUFFIX = ".pool.json"


def load(path: str | Path, limits: Limits = LIMITS) -> Document:
    """Read a file of pages.

    >>> load(examples()["avgpool-grad"]).title
    'AvgPoolGrad: overlapping windows'
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > limits.file_bytes:
            raise fault("PG303", f"a file must have at most {limits.file_bytes} bytes, got {size}: {path.name}")
        data = path.read_bytes()
    except OSError as error:
        raise fault("PG001", f"cannot read {path}: {error.strerror or error}") from None
    return loads(data, folder=path.resolve().parent, limits=limits)


def loads(data: str | bytes, *, folder: Path | None = None, limits: Limits = LIMITS) -> Document:
    """Read pages from text; files of Const blocks are looked for in ``folder``."""
    if len(data) > limits.file_bytes:
        raise fault("PG303", f"a file must have at most {limits.file_bytes} bytes, got {len(data)}")
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        content = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except PageError:
        raise
    except (ValueError, RecursionError) as error:
        raise fault("PG001", f"this is not JSON in UTF-8: {error}") from None
    return _document(content, folder, limits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        names = [name for name, _ in pairs]
        raise fault("PG002", f"a name must occur once, got {next(n for n in names if names.count(n) > 1)!r} twice")
    return content


def _constant(word: str) -> Any:
    raise fault("PG001", f'JSON has no {word}: write "nan", "inf" or "-inf" as text')


def _taken(where: str, content: Any, fields: Mapping[str, tuple[Any, Any]]) -> dict[str, Any]:
    """The fields of an object, each of its types, those left out by their defaults. ``...`` marks one that must be."""
    if not isinstance(content, dict):
        raise fault("PG002", f"{where} must be an object, got {describe(content)}")
    for name in content:
        if name not in fields:
            raise fault("PG003", f"{where} must have no field {name!r}, only {', '.join(fields)}")
    taken = {}
    for name, (kinds, default) in fields.items():
        if name not in content:
            if default is ...:
                raise fault("PG002", f"{where} must have a field {name!r}")
            taken[name] = default
            continue
        given = content[name]
        if not isinstance(given, kinds) or isinstance(given, bool):
            words = {str: "text", list: "a list", dict: "an object", int: "a whole number"}
            wanted = words[kinds if isinstance(kinds, type) else kinds[0]]
            raise fault("PG002", f"{where}.{name} must be {wanted}, got {describe(given)}")
        taken[name] = given
    return taken


def _document(content: Any, folder: Path | None, limits: Limits) -> Document:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise fault("PG002", f'a file of pages must be an object with "format": "{FORMAT}"')
    version = content.get("version")
    if version != VERSION or isinstance(version, bool):
        raise fault("PG004", f"version must be {VERSION}, the one this poolgrad can read, got {describe(version)}")
    fields = {"format": (str, ...), "version": (int, ...), "title": (str, ""), "pages": (list, ...)}
    taken = _taken("the file", content, fields)
    if not taken["pages"]:
        raise fault("PG002", "the file must have a page")
    pages = tuple(_page(f"pages[{n}]", entry, folder, limits) for n, entry in enumerate(taken["pages"]))
    names = [page.name for page in pages]
    if len(set(names)) != len(names):
        raise fault("PG006", f"two pages have the same name: {', '.join(map(repr, names))}")
    return Document(pages, taken["title"])


def _page(where: str, content: Any, folder: Path | None, limits: Limits) -> Page:
    fields = {"name": (str, "main"), "blocks": (list, ...), "wires": (list, []), "expect": (dict, {})}
    taken = _taken(where, content, fields)
    blocks = [_block(f"{where}.blocks[{n}]", entry) for n, entry in enumerate(taken["blocks"])]
    wires = [_wire(f"{where}.wires[{n}]", entry) for n, entry in enumerate(taken["wires"])]
    expect = {name: _expected(f"{where}.expect.{name}", entry) for name, entry in taken["expect"].items()}
    page = Page(taken["name"], blocks, wires, expect, folder)
    check_names(page, limits)
    return page


def _block(where: str, content: Any) -> Block:
    taken = _taken(where, content, {"id": (str, ...), "op": (str, ...), "attrs": (dict, {}), "at": (list, None)})
    at = taken["at"]
    if at is not None and not (len(at) == 2 and all(isinstance(n, int | float) and n is not True for n in at)):
        raise fault("PG002", f"{where}.at must be two numbers, got {describe(at)}")
    return Block(taken["id"], taken["op"], taken["attrs"], None if at is None else (at[0], at[1]))


def _wire(where: str, content: Any) -> Wire:
    if not (isinstance(content, list) and len(content) == 2 and all(isinstance(end, str) for end in content)):
        raise fault("PG002", f'{where} must be a pair such as ["x.output", "y.input"], got {describe(content)}')
    return Wire(port(content[0]), port(content[1]))


def _expected(where: str, content: Any) -> dict[str, Any]:
    if isinstance(content, dict) and "error" in content:
        return _taken(where, content, {"error": (str, ...)})
    numbers = (int, float)
    fields: dict[str, Any] = {"dtype": (str, None), "shape": (list, None), "tolerance": (numbers, None)}
    fields["value"] = ((list, dict, str, *numbers), None)
    return {name: given for name, given in _taken(where, content, fields).items() if given is not None}


def dumps(document: Document) -> str:
    """The file's text: the same for the same pages, attributes as JSON even if they were typed."""
    head = [f'"format": "{FORMAT}"', f'"version": {VERSION}']
    head += [f'"title": {_json(document.title)}'] if document.title else []
    pages = ",\n".join(_page_text(page) for page in document.pages)
    return f'{{{", ".join(head)},\n "pages": [\n{pages}]}}\n'


def save(document: Document, path: str | Path) -> None:
    """Write the file."""
    Path(path).write_text(dumps(document), encoding="utf-8", newline="\n")


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def _page_text(page: Page) -> str:
    blocks = ",\n".join(f"     {_json(_block_json(block))}" for block in page.blocks)
    wires = ",\n".join(f"     {_json([str(wire.source), str(wire.target)])}" for wire in page.wires)
    parts = [f'  {{"name": {_json(page.name)}', f'   "blocks": [\n{blocks}]' if blocks else '   "blocks": []']
    if wires:
        parts.append(f'   "wires": [\n{wires}]')
    if page.expect:
        rows = ",\n".join(f"     {_json(name)}: {_json(wanted)}" for name, wanted in page.expect.items())
        parts.append(f'   "expect": {{\n{rows}}}')
    return ",\n".join(parts) + "}"


def _block_json(block: Block) -> dict[str, Any]:
    content: dict[str, Any] = {"id": block.id, "op": block.op}
    if block.attrs:
        content["attrs"] = normal_attributes(block)
    if block.at is not None:
        content["at"] = [int(number) if number == int(number) else number for number in block.at]
    return content


def normal_attributes(block: Block) -> dict[str, Any]:
    """Attributes as typed JSON in the order of the block's fields; what cannot be read stays as it is."""
    kind = BLOCKS.get(block.op)
    if kind is None:
        return dict(block.attrs)
    try:
        attrs = spelled_out(block.attrs)
    except PageError:
        attrs = dict(block.attrs)
    order = [*(pin.name for pin in kind.pins), *(field.name for field in kind.fields)]
    normal = {}
    for name in sorted(attrs, key=lambda name: order.index(name) if name in order else len(order)):
        field = kind.field(name)
        try:
            normal[name] = read(field, attrs[name]) if field else attrs[name]
        except (*RAISED, PageError):
            normal[name] = attrs[name]
    return normal


def examples() -> dict[str, Path]:
    """The pages that come with the package, by their names."""
    folder = Path(__file__).parent / "examples"
    return dict(sorted((path.name.removesuffix(SUFFIX), path) for path in folder.glob(f"*{SUFFIX}")))
