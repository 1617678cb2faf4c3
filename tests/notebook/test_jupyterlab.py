"""The widget in JupyterLab: run all cells, change the page in the browser, and find its results in Python."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from ..studio.chromium import CHROMIUM, need_browser

need_browser()
playwright = pytest.importorskip("playwright.sync_api")

CELLS = [
    'import poolgrad\nstudio = poolgrad.Studio("avgpool-grad")\nstudio',
    'print("sum is", round(float(studio.results["dx.output"].sum()), 3))',
]


def _notebook() -> str:
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    cells = [
        {"cell_type": "code", "id": f"cell{n}", "metadata": {}, "outputs": [], "execution_count": None, "source": text}
        for n, text in enumerate(CELLS)
    ]
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": kernel, "cells": cells})


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """JupyterLab with a notebook that shows the studio."""
    (tmp_path / "studio.ipynb").write_text(_notebook())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = {"ip": "127.0.0.1", "port": port, "open_browser": False, "allow_root": True, "root_dir": tmp_path}
    words = [f"--ServerApp.{name}={value}" for name, value in options.items()]
    words += ["--IdentityProvider.token=word", "--LabApp.news_url=", "--LabApp.check_for_updates_class="
              "jupyterlab.NeverCheckForUpdate"]  # fmt: skip
    home = {"JUPYTER_CONFIG_DIR": str(tmp_path / "config"), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
    with (tmp_path / "log").open("w") as log:
        lab = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *words], stdout=log, stderr=log, env=os.environ | home, cwd=tmp_path
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/api", lab, tmp_path / "log")
            yield f"http://127.0.0.1:{port}/lab/tree/studio.ipynb?token=word"
        finally:
            lab.terminate()
            lab.wait(30)


def _wait_for(url: str, lab: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urlopen(url):
                return
        except OSError:
            assert lab.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)


def test_the_widget(address: str) -> None:
    asked: list[str] = []

    def kept(route: Any) -> None:
        url = route.request.url
        if url.startswith(("http://127.0.0.1:", "blob:", "data:")):
            route.continue_()
        else:
            asked.append(url)
            route.abort()

    with playwright.sync_playwright() as tool:
        browser = tool.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1360, "height": 900})
        tab.set_default_timeout(60_000)
        tab.route("**/*", kept)
        tab.goto(address)
        tab.click(".jp-Cell >> nth=0")
        _run_all(tab)
        # The second cell ran before the browser had drawn anything.
        playwright.expect(tab.locator(".jp-OutputArea-output:has-text('sum is')")).to_have_text("sum is 10.0")
        playwright.expect(tab.locator(".studio .messages")).to_contain_text("all fine", timeout=30_000)
        assert tab.locator(".studio .block").count() == 5
        tab.get_by_label("value of grad", exact=True).first.fill("2")
        tab.keyboard.press("Enter")
        grad = tab.locator(".react-flow__node[data-id='grad'] .block")
        playwright.expect(grad).to_contain_text("sum 8")
        playwright.expect(tab.locator(".studio .messages")).to_contain_text("all fine")
        tab.click(".jp-Cell >> nth=1")
        tab.keyboard.press("Control+Enter")
        playwright.expect(tab.locator(".jp-OutputArea-output:has-text('sum is')")).to_have_text("sum is 8.0")
        browser.close()
    assert asked == []


def _run_all(tab: Any) -> None:
    tab.click(".lm-MenuBar-item:has-text('Run')")
    tab.click(".lm-Menu-item[data-command='runmenu:run-all']")
