"""The file format: read strictly, written the same way every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from poolgrad.pages import Document, Page, PageError, dumps, examples, load, loads, save
from poolgrad.pages.schema import schema

SCHEMA = jsonschema.Draft202012Validator(schema())


def good() -> dict[str, Any]:
    """A page that may be changed."""
    blocks = [
        {"id": "x", "op": "Const", "attrs": {"shape": [1, 2, 2, 1], "value": {"range": [1, 4]}}, "at": [0, 0.5]},
        {"id": "y", "op": "MaxPool", "attrs": {"ksize": "1,2,2,1", "strides": [1, 2, 2, 1], "padding": "SAME"}},
    ]
    page = {"name": "main", "blocks": blocks, "wires": [["x.output", "y.input"]], "expect": {"y.output": {"value": 4}}}
    return {"format": "poolgrad-page", "version": 1, "title": "t", "pages": [page]}


def changed(path: str, value: Any) -> dict[str, Any]:
    """The good page with one thing changed, or taken out where the value is ``...``."""
    document: Any = good()
    place = document
    *above, last = [int(part) if part.isdigit() else part for part in path.split("/")]
    for part in above:
        place = place[part]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return dict(document)


def test_good() -> None:
    document = loads(json.dumps(good()))
    assert document.title == "t"
    assert [block.op for block in document.page().blocks] == ["Const", "MaxPool"]
    SCHEMA.validate(good())


BAD = [
    ("format", "page", "PG002"),
    ("format", ..., "PG002"),
    ("version", 2, "PG004"),
    ("version", True, "PG004"),
    ("version", "1", "PG004"),
    ("title", 3, "PG002"),
    ("colour", "red", "PG003"),
    ("pages", [], "PG002"),
    ("pages", {}, "PG002"),
    ("pages/0", [], "PG002"),
    ("pages/0/blocks", ..., "PG002"),
    ("pages/0/script", "print()", "PG003"),
    ("pages/0/blocks/0", "Const", "PG002"),
    ("pages/0/blocks/0/id", ..., "PG002"),
    ("pages/0/blocks/0/id", 3, "PG002"),
    ("pages/0/blocks/0/id", "1x", "PG005"),
    ("pages/0/blocks/0/id", "x.y", "PG005"),
    ("pages/0/blocks/0/id", "x" * 41, "PG005"),
    ("pages/0/blocks/0/id", "ä", "PG005"),
    ("pages/0/blocks/0/result", [1], "PG003"),
    ("pages/0/blocks/0/at", [1], "PG002"),
    ("pages/0/blocks/0/at", ["a", 1], "PG002"),
    ("pages/0/blocks/0/attrs", [], "PG002"),
    ("pages/0/wires/0", ["x.output"], "PG002"),
    ("pages/0/wires/0", "x.output", "PG002"),
    ("pages/0/wires/0", ["x", "y.input"], "PG105"),
    ("pages/0/expect/y.output", {"values": 4}, "PG003"),
    ("pages/0/expect/y.output", 4, "PG002"),
    ("pages/0/expect/y.output", {"error": 4}, "PG002"),
]


@pytest.mark.parametrize(
    ("path", "value", "code"), [pytest.param(*row, id=f"{row[0]}={str(row[1])[:12]}") for row in BAD]
)
def test_bad_files_are_refused(path: str, value: Any, code: str) -> None:
    with pytest.raises(PageError) as caught:
        loads(json.dumps(changed(path, value)))
    assert caught.value.code == code
    assert not SCHEMA.is_valid(changed(path, value))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        pytest.param(b"\xff\xfe{}", "PG001", id="not-utf8"),
        pytest.param("{", "PG001", id="not-json"),
        pytest.param("[" * 100_000, "PG001", id="deep"),
        pytest.param('{"format": "poolgrad-page", "version": NaN}', "PG001", id="nan"),
        pytest.param('{"format": "a", "format": "poolgrad-page"}', "PG002", id="twice"),
        pytest.param("1" * 5000, "PG001", id="digits"),
        pytest.param("[]", "PG002", id="list"),
        pytest.param(" " * (2**20 + 1), "PG303", id="long"),
    ],
)
def test_what_is_no_page_is_refused(text: str | bytes, code: str) -> None:
    with pytest.raises(PageError) as caught:
        loads(text)
    assert caught.value.code == code


def test_two_blocks_or_pages_of_one_name() -> None:
    document = good()
    document["pages"][0]["blocks"][1]["id"] = "x"
    with pytest.raises(PageError, match="PG006"):
        loads(json.dumps(document))
    document = good()
    document["pages"] *= 2
    with pytest.raises(PageError, match="PG006"):
        loads(json.dumps(document))


@pytest.mark.parametrize(("what", "most"), [("blocks", 500), ("wires", 2000)])
def test_too_much_on_a_page(what: str, most: int) -> None:
    rows = {
        "blocks": [{"id": f"n{n}", "op": "Note", "attrs": {"text": ""}} for n in range(most + 1)],
        "wires": [["x.output", "y.input"]] * (most + 1),
    }
    for count, fits in ((most, True), (most + 1, False)):
        text = json.dumps(changed(f"pages/0/{what}", rows[what][:count]))
        if fits:
            assert loads(text).pages
        else:
            with pytest.raises(PageError, match="PG303"):
                loads(text)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(PageError, match="PG001"):
        load(tmp_path / "none.pool.json")
    with pytest.raises(PageError, match="PG001"):
        load(tmp_path)
    large = tmp_path / "large.pool.json"
    large.write_bytes(b" " * (2**20 + 1))
    with pytest.raises(PageError, match="PG303"):
        load(large)


def test_unknown_page() -> None:
    with pytest.raises(PageError, match=r"PG007.*'main'"):
        loads(json.dumps(good())).page("other")


@pytest.mark.parametrize("path", examples().values(), ids=examples())
def test_written_as_read(path: Path, tmp_path: Path) -> None:
    document = load(path)
    assert dumps(document) == path.read_text("utf-8")
    save(document, tmp_path / "again.pool.json")
    again = load(tmp_path / "again.pool.json")
    assert dumps(again) == dumps(document)
    SCHEMA.validate(json.loads(path.read_text("utf-8")))


def test_text_is_written_back_as_json() -> None:
    page = Page().block("y", "AvgPool3D", ksize="{1,2,2,2,1}", padding=" SAME ", attrs="data_format_ = NDHWC;")
    content = json.loads(dumps(Document((page,))))
    wanted = {"ksize": [1, 2, 2, 2, 1], "padding": "SAME", "data_format": "NDHWC"}
    assert content["pages"][0]["blocks"][0]["attrs"] == wanted


def test_what_cannot_be_read_is_kept() -> None:
    page = Page().block("y", "AvgPool", ksize="2x", attrs="oops").block("z", "Nothing", a=1)
    content = json.loads(dumps(Document((page,))))
    assert [block["attrs"] for block in content["pages"][0]["blocks"]] == [{"ksize": "2x", "attrs": "oops"}, {"a": 1}]


def test_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


def test_shipped_schema_is_up_to_date() -> None:
    import poolgrad.pages

    path = Path(poolgrad.pages.__file__).parent / "page.schema.json"
    assert json.loads(path.read_text("utf-8")) == schema(), "run `nox -s readme`"
