"""Exported programs compute what their pages compute; imported pages are what was drawn."""

from __future__ import annotations

import json
from typing import Any
from xml.etree import ElementTree

import nbformat
import numpy as np
import pytest

from poolgrad.pages import Page, PageError, check, dumps, examples, load, run, unmet
from poolgrad.pages.enuspace import read_enuspace
from poolgrad.pages.export import FORMATS, export

from ..unit.good_calls import RAW
from .test_runner import as_page

POOL: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}

EVERYTHING = (
    Page()
    .block("note", "Note", text="two\nlines")
    .block("a", "Const", value=[["1/3", "nan"], ["-inf", 4]])
    .block("b", "Const", value={"range": [1, 16]}, shape=[1, 4, 4, 1], dtype="int16")
    .block("c", "Const", value=2.5, shape=[2])
    .block("d", "Const", value={"random": "integers", "seed": 3, "high": 5}, shape=[1, 4, 4, 1])
    .block("lambda", "Random", shape=[1, 4, 4, 1], seed=4)
    .block("n", "Random", shape="2", seed=4, distribution="uniform", dtype="float64")
    .block("shape", "Shape", input="d")
    .block("e", "Zeros", shape="shape")
    .block("f", "Reshape", tensor="d", shape="4,-1")
    .block("g", "Sum", input="f", axis=[1])
    .block("h", "Sum", input="b", keep_dims=True)
    .block("np", "Sub", x="d", y="lambda")
    .block("y", "MaxPoolWithArgmax", input="d", **POOL, Targmax="int32")
    .block("y_output", "Ones", shape=[1])
    .block("dx", "MaxPoolGradWithArgmax", input="d", grad="y.output", argmax="y.argmax", **POOL)
    .block("same", "Compare", x="dx", y="d")
    .block("k", "Const", value=[1, 2, 2, 1], dtype="int32")
    .block("v2", "MaxPoolV2", input="b", ksize="k", strides="k", padding="SAME")
    .block("end", "Result", input="dx")
)


def executed(code: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(compile(code, "exported", "exec"), names)
    return names


def assert_same(page: Page, names: dict[str, Any]) -> None:
    """Every result of the page is a variable of the program: the block's id, or with the output's name."""
    for port, array in run(page).results.items():
        block, output = port.split(".")
        candidates = [f"{block}_{output}", f"{block}_{output}_", f"{block}_", block]
        name = next(name for name in candidates if isinstance(names.get(name), np.ndarray | np.generic | int))
        np.testing.assert_array_equal(names[name], array)
        if not isinstance(names[name], int):
            assert names[name].dtype == array.dtype, port


@pytest.mark.parametrize(
    "page",
    [
        *(pytest.param(as_page(op, given), id=op) for op, given in RAW.items()),
        *(pytest.param(page, id=f"{n}-{page.name}") for n, p in examples().items() for page in load(p).pages),
    ],
)
def test_program_gives_the_same(page: Page) -> None:
    if check(page).problems:
        with pytest.raises(PageError, match="PG201"):
            export(page, "python")
        return
    assert_same(page, executed(export(page, "python")))


def test_everything_that_is_exported(capsys: pytest.CaptureFixture[str]) -> None:
    code = export(EVERYTHING, "python")
    names = executed(code)
    assert "# two\n# lines\n" in code
    assert capsys.readouterr().out.startswith("[[[[")
    for port, name in {
        "lambda.output": "lambda_",
        "np.output": "np_",
        "y.output": "y_output_",
        "y.argmax": "y_argmax",
        "y_output.output": "y_output",
        "dx.output": "dx",
        "h.output": "h",
        "same.different": "same_different",
    }.items():
        np.testing.assert_array_equal(names[name], run(EVERYTHING).results[port])
    assert max(map(len, code.splitlines())) < 200


def test_tensorflow_program_is_the_same_but_for_the_library() -> None:
    plain, foreign = (export(load(examples()["tour"]), form) for form in ("python", "tensorflow"))
    assert "poolgrad" not in foreign
    assert foreign.replace("import tensorflow as tf", "import poolgrad").replace("tf.raw", "poolgrad.raw") == plain


@pytest.mark.tensorflow
@pytest.mark.parametrize("name", [name for name in examples() if not name.endswith("as-drawn")])
def test_tensorflow_gives_the_same(name: str) -> None:
    for page in load(examples()[name]).pages:
        names = executed(export(page, "tensorflow"))
        for port, array in run(page).results.items():
            if port in page.expect:
                name = port.removesuffix(".output").replace(".", "_")
                np.testing.assert_allclose(np.asarray(names[name]), array, rtol=1e-6)


def test_notebook() -> None:
    text = export(load(examples()["tour"]), "notebook")
    book = nbformat.reads(text, as_version=4)
    nbformat.validate(book)
    assert book.cells[0].source.startswith("# Tour")
    code = "\n".join(cell.source for cell in book.cells if cell.cell_type == "code")
    assert executed(code)["slope"] == 61


def test_names_of_formats() -> None:
    assert set(FORMATS) == {"python", "tensorflow", "notebook", "svg"}


def test_svg_shows_blocks_shapes_and_faults() -> None:
    """A page that cannot run is drawn all the same."""
    text = export(load(examples()["maxpool3d-grad-as-drawn"]), "svg")
    root = ElementTree.fromstring(text)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    words = [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert {"MaxPool3DGrad", "orig_output", "ksize 1,2,2,2,1", "output float32[2,2,2,2,2]"} <= set(words)
    assert "PG201 shape-mismatch" in words
    assert 'class="wire cut"' in text
    assert "<script" not in text


def test_svg_escapes_what_is_typed() -> None:
    page = Page().block("x", "Const", value={"file": "<script>&.npy"}).block("y", "Sum", input="x", axis="<b>")
    root = ElementTree.fromstring(export(page, "svg"))
    assert not [element for element in root.iter() if element.tag.endswith(("script", "}b"))]


def pin(name: str, **given: str) -> dict[str, str]:
    return {"pin-name": name, **{key.replace("_", "-"): value for key, value in given.items()}}


def wired(name: str, block: str) -> dict[str, str]:
    return pin(name, pin_interface="Input", in_symbol_id=block, in_symbol_pin_name="output")


def enuspace(grad_shape: str, grad: str, data_format: str = "NDHWC") -> bytes:
    """The AvgPool3DGrad page as enuSpace writes it before a run."""
    pooling = [
        pin("ksize", pin_initial="1,4,3,2,1"),
        pin("strides", pin_initial="{1,4,3,2,1}"),
        pin("padding", pin_initial="SAME"),
        pin("attrs", pin_initial=f"data_format_ = {data_format};"),
    ]
    scope = pin("scope", pin_interface="Scope")
    value = pin("val", pin_type="int", pin_shape="[5]", pin_initial="2;1;1;1;2")
    values = pin("val", pin_type="float", pin_shape=grad_shape, pin_initial=grad)
    objects = [
        {"symbol-name": "#Scope", "id": "ID_s", "input": [], "output": []},
        {"symbol-name": "#Const", "id": "ID-1", "input": [scope, value]},
        {"symbol-name": "#Const_ex", "id": "2", "input": [scope, pin("dtype", pin_initial="DT_FLOAT"), values]},
        {
            "symbol-name": "#AvgPool3DGrad",
            "id": "ID_3",
            "input": [scope, wired("orig_input_shape", "ID-1"), wired("grad", "2"), *pooling],
        },
        {"symbol-name": "#Softmax", "id": "ID_4", "input": [wired("logits", "ID_3")]},
        {"symbol-name": "#ClientSession", "id": "ID_5", "input": [wired("fetch_outputs", "ID_3")]},
    ]
    return json.dumps({"object": objects}).encode("utf-16")


def test_import_of_a_right_page() -> None:
    page = read_enuspace(enuspace("[2][1][1][1][2]", "1,3,5,7")).page()
    assert [(block.id, block.op) for block in page.blocks] == [
        ("ID_1", "Const"),
        ("b2", "Const"),
        ("ID_3", "AvgPool3DGrad"),
        ("ID_4", "Note"),
    ]
    assert page.blocks[2].attrs["data_format"] == "NDHWC"
    assert page.blocks[2].attrs["ksize"] == [1, 4, 3, 2, 1]
    page.expect = {"ID_3.output": {"shape": [2, 1, 1, 1, 2], "value": [1, 3, 5, 7]}}
    assert unmet(run(page)) == ()


@pytest.mark.parametrize(
    ("data", "block", "code"),
    [
        pytest.param(enuspace("[2][2][2][2][2]", ",".join(map(str, range(1, 33)))), "ID_3", "PG201", id="as-drawn"),
        pytest.param(enuspace("[2][1][1][1][2]", "1,3,5,7", "NHWC"), "ID_3", "PG203", id="palette-default"),
        pytest.param(enuspace("[2][1][1][1][2]", "1,3,5"), "b2", "PG109", id="too-few"),
        pytest.param(enuspace("[2][1][1][1][2]", "1,3,5,7x"), "b2", "PG104", id="no-number"),
    ],
)
def test_import_shows_what_was_wrong(data: bytes, block: str, code: str) -> None:
    problem = check(read_enuspace(data).page()).problem(block)
    assert problem is not None
    assert problem.code == code


def test_import_can_be_saved() -> None:
    document = read_enuspace(enuspace("[2][1][1][1][2]", "1,3,5,7"), "old")
    assert '"title": "old"' in dumps(document)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"object": [1]}', b'{"object": 3}', b"\xff\xfe\x00"])
def test_what_is_no_enuspace_page_is_refused(data: bytes) -> None:
    with pytest.raises(PageError, match=r"PG00[12]"):
        read_enuspace(data)


def test_binary_values_are_left_out_with_a_word() -> None:
    value = pin("val", pin_save="binary", pin_binary_pos="0", pin_type="float", pin_shape="[2]")
    data = json.dumps({"object": [{"symbol-name": "#Const", "id": "a", "input": [value]}]}).encode()
    (block,) = read_enuspace(data).page().blocks
    assert block.op == "Note"
    assert "separate file" in block.attrs["text"]
