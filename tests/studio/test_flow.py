"""Where each gradient goes, and the other panels of a block, in the system's Chromium."""

from __future__ import annotations

import time
from typing import Any

import pytest

from poolgrad.pages import Document, Page, save

from .chromium import Served, block, fine, looked_at, need_browser, opened, pointed, says

need_browser()
playwright = pytest.importorskip("playwright.sync_api")


def test_where_a_gradient_goes(tab: Any) -> None:
    panel = looked_at(tab, "dx", "Flow")
    pointed(tab, "grad 0 1 2", "6 shared over 8 cells (window clipped to the input): each gets 3/4 = 0.75")
    assert panel.locator(".window").count() == 2  # in two of the four slices
    assert panel.locator(".window .padding").count() == 2
    pointed(tab, "dx 3 4 5", "12/8 = 1.5")
    assert panel.locator(".ring").count() == 2
    playwright.expect(panel).to_contain_text("sum of grad 78, of dx 78: every gradient is shared out whole")
    for view, slices in (("stack", 4), ("one slice", 1), ("largest", 1), ("slices", 4)):
        panel.get_by_label("view", exact=True).select_option(view)
        playwright.expect(panel.locator("[data-slice^=dx]")).to_have_count(slices)


def test_overlapping_windows_and_their_cover(tab: Any) -> None:
    opened(tab, "avgpool-grad")
    panel = looked_at(tab, "dx", "Flow")
    pointed(tab, "dx 0 2 2", "1/9 + 2/6 + 3/6 + 4/4 = 1.94444")
    assert panel.locator(".ring").count() == 5
    panel.get_by_text("cover map").click()
    playwright.expect(panel.locator("[data-place='dx 0 2 2']")).to_have_text("4")


def test_ties_and_lost_gradients(tab: Any) -> None:
    opened(tab, "maxpool3d-grad")
    tab.get_by_label("page", exact=True).select_option("ties")
    tab.wait_for_selector(".react-flow__node[data-id='ones']")
    panel = looked_at(tab, "dx", "Flow")
    pointed(tab, "grad 0 0 0", "2 cells tie at 1, each gets the full 3")
    assert panel.locator(".route").count() == 2
    playwright.expect(panel.locator(".dot circle")).to_have_count(2)
    panel.get_by_label("channel of the flow").fill("1")
    playwright.expect(panel.locator(".cross path")).to_have_count(1)
    pointed(tab, "grad 0 0 0", "4 is lost")
    assert "lost" in panel.locator(".told").get_attribute("class")


def test_cuts_of_fractional_cells(tab: Any) -> None:
    opened(tab, "fractional-avgpool-grad")
    panel = looked_at(tab, "apart", "Flow")
    playwright.expect(panel.locator(".cuts line")).to_have_count(4)
    assert panel.locator(".cuts .shared").count() == 0
    block(tab, "shared").locator("header").click()
    playwright.expect(panel.locator(".cuts .shared")).to_have_count(4)
    pointed(tab, "grad 0 1 1", "5 shared over 8 cells")


def test_windows_one_by_one(tab: Any) -> None:
    opened(tab, "avgpool-grad")
    panel = looked_at(tab, "dx", "Flow")
    step = panel.get_by_role("button", name="Step", exact=True)
    step.press("Enter")
    playwright.expect(panel).to_contain_text("dx after 1 of 4 windows")
    playwright.expect(panel.locator("[data-place='dx 0 3 3']")).to_have_text("0")
    step.press("Enter")
    playwright.expect(panel.locator(".told")).to_contain_text("2 shared over 6 cells")
    panel.get_by_role("button", name="Play").click()
    playwright.expect(panel).to_contain_text("dx after 4 of 4 windows")
    playwright.expect(panel.locator("[data-place='dx 0 3 3']")).to_have_text("1")
    panel.get_by_role("button", name="All").click()
    playwright.expect(panel.locator("[data-place='dx 0 2 2']")).to_have_text("1.9")


def test_results_stay_on_their_page(tab: Any, served: Served) -> None:
    """A page that is not run shows nothing of another with a block of the same name; nor is that asked for any more."""
    made = Page().block("dx", "Random", shape=[1, 16, 1024, 512, 1])
    save(Document((made,)), served.folder / "waiting.pool.json")
    looked_at(tab, "dx", "Flow")
    pointed(tab, "grad 1 1 2", "12 shared over")
    opened(tab, "avgpool-grad")
    fine(tab)
    playwright.expect(tab.locator("[data-place='dx 0 3 3']")).to_have_count(1)
    tab.keyboard.press("Control+o")
    tab.click(".gallery button:text-is('waiting.pool.json')")
    says(tab, "a large page: press Run")
    assert block(tab, "dx").locator(".values").count() == 0


def test_values_program_and_reference(tab: Any) -> None:
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel = looked_at(tab, "dx", "Values")
    playwright.expect(panel.locator("td").first).to_have_text("0.083333336")
    panel.get_by_label("depth of the table").fill("3")
    playwright.expect(panel.locator("td").first).to_have_text("0.5833333")
    panel.get_by_text("Copy CSV").click()
    playwright.expect(panel).to_contain_text("copied")
    assert len(tab.evaluate("() => navigator.clipboard.readText()").splitlines()) == 5
    panel.get_by_text("Copy NumPy").click()
    deadline = time.monotonic() + 5
    while not tab.evaluate("() => navigator.clipboard.readText()").startswith("np.array("):
        assert time.monotonic() < deadline
    panel.get_by_role("tab", name="Python").click()
    playwright.expect(panel.locator(".own")).to_contain_text("dx = poolgrad.raw_ops.AvgPool3DGrad(")
    panel.get_by_role("tab", name="Reference").click()
    playwright.expect(panel).to_contain_text("each window's gradient is shared out evenly")
