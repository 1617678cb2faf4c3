"""The studio's server without a browser: every rule of who may ask what, and the answers."""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

from poolgrad import cli
from poolgrad.pages import BLOCKS, Document, Page, dumps, examples, load
from poolgrad.studio import server
from poolgrad.studio.security import HEADERS, MOST_BODY, POLICY, TOKEN_HEADER, Access
from poolgrad.studio.worker import StoppedError, Worker

ACCESS = Access(8123)
BASE = "http://127.0.0.1:8123"
TOUR = examples()["tour"].read_text("utf-8")


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    made = Worker(tmp_path_factory.mktemp("pages"))
    yield made
    made.close()


@pytest.fixture
def studio(worker: Worker, tmp_path: Path) -> server.Studio:
    web = tmp_path / "web"
    web.mkdir()
    (web / "index.html").write_text("<!doctype html><title>studio</title>")
    (web / "studio.js").write_text("// script")
    (web / "notes.txt").write_text("not served")
    folder = tmp_path / "folder"
    folder.mkdir()
    return server.Studio(folder, worker, web=web)


@pytest.fixture
def client(studio: server.Studio) -> TestClient:
    return TestClient(
        server.application(studio, ACCESS), base_url=BASE, headers={TOKEN_HEADER: ACCESS.token}, follow_redirects=False
    )


def text_of(page: Page) -> str:
    return dumps(Document((page,)))


ROUTES = [
    ("GET", "/api/start"),
    ("GET", "/api/files"),
    ("GET", "/api/examples/tour"),
    *(
        ("POST", f"/api/{name}")
        for name in ("open", "save", "check", "run", "slice", "export", "misfits", "layout", "values", "flow/window")
    ),
]


@pytest.mark.parametrize(("method", "path"), ROUTES)
@pytest.mark.parametrize("token", [None, "", "wrong", ACCESS.token[:-1], ACCESS.token + "x"], ids=range(5))
def test_nothing_is_answered_without_the_token(client: TestClient, method: str, path: str, token: str | None) -> None:
    del client.headers[TOKEN_HEADER]
    headers = {} if token is None else {TOKEN_HEADER: token}
    answer = client.request(method, path, headers=headers)
    assert answer.status_code == 403
    assert "token" in answer.text


def test_tokens_are_long_and_differ() -> None:
    assert len({Access(1).token for _ in range(100)}) == 100
    assert len(Access(1).token) >= 43
    assert Access(1).token not in repr(Access(1))
    assert ACCESS.address == f"{BASE}/#{ACCESS.token}"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1", "127.0.0.1:80", "127.0.0.1:8123.evil.example", "[::1]:8123", ""]
)
@pytest.mark.parametrize("path", ["/", "/web/studio.js", "/api/start"])
def test_foreign_hosts_are_refused(client: TestClient, host: str, path: str) -> None:
    assert client.get(path, headers={"host": host}).status_code == 400


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1:8123", "http://127.0.0.1:81", ""])
@pytest.mark.parametrize("path", ["/", "/api/start"])
def test_foreign_origins_are_refused(client: TestClient, origin: str, path: str) -> None:
    answer = client.get(path, headers={"origin": origin})
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("host", ACCESS.hosts)
def test_own_names_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/start", headers={"host": host, "origin": f"http://{host}"}).status_code == 200


def test_other_sites_are_told_nothing(client: TestClient) -> None:
    """A preflight request gets no leave."""
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    answer = client.options("/api/run", headers=asked)
    assert answer.status_code == 403
    assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize(
    ("path", "status"), [("/", 200), ("/web/studio.js", 200), ("/api/start", 200), ("/none", 404), ("/api/run", 405)]
)
def test_headers_of_every_answer(client: TestClient, path: str, status: int) -> None:
    answer = client.get(path)
    assert answer.status_code == status
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_headers_of_a_refusal(client: TestClient) -> None:
    answer = client.get("/", headers={"host": "evil.example"})
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS


def test_policy_is_strict() -> None:
    assert POLICY.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    assert "*" not in POLICY


@pytest.mark.parametrize(
    "path",
    ["/web/notes.txt", "/web/none.js", "/web/..%2fserver.py", "/web/%2e%2e/server.py", "/web/", "/web/%2fetc%2fpasswd"],
)
def test_only_the_front_end_is_served(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404


def test_long_requests_are_cut_off(client: TestClient) -> None:
    body = json.dumps({"text": " " * MOST_BODY}).encode()
    headers = {"content-type": "application/json"}
    assert client.post("/api/run", content=body, headers=headers).status_code == 413

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(body), 2**16):
            yield body[start : start + 2**16]

    assert client.post("/api/run", content=pieces(), headers=headers).status_code == 413
    assert client.post("/api/run", content=b"", headers=headers | {"content-length": "-1"}).status_code == 413


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_only_json_is_taken(client: TestClient, kind: str) -> None:
    assert client.post("/api/run", content=b"{}", headers={"content-type": kind}).status_code == 415


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"[" * 10_000, b"\xff", b'{"text": 3}', b"{}"])
def test_bad_requests(client: TestClient, body: bytes) -> None:
    answer = client.post("/api/run", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 400
    assert answer.json()["message"]


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
    done = client.post("/api/run", json={"text": TOUR, "page": "main"}).json()
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


@pytest.mark.parametrize(
    "name",
    [
        "../out.pool.json",
        "/tmp/out.pool.json",
        "sub/../../out.pool.json",
        "link.pool.json",
        "linked/out.pool.json",
        "script.py",
        ".bashrc",
        "a.pool.json/../../out.pool.json",
        "a\0.pool.json",
    ],
)
@pytest.mark.parametrize("route", ["open", "save"])
def test_only_pages_below_the_folder(client: TestClient, studio: server.Studio, name: str, route: str) -> None:
    outside = studio.folder.parent / "out.pool.json"
    outside.write_text(TOUR)
    (studio.folder / "link.pool.json").symlink_to(outside)
    (studio.folder / "linked").symlink_to(studio.folder.parent)
    before = outside.stat().st_mtime_ns
    answer = client.post(f"/api/{route}", json={"name": name, "text": text_of(Page())})
    assert answer.status_code == 403
    assert outside.stat().st_mtime_ns == before
    assert client.get("/api/files").json() == {"files": []}


def test_read_only(client: TestClient, studio: server.Studio) -> None:
    studio.read_only = True
    answer = client.post("/api/save", json={"name": "a.pool.json", "text": TOUR})
    assert answer.status_code == 403
    assert list(studio.folder.iterdir()) == []
    assert client.get("/api/start").json()["readOnly"]


def sleep(connection: Connection, folder: str) -> None:
    """A child that takes too long."""
    connection.recv()
    time.sleep(60)


def leave(connection: Connection, folder: str) -> None:
    """A child that ends at once, as if killed."""
    connection.recv()
    os._exit(1)


@pytest.mark.parametrize(("child", "words"), [(sleep, "took longer than 1 s"), (leave, "ended unexpectedly")])
def test_the_child_is_stopped_and_replaced(tmp_path: Path, child: Any, words: str) -> None:
    made = Worker(tmp_path, seconds=1, serve=child)
    start = time.monotonic()
    with pytest.raises(StoppedError, match=words):
        made.ask("run", TOUR, None)
    assert time.monotonic() - start < 20
    again = Worker(tmp_path)
    made.serve, made.seconds = again.serve, again.seconds
    try:
        assert made.ask("run", TOUR, None)["run"] == 1
    finally:
        made.close()


def test_a_stopped_run_is_told(studio: server.Studio, tmp_path: Path) -> None:
    studio.worker = Worker(tmp_path, seconds=1, serve=leave)
    client = TestClient(server.application(studio, ACCESS), base_url=BASE, headers={TOKEN_HEADER: ACCESS.token})
    answer = client.post("/api/run", json={"text": TOUR})
    assert answer.status_code == 503
    assert "unexpectedly" in answer.json()["message"]


def test_default_time_limit(tmp_path: Path) -> None:
    assert Worker(tmp_path).seconds == 30


def test_files_of_a_page_stay_below_the_folder(client: TestClient) -> None:
    page = Page().block("x", "Const", value={"file": "../secret.npy"})
    done = client.post("/api/run", json={"text": text_of(page)}).json()
    assert [problem["code"] for problem in done["problems"]] == ["PG110"]


def test_the_server_listens_on_the_loopback_address_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(server.uvicorn.Server, "run", lambda self, sockets: seen.extend(sockets))
    opened: list[str] = []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.chdir(tmp_path)
    assert server.serve(None) == 0
    (listener,) = seen
    host, port = listener.getsockname()
    listener.close()
    assert host == "127.0.0.1"
    assert opened[0].startswith(f"http://127.0.0.1:{port}/#")
    assert opened[0] in capsys.readouterr().out


def test_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(server, "WEB", tmp_path)
    assert cli.main(["studio"]) == 2
    assert "built without npm" in capsys.readouterr().err
    (tmp_path / "index.html").write_text("")
    assert cli.main(["studio", str(tmp_path / "none.pool.json")]) == 2
    asked: list[Any] = []
    monkeypatch.setattr(server, "serve", lambda file, **options: asked.append((file, options)) or 0)
    assert cli.main(["studio", "--port", "8000", "--no-open", "--read-only"]) == 0
    assert asked == [(None, {"port": 8000, "opens_browser": False, "read_only": True})]


def test_without_a_server(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "poolgrad.studio.server")
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    assert cli.main(["studio"]) == 2
    assert 'pip install "poolgrad[studio]"' in capsys.readouterr().err


def asked_flow(client: TestClient, kind: str, **more: Any) -> Any:
    return client.post(f"/api/flow/{kind}", json={"batch": 0, "channel": 0, **more})


def test_flow_of_an_average(client: TestClient) -> None:
    """4 x 5 x 6 cells, windows of 2 x 3 x 2 side by side: the second row of windows reaches into the padding."""
    text = examples()["avgpool3d-grad-windows"].read_text("utf-8")
    run = client.post("/api/run", json={"text": text, "page": None}).json()["run"]
    seen = {"run": run, "block": "dx"}
    overview = asked_flow(client, "overview", **seen).json()
    assert (overview["outputs"], overview["size"], overview["family"]) == ([2, 2, 3], [4, 5, 6], "spread")
    assert overview["words"] == "sum of grad 78, of dx 78: every gradient is shared out whole"
    window = asked_flow(client, "window", **seen, place=[0, 1, 2]).json()
    assert window["inside"] == [[0, 2], [3, 5], [4, 6]]
    assert window["whole"] == [[0, 2], [3, 6], [4, 6]]
    assert window["words"] == "6 shared over 8 cells (window clipped to the input): each gets 3/4 = 0.75"
    cell = asked_flow(client, "cell", **seen, place=[3, 4, 5]).json()
    assert cell == {"sources": [[1, 1, 2]], "words": "12/8 = 1.5"}
    grad = asked_flow(client, "volume", **seen, what="grad")
    assert [grad.headers[f"x-{name}"] for name in ("depth", "height", "width")] == ["2", "2", "3"]
    assert struct.unpack("<12f", grad.content) == tuple(range(1, 13))
    filled = asked_flow(client, "volume", **seen, what="dx", count=1).content
    assert sum(struct.unpack("<120f", filled)) == pytest.approx(1)
    assert set(struct.unpack("<120f", asked_flow(client, "volume", **seen, what="cover").content)) == {1}


def test_flow_with_ties_and_losses(client: TestClient) -> None:
    text = examples()["maxpool3d-grad"].read_text("utf-8")
    run = client.post("/api/run", json={"text": text, "page": "ties"}).json()["run"]
    seen = {"run": run, "block": "dx"}
    words = asked_flow(client, "overview", **seen).json()["words"]
    assert words == "sum of grad 18, of dx 6: 3 of 4 gradients lost, 1 sent to several cells that tie"
    assert asked_flow(client, "window", **seen, place=[0, 0, 0]).json()["targets"] == [[0, 0, 0], [0, 0, 1]]
    lost = client.post("/api/flow/window", json={**seen, "batch": 0, "channel": 1, "place": [0, 0, 0]}).json()
    assert lost["lost"] is True


def test_flow_of_fractional_cells(client: TestClient) -> None:
    text = examples()["fractional-avgpool-grad"].read_text("utf-8")
    run = client.post("/api/run", json={"text": text, "page": None}).json()["run"]
    cuts = {name: asked_flow(client, "overview", run=run, block=name).json()["cuts"] for name in ("apart", "shared")}
    assert cuts["apart"] == [[[0, 2], [2, 3], [3, 6]], [[0, 2], [2, 5], [5, 7]]]
    assert cuts["shared"] == [[[0, 3], [2, 4], [3, 6]], [[0, 3], [2, 6], [5, 7]]]


@pytest.mark.parametrize(
    ("kind", "change", "status"),
    [
        ("window", {"place": [0, 0, 3]}, 404),
        ("window", {"place": [0, 0]}, 400),
        ("window", {"place": [0, 0, True]}, 400),
        ("cell", {"place": [0, -1, 0]}, 404),
        ("cell", {"batch": 1, "place": [0, 0, 0]}, 404),
        ("cell", {"batch": "0", "place": [0, 0, 0]}, 400),
        ("volume", {"what": "secrets"}, 404),
        ("volume", {"what": 3}, 400),
        ("volume", {"what": "dx", "count": "1"}, 400),
        ("overview", {"block": "grad"}, 404),
        ("overview", {"block": "none"}, 404),
        ("overview", {"run": 10**6}, 404),
        ("everything", {}, 404),
    ],
)
def test_flow_of_nothing(client: TestClient, kind: str, change: dict[str, Any], status: int) -> None:
    text = examples()["avgpool3d-grad-windows"].read_text("utf-8")
    run = client.post("/api/run", json={"text": text, "page": None}).json()["run"]
    assert asked_flow(client, kind, **{"run": run, "block": "dx", **change}).status_code == status


def test_values_to_copy(client: TestClient) -> None:
    page = (
        Page()
        .block("x", "Const", shape=[2, 2], value=["1/3", "nan", "-inf", 1e-8])
        .block("n", "Const", dtype="int64", value=[[2**53 + 1, -2]])
        .block("e", "Const", shape=[0, 2], value=0)
    )
    run = client.post("/api/run", json={"text": text_of(page), "page": None}).json()["run"]

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
    run = client.post("/api/run", json={"text": text, "page": None}).json()["run"]
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
    ports = client.post("/api/run", json={"text": text_of(page), "page": None}).json()["ports"]
    assert ports["x.output"]["first"] == {"height": 2, "width": 2, "values": [1, 3, "inf", 7]}
    assert "first" not in ports["large.output"]
    assert "first" not in ports["none.output"]


def test_not_every_plane_comes_with_the_run(client: TestClient) -> None:
    page = Page()
    for n in range(40):
        page.block(f"x{n}", "Ones", shape=[32, 32])
    ports = client.post("/api/run", json={"text": text_of(page), "page": None}).json()["ports"]
    assert sum("first" in part for part in ports.values()) == 32
