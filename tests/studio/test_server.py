"""The studio's server without a browser: every rule of who may ask what, and for how long."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from poolgrad import cli
from poolgrad.pages import Page
from poolgrad.studio import server
from poolgrad.studio.security import HEADERS, MOST_BODY, POLICY, TOKEN_HEADER, Access
from poolgrad.studio.worker import StoppedError, Worker

from .asking import ACCESS, BASE, TOUR, client_of, text_of

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
    ("path", "host", "status"),
    [
        ("/", ACCESS.hosts[0], 200),
        ("/web/studio.js", ACCESS.hosts[0], 200),
        ("/api/start", ACCESS.hosts[0], 200),
        ("/none", ACCESS.hosts[0], 404),
        ("/api/run", ACCESS.hosts[0], 405),
        ("/", "evil.example", 400),
    ],
)
def test_headers_of_every_answer(client: TestClient, path: str, host: str, status: int) -> None:
    answer = client.get(path, headers={"host": host})
    assert answer.status_code == status
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


def test_files_of_a_page_stay_below_the_folder(client: TestClient) -> None:
    page = Page().block("x", "Const", value={"file": "../secret.npy"})
    done = client.post("/api/run", json={"text": text_of(page)}).json()
    assert [problem["code"] for problem in done["problems"]] == ["PG110"]


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
    answer = client_of(studio).post("/api/run", json={"text": TOUR})
    assert answer.status_code == 503
    assert "unexpectedly" in answer.json()["message"]


def test_default_time_limit(tmp_path: Path) -> None:
    assert Worker(tmp_path).seconds == 30


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
    monkeypatch.delitem(sys.modules, "poolgrad.studio.server")
    monkeypatch.setitem(sys.modules, "starlette", None)
    monkeypatch.setitem(sys.modules, "starlette.applications", None)
    assert cli.main(["studio"]) == 2
    assert 'pip install "poolgrad[studio]"' in capsys.readouterr().err
