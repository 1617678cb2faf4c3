"""What the studio's server answers, without a browser."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from poolgrad.pages import BLOCKS, Page, examples, load
from poolgrad.studio import server

from .asking import TOUR, ran, text_of


def test_start(client: TestClient) -> None:
    content = client.get("/api/start").json()
    assert [block["op"] for block in content["blocks"]] == list(BLOCKS)
    grad = next(block for block in content["blocks"] if block["op"] == "AvgPool3DGrad")
    initial = {field["name"]: field["initial"] for field in grad["fields"]}
    assert initial == {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME", "data_format": "NDHWC"}
    assert set(content["examples"]) == set(examples())


def test_examples(client: TestClient) -> None:
    for name, path in examples().items():
        assert client.get(f"/api/examples/{name}").text == path.read_text("utf-8")
    assert client.get("/api/examples/none").status_code == 404
    assert client.get("/api/examples/..%2f..%2fcli").status_code == 404


def test_check(client: TestClient) -> None:
    content = client.post("/api/check", json={"text": TOUR}).json()
    assert content["ports"]["dx.output"] == {"dtype": "float32", "shape": [1, 4, 4, 1]}
    assert content["problems"] == []
    drawn = examples()["avgpool3d-grad-as-drawn"].read_text("utf-8")
    problems = client.post("/api/check", json={"text": drawn}).json()["problems"]
    assert [(problem["block"], problem["code"]) for problem in problems] == [("dx", "PG201"), ("result", "PG401")]
    assert problems[0]["expected"] == [2, 1, 1, 1, 2]


def test_wires_that_do_not_fit(client: TestClient) -> None:
    found = client.post("/api/misfits", json={"text": TOUR, "source": "x.output"}).json()
    assert found["dx.grad"]["expected"] == [1, 2, 2, 1]
    assert found["dx.orig_input_shape"]["code"] == "PG206"
    assert "along.y" not in found
    assert client.post("/api/misfits", json={"text": TOUR, "source": "x"}).status_code == 422


def test_layout(client: TestClient) -> None:
    found = client.post("/api/layout", json={"text": TOUR}).json()
    assert found["x"][0] < found["y"][0] < found["dy"][0] < found["dx"][0]
    assert len({tuple(place) for place in found.values()}) == len(found)


def test_run_and_slices(client: TestClient) -> None:
    done = ran(client, TOUR, "main")
    assert done["ports"]["loss.output"]["sum"] == 357
    assert done["ports"]["dx.output"]["axes"] == [["batch", 1], ["channel", 1]]
    assert set(done["blocks"].values()) == {"done"}
    asked = {"run": done["run"], "port": "dx.output", "place": [0, 0]}
    answer = client.post("/api/slice", json=asked)
    assert (answer.headers["x-height"], answer.headers["x-width"]) == ("4", "4")
    assert struct.unpack("<16f", answer.content)[:4] == (1.75, 1.75, 2.75, 2.75)
    for changes in ({"place": [0, 1]}, {"place": [0]}, {"place": [-1, 0]}, {"port": "none.output"}, {"run": -1}):
        assert client.post("/api/slice", json=asked | changes).status_code == 404
    for changes in ({"place": "0,0"}, {"run": "1"}, {"place": [0.5, 0]}):
        assert client.post("/api/slice", json=asked | changes).status_code == 400


def test_slices_are_small(client: TestClient) -> None:
    page = Page().block("x", "Ones", shape=[1, 4096, 4096, 1])
    done = client.post("/api/run", json={"text": text_of(page)}).json()
    answer = client.post("/api/slice", json={"run": done["run"], "port": "x.output", "place": [0, 0]})
    assert len(answer.content) == 256 * 256 * 4
    assert done["ports"]["x.output"]["sum"] == 2**24


def test_limits_hold(client: TestClient) -> None:
    page = Page().block("x", "Ones", shape=[2**24 + 1])
    done = client.post("/api/run", json={"text": text_of(page)}).json()
    assert [problem["code"] for problem in done["problems"]] == ["PG301"]


@pytest.mark.parametrize(("text", "code"), [("{}", "PG002"), ("nothing", "PG001")])
@pytest.mark.parametrize("route", ["check", "run", "export", "save"])
def test_bad_pages_are_refused_with_their_problem(client: TestClient, route: str, text: str, code: str) -> None:
    body = {"text": text, "form": "python", "name": "a.pool.json"}
    answer = client.post(f"/api/{route}", json=body)
    assert answer.status_code == 422
    assert answer.json()["problem"]["code"] == code


def test_unknown_page(client: TestClient) -> None:
    assert client.post("/api/run", json={"text": TOUR, "page": "none"}).status_code == 422
    assert client.post("/api/run", json={"text": TOUR, "page": {"a": 1}}).status_code == 400


def test_export(client: TestClient) -> None:
    answer = client.post("/api/export", json={"text": TOUR, "form": "python"}).json()
    assert "poolgrad.raw_ops.AvgPoolGrad(" in answer["text"]
    assert answer["suffix"] == ".py"
    assert client.post("/api/export", json={"text": TOUR, "form": "shell"}).status_code == 400


def test_save_and_open(client: TestClient, studio: server.Studio) -> None:
    page = Page().block("x", "Const", value="1,2")
    assert client.post("/api/save", json={"name": "a.pool.json", "text": text_of(page)}).status_code == 200
    assert load(studio.folder / "a.pool.json").page().blocks[0].attrs["value"] == [1, 2]
    assert client.get("/api/files").json() == {"files": ["a.pool.json"]}
    assert client.post("/api/open", json={"name": "a.pool.json"}).text == text_of(page)
    assert client.post("/api/open", json={"name": "none.pool.json"}).status_code == 422
    assert client.post("/api/save", json={"name": "no/where.pool.json", "text": text_of(page)}).status_code == 400


def test_values_to_copy(client: TestClient) -> None:
    page = (
        Page()
        .block("x", "Const", shape=[2, 2], value=["1/3", "nan", "-inf", 1e-8])
        .block("n", "Const", dtype="int64", value=[[2**53 + 1, -2]])
        .block("e", "Const", shape=[0, 2], value=0)
    )
    run = ran(client, text_of(page))["run"]

    def text(port: str, form: str) -> str:
        answer = client.post("/api/values", json={"run": run, "port": port, "place": [], "form": form})
        return str(answer.json()["text"])

    assert text("x.output", "csv") == "0.33333334,nan\n-inf,1e-08\n"
    assert text("n.output", "csv") == "9007199254740993,-2\n"
    assert text("e.output", "csv") == ""
    array = eval(text("x.output", "numpy"), {"np": np})
    np.testing.assert_array_equal(array, np.array([[1 / 3, np.nan], [-np.inf, 1e-8]], np.float32))
    assert eval(text("n.output", "numpy"), {"np": np}).tolist() == [[2**53 + 1, -2]]


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"form": "xls"}, 400),
        ({"place": [0]}, 404),
        ({"place": "0"}, 400),
        ({"run": None}, 400),
        ({"port": "y.z"}, 404),
    ],
)
def test_values_of_nothing(client: TestClient, change: dict[str, Any], status: int) -> None:
    text = text_of(Page().block("x", "Const", value=[[1]]))
    run = ran(client, text)["run"]
    asked = {"run": run, "port": "x.output", "place": [], "form": "csv", **change}
    assert client.post("/api/values", json=asked).status_code == status


def test_every_block_has_a_reference(client: TestClient) -> None:
    texts = {kind["op"]: kind["reference"] for kind in client.get("/api/start").json()["blocks"]}
    assert set(texts) == set(BLOCKS)
    assert "orig_input_shape: shape of the forward op's input" in texts["AvgPool3DGrad"]
    assert "tolerance: " in texts["Compare"]


def test_small_planes_come_with_the_run(client: TestClient) -> None:
    page = Page().block("x", "Const", shape=[1, 2, 2, 2], value=[1, 2, 3, "nan", "inf", 6, 7, 8])
    page = page.block("large", "Ones", shape=[1, 64, 64, 1]).block("none", "Ones", shape=[0, 3])
    ports = ran(client, text_of(page))["ports"]
    assert ports["x.output"]["first"] == {"height": 2, "width": 2, "values": [1, 3, "inf", 7]}
    assert "first" not in ports["large.output"]
    assert "first" not in ports["none.output"]


def test_not_every_plane_comes_with_the_run(client: TestClient) -> None:
    page = Page()
    for n in range(40):
        page.block(f"x{n}", "Ones", shape=[32, 32])
    ports = ran(client, text_of(page))["ports"]
    assert sum("first" in part for part in ports.values()) == 32
