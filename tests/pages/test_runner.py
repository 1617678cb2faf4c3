"""Pages compute what direct calls compute, and are compared with what they expect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from poolgrad import raw_ops
from poolgrad.outlines import outline
from poolgrad.pages import BLOCKS, Document, Outcome, Page, check, dumps, examples, load, loads, run, unmet
from poolgrad.pages.values import Value, array_of

from ..unit.good_calls import RAW


def as_page(op: str, arguments: dict[str, Any]) -> Page:
    """One call as a page: arrays in Const blocks, everything else typed."""
    page, wired = Page(), {}
    for name, array in arguments.items():
        if isinstance(array, np.ndarray):
            page.block(
                f"in_{name}", "Const", dtype=array.dtype.name, shape=list(array.shape), value=array.ravel().tolist()
            )
            wired[name] = f"in_{name}"
    return page.block("call", op, **(arguments | wired))


@pytest.mark.parametrize("op", RAW)
def test_every_op(op: str) -> None:
    page = loads(dumps(Document((as_page(op, RAW[op]),)))).page()
    done = run(page)
    assert done.problems == ()
    direct = getattr(raw_ops, op)(**RAW[op])
    parts = direct if isinstance(direct, tuple) else (direct,)
    for name, part in zip(raw_ops.OPS[op].outputs, parts, strict=True):
        np.testing.assert_array_equal(done.results[f"call.{name}"], part, strict=True)


@pytest.mark.parametrize("op", RAW)
def test_shapes_are_as_inferred(op: str) -> None:
    page = as_page(op, RAW[op])
    inferred = check(page).outlines
    assert {name: outline(array) for name, array in run(page).results.items()} == dict(inferred)


@given(
    size=st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9), st.integers(1, 3)),
    window=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    stride=st.tuples(st.integers(1, 3), st.integers(1, 3)),
    padding=st.sampled_from(["SAME", "VALID"]),
    data_format=st.sampled_from(["NHWC", "NCHW"]),
    seed=st.integers(0, 2**32 - 1),
    is_text=st.booleans(),
)
def test_random_pages(
    size: tuple[int, ...],
    window: tuple[int, ...],
    stride: tuple[int, ...],
    padding: str,
    data_format: str,
    seed: int,
    is_text: bool,
) -> None:
    """Forward, gradient and second gradient, wired, are what the three calls give; or fail where these fail."""
    arrange = (lambda n, h, w, c: [n, h, w, c]) if data_format == "NHWC" else (lambda n, h, w, c: [n, c, h, w])
    pooling: dict[str, Any] = {"ksize": arrange(1, *window, 1), "strides": arrange(1, *stride, 1), "padding": padding}
    pooling["data_format"] = data_format
    typed = {name: ",".join(map(str, v)) if is_text and isinstance(v, list) else v for name, v in pooling.items()}
    page = (
        Page()
        .block("x", "Random", shape=arrange(*size), seed=seed, distribution="integers", low=-3, high=3)
        .block("y", "MaxPool", input="x", **typed)
        .block("dx", "MaxPoolGrad", orig_input="x", orig_output="y", grad="y", **typed)
        .block("ddy", "MaxPoolGradGrad", orig_input="x", orig_output="y", grad="dx", **typed)
    )
    done = run(page)
    x = np.random.RandomState(seed).randint(-3, 4, arrange(*size), np.int64).astype(np.float32)
    np.testing.assert_array_equal(done.results["x.output"], x, strict=True)
    try:
        y = raw_ops.MaxPool(input=x, **pooling)
        dx = raw_ops.MaxPoolGrad(orig_input=x, orig_output=y, grad=y, **pooling)
        ddy = raw_ops.MaxPoolGradGrad(orig_input=x, orig_output=y, grad=dx, **pooling)
    except ValueError:
        assert done.problems
        return
    for name, array in {"y": y, "dx": dx, "ddy": ddy}.items():
        np.testing.assert_array_equal(done.results[f"{name}.output"], array, strict=True)


def results(page: Page) -> dict[str, Any]:
    done = run(page)
    assert done.problems == ()
    return dict(done.results)


X = Page().block("x", "Const", value=[[1, 2], [3, 4.5]])
PLAIN = [
    pytest.param(X, "x", [[1, 2], [3, 4.5]], "float32", id="Const"),
    pytest.param(Page().block("a", "Const", value=3), "a", 3, "float32", id="Const-number"),
    pytest.param(Page().block("a", "Const", value=3, shape=[2]), "a", [3, 3], "float32", id="Const-filled"),
    pytest.param(
        Page().block("a", "Const", value={"range": [2, 5]}, dtype="int16"), "a", [2, 3, 4, 5], "int16", id="range"
    ),
    pytest.param(
        Page().block("a", "Const", value=["1/3", "nan", "-inf"]),
        "a",
        [np.float32(1 / 3), np.nan, -np.inf],
        "float32",
        id="words",
    ),
    pytest.param(Page().block("a", "Const", value=2**63 - 1, dtype="int64"), "a", 2**63 - 1, "int64", id="int64"),
    pytest.param(
        Page().block("a", "Random", shape="3", distribution="integers", seed=7, dtype="int32"),
        "a",
        [4, 9, 6],
        "int32",
        id="Random-integers",
    ),
    pytest.param(Page().block("a", "Ones", shape=[2]), "a", [1, 1], "float32", id="Ones"),
    pytest.param(Page().block("a", "Zeros", shape="2,1", dtype="uint8"), "a", [[0], [0]], "uint8", id="Zeros"),
    pytest.param(
        Page().block("x", "Ones", shape=[2, 2]).block("a", "Shape", input="x"), "a", [2, 2], "int32", id="Shape"
    ),
    pytest.param(
        Page().block("x", "Ones", shape=[2, 3]).block("a", "Reshape", tensor="x", shape=[3, -1]),
        "a",
        [[1, 1], [1, 1], [1, 1]],
        "float32",
        id="Reshape",
    ),
    pytest.param(
        Page().block("x", "Const", value=[[1, 2], [3, 4]]).block("a", "Sum", input="x"), "a", 10, "float32", id="Sum"
    ),
    pytest.param(
        Page().block("x", "Const", value=[[1, 2], [3, 4]]).block("a", "Sum", input="x", axis=[-1], keep_dims=True),
        "a",
        [[3], [7]],
        "float32",
        id="Sum-axis",
    ),
    pytest.param(
        Page().block("x", "Const", value=[200, 100], dtype="uint8").block("a", "Sum", input="x"),
        "a",
        44,
        "uint8",
        id="Sum-wraps",
    ),
    pytest.param(
        Page().block("x", "Const", value=[40000, 40000, -40000], dtype="float16").block("a", "Sum", input="x"),
        "a",
        40000,
        "float16",
        id="Sum-wide",
    ),
    pytest.param(
        Page().block("x", "Const", value=[1, 2]).block("a", "Add", x="x", y="x"), "a", [2, 4], "float32", id="Add"
    ),
    pytest.param(
        Page().block("x", "Const", value=[1, 2]).block("a", "Sub", x="x", y="x"), "a", [0, 0], "float32", id="Sub"
    ),
    pytest.param(
        Page().block("x", "Const", value=[3, 2]).block("a", "Mul", x="x", y="x"), "a", [9, 4], "float32", id="Mul"
    ),
]


@pytest.mark.parametrize(("page", "block", "value", "dtype"), PLAIN)
def test_plain_blocks(page: Page, block: str, value: Any, dtype: str) -> None:
    np.testing.assert_array_equal(results(page)[f"{block}.output"], np.array(value, dtype), strict=True)


@pytest.mark.parametrize(
    ("x", "y", "tolerance", "different", "largest"),
    [
        ([1, 2], [1, 2], 0, 0, 0),
        ([1, 2], [1, 2.5], 0, 1, 0.5),
        ([1, 2], [1, 2.5], 0.5, 0, 0.5),
        (["nan", "inf"], ["nan", "inf"], 0, 0, 0),
        (["nan", 1], [1, "nan"], 9, 2, np.nan),
        (["inf", 1], ["-inf", 1], 9, 1, np.inf),
        ([], [], 0, 0, 0),
    ],
)
def test_compare(x: list[Any], y: list[Any], tolerance: float, different: int, largest: float) -> None:
    page = Page().block("x", "Const", value=x).block("y", "Const", value=y)
    found = results(page.block("c", "Compare", x="x", y="y", tolerance=tolerance))
    assert found["c.different"] == different
    np.testing.assert_array_equal(found["c.largest"], largest)


def test_every_block_is_tested() -> None:
    tested = {block.op for case in PLAIN for block in case.values[0].blocks} | set(RAW)  # type: ignore[union-attr]
    assert set(BLOCKS) - tested == {"Compare", "Result", "Note"}


def test_random_numbers_never_change() -> None:
    page = (
        Page().block("n", "Random", shape=[2], seed=7).block("u", "Random", shape=[2], seed=7, distribution="uniform")
    )
    found = results(page)
    assert found["n.output"].tolist() == np.array([1.690525703800356, -0.4659373705408328], np.float32).tolist()
    assert found["u.output"].tolist() == np.array([0.07630828937395717, 0.7799187922401146], np.float32).tolist()


def test_bfloat16() -> None:
    page = Page().block("x", "Const", value=["1/3"], dtype="bfloat16")
    assert float(results(page)["x.output"][0]) == 0.333984375


def test_fractional_sequences_are_wired() -> None:
    page = (
        Page()
        .block("x", "Const", shape=[1, 6, 7, 1], value={"range": [1, 42]})
        .block("y", "FractionalAvgPool", value="x", pooling_ratio="1,1.5,1.75,1", deterministic=True, seed=3, seed2=4)
        .block("shape", "Shape", input="x", out_type="int64")
        .block(
            "dx",
            "FractionalAvgPoolGrad",
            orig_input_tensor_shape="shape",
            out_backprop="y.output",
            row_pooling_sequence="y.row_pooling_sequence",
            col_pooling_sequence="y.col_pooling_sequence",
        )
        .block("kept", "Sum", input="dx")
    )
    found = results(page)
    assert found["kept.output"] == pytest.approx(found["y.output"].sum())
    assert check(page).outlines["dx.output"].shape == (1, 6, 7, 1)


def test_faults_that_only_data_shows() -> None:
    page = (
        Page()
        .block("x", "Ones", shape=[1, 1, 4, 1])
        .block("grad", "Ones", shape=[1, 1, 2, 1])
        .block("argmax", "Const", shape=[1, 1, 2, 1], value=[3, 4], dtype="int64")
        .block("dx", "MaxPoolGradWithArgmax", input="x", grad="grad", argmax="argmax", ksize=[1, 1, 2, 1],
               strides=[1, 1, 2, 1], padding="VALID")
        .block("end", "Result", input="dx")
    )  # fmt: skip
    assert check(page).problems == ()
    done = run(page)
    assert [(p.block, p.code, p.place) for p in done.problems] == [("dx", "PG203", "argmax"), ("end", "PG401", "")]
    assert "got 4" in done.problems[0].message


def test_progress_is_told() -> None:
    seen: list[Outcome] = []
    done = run(X, progress=seen.append)
    assert tuple(seen) == done.outcomes
    assert seen[0].seconds >= 0


@pytest.mark.parametrize("name", examples())
def test_examples_are_as_expected(name: str) -> None:
    for page in load(examples()[name]).pages:
        done = run(page)
        assert page.expect
        assert unmet(done) == ()
        assert bool(done.problems) == name.endswith("as-drawn")


def test_wrong_expectations_are_noticed() -> None:
    """Each number that a page expects is looked at: changed by a little, it is noticed."""
    for path in examples().values():
        for page in load(path).pages:
            done = run(page)
            for port, wanted in page.expect.items():
                if "value" not in wanted:
                    continue
                right = array_of(Value(wanted["value"]), done.results[port].dtype.name, done.results[port].shape)
                for number in range(right.size):
                    wrong = right.copy()
                    wrong.flat[number] += 1
                    changed = replace(page, expect={port: wanted | {"value": wrong.tolist()}})
                    assert len(unmet(replace(done, page=changed))) == 1 + len(done.problems)


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        pytest.param({"x.output": {"value": [[1, 2], [3, 4.5]]}}, None, id="right"),
        pytest.param({"x.output": {"value": [[1, 2], [3, 4]], "tolerance": 0.5}}, None, id="tolerance"),
        pytest.param(
            {"x.output": {"value": [[1, 2], [3, 4]], "tolerance": 0.4}}, "4.0 at [1, 1], got 4.5", id="beyond"
        ),
        pytest.param({"x.output": {"value": [[1, 2], [3, "nan"]]}}, "nan at [1, 1], got 4.5", id="nan"),
        pytest.param({"x.output": {"shape": [4]}}, "must be float32[4], got float32[2, 2]", id="shape"),
        pytest.param({"x.output": {"dtype": "float64"}}, "must be float64[2, 2], got float32[2, 2]", id="dtype"),
        pytest.param({"x.output": {"value": [1, 2, 3]}}, "cannot be read", id="count"),
        pytest.param({"x.result": {"value": 1}}, "no result", id="no-output"),
        pytest.param({"z.output": {"value": 1}}, "no result", id="no-block"),
        pytest.param({"x": {"error": "PG201"}}, "expected the error PG201, got none", id="no-error"),
    ],
)
def test_expectations(expect: dict[str, Any], message: str | None) -> None:
    problems = unmet(run(replace(X, expect=expect)))
    if message is None:
        assert problems == ()
    else:
        assert [problem.code for problem in problems] == ["PG501"]
        assert message in problems[0].message


def test_an_error_that_is_not_expected_is_a_fault() -> None:
    bad = Page().block("x", "Const", value=[1, 2], shape=[3])
    assert [problem.code for problem in unmet(run(bad))] == ["PG109"]
    bad.expect = {"x": {"error": "PG201"}}
    assert [problem.message for problem in unmet(run(bad))] == ["expected the error PG201, got PG109"]
    bad.expect = {"x": {"error": "PG109"}}
    assert unmet(run(bad)) == ()


def test_seed_pages_hold_the_documented_numbers() -> None:
    """Values recorded from TensorFlow 2.21 for the two documented pages, made right."""
    right = run(load(examples()["avgpool3d-grad"]))
    assert right.results["dx.output"].ravel().tolist() == [1, 3, 5, 7]
    document = load(examples()["maxpool3d-grad"])
    wired, ties = (run(page).results["dx.output"].ravel() for page in document.pages)
    assert {int(n): float(wired[n]) for n in np.flatnonzero(wired)} == {14: 3, 15: 4, 30: 5, 31: 6}
    assert {int(n): float(ties[n]) for n in np.flatnonzero(ties)} == {0: 3, 2: 3}
