"""The command `poolgrad`, run in this process and once as a program."""

import dataclasses
import importlib.metadata
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from poolgrad import cli, demo, raw_ops, set_num_threads
from poolgrad.kernels import cpu

VALUES = {"AvgPoolGrad": 16, "AvgPool3DGrad": 120, "FractionalAvgPoolGrad": 42, "MaxPool3DGrad": 40}


@pytest.fixture
def spoiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the values computed by hand is wrong."""
    first, *others = demo.EXAMPLES
    wrong = dataclasses.replace(first, expected=first.expected.replace("35/18", "36/18"))
    monkeypatch.setattr(demo, "EXAMPLES", (wrong, *others))


def rows(text: str) -> dict[str, str]:
    """The lines of `poolgrad info` by their names."""
    return {line[:14].strip(): line[14:].strip() for line in text.splitlines()}


def test_demo_prints_and_checks_each_op(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--no-picture"]) == 0
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if len(line) > 100 or line != line.rstrip()] == []
    assert text.isascii()
    for op, values in VALUES.items():
        assert f"\n{op}" in text
        assert f"{values} of {values} values as computed by hand  ok\n" in text
    assert "overlapping=False\n" in text
    assert "overlapping=True\n" in text
    assert "  0.6111 0.6111 1.9444 1.3333\n" in text
    assert "1/9 + 2/6 + 3/6 + 4/4 = 35/18 = 1.9444" in text
    assert "5 examples, 260 values: all as computed by hand.\n" in text
    assert "WRONG" not in text


@pytest.mark.parametrize("example", demo.EXAMPLES, ids=lambda example: example.title)
def test_worked_cell_is_the_sum_of_its_terms(example: demo.Example) -> None:
    assert sum(map(Fraction, example.terms)) == demo.table(example.expected)[example.cell]


@pytest.mark.parametrize("example", demo.EXAMPLES, ids=lambda example: example.title)
def test_windows_of_the_picture_fit_the_gradient(example: demo.Example) -> None:
    grad = example.arrays["out_backprop" if "out_backprop" in example.arrays else "grad"]
    assert tuple(axis.outputs for axis in demo.axes(example)) == grad.shape[1:-1]


@pytest.mark.usefixtures("spoiled")
def test_demo_fails_on_a_wrong_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--no-picture"]) == 1
    text = capsys.readouterr().out
    assert "15 of 16 values as computed by hand  WRONG\n    row 2, column 2: 1.9444 instead of 2\n" in text
    assert "120 of 120 values as computed by hand  ok\n" in text
    assert text.endswith("5 examples, 260 values: 1 WRONG.\n")


@pytest.mark.parametrize(
    ("result", "words"),
    [
        pytest.param(np.full((1, 4, 4, 1), np.nan, np.float32), "row 0, column 0: nan instead of 1/9", id="nan"),
        pytest.param(np.zeros((1, 4, 3, 1), np.float32), "shape [1, 4, 3, 1] instead of [1, 4, 4, 1]", id="shape"),
    ],
)
def test_demo_finds_a_broken_op(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], result: Any, words: str
) -> None:
    monkeypatch.setattr(raw_ops, "AvgPoolGrad", lambda **_: result)
    assert cli.main(["demo", "--no-picture"]) == 1
    text = capsys.readouterr().out
    assert "0 of 16 values as computed by hand  WRONG\n" in text
    assert words in text


def test_demo_draws_a_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = pytest.importorskip("matplotlib.image")
    path = tmp_path / "gradients.png"
    assert cli.main(["demo", "--picture", str(path)]) == 0
    assert f"Picture: {path.resolve()}\n" in capsys.readouterr().out
    assert path.stat().st_size > 10_000
    pixels = image.imread(path)
    assert pixels.shape[1] == 1400
    assert 1000 < pixels.shape[0] < 2200
    # White margins: nothing is cut off.
    edges = [pixels[:, :20], pixels[:, -20:], pixels[:10].swapaxes(0, 1), pixels[-10:].swapaxes(0, 1)]
    assert all((edge[..., :3] == 1).all() for edge in edges)


def test_demo_writes_to_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo"]) == 0
    assert (tmp_path / "poolgrad-demo.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("spoiled")
def test_wrong_value_counts_more_than_the_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert cli.main(["demo", "--picture", str(tmp_path / "missing" / "demo.png")]) == 1


def test_unwritable_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / "missing" / "demo.png"
    assert cli.main(["demo", "--picture", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.err == f"poolgrad: cannot write the picture to {path}: No such file or directory\n"
    assert "Picture:" not in captured.out


def test_demo_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "poolgrad.demo_picture", raising=False)
    path = tmp_path / "demo.png"
    assert cli.main(["demo", "--picture", str(path)]) == 0
    assert capsys.readouterr().out.endswith('pip install "poolgrad[demo]"\n')
    assert not path.exists()


def test_info(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(importlib.metadata, "version", {"poolgrad": "1.2.3", "ml_dtypes": "4.5.6"}.__getitem__)
    monkeypatch.setattr(importlib.metadata, "PackageNotFoundError", KeyError)
    monkeypatch.setenv("POOLGRAD_NUM_THREADS", "3")
    assert cli.main(["info"]) == 0
    found = rows(capsys.readouterr().out)
    assert found["poolgrad"] == "1.2.3"
    assert found["NumPy"] == np.__version__
    assert found["Instructions"] == f"{cpu.isa()} in use, of {', '.join(cpu.available_isas())}"
    assert found["Threads"] == "3, from POOLGRAD_NUM_THREADS"
    assert found["ml_dtypes"] == "4.5.6"
    assert found["torch"] == "not installed"


def test_info_says_who_set_the_threads(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("POOLGRAD_NUM_THREADS", raising=False)
    cli.main(["info"])
    assert rows(capsys.readouterr().out)["Threads"].endswith(", the processors this process may use")
    set_num_threads(5)
    try:
        cli.main(["info"])
    finally:
        set_num_threads(None)
    assert rows(capsys.readouterr().out)["Threads"] == "5, from set_num_threads"


def test_info_shows_a_bad_setting_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("POOLGRAD_NUM_THREADS", "many")
    assert cli.main(["info"]) == 1
    found = rows(capsys.readouterr().out)
    assert found["Threads"].startswith("error: POOLGRAD_NUM_THREADS must be a number")
    assert "zarr" in found


def test_bad_setting_stops_the_demo(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("POOLGRAD_ISA", "abacus")
    assert cli.main(["demo", "--no-picture"]) == 2
    error = capsys.readouterr().err
    assert "POOLGRAD_ISA must be one of" in error
    assert error.count("\n") == 1


def test_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(demo, "run", interrupted)
    assert cli.main(["demo", "--no-picture"]) == 130
    assert capsys.readouterr().err == ""


def test_no_command_prints_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 0
    assert "examples:\n  poolgrad demo" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(["dance"], "invalid choice: 'dance'", id="unknown-command"),
        pytest.param(["demo", "--picture", "demo.svg"], "must end in .png, got 'demo.svg'", id="not-png"),
        pytest.param(["demo", "--picture", "a.png", "--no-picture"], "not allowed with", id="both-options"),
    ],
)
def test_bad_command_line(capsys: pytest.CaptureFixture[str], words: list[str], message: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(words)
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_as_a_program() -> None:
    command = [sys.executable, "-W", "error", "-m", "poolgrad", "demo", "--no-picture"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "260 values: all as computed by hand" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="a pipe without a reader is another error there")
def test_reader_that_leaves_early() -> None:
    command = [sys.executable, "-m", "poolgrad", "demo", "--no-picture"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        assert program.stderr.read() == ""
    assert program.returncode == 1


def test_import_is_light() -> None:
    code = (
        "import sys, poolgrad; print([n for n in ('poolgrad.cli', 'poolgrad.demo', 'matplotlib') if n in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
