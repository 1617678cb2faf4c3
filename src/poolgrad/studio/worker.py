"""Pages are checked and run in a child process, which holds the results and can be stopped.

The server never holds an array of a page: it asks for summaries, and for one slice at a time.
"""

from __future__ import annotations

import multiprocessing
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from poolgrad.pages import LIMITS, PageError, Run, check, loads, run
from poolgrad.pages.axes import plane, slice_axes
from poolgrad.pages.checks import misfits
from poolgrad.pages.export import export
from poolgrad.pages.layout import laid_out
from poolgrad.pages.model import Document, port
from poolgrad.pages.summaries import numbers_of, words_of
from poolgrad.pages.values import Array
from poolgrad.routes import Flow
from poolgrad.studio import flows

SECONDS = 30.0
_SECONDS_TO_START = 60.0
MOST_CELLS = 256
MOST_OF_ONE, MOST_AT_ONCE = 2**10, 2**15

Json = dict[str, Any]


class StoppedError(Exception):
    """The child took too long, or ended, and was replaced by a new one."""


@dataclass
class Desk:
    """What the child keeps between questions: the last run, and the flow that was looked at last."""

    folder: Path
    number: int = 0
    last: Run | None = None
    flow: tuple[int, str, Flow] | None = None

    def check(self, text: str, page: str | None) -> Json:
        """Shapes and faults of a page."""
        checked = check(loads(text, folder=self.folder).page(page))
        ports = {name: {"dtype": part.dtype, "shape": list(part.shape)} for name, part in checked.outlines.items()}
        return {"ports": ports, "problems": [problem.as_json() for problem in checked.problems]}

    def misfits(self, text: str, page: str | None, source: str) -> Json:
        """Pins that a wire from this output cannot go to."""
        found = misfits(loads(text, folder=self.folder).page(page), port(source))
        return {name: problem.as_json() for name, problem in found.items()}

    def lay_out(self, text: str, page: str | None) -> Json:
        """Places for all blocks."""
        return {block.id: block.at for block in laid_out(loads(text, folder=self.folder).page(page)).blocks}

    def run(self, text: str, page: str | None) -> Json:
        """Run a page: each output in numbers, each fault, and the run's own number for asking about slices."""
        done = run(loads(text, folder=self.folder).page(page), limits=LIMITS)
        self.last, self.number = done, self.number + 1
        ports: Json = {}
        for name, array in done.results.items():
            axes = slice_axes(array.shape, done.layouts.get(name))
            ports[name] = {"dtype": array.dtype.name, "shape": list(array.shape), "axes": axes}
            ports[name] |= {key: words_of(value) for key, value in numbers_of(array).items()}
        _with_first_planes(ports, done)
        statuses = {outcome.block: outcome.status for outcome in done.outcomes}
        problems = [problem.as_json() for problem in done.problems]
        return {"run": self.number, "ports": ports, "problems": problems, "blocks": statuses}

    def slice(self, number: int, port: str, place: list[int]) -> tuple[tuple[int, int], bytes]:
        """One plane of a result, its first 256 x 256 cells, as little-endian float32."""
        part = self._plane(number, port, place)
        with np.errstate(over="ignore"):
            return (part.shape[0], part.shape[1]), part.astype("<f4").tobytes()

    def values(self, number: int, port: str, place: list[int], form: str) -> Json:
        """The same plane in full, as text to copy."""
        part = self._plane(number, port, place)
        numbers = part if part.dtype.kind in "iu" else part.astype(np.float64)
        rows = [[_shortest(value, part.dtype) for value in row] for row in numbers]
        if form == "csv":
            return {"text": "".join(",".join(row) + "\n" for row in rows)}
        lists = ",\n".join(f"    [{', '.join(row)}]" for row in rows)
        words = re.sub("nan|inf", r"np.\g<0>", lists)
        return {"text": f"np.array([\n{words},\n], {part.dtype.name!r})\n"}

    def _plane(self, number: int, port: str, place: list[int]) -> Array:
        if self.last is None or number != self.number or port not in self.last.results:
            raise KeyError(f"there is no result {port!r} of run {number}")
        array, layout = self.last.results[port], self.last.layouts.get(port)
        sizes = [size for _, size in slice_axes(array.shape, layout)]
        if len(place) != len(sizes) or any(not 0 <= n < size for n, size in zip(place, sizes, strict=True)):
            raise KeyError(f"there is no slice {place} of {port!r}")
        return plane(array, place, layout)[:MOST_CELLS, :MOST_CELLS]

    def flow_overview(self, number: int, block: str) -> Json:
        """Sizes and sums of a block's gradients."""
        return flows.overview(self._flow(number, block))

    def flow_window(self, number: int, block: str, batch: int, channel: int, place: list[int]) -> Json:
        """Where one gradient goes."""
        return flows.window(self._flow(number, block), batch, channel, place)

    def flow_cell(self, number: int, block: str, batch: int, channel: int, place: list[int]) -> Json:
        """Who feeds one cell."""
        return flows.cell(self._flow(number, block), batch, channel, place)

    def flow_volume(
        self, number: int, block: str, batch: int, channel: int, what: str, count: int | None
    ) -> tuple[tuple[int, ...], bytes]:
        """Gradients, result, cover or winners of one image and channel, as little-endian float32."""
        return flows.volume(self._flow(number, block), what, batch, channel, count)

    def _flow(self, number: int, block: str) -> Flow:
        if self.last is None or number != self.number:
            raise KeyError(f"there is no run {number}")
        if self.flow is None or self.flow[:2] != (number, block):
            self.flow = number, block, flows.flow_of(self.last, block)
        return self.flow[2]

    def export(self, text: str, page: str | None, form: str) -> str:
        """The page as a program."""
        document = loads(text, folder=self.folder)
        return export(Document((document.page(page),), document.title), form)


def _with_first_planes(ports: Json, done: Run) -> None:
    """Add the first plane of small outputs, so that a page of many blocks needs no request for each."""
    left = MOST_AT_ONCE
    for name, array in done.results.items():
        if not array.size:
            continue
        layout = done.layouts.get(name)
        part = plane(array, [0] * len(slice_axes(array.shape, layout)), layout)
        if part.size <= min(left, MOST_OF_ONE):
            left -= part.size
            values = [words_of(value) for value in part.astype(np.float64).ravel().tolist()]
            ports[name]["first"] = {"height": part.shape[0], "width": part.shape[1], "values": values}


def _shortest(value: Any, dtype: np.dtype) -> str:
    """The shortest decimal that reads back as the same element."""
    if dtype.kind in "iu":
        return str(int(value))
    narrow = value if dtype.name == "bfloat16" else dtype.type(value)
    return np.format_float_positional(narrow, trim="-") if 1e-5 < abs(value) < 1e16 or not value else f"{narrow!s}"


def _serve(connection: Connection, folder: str) -> None:
    """The child's whole life: a question, an answer, the next question."""
    desk = Desk(Path(folder))
    while True:
        try:
            name, arguments = connection.recv()
        except (EOFError, KeyboardInterrupt):
            return
        try:
            connection.send(("answer", getattr(desk, name)(*arguments)))
        except PageError as error:
            connection.send(("page", error.problem.as_json()))
        except KeyError as error:
            connection.send(("missing", error.args[0]))


def _begin(serve: Callable[[Connection, str], None], connection: Connection, folder: str) -> None:
    connection.send("ready")
    serve(connection, folder)


@dataclass
class Worker:
    """The child, started when it is first asked; one question at a time."""

    folder: Path
    seconds: float = SECONDS
    serve: Callable[[Connection, str], None] = _serve
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _child: Any = None
    _connection: Connection | None = None

    def ask(self, name: str, *arguments: Any) -> Any:
        """The answer of a method of :class:`Desk`, or its error; ``StoppedError`` if it takes too long."""
        with self._lock:
            connection = self._started()
            try:
                connection.send((name, arguments))
                if not connection.poll(self.seconds):
                    raise StoppedError(f"the run took longer than {self.seconds:g} s and was stopped")
                kind, answer = connection.recv()
            except (EOFError, OSError):
                self._end()
                raise StoppedError("the run ended unexpectedly, perhaps for lack of memory") from None
            except StoppedError:
                self._end()
                raise
        if kind == "page":
            raise PageRefusedError(answer)
        if kind == "missing":
            raise KeyError(answer)
        return answer

    def close(self) -> None:
        """End the child."""
        with self._lock:
            self._end()

    def _started(self) -> Connection:
        if self._connection is None or not self._child.is_alive():
            # A fresh interpreter: nothing of the server, its token least of all, is in the child's memory.
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            self._child = context.Process(target=_begin, args=(self.serve, theirs, str(self.folder)), daemon=True)
            self._child.start()
            theirs.close()
            self._connection = ours
            # To start takes a while on a busy machine; only the work is timed.
            if ours.poll(_SECONDS_TO_START):
                ours.recv()
        return self._connection

    def _end(self) -> None:
        if self._child is not None:
            self._child.kill()
            self._child.join()
        if self._connection is not None:
            self._connection.close()
        self._child = self._connection = None


class PageRefusedError(Exception):
    """The child could not read the page; ``problem`` says why, as JSON."""

    def __init__(self, problem: Json) -> None:
        super().__init__(problem["message"])
        self.problem = problem
