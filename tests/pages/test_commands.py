"""The commands `poolgrad run` and `poolgrad page`: what they print and how they end."""

from __future__ import annotations

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from poolgrad import cli
from poolgrad.pages import BLOCKS, Document, Page, examples, load, run, save
from poolgrad.pages.report import report


@pytest.fixture
def bad_file(tmp_path: Path) -> str:
    path = tmp_path / "bad.pool.json"
    path.write_text("{}")
    return str(path)


def saved(page: Page, folder: Path) -> str:
    path = folder / "page.pool.json"
    save(Document((page,), "saved"), path)
    return str(path)


@pytest.mark.parametrize("name", examples())
def test_examples_pass_their_check(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", name, "--check"]) == 0
    assert capsys.readouterr().out.endswith("expected: all as expected\n")


def test_one_line_a_block(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "tour"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "page main"
    named = [line.split()[0].partition(".")[0] for line in lines[1:]]
    assert set(named) == {block.id for block in load(examples()["tour"]).page().blocks} - {"note"}
    assert "  y              AvgPool                float32[1,2,2,1]         3.5 5.5 11.5 13.5" in lines


def test_a_failing_block(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "avgpool3d-grad-as-drawn"]) == 1
    text = capsys.readouterr().out
    assert "PG201 shape-mismatch: Expected grad shape to be [2,1,1,1,2], but got [2,2,2,2,2]" in text
    assert "PG401 waits: waits for dx" in text
    assert "Traceback" not in text


def test_bad_file(bad_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["run", bad_file], ["page", "check", bad_file], ["run", "nowhere.pool.json"]):
        assert cli.main(words) == 2
        captured = capsys.readouterr()
        assert captured.err.startswith("poolgrad: PG00")
        assert captured.err.count("\n") == 1


def test_not_as_expected(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(Page().block("x", "Const", value=[1, 2]).expecting(x=[1, 3]), tmp_path)
    assert cli.main(["run", file]) == 0
    assert cli.main(["run", file, "--check"]) == 3
    captured = capsys.readouterr()
    assert captured.err == "not as expected: x.output: output must be 3.0 at [1], got 2.0; 1 of 2 values differ\n"
    assert captured.out.endswith("1 expected: 1 NOT AS EXPECTED\n")


def test_a_failing_block_under_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(Page().block("x", "Const", value=[1, 2], shape=[3]), tmp_path)
    assert cli.main(["run", file, "--check"]) == 1
    assert capsys.readouterr().out.endswith("0 expected: a block FAILED\n")


def test_set(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["run", "avgpool-grad", "--set", "dx.ksize=1,2,2,1", "--set", "dx.padding = VALID"]
    assert cli.main(words) == 0
    assert "min 0.25  max 1  sum 10  nonzero 16" in capsys.readouterr().out
    assert cli.main(["run", "avgpool-grad", "--set", "dx.padding=EXPLICIT"]) == 1
    assert "PG203" in capsys.readouterr().out
    assert cli.main(["run", "avgpool-grad", "--set", "nobody.padding=SAME"]) == 2
    assert "no block 'nobody'" in capsys.readouterr().err


def test_set_takes_the_place_of_a_wire(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "avgpool-grad", "--set", "dx.orig_input_shape=1,3,3,1"]) == 0
    assert "float32[1,3,3,1]" in capsys.readouterr().out


def test_pages_of_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "maxpool3d-grad"]) == 0
    assert capsys.readouterr().out.count("page ") == 2
    assert cli.main(["run", "maxpool3d-grad", "--page", "ties"]) == 0
    assert capsys.readouterr().out.startswith("page ties\n")
    assert cli.main(["run", "maxpool3d-grad", "--page", "none"]) == 2


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "avgpool3d-grad-as-drawn", "--json", "-", "--check"]) == 0
    content = json.loads(capsys.readouterr().out)
    blocks = {block["id"]: block for block in content["pages"][0]["blocks"]}
    assert blocks["dx"]["problems"][0]["code"] == "PG201"
    assert blocks["dx"]["problems"][0]["expected"] == [2, 1, 1, 1, 2]
    assert blocks["grad"]["outputs"]["output"]["sum"] == 528
    assert content["pages"][0]["unmet"] == []
    out = tmp_path / "out.json"
    file = saved(Page().block("x", "Const", value=["nan", "inf", 2]), tmp_path)
    assert cli.main(["run", file, "--json", str(out)]) == 0
    output = json.loads(out.read_text())["pages"][0]["blocks"][0]["outputs"]["output"]
    assert output["value"] == ["nan", "inf", 2]


def test_npz(tmp_path: Path) -> None:
    assert cli.main(["run", "tour", "--npz", str(tmp_path / "one.npz")]) == 0
    with np.load(tmp_path / "one.npz") as arrays:
        assert arrays["slope.output"] == 61
    assert cli.main(["run", "maxpool3d-grad", "--npz", str(tmp_path / "two.npz")]) == 0
    with np.load(tmp_path / "two.npz") as arrays:
        assert arrays["ties/dx.output"].sum() == 6
    assert cli.main(["run", "tour", "--npz", str(tmp_path / "no" / "where.npz")]) == 2


def test_limits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = saved(Page().block("x", "Ones", shape=[2**24 + 1], dtype="uint8"), tmp_path)
    assert cli.main(["run", file]) == 1
    assert "PG301" in capsys.readouterr().out
    assert cli.main(["run", file, "--no-limits"]) == 0


def test_check(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["page", "check", "tour"]) == 0
    assert "dx.output                      float32[1,4,4,1]" in capsys.readouterr().out
    assert cli.main(["page", "check", "maxpool3d-grad-as-drawn"]) == 1
    assert "PG201 shape-mismatch at dx.orig_output: " in capsys.readouterr().out


def test_export_and_import(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["page", "export", "tour"]) == 0
    assert "poolgrad.raw_ops.AvgPoolGrad(" in capsys.readouterr().out
    out = tmp_path / "tour.ipynb"
    assert cli.main(["page", "export", "tour", "--to", "notebook", "-o", str(out)]) == 0
    assert json.loads(out.read_text())["nbformat"] == 4
    assert cli.main(["page", "export", "avgpool3d-grad-as-drawn"]) == 2
    assert "PG201" in capsys.readouterr().err
    old = tmp_path / "old.json"
    value = {"pin-name": "val", "pin-type": "float", "pin-shape": "[2]", "pin-initial": "1;2"}
    old.write_text(json.dumps({"object": [{"symbol-name": "#Const", "id": "a", "input": [value]}]}), "utf-16")
    new = tmp_path / "new.pool.json"
    assert cli.main(["page", "import", str(old), "-o", str(new)]) == 0
    assert run(load(new)).results["a.output"].tolist() == [1, 2]
    assert cli.main(["page", "import", str(tmp_path / "none.json")]) == 2


def test_blocks(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["page", "blocks"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in BLOCKS)
    assert cli.main(["page", "blocks", "AvgPool3DGrad"]) == 0
    text = capsys.readouterr().out
    assert "pin        orig_input_shape" in text
    assert "(default: NDHWC)" in text
    assert cli.main(["page", "blocks", "Abacus"]) == 2


def test_examples_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["page", "examples"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(examples())


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["page", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "A file of poolgrad pages"


@pytest.mark.parametrize("words", [["run"], ["page"], ["page", "check"], ["page", "export"], ["page", "import"]])
def test_help_has_examples(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main([*words, "--help"])
    assert stopped.value.code == 0
    assert "examples:\n  poolgrad " in capsys.readouterr().out


def test_page_alone_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["page"]) == 0
    assert "check" in capsys.readouterr().out


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("shtab")
    assert cli.main(["completion", shell]) == 0
    text = capsys.readouterr().out
    assert "poolgrad" in text
    assert "completion" in text
    assert shell == "tcsh" or "--no-limits" in text


@pytest.mark.parametrize("name", ["shtab", "tqdm"])
def test_without_optional_packages(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    assert cli.main(["run", "tour"]) == 0
    assert cli.main(["completion", "bash"]) == (2 if name == "shtab" else 0)
    if name == "shtab":
        assert 'pip install "poolgrad[cli]"' in capsys.readouterr().err


def test_as_a_program() -> None:
    command = [sys.executable, "-W", "error", "-m", "poolgrad", "run", "tour", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


class Tags(HTMLParser):
    """What a file holds, and whether every tag is closed."""

    EMPTY = frozenset({"meta", "rect", "circle", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        for name, given in attrs:
            assert not name.startswith("on"), name
            assert "://" not in (given or ""), given
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "tour.html"
    assert cli.main(["run", "tour", "--html", str(out)]) == 0
    tags = Tags(out.read_text("utf-8"))
    assert tags.open == []
    assert not {"script", "link", "img", "iframe", "object", "embed"} & set(tags.seen)
    words = " ".join(tags.words)
    assert "Tour: pooling" in words
    assert "row 0, column 0: 1.75" in words
    assert tags.seen.count("path") == len(load(examples()["tour"]).page().wires)
    assert cli.main(["run", "tour", "--html", "-"]) == 0
    assert capsys.readouterr().out.endswith("</html>\n")


def test_report_shows_faults_on_their_blocks() -> None:
    text = report("t", [run(load(examples()["maxpool3d-grad-as-drawn"]))])
    assert '<g class="failed"' in text
    assert '<g class="waits"' in text
    assert text.count('class="wire cut"') == 1
    assert "PG201 shape-mismatch" in text


def test_report_escapes_text() -> None:
    page = Page("<b>").block("n", "Note", text="<script>alert(1)</script>").block("x", "<i>")
    text = report("<script>", [run(page)])
    assert "<script>" not in text
    assert "<i>" not in text
    assert "&lt;script&gt;" in text


def test_report_of_a_large_array_is_cut() -> None:
    text = report("", [run(Page().block("x", "Random", shape=[3, 100, 100, 4]))])
    assert "the first 32 x 32 of 100 x 100" in text
    assert "only the first 8 slices are shown" in text
    assert len(text) < 3_000_000
