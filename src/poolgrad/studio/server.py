"""The studio's server: a few routes over pages, on the loopback address, behind :mod:`poolgrad.studio.security`."""

from __future__ import annotations

import json
import socket
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from poolgrad.pages import PageError
from poolgrad.pages.export import FORMATS
from poolgrad.studio.palette import palette
from poolgrad.studio.security import Access, App, Guard, TooLongError
from poolgrad.studio.shelf import RefusedError, Shelf, example, titles
from poolgrad.studio.worker import PageRefusedError, StoppedError, Worker

WEB = Path(__file__).parent / "web"
_KINDS = {".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@dataclass
class Studio:
    """What the routes share: the folder pages lie in, whether they may be written, and the child that runs them."""

    folder: Path
    worker: Worker
    read_only: bool = False
    start: str | None = None
    web: Path = WEB

    @property
    def shelf(self) -> Shelf:
        """Where pages are kept."""
        return Shelf(self.folder, self.read_only)

    async def index(self, _: Request) -> Response:
        return self._file("index.html")

    async def asset(self, request: Request) -> Response:
        return self._file(request.path_params["name"])

    def _file(self, name: str) -> Response:
        """A file of the front end. There are only a few, all in one folder."""
        path = self.web / name
        if path.suffix not in _KINDS or path.name != name or not path.is_file():
            return PlainTextResponse("there is no such file\n", 404)
        return Response(path.read_bytes(), media_type=_KINDS[path.suffix])

    async def start_page(self, _: Request) -> Response:
        return JSONResponse(
            {
                "blocks": palette(),
                "examples": titles(),
                "readOnly": self.read_only,
                "start": self.start,
                "formats": list(FORMATS),
            }
        )

    async def example(self, request: Request) -> Response:
        return Response(example(request.path_params["name"]), media_type="application/json")

    async def files(self, _: Request) -> Response:
        return JSONResponse({"files": self.shelf.names()})

    async def open(self, request: Request) -> Response:
        content = await _body(request)
        return Response(self.shelf.read(_word(content, "name")), media_type="application/json")

    async def save(self, request: Request) -> Response:
        content = await _body(request)
        return JSONResponse({"saved": self.shelf.write(_word(content, "name"), _word(content, "text"))})

    async def check(self, request: Request) -> Response:
        content = await _body(request)
        return JSONResponse(await self._asked("check", _word(content, "text"), content.get("page")))

    async def misfits(self, request: Request) -> Response:
        content = await _body(request)
        text, page, source = _word(content, "text"), content.get("page"), _word(content, "source")
        return JSONResponse(await self._asked("misfits", text, page, source))

    async def lay_out(self, request: Request) -> Response:
        content = await _body(request)
        return JSONResponse(await self._asked("lay_out", _word(content, "text"), content.get("page")))

    async def run(self, request: Request) -> Response:
        content = await _body(request)
        return JSONResponse(await self._asked("run", _word(content, "text"), content.get("page")))

    async def export(self, request: Request) -> Response:
        content = await _body(request)
        form = _word(content, "form")
        if form not in FORMATS:
            raise RefusedError(400, f"form must be one of {', '.join(FORMATS)}, got {form!r}")
        text = await self._asked("export", _word(content, "text"), content.get("page"), form)
        return JSONResponse({"text": text, "suffix": FORMATS[form]})

    async def slice(self, request: Request) -> Response:
        content = await _body(request)
        number, place = content.get("run"), content.get("place")
        if not isinstance(number, int) or not isinstance(place, list) or not all(isinstance(n, int) for n in place):
            raise RefusedError(400, "a slice is asked for with a run's number and a list of whole numbers")
        (height, width), data = await self._asked("slice", number, _word(content, "port"), place)
        shape = {"x-height": str(height), "x-width": str(width)}
        return Response(data, media_type="application/octet-stream", headers=shape)

    async def values(self, request: Request) -> Response:
        content = await _body(request)
        form = _word(content, "form")
        if form not in ("csv", "numpy"):
            raise RefusedError(400, f"form must be csv or numpy, got {form!r}")
        number, place = _whole(content, "run"), content.get("place")
        if not isinstance(place, list) or not all(type(n) is int for n in place):
            raise RefusedError(400, "a place is a list of whole numbers")
        return JSONResponse(await self._asked("values", number, _word(content, "port"), place, form))

    async def flow(self, request: Request) -> Response:
        """Where gradients go: all about a block, one window, one cell, or a volume of numbers."""
        content = await _body(request)
        number, block, kind = _whole(content, "run"), _word(content, "block"), request.path_params["kind"]
        if kind == "overview":
            return JSONResponse(await self._asked("flow_overview", number, block))
        image = _whole(content, "batch"), _whole(content, "channel")
        if kind == "volume":
            count = None if content.get("count") is None else _whole(content, "count")
            shape, data = await self._asked("flow_volume", number, block, *image, _word(content, "what"), count)
            sizes = {"x-depth": str(shape[0]), "x-height": str(shape[1]), "x-width": str(shape[2])}
            return Response(data, media_type="application/octet-stream", headers=sizes)
        if kind not in ("window", "cell"):
            raise RefusedError(404, "there is no such question")
        place = content.get("place")
        if not isinstance(place, list) or len(place) != 3 or not all(type(n) is int for n in place):
            raise RefusedError(400, "a place is depth, row and column")
        return JSONResponse(await self._asked(f"flow_{kind}", number, block, *image, place))

    async def _asked(self, name: str, *arguments: Any) -> Any:
        if any(not isinstance(a, str | int | list | None) for a in arguments):
            raise RefusedError(400, "a page is named by text")
        return await run_in_threadpool(self.worker.ask, name, *arguments)


async def _body(request: Request) -> dict[str, Any]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/json":
        raise RefusedError(415, "a request must be application/json")
    try:
        content = json.loads(await request.body())
    except TooLongError:
        raise RefusedError(413, "the request is too long") from None
    except (ValueError, RecursionError):
        raise RefusedError(400, "the request is not JSON") from None
    if not isinstance(content, dict):
        raise RefusedError(400, "the request is not a JSON object")
    return content


def _word(content: dict[str, Any], name: str) -> str:
    given = content.get(name)
    if not isinstance(given, str):
        raise RefusedError(400, f"the request must have {name!r} as text")
    return given


def _whole(content: dict[str, Any], name: str) -> int:
    given = content.get(name)
    if type(given) is not int:
        raise RefusedError(400, f"the request must have {name!r} as a whole number")
    return given


def _answers() -> dict[Any, Callable[[Request, Exception], Response]]:
    """Errors as answers."""

    def refused(_: Request, error: Any) -> Response:
        return JSONResponse({"message": str(error)}, error.status)

    def bad_page(_: Request, error: Any) -> Response:
        problem = error.problem if isinstance(error, PageRefusedError) else error.problem.as_json()
        return JSONResponse({"message": problem["message"], "problem": problem}, 422)

    def stopped(_: Request, error: Exception) -> Response:
        return JSONResponse({"message": str(error)}, 503)

    def missing(_: Request, error: Exception) -> Response:
        return JSONResponse({"message": str(error.args[0])}, 404)

    return {
        RefusedError: refused,
        PageError: bad_page,
        PageRefusedError: bad_page,
        StoppedError: stopped,
        KeyError: missing,
    }


def application(studio: Studio, access: Access) -> App:
    """The server as an ASGI application."""
    routes = [
        Route("/", studio.index),
        Route("/web/{name}", studio.asset),
        Route("/api/start", studio.start_page),
        Route("/api/examples/{name}", studio.example),
        Route("/api/files", studio.files),
        Route("/api/open", studio.open, methods=["POST"]),
        Route("/api/save", studio.save, methods=["POST"]),
        Route("/api/check", studio.check, methods=["POST"]),
        Route("/api/misfits", studio.misfits, methods=["POST"]),
        Route("/api/layout", studio.lay_out, methods=["POST"]),
        Route("/api/run", studio.run, methods=["POST"]),
        Route("/api/slice", studio.slice, methods=["POST"]),
        Route("/api/values", studio.values, methods=["POST"]),
        Route("/api/flow/{kind}", studio.flow, methods=["POST"]),
        Route("/api/export", studio.export, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, exception_handlers=_answers()), access)


def serve(file: str | None, *, port: int = 0, opens_browser: bool = True, read_only: bool = False) -> int:
    """Serve until interrupted. The folder of the file, or the current one, is all that the browser can reach."""
    path = None if file is None else Path(file).resolve()
    folder = Path.cwd() if path is None else path.parent
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    access = Access(listener.getsockname()[1])
    worker = Worker(folder)
    studio = Studio(folder, worker, read_only, None if path is None else path.name)
    print(f"poolgrad studio: {access.address}\nFolder: {folder}\nCtrl-C ends it.", flush=True)
    if opens_browser:
        webbrowser.open(access.address)
    settings = uvicorn.Config(application(studio, access), log_level="warning", server_header=False, date_header=False)
    try:
        uvicorn.Server(settings).run(sockets=[listener])
    finally:
        worker.close()
    return 0
