"""Faults are found before anything is computed, each on its block, pin or attribute, with its code."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poolgrad import raw_ops
from poolgrad.outlines import Outline
from poolgrad.pages import BLOCKS, CODES, LIMITS, Limits, Page, PageError, Port, Wire, check, run
from poolgrad.pages import checks as checks_module
from poolgrad.pages.checks import misfits

from ..unit.good_calls import RAW
from ..unit.wrong_arguments import sizes_and_words
from ..unit.wrong_arrays import arrays_and_numbers

AVERAGE: dict[str, Any] = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}


def page() -> Page:
    """A good page: a plane, its average, and the gradient back."""
    return (
        Page()
        .block("x", "Ones", shape=[1, 4, 4, 1])
        .block("y", "AvgPool", value="x", **AVERAGE)
        .block("shape", "Shape", input="x")
        .block("dx", "AvgPoolGrad", orig_input_shape="shape", grad="y", **AVERAGE)
        .block("end", "Result", input="dx")
    )


def changed(target: str, value: Any) -> Page:
    return page().with_attribute(target, value)


def rewired(source: str, target: str) -> Page:
    """The page with one wire more, which replaces the one at its pin."""
    new = Wire(Port(*source.split(".")), Port(*target.split(".")))
    made = page()
    return replace(made, wires=[*(wire for wire in made.wires if wire.target != new.target), new])


def test_good_page() -> None:
    checked = check(page())
    assert checked.problems == ()
    assert checked.outlines["dx.output"] == Outline((1, 4, 4, 1), "float32")
    assert [step.block.id for step in checked.steps] == ["x", "y", "shape", "dx", "end"]


FAULTS = [
    pytest.param(page().block("z", "Abacus"), "PG101", "z", "", id="unknown-op"),
    pytest.param(page().block("z", "avgpool"), "PG101", "z", "", id="op-in-small-letters"),
    pytest.param(changed("y.colour", "red"), "PG102", "y", "colour", id="unknown-attribute"),
    pytest.param(page().block("z", "AvgPool", value="x"), "PG103", "z", "ksize", id="missing-attribute"),
    pytest.param(page().block("z", "Random", shape="1", distribution="odd"), "PG203", "z", "distribution", id="choice"),
    pytest.param(changed("y.ksize", "1,2,2x,1"), "PG104", "y", "ksize", id="text"),
    pytest.param(changed("y.ksize", "1,2.5,2,1"), "PG205", "y", "ksize", id="fraction"),
    pytest.param(changed("y.ksize", [1, 2, 2]), "PG203", "y", "ksize", id="too-few"),
    pytest.param(changed("y.ksize", [2, 2, 2, 1]), "PG204", "y", "ksize", id="unsupported"),
    pytest.param(changed("y.data_format", "NDHWC"), "PG203", "y", "data_format", id="format"),
    pytest.param(changed("y.attrs", "format_ = NHWC;"), "PG102", "y", "format", id="unknown-in-attrs"),
    pytest.param(rewired("nobody.output", "y.value"), "PG105", "y", "value", id="from-nobody"),
    pytest.param(rewired("x.argmax", "y.value"), "PG105", "y", "value", id="unknown-output"),
    pytest.param(rewired("x.output", "y.grad"), "PG105", "y", "grad", id="unknown-pin"),
    pytest.param(rewired("x.output", "nobody.grad"), "PG105", "nobody", "grad", id="to-nobody"),
    pytest.param(rewired("end.output", "y.value"), "PG105", "y", "value", id="from-a-result"),
    pytest.param(page().block("z", "AvgPool", **AVERAGE), "PG106", "z", "value", id="not-wired"),
    pytest.param(page().block("z", "Ones"), "PG106", "z", "shape", id="not-wired-or-typed"),
    pytest.param(
        replace(page(), wires=[*page().wires, Wire(Port("y", "output"), Port("y", "value"))]),
        "PG107",
        "y",
        "value",
        id="two-wires",
    ),
    pytest.param(rewired("dx.output", "y.value"), "PG108", "y", "", id="circle"),
    pytest.param(rewired("y.output", "y.value"), "PG108", "y", "", id="itself"),
    pytest.param(rewired("x.output", "dx.grad"), "PG201", "dx", "grad", id="shape"),
    pytest.param(changed("x.dtype", "int32"), "PG202", "y", "value", id="dtype"),
    pytest.param(
        page().block("n", "Sum", input="x").block("z", "Zeros", shape="n"), "PG206", "z", "shape", id="computed-shape"
    ),
    pytest.param(page().block("z", "Const", value=[[1, 2], [3]]), "PG109", "z", "value", id="ragged"),
    pytest.param(page().block("z", "Const", value=[1, 2, 3], shape=[2]), "PG109", "z", "value", id="too-many-values"),
    pytest.param(page().block("z", "Const", value=[1], shape=[2, 2]), "PG109", "z", "value", id="too-few-values"),
    pytest.param(page().block("z", "Const", value=1.5, dtype="int32"), "PG109", "z", "value", id="not-whole"),
    pytest.param(page().block("z", "Const", value=300, dtype="uint8"), "PG109", "z", "value", id="out-of-range"),
    pytest.param(page().block("z", "Const", value={"range": [3, 1]}), "PG109", "z", "value", id="falling-range"),
    pytest.param(page().block("z", "Const", value={"code": "1"}), "PG109", "z", "value", id="unknown-value"),
    pytest.param(page().block("z", "Const", value="one"), "PG104", "z", "value", id="value-in-words"),
    pytest.param(page().block("z", "Const", value=["one"]), "PG109", "z", "value", id="words-in-a-list"),
    pytest.param(page().block("z", "Const", value={"file": "a.npy"}), "PG110", "z", "value", id="file-without-folder"),
    pytest.param(
        page().block("z", "Const", value={"random": "normal", "seed": 1}), "PG103", "z", "shape", id="random-shape"
    ),
    pytest.param(page().block("z", "Reshape", tensor="x", shape=[3, -1]), "PG203", "z", "shape", id="reshape"),
    pytest.param(page().block("z", "Sum", input="x", axis=[4]), "PG203", "z", "axis", id="axis"),
    pytest.param(page().block("z", "Sum", input="x", axis=[1, -3]), "PG203", "z", "axis", id="axis-twice"),
    pytest.param(page().block("z", "Add", x="x", y="y"), "PG201", "z", "y", id="add"),
    pytest.param(page().block("z", "Compare", x="x", y="shape"), "PG202", "z", "y", id="compare"),
    pytest.param(page().block("z", "Ones", shape=[4097, 4096]), "PG301", "z", "output", id="too-many-elements"),
    pytest.param(page().block("z", "Ones", shape=[2**40, 2**40]), "PG203", "z", "shape", id="beyond-64-bits"),
]


@pytest.mark.parametrize(("made", "code", "block", "place"), FAULTS)
def test_fault(made: Page, code: str, block: str, place: str) -> None:
    found = [problem for problem in check(made).problems if problem.block == block]
    assert [(problem.code, problem.place) for problem in found][:1] == [(code, place)], found
    assert all(problem.code in CODES and problem.page == "main" for problem in check(made).problems)


@pytest.mark.parametrize(("made", "code", "block", "place"), FAULTS)
def test_other_blocks_are_run_all_the_same(made: Page, code: str, block: str, place: str) -> None:
    done = run(made)
    statuses = {outcome.block: outcome.status for outcome in done.outcomes}
    assert statuses[block] == "failed"
    assert set(statuses) >= {one.id for one in made.blocks}
    for outcome in done.outcomes:
        if outcome.status == "waits":
            assert {problem.code for problem in outcome.problems} == {"PG401"}
        else:
            assert (outcome.status == "done") == (not outcome.problems)
    if block in ("z", "nobody"):
        assert statuses["end"] == "done"


def test_shape_fault_says_which_shape_fits() -> None:
    problem = check(rewired("x.output", "dx.grad")).problem("dx")
    assert problem is not None
    assert problem.expected == (1, 2, 2, 1)
    assert "[1,2,2,1]" in problem.message
    assert "[1,4,4,1]" in problem.message
    assert problem.as_json()["expected"] == [1, 2, 2, 1]


def test_blocks_behind_a_fault_wait() -> None:
    made = rewired("x.output", "dx.grad")
    assert [(p.block, p.code) for p in check(made).problems] == [("dx", "PG201"), ("end", "PG401")]
    assert [p.message for p in check(made).problems][1] == "waits for dx"


def test_blocks_behind_a_circle_wait() -> None:
    made = rewired("dx.output", "y.value")
    assert {p.block: p.code for p in check(made).problems} == {"y": "PG108", "dx": "PG108", "end": "PG401"}


def test_order_does_not_matter() -> None:
    made = page()
    checked = check(replace(made, blocks=made.blocks[::-1]))
    assert checked.problems == ()
    assert checked.outlines.keys() == check(made).outlines.keys()


def test_nothing_is_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page of a thousand times the memory of this machine is checked in no time."""
    monkeypatch.setattr(np, "ones", None)
    made = Page().block("x", "Ones", shape=[1, 2**22, 2**22, 1]).block("y", "AvgPool", value="x", **AVERAGE)
    unlimited = Limits(*[2**62] * 5)
    assert check(made, unlimited).outlines["y.output"].shape == (1, 2**21, 2**21, 1)


@pytest.mark.parametrize(("limit", "code"), [({"elements": 15}, "PG301"), ({"bytes": 16 * 4 - 1}, "PG302")])
def test_limits_are_kept_before_allocation(limit: dict[str, int], code: str) -> None:
    made = Page().block("x", "Ones", shape=[1, 4, 4, 1])
    assert check(made, replace(LIMITS, **{name: most + 1 for name, most in limit.items()})).problems == ()
    done = run(made, limits=replace(LIMITS, **limit))
    assert [problem.code for problem in done.problems] == [code]
    assert done.results == {}


def test_all_arrays_of_a_page_count() -> None:
    made = Page()
    for number in range(9):
        made.block(f"x{number}", "Ones", shape=[2**24], dtype="float32")
    codes = {problem.block: problem.code for problem in check(made).problems}
    assert codes == {"x8": "PG302"}


def test_default_limits() -> None:
    assert Limits(elements=2**24, bytes=2**29, blocks=500, wires=2000, file_bytes=2**20) == LIMITS


@pytest.mark.parametrize("name", RAW)
def test_every_op_is_a_block_of_the_table(name: str) -> None:
    kind, spec = BLOCKS[name], raw_ops.OPS[name]
    assert tuple(pin.name for pin in kind.pins) == spec.inputs
    assert tuple(field.name for field in kind.fields) == spec.attributes
    assert kind.outputs == spec.outputs
    assert all(pin.text for pin in kind.pins)
    assert all(field.text for field in kind.fields)


@pytest.mark.parametrize("name", BLOCKS)
def test_new_blocks_start_with_good_attributes(name: str) -> None:
    """What an editor writes into a new block is right for an input of a usual shape."""
    kind = BLOCKS[name]
    rank = 5 if "3D" in name else 4
    made = Page().block("x", "Ones", shape=[1, *[6] * (rank - 2), 1])
    attrs = {field.name: field.initial for field in kind.fields if field.initial is not None}
    attrs |= {pin.name: pin.typed.initial for pin in kind.pins if pin.typed and pin.typed.initial is not None}
    made.block("new", name, **attrs)
    for pin in kind.pins:
        if pin.name not in attrs:
            made.wires.append(Wire(Port("x", "output"), Port("new", pin.name)))
    codes = {problem.code for problem in check(made).problems if problem.block == "new"}
    # Gradients want shapes that one source cannot give: only the attributes have to be right.
    assert codes <= {"PG201", "PG202", "PG206", "PG203" if name == "Reshape" else "PG201"}, check(made).problems


WRONG = [
    wrong for wrong in (*sizes_and_words(), *arrays_and_numbers()) if wrong.name in RAW and len(wrong.changes) == 1
]


@pytest.mark.parametrize("wrong", [pytest.param(wrong, id=wrong.id) for wrong in WRONG])
def test_the_argument_of_an_error_is_found(wrong: Any) -> None:
    """Errors name their argument first: what the editor marks is what is wrong."""
    (argument,) = wrong.changes
    with pytest.raises(wrong.error) as caught:
        getattr(raw_ops, wrong.name)(**(RAW[wrong.name] | wrong.changes))
    made = Page().block("b", wrong.name)
    problem = checks_module.problem_of(caught.value, made, made.blocks[0])
    related = {argument} | RELATED.get(argument, set())
    assert problem.place in related, str(caught.value)


# A fault between two arguments may be laid to either.
DATA = {"grad", "orig_output", "orig_input", "out_backprop", "argmax", "input", "value"}
RELATED: dict[str, set[str]] = {
    "orig_input_shape": {"grad", "ksize"},
    "orig_input_tensor_shape": {"out_backprop", "row_pooling_sequence", "col_pooling_sequence"},
    "padding": {"explicit_paddings", "ksize"},
    "data_format": {"ksize", "strides"},
    "ksize": DATA | {"strides", "explicit_paddings"},
    "strides": DATA | {"ksize"},
    "deterministic": {"seed"},
    "seed2": {"seed"},
    "pooling_ratio": {"value"},
    **{name: DATA | {"ksize", "pooling_ratio", "row_pooling_sequence", "col_pooling_sequence"} for name in DATA},
}


@pytest.mark.parametrize(
    ("name", "key", "message"),
    [
        pytest.param("../out.npy", None, "below the page's folder", id="above"),
        pytest.param("/etc/passwd", None, "below the page's folder", id="absolute"),
        pytest.param("link.npy", None, "below the page's folder", id="link"),
        pytest.param("a\0.npy", None, "below the page's folder", id="null"),
        pytest.param("none.npy", None, "cannot open", id="missing"),
        pytest.param("page.txt", None, "must be .npy or .npz", id="other-kind"),
        pytest.param("all.npz", "y", "cannot open", id="no-key"),
        pytest.param("broken.npz", "x", "cannot open", id="broken"),
        pytest.param("objects.npy", None, "object", id="pickle"),
        pytest.param("text.npy", None, "must hold an array", id="no-array"),
    ],
)
def test_files_of_a_page(tmp_path: Path, name: str, key: str | None, message: str) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    np.save(tmp_path / "out.npy", np.zeros(3, np.float32))
    (folder / "link.npy").symlink_to(tmp_path / "out.npy")
    np.savez(folder / "all.npz", x=np.arange(3, dtype=np.float32))
    (folder / "broken.npz").write_bytes(b"PK")
    np.save(folder / "objects.npy", np.array([{}], object), allow_pickle=True)
    (folder / "text.npy").write_text("no array")
    form = {"file": name} | ({} if key is None else {"key": key})
    made = replace(Page().block("x", "Const", value=form), folder=folder)
    (problem,) = check(made).problems
    assert problem.code in ("PG110", "PG202")
    assert message in problem.message
    fine = replace(Page().block("x", "Const", value={"file": "all.npz", "key": "x"}, shape=[3, 1]), folder=folder)
    assert run(fine).results["x.output"].tolist() == [[0], [1], [2]]


def test_large_file_is_refused_by_its_header(tmp_path: Path) -> None:
    with (tmp_path / "large.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": (2**30,)})
    made = replace(Page().block("x", "Const", value={"file": "large.npy"}), folder=tmp_path)
    assert [problem.code for problem in check(made).problems] == ["PG301"]


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("x.output", "dx.grad", "PG201"),
        ("x.output", "dx.orig_input_shape", "PG206"),
        ("shape.output", "y.value", "PG202"),
        ("dx.output", "y.value", "PG108"),
        ("y.output", "y.value", "PG108"),
        ("y.output", "dx.grad", None),
        ("y.output", "end.input", None),
        ("shape.output", "dx.orig_input_shape", None),
    ],
)
def test_wires_that_would_not_fit(source: str, target: str, code: str | None) -> None:
    found = misfits(page(), Port(*source.split("."))).get(target)
    assert (found and found.code) == code
    # The same wire, drawn, has the same fault.
    problem = check(rewired(source, target)).problem(target.partition(".")[0])
    assert (problem and problem.code) == code


def test_wires_to_blocks_that_lack_others_are_not_refused() -> None:
    made = page().block("new", "AvgPoolGrad", **AVERAGE)
    assert "new.grad" not in misfits(made, Port("y", "output"))


def test_bad_ids_are_refused() -> None:
    with pytest.raises(PageError, match="PG005"):
        check(Page().block("a b", "Note", text=""))
    with pytest.raises(PageError, match="PG006"):
        check(Page().block("a", "Note", text="").block("a", "Note", text=""))
