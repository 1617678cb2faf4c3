"""The studio's server: asked by tests themselves, and served to the system's Chromium."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from starlette.testclient import TestClient

from poolgrad.studio import server
from poolgrad.studio.security import Access
from poolgrad.studio.worker import Worker

from .asking import client_of
from .chromium import CHROMIUM, Served


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
    return client_of(studio)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("pages")
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    access, worker = Access(listener.getsockname()[1]), Worker(folder)
    program = uvicorn.Server(
        uvicorn.Config(server.application(server.Studio(folder, worker), access), log_level="warning")
    )
    thread = threading.Thread(target=program.run, kwargs={"sockets": [listener]})
    thread.start()
    yield Served(access.address, folder)
    program.should_exit = True
    thread.join()
    worker.close()
    listener.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as tool:
        made = tool.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield made
        made.close()


@pytest.fixture
def tab(browser: Any, served: Served) -> Iterator[Any]:
    """The studio with its first page, run; at the end no request has left the machine and nothing was complained of."""
    context = browser.new_context(viewport={"width": 1360, "height": 760}, accept_downloads=True)
    asked: list[str] = []
    said: list[str] = []
    context.route("**/*", lambda route: route.abort() if _is_foreign(route.request.url, asked) else route.continue_())
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(served.address)
    page.wait_for_selector(".block[data-op=AvgPool3DGrad] .map canvas")
    yield page
    context.close()
    assert asked == []
    assert said == []


def _is_foreign(url: str, asked: list[str]) -> bool:
    if url.startswith(("http://127.0.0.1:", "blob:", "data:")):
        return False
    asked.append(url)
    return True
