"""The system's Chromium, and what else the tests need that drive it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path

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
