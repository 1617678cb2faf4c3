"""The studio inside a notebook: the same front end, asking the notebook's own Python instead of a server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from poolgrad.errors import RAISED
from poolgrad.pages import Document, Page, PageError, dumps, examples, load
from poolgrad.pages.export import FORMATS
from poolgrad.pages.values import Array
from poolgrad.studio import shelf
from poolgrad.studio.palette import palette
from poolgrad.studio.shelf import RefusedError, Shelf
from poolgrad.studio.worker import Desk

WEB = Path(__file__).parent / "web"

_DESK = ("check", "misfits", "lay_out", "run", "values", "flow_overview", "flow_window", "flow_cell")


class Studio(anywidget.AnyWidget):
    """A page to look at and to change. ``results`` are those of the last run, there as soon as the widget is made.

    Args:
        page: a file `*.pool.json`, the name of a page that comes along, or a page made in Python
        name: which page of a file
        height: of the widget, in pixels
        read_only: whether files may not be written

    >>> studio = Studio("avgpool-grad")  # doctest: +SKIP
    >>> studio.results["dx.output"].shape  # doctest: +SKIP
    (1, 4, 4, 1)
    """

    height = traitlets.Int(620).tag(sync=True)

    def __init__(
        self, page: str | Path | Page | Document, name: str | None = None, *, height: int = 620, read_only: bool = False
    ) -> None:
        if not (WEB / "studio.js").is_file():
            raise RuntimeError("this installation has no front end for the studio: it was built without npm")
        document, folder, self._name = _read(page)
        self._document, self._page = document, document.page(name)
        self._shelf, self._desk = Shelf(folder, read_only), Desk(folder)
        self._desk.run(dumps(document), self._page.name)
        self._esm, self._css = ((WEB / name).read_text("utf-8") for name in ("studio.js", "studio.css"))
        super().__init__()
        self.height = height
        self.on_msg(self._heard)

    @property
    def results(self) -> Mapping[str, Array]:
        """Arrays of the last run by port, such as ``results["dx.output"]``."""
        return {} if self._desk.last is None else self._desk.last.results

    @property
    def page(self) -> Page:
        """The page as it was last run."""
        return self._page if self._desk.last is None else self._desk.last.page

    def _heard(self, _: Any, content: Any, __: Any) -> None:
        """Answer one question of the front end."""
        answers = self._answers()
        try:
            number, name, arguments = content["id"], content["name"], content["arguments"]
            if name not in answers:
                raise RefusedError(404, "there is no such question")
            answer = answers[name](*arguments)
        except (PageError, RefusedError, KeyError, TypeError, *RAISED) as error:
            words = error.args[0] if isinstance(error, KeyError) and error.args else error
            self.send({"id": content.get("id") if isinstance(content, dict) else None, "error": str(words)})
            return
        if isinstance(answer, tuple):
            self.send({"id": number, "answer": list(answer[0])}, [answer[1]])
        else:
            self.send({"id": number, "answer": answer})

    def _answers(self) -> dict[str, Callable[..., Any]]:
        desk, kept = self._desk, self._shelf
        return {
            "start": self._start,
            "example": lambda name: json.loads(shelf.example(name)),
            "files": kept.names,
            "open": lambda name: json.loads(kept.read(name)),
            "save": kept.write,
            "export": lambda text, page, form: {"text": desk.export(text, page, form), "suffix": FORMATS[form]},
            "slice": desk.slice,
            "flow_volume": desk.flow_volume,
            **{name: getattr(desk, name) for name in _DESK},
        }

    def _start(self) -> dict[str, Any]:
        return {
            "blocks": palette(),
            "examples": shelf.titles(),
            "readOnly": self._shelf.read_only,
            "start": self._name,
            "document": json.loads(dumps(self._document)),
            "page": self._page.name,
            "formats": list(FORMATS),
        }


def _read(page: str | Path | Page | Document) -> tuple[Document, Path, str]:
    """A document, the folder it lies in, and its name there."""
    if isinstance(page, Page):
        page = Document((page,))
    if isinstance(page, Document):
        return page, page.page().folder or Path.cwd(), "page.pool.json"
    path = Path(page)
    if not path.exists() and str(page) in examples():
        return load(examples()[str(page)]), Path.cwd(), f"{page}.pool.json"
    return load(path), path.resolve().parent, path.name
