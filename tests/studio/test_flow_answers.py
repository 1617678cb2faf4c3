"""What the studio's server answers about where each gradient goes."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from starlette.testclient import TestClient

from poolgrad.pages import examples

from .asking import ran


def asked_flow(client: TestClient, kind: str, **more: Any) -> Any:
    return client.post(f"/api/flow/{kind}", json={"batch": 0, "channel": 0, **more})


def test_flow_of_an_average(client: TestClient) -> None:
    """4 x 5 x 6 cells, windows of 2 x 3 x 2 side by side: the second row of windows reaches into the padding."""
    text = examples()["avgpool3d-grad-windows"].read_text("utf-8")
    run = ran(client, text)["run"]
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
    run = ran(client, text, "ties")["run"]
    seen = {"run": run, "block": "dx"}
    words = asked_flow(client, "overview", **seen).json()["words"]
    assert words == "sum of grad 18, of dx 6: 3 of 4 gradients lost, 1 sent to several cells that tie"
    assert asked_flow(client, "window", **seen, place=[0, 0, 0]).json()["targets"] == [[0, 0, 0], [0, 0, 1]]
    lost = client.post("/api/flow/window", json={**seen, "batch": 0, "channel": 1, "place": [0, 0, 0]}).json()
    assert lost["lost"] is True


def test_flow_of_fractional_cells(client: TestClient) -> None:
    text = examples()["fractional-avgpool-grad"].read_text("utf-8")
    run = ran(client, text)["run"]
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
    run = ran(client, text)["run"]
    assert asked_flow(client, kind, **{"run": run, "block": "dx", **change}).status_code == status
