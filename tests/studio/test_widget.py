"""The studio in a notebook, without a browser: messages in, messages out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad.pages import Page, PageError, examples, load, save
from poolgrad.studio import widget

pytest.importorskip("anywidget")


@pytest.fixture(autouse=True)
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "studio.js").write_text("export default { render() {} };")
    (folder / "studio.css").write_text("")
    monkeypatch.setattr(widget, "WEB", folder)
    monkeypatch.chdir(tmp_path)
    return folder


def asked(studio: Any, name: str, *arguments: Any) -> Any:
    """The answer to a message, and its buffers."""
    sent: list[tuple[Any, Any]] = []
    studio.send = lambda content, buffers=None: sent.append((content, buffers))
    studio._handle_custom_msg({"id": 7, "name": name, "arguments": list(arguments)}, [])
    ((content, buffers),) = sent
    assert content["id"] == 7
    return content["error"] if "error" in content else (content["answer"], buffers)


def test_results_are_there_at_once() -> None:
    studio = poolgrad.Studio("avgpool-grad")
    assert studio.results["dx.output"].reshape(4, 4)[2, 2] == np.float32(35 / 18)
    assert studio.height == 620
    assert "render" in studio._esm


def test_an_edit_changes_the_results() -> None:
    page = Page().block("x", "Const", value=[[1, 2]]).block("total", "Sum", input="x")
    studio = poolgrad.Studio(page)
    assert studio.results["total.output"] == 3
    start, _ = asked(studio, "start")
    start["document"]["pages"][0]["blocks"][0]["attrs"]["value"] = [[5, 6]]
    text = json.dumps(start["document"])
    done, _ = asked(studio, "run", text, "main")
    assert done["ports"]["total.output"]["sum"] == 11
    assert studio.results["total.output"] == 11
    assert studio.page.blocks[0].attrs["value"] == [[5, 6]]


def test_numbers_come_as_buffers() -> None:
    studio = poolgrad.Studio("avgpool3d-grad-windows")
    done, _ = asked(studio, "run", examples()["avgpool3d-grad-windows"].read_text("utf-8"), None)
    shape, (data,) = asked(studio, "slice", done["run"], "grad.output", [0, 1, 0])
    assert (shape, np.frombuffer(data, "<f4").tolist()) == ([2, 3], [7, 8, 9, 10, 11, 12])
    shape, (data,) = asked(studio, "flow_volume", done["run"], "dx", 0, 0, "grad", None)
    assert (shape, len(data)) == ([2, 2, 3], 48)
    words = asked(studio, "flow_window", done["run"], "dx", 0, 0, [0, 0, 0])[0]["words"]
    assert words == "1 shared over 12 cells: each gets 1/12 = 0.0833333"


def test_pages_of_a_file_are_opened_and_saved_beside_it(tmp_path: Path) -> None:
    save(load(examples()["maxpool3d-grad"]), tmp_path / "mine.pool.json")
    studio = poolgrad.Studio(tmp_path / "mine.pool.json", "ties")
    assert studio.results["dx.output"].sum() == 6
    assert asked(studio, "start")[0]["page"] == "ties"
    assert asked(studio, "files")[0] == ["mine.pool.json"]
    text = (tmp_path / "mine.pool.json").read_text("utf-8")
    assert asked(studio, "save", "copy.pool.json", text)[0] == "copy.pool.json"
    assert asked(studio, "open", "copy.pool.json")[0]["title"] == "MaxPool3DGrad, made right"
    assert "below the folder" in asked(studio, "save", "../copy.pool.json", text)
    locked = poolgrad.Studio(tmp_path / "mine.pool.json", read_only=True)
    assert "read-only" in asked(locked, "save", "copy.pool.json", text)


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("__init__", [], "there is no such question"),
        ("run", ["not a page", None], "JSON"),
        ("run", [], "argument"),
        ("slice", [99, "x.output", []], "there is no result"),
        ("flow_overview", [1, "nothing"], "there are no gradients"),
        ("example", ["nothing"], "no such example"),
    ],
)
def test_bad_questions_are_answered(name: str, arguments: list[Any], words: str) -> None:
    assert words in asked(poolgrad.Studio("tour"), name, *arguments)


def test_pages_that_cannot_be_read() -> None:
    with pytest.raises((PageError, OSError)):
        poolgrad.Studio("nowhere.pool.json")


def test_without_a_front_end_it_says_so(web: Path) -> None:
    (web / "studio.js").unlink()
    with pytest.raises(RuntimeError, match="built without npm"):
        poolgrad.Studio("tour")


def test_nothing_is_loaded_before_it_is_asked_for() -> None:
    program = (
        "import sys, poolgrad; assert 'anywidget' not in sys.modules; sys.modules['anywidget'] = None\n"
        "try: poolgrad.Studio\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 'pip install "poolgrad[notebook]"' in done.stdout
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        poolgrad.Nothing  # noqa: B018
