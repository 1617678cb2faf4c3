"""What README and docs say is run, and tables made from the code are up to date."""

from __future__ import annotations

import doctest
import importlib.util
import re
from pathlib import Path
from types import ModuleType

import pytest

from poolgrad.raw_ops import OPS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
RUN = [page for page in PAGES if page.name != "torch.md"]  # it needs PyTorch: tests/frontends runs it


@pytest.fixture
def readme_table() -> ModuleType:
    spec = importlib.util.spec_from_file_location("readme_table", ROOT / "tools" / "readme_table.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_examples_of_a_page_run(page: Path) -> None:
    assert doctest.testfile(str(page), module_relative=False).failed == 0


def test_readme_has_examples() -> None:
    assert doctest.testfile(str(ROOT / "README.md"), module_relative=False).attempted >= 5


def test_table_of_ops_is_up_to_date(readme_table: ModuleType) -> None:
    assert readme_table.main(["--check"]) == 0
    assert all(f"| {name} |" in readme_table.README.read_text() for name in OPS)


def test_an_old_table_is_noticed(
    readme_table: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = tmp_path / "README.md"
    old.write_text(readme_table.README.read_text().replace("| AvgPool3D | floats |", "| AvgPool3D | float32 |"))
    monkeypatch.setattr(readme_table, "README", old)
    assert readme_table.main(["--check"]) == 1
    assert "nox -s readme" in capsys.readouterr().err


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "RELEASING.md"], ids=lambda page: page.name)
def test_files_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text()
    links = re.findall(r"\]\(([^)#]+)\)", text)
    quoted = re.findall(r"`((?:src|native|tests|docs|tools)/[\w./-]+)`", text)
    for name in links:
        assert (page.parent / name).exists(), name
    for name in quoted:
        assert (ROOT / name).exists() or list(ROOT.glob(name)), name
