"""The system's Chromium, what else the tests need that drive it, and what they do often."""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import poolgrad

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FRONT_END = Path(poolgrad.__file__).parent / "studio" / "web" / "index.html"


def need_browser() -> None:
    """Leave the module out where its tests cannot run; `nox -s studio` asks for them, and there it is a failure."""
    missing = {
        "playwright is not installed": importlib.util.find_spec("playwright") is None,
        "there is no Chromium": CHROMIUM is None,
        "the front end is not built": not FRONT_END.is_file(),
    }
    for what, is_missing in missing.items():
        if is_missing and os.environ.get("POOLGRAD_BROWSER") == "required":
            pytest.fail(f"BROWSER TESTS NOT RUN: {what}", pytrace=False)
        elif is_missing:
            pytest.skip(f"BROWSER TESTS NOT RUN: {what}", allow_module_level=True)


@dataclass
class Served:
    """A studio that is running."""

    address: str
    folder: Path


def _expect() -> Any:
    return pytest.importorskip("playwright.sync_api").expect


def opened(tab: Any, name: str) -> None:
    tab.keyboard.press("Control+o")
    tab.click(f".gallery button:has(b:text-is('{name}'))")
    _expect()(tab.get_by_label("file name")).to_have_value(f"{name}.pool.json")


def block(tab: Any, name: str) -> Any:
    return tab.locator(f".react-flow__node[data-id='{name}'] .block")


def says(tab: Any, text: str) -> None:
    """Wait for words at the bottom. The page's policy forbids to evaluate text there, for tests too."""
    _expect()(tab.locator(".messages")).to_contain_text(text)


def fine(tab: Any) -> None:
    says(tab, "all fine")


def looked_at(tab: Any, name: str, panel: str) -> Any:
    """Open a tab of the inspector for a block."""
    fine(tab)
    block(tab, name).locator("header").click()
    tab.get_by_role("tab", name=panel).click()
    return tab.locator(".inspector")


def pointed(tab: Any, place: str, words: str) -> None:
    tab.locator(f"[data-place='{place}']").hover(force=True)
    _expect()(tab.locator(".told")).to_contain_text(words)
