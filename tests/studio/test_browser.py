"""The studio in the system's Chromium: everything by mouse and keyboard, nothing asked for from outside."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from poolgrad.pages import load
from poolgrad.studio import server

from .chromium import Served, block, fine, need_browser, opened, says

need_browser()
playwright = pytest.importorskip("playwright.sync_api")


def wired(tab: Any, source: str, target: str) -> None:
    """Draw a wire with the mouse."""
    ends = [tab.locator(f".react-flow__handle[data-nodeid='{a}'][data-handleid='{b}']").bounding_box()
            for a, b in (source.split("."), target.split("."))]  # fmt: skip
    (x0, y0), (x1, y1) = ((end["x"] + end["width"] / 2, end["y"] + end["height"] / 2) for end in ends)
    tab.mouse.move(x0, y0)
    tab.mouse.down()
    tab.mouse.move(x0 + 20, y0 + 5, steps=3)
    time.sleep(0.4)  # the reasons come from the server
    tab.mouse.move(x1, y1, steps=8)


def test_the_bundle_is_small_and_has_its_licences() -> None:
    sizes = {path.name: path.stat().st_size for path in server.WEB.iterdir()}
    assert set(sizes) == {"index.html", "studio.js", "studio.css", "licenses.md"}
    assert sizes["studio.js"] + sizes["studio.css"] < 500_000
    licences = (server.WEB / "licenses.md").read_text("utf-8")
    assert all(name in licences for name in ("react", "react-dom", "@xyflow/react"))


def test_first_page(tab: Any) -> None:
    fine(tab)
    assert tab.locator(".block").count() == 7
    assert "float32[1,4,5,6,1]" in block(tab, "dx").inner_text()
    assert "sum 78" in block(tab, "dx").inner_text()


def test_slider_changes_the_slice(tab: Any) -> None:
    canvas = block(tab, "dx").locator("canvas")
    before = canvas.evaluate("c => c.toDataURL()")
    tab.get_by_label("depth of dx.output").fill("3")
    playwright.expect(block(tab, "dx")).to_contain_text("depth 3")
    deadline = time.monotonic() + 5
    while canvas.evaluate("c => c.toDataURL()") == before:
        assert time.monotonic() < deadline


def test_keys_work_after_a_slider(tab: Any) -> None:
    fine(tab)
    tab.get_by_label("depth of dx.output").focus()
    opened(tab, "avgpool-grad")
    fine(tab)
    assert "avgpool-grad" in tab.get_by_label("file name").input_value()


def test_pointing_at_a_cell_tells_its_value(tab: Any) -> None:
    block(tab, "dx").locator("canvas").hover(position={"x": 5, "y": 5})
    assert "row 0, column 0: 0.0833" in block(tab, "dx").inner_text()


def test_add_search_undo_redo_delete(tab: Any) -> None:
    tab.keyboard.press("/")
    tab.keyboard.type("fractional max")
    assert tab.locator(".palette button").all_inner_texts() == ["FractionalMaxPool", "FractionalMaxPoolGrad"]
    tab.click(".palette button >> nth=0")
    assert tab.locator(".block").count() == 8
    tab.wait_for_selector(".block.failed")
    assert "PG106 missing-wire" in block(tab, "fractionalMaxPool").inner_text()
    tab.click("text=Undo")
    assert tab.locator(".block").count() == 7
    tab.click("text=Redo")
    assert tab.locator(".block").count() == 8
    block(tab, "fractionalMaxPool").locator("header").click()
    tab.keyboard.press("Delete")
    assert tab.locator(".block").count() == 7
    tab.keyboard.press("Control+z")
    assert tab.locator(".block").count() == 8


def test_drag_is_kept_and_undone(tab: Any) -> None:
    fine(tab)
    header = block(tab, "grad").locator("header")
    start = header.bounding_box()
    tab.mouse.move(start["x"] + 30, start["y"] + 8)
    tab.mouse.down()
    tab.mouse.move(start["x"] + 90, start["y"] + 60, steps=5)
    tab.mouse.up()
    moved = header.bounding_box()
    assert abs(moved["x"] - start["x"] - 60) < 15
    tab.keyboard.press("Control+z")
    deadline = time.monotonic() + 5
    while abs(header.bounding_box()["x"] - start["x"]) > 5:
        assert time.monotonic() < deadline


def test_an_edit_shows_the_fault_and_its_fix(tab: Any) -> None:
    fine(tab)
    tab.get_by_label("shape of grad", exact=True).first.fill("1,2,2,2,1")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".block.failed")
    assert "PG109 bad-value" in block(tab, "grad").inner_text()
    assert "waits for grad" in block(tab, "dx").inner_text()
    tab.keyboard.press("Control+z")
    fine(tab)


def test_the_documented_page_and_its_fix(tab: Any) -> None:
    opened(tab, "maxpool3d-grad-as-drawn")
    tab.wait_for_selector(".block.failed")
    dx = block(tab, "dx")
    assert "Expected orig_output shape to be [2,1,1,1,2], but got [2,2,2,2,2]" in dx.inner_text()
    assert dx.locator(".pin.bad").inner_text() == "orig_output"
    assert tab.locator(".react-flow__edge.cut").count() == 1
    dx.get_by_text("make ones [2,1,1,1,2]").click()
    fine(tab)
    assert "sum 6" in block(tab, "result").inner_text()


def test_bad_wires_are_refused_while_they_are_drawn(tab: Any) -> None:
    opened(tab, "avgpool-grad")
    fine(tab)
    wired(tab, "shape.output", "dx.grad")
    tab.wait_for_selector(".pin.misfit")
    assert "grad" in tab.locator(".pin.misfit").all_inner_texts()[0]
    tab.mouse.up()
    says(tab, "PG202")
    assert tab.locator(".react-flow__edge").count() == 3


def test_a_good_wire_is_drawn(tab: Any) -> None:
    opened(tab, "avgpool-grad")
    fine(tab)
    wired(tab, "grad.output", "result.input")
    tab.mouse.up()
    tab.wait_for_selector("[data-id='grad.output>result.input']", state="attached")
    assert tab.locator(".react-flow__edge").count() == 3
    fine(tab)


def test_keyboard_alone(tab: Any) -> None:
    """A block is found, added, wired and read without a mouse."""
    opened(tab, "avgpool-grad")
    fine(tab)
    tab.keyboard.press("/")
    tab.keyboard.type("sum along")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Enter")
    tab.wait_for_selector(".react-flow__node[data-id='sum']")
    tab.locator(".react-flow__node[data-id='sum']").focus()
    tab.keyboard.press("Enter")
    source = tab.get_by_label("source of input")
    source.focus()
    source.select_option("dx.output")
    fine(tab)
    assert "sum 10" in block(tab, "sum").inner_text()


def test_copy_and_paste(tab: Any) -> None:
    opened(tab, "avgpool-grad")
    fine(tab)
    block(tab, "grad").locator("header").click()
    tab.keyboard.press("Control+c")
    count = tab.locator(".block").count()
    tab.keyboard.press("Control+v")
    tab.wait_for_selector(".react-flow__node[data-id='grad2']")
    assert tab.locator(".block").count() == count + 1


def test_save_open_and_run_in_the_shell(tab: Any, served: Served) -> None:
    fine(tab)
    tab.get_by_label("file name").fill("mine.pool.json")
    tab.get_by_label("value of grad", exact=True).first.fill("2")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Control+s")
    says(tab, "saved as mine.pool.json")
    saved = load(served.folder / "mine.pool.json").page()
    assert next(one for one in saved.blocks if one.id == "grad").attrs["value"] == 2
    tab.reload()
    tab.wait_for_selector(".block")
    tab.click("text=Open")
    tab.click(".gallery button:text-is('mine.pool.json')")
    playwright.expect(tab.get_by_label("file name")).to_have_value("mine.pool.json")
    playwright.expect(block(tab, "grad")).to_contain_text("sum 24")


def test_export(tab: Any) -> None:
    fine(tab)
    with tab.expect_download() as caught:
        tab.get_by_label("export").select_option("python")
    text = Path(caught.value.path()).read_text()
    assert caught.value.suggested_filename == "avgpool3d-grad-windows.py"
    assert "poolgrad.raw_ops.AvgPool3DGrad(" in text


def test_pages_of_a_file(tab: Any) -> None:
    opened(tab, "maxpool3d-grad")
    tab.get_by_label("page", exact=True).select_option("ties")
    tab.wait_for_selector(".react-flow__node[data-id='ones']")
    fine(tab)


def test_without_the_token_nothing_is_shown(browser: Any, served: Served) -> None:
    page = browser.new_page()
    page.goto(served.address.partition("#")[0])
    playwright.expect(page.locator("main")).to_contain_text("the token is missing or wrong")
    assert page.locator(".block").count() == 0
    page.close()
