"""Who may ask the studio's server, and what the tests ask often."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

from poolgrad.pages import Document, Page, dumps, examples
from poolgrad.studio import server
from poolgrad.studio.security import TOKEN_HEADER, Access

ACCESS = Access(8123)
BASE = "http://127.0.0.1:8123"
TOUR = examples()["tour"].read_text("utf-8")


def client_of(studio: server.Studio) -> TestClient:
    return TestClient(
        server.application(studio, ACCESS), base_url=BASE, headers={TOKEN_HEADER: ACCESS.token}, follow_redirects=False
    )


def text_of(page: Page) -> str:
    return dumps(Document((page,)))


def ran(client: TestClient, text: str, page: str | None = None) -> Any:
    """What a run of a page is answered with."""
    return client.post("/api/run", json={"text": text, "page": page}).json()
