"""The studio with much to show, in a notebook, in light and dark, in large and small windows."""

from __future__ import annotations

import base64
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import poolgrad
from poolgrad.pages import Document, Page, save

from .chromium import Served, block, fine, looked_at, need_browser, opened, pointed, says

need_browser()
playwright = pytest.importorskip("playwright.sync_api")


def test_many_blocks(tab: Any, served: Served) -> None:
    """160 blocks and 120 wires are there, with results, in 3 s."""
    made = Page()
    for n in range(40):
        made.block(f"x{n}", "Random", shape=[1, 6, 6, 1], seed=n, at=(0, n * 420))
        made.block(
            f"y{n}", "MaxPool", input=f"x{n}", ksize="1,2,2,1", strides="1,2,2,1", padding="SAME", at=(340, n * 420)
        )
        made.block(f"d{n}", "MaxPoolGrad", orig_input=f"x{n}", orig_output=f"y{n}", grad=f"y{n}", ksize="1,2,2,1",
                   strides="1,2,2,1", padding="SAME", at=(680, n * 420))  # fmt: skip
        made.block(f"s{n}", "Sum", input=f"d{n}", at=(1020, n * 420))
    save(Document((made,)), served.folder / "many.pool.json")
    passed, worked = min(_seconds_to_load(tab, 160) for _ in range(2))
    assert passed < 3 or (worked < 2 and passed < 10)  # others may be busy on the machine
    far = block(tab, "y20")
    assert far.locator("canvas").is_hidden()  # too small to be read
    assert 0 < _seconds_of_a_move(tab, far) < 0.05  # 20 pictures a second on a slow machine
    for _ in range(10):
        tab.get_by_role("button", name="Zoom In").click()
        time.sleep(0.1)
    near = tab.locator(".block:not(.away)")
    playwright.expect(near.first.locator("canvas")).to_be_visible()
    assert near.count() < 80
    seen = (one for one in near.all() if 200 < one.bounding_box()["x"] < 900 and 50 < one.bounding_box()["y"] < 600)
    assert 0 < _seconds_of_a_move(tab, next(seen)) < 0.05


@contextmanager
def _work(tab: Any) -> Iterator[list[float]]:
    """Seconds that the page uses of the processor, however busy that is with other things."""
    spent: list[float] = []
    session = tab.context.new_cdp_session(tab)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    yield spent
    metrics = session.send("Performance.getMetrics")["metrics"]
    spent += [metric["value"] for metric in metrics if metric["name"] == "TaskDuration"]
    session.detach()


def _seconds_of_a_move(tab: Any, moved: Any) -> float:
    """What it takes to move a block a bit."""
    box = moved.bounding_box()
    tab.mouse.move(box["x"] + 5, box["y"] + 2)
    tab.mouse.down()
    with _work(tab) as spent:
        tab.mouse.move(box["x"] + 65, box["y"] + 32, steps=20)
    tab.mouse.up()
    assert abs(moved.bounding_box()["x"] - box["x"]) > 20
    return spent[0] / 20


def _seconds_to_load(tab: Any, count: int) -> tuple[float, float]:
    """Until every block is there with its numbers and its map: seconds that pass, and that the page works in them."""
    opened(tab, "avgpool-grad")
    fine(tab)
    tab.click("text=Open")
    tab.wait_for_selector(".gallery")
    start = time.monotonic()
    with _work(tab) as spent:
        tab.click(".gallery button:text-is('many.pool.json')")
        playwright.expect(tab.locator(".block .map canvas")).to_have_count(count)
        says(tab, f"{count} blocks, all fine")
    return time.monotonic() - start, spent[0]


def test_a_large_array_is_run_when_told_and_shown_in_slices(tab: Any, served: Served) -> None:
    made = Page().block("x", "Random", shape=[1, 16, 1024, 1024, 1], distribution="uniform", seed=1)
    save(Document((made,)), served.folder / "large.pool.json")
    tab.click("text=Open")
    tab.click(".gallery button:text-is('large.pool.json')")
    says(tab, "a large page: press Run")
    tab.keyboard.press("Control+Enter")
    playwright.expect(tab.locator(".messages .running")).to_have_count(1)
    says(tab, "1 blocks, all fine")
    playwright.expect(tab.locator(".messages .running")).to_have_count(0)
    tab.locator(".react-flow__node[data-id='x']").focus()
    for key in ("Enter", "ArrowRight", "ArrowDown"):
        tab.keyboard.press(key)
    says(tab, "1 blocks, all fine")  # to move a block changes no result
    assert block(tab, "x").locator(".stale").count() == 0
    tab.get_by_label("depth of x.output").fill("15")
    playwright.expect(block(tab, "x")).to_contain_text("depth 15")
    start = time.monotonic()
    block(tab, "x").locator("canvas").hover(position={"x": 5, "y": 5})
    playwright.expect(block(tab, "x")).to_contain_text(re.compile(r"row \d, column \d: 0\."))
    assert time.monotonic() - start < 5


def test_colours_are_chosen(tab: Any) -> None:
    def background() -> str:
        return str(tab.evaluate("() => getComputedStyle(document.querySelector('.studio')).backgroundColor"))

    light = background()
    tab.get_by_label("colours").select_option("dark")
    tab.wait_for_selector(".react-flow.dark")
    dark = background()
    tab.get_by_label("colours").select_option("light")
    tab.wait_for_selector(".react-flow.light")
    assert (background(), dark != light) == (light, True)


NOTEBOOK = """async () => {
  const listeners = new Set();
  const model = {
    get: () => 600,
    on: (_, listen) => listeners.add(listen),
    off: (_, listen) => listeners.delete(listen),
    send: async (content) => {
      const [answer, buffers] = await askPython(content);
      const views = buffers.map((text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer));
      for (const listen of listeners) listen(answer, views);
    },
  };
  const { default: widget } = await import("/web/studio.js");
  window.closeWidget = widget.render({ model, el: document.querySelector("#cell") });
}"""


def test_in_a_notebook(browser: Any, served: Served) -> None:
    """The same file drawn by a widget, its messages answered by the widget's Python; the page around stays as it is."""
    pytest.importorskip("anywidget")
    studio = poolgrad.Studio("avgpool-grad")
    page = browser.new_page(viewport={"width": 1100, "height": 760})
    said: list[str] = []
    page.on("pageerror", lambda error: said.append(str(error)))

    def answered(content: Any) -> Any:
        sent: list[Any] = []
        studio.send = lambda made, buffers=(): sent.append([made, [base64.b64encode(b).decode() for b in buffers]])
        studio._handle_custom_msg(content, [])
        return sent[0]

    page.expose_function("askPython", answered)
    site = served.address.partition("#")[0]
    link = "<link rel=stylesheet href=/web/studio.css>"
    html = f"{link}<body><button id=own>mine</button><div id=cell></div>"
    page.route(f"{site}notebook", lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto(f"{site}notebook")
    plain = "() => String(['padding', 'color', 'font'].map(n => getComputedStyle(document.querySelector('#own'))[n]))"
    before = page.evaluate(plain)
    page.evaluate(NOTEBOOK)
    fine(page)
    assert page.locator(".block").count() == 5
    page.get_by_label("value of grad", exact=True).first.fill("2")
    page.keyboard.press("Enter")
    playwright.expect(block(page, "grad")).to_contain_text("sum 8")
    fine(page)
    assert studio.results["dx.output"].sum() == pytest.approx(8)
    looked_at(page, "dx", "Flow")
    pointed(page, "grad 0 0 1", "2 shared over 6 cells")
    page.evaluate("() => window.closeWidget()")
    assert page.locator(".studio").count() == 0
    assert page.evaluate(plain) == before
    assert said == []
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1360, 760), (800, 600)])
def test_nothing_overflows(browser: Any, served: Served, scheme: str, size: tuple[int, int]) -> None:
    context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
    page = context.new_page()
    page.goto(served.address)
    page.wait_for_selector(".block .map canvas")
    block(page, "dx").locator("header").click()
    page.wait_for_selector(".inspector h2")
    assert page.evaluate(
        "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
    )
    for name in ("Values", "Flow", "Python", "Reference", "Attributes"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate("() => (e => e.scrollWidth <= e.clientWidth)(document.querySelector('.inspector'))"), name
    for panel in (".inspector", ".palette", ".bar"):
        assert page.evaluate(f"(e => e.scrollWidth <= e.clientWidth)(document.querySelector('{panel}'))"), panel
    context.close()
