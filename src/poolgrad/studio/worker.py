"""Pages are checked and run in a child process, which holds the results and can be stopped.

The server never holds an array of a page: it asks for summaries, and for one slice at a time.
"""

from __future__ import annotations

import multiprocessing
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from poolgrad.pages import LIMITS, PageError, Run, check, loads, run
from poolgrad.pages.checks import misfits
from poolgrad.pages.export import export
from poolgrad.pages.heat import plane, slice_axes
from poolgrad.pages.layout import laid_out
from poolgrad.pages.model import Document, port
from poolgrad.pages.summaries import numbers_of, words_of

SECONDS = 30.0
_SECONDS_TO_START = 60.0
MOST_CELLS = 256

Json = dict[str, Any]


class StoppedError(Exception):
    """The child took too long, or ended, and was replaced by a new one."""


@dataclass
class Desk:
    """What the child keeps between questions: the last run."""

    folder: Path
    number: int = 0
    last: Run | None = None

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
        self.last, self.number = run(loads(text, folder=self.folder).page(page), limits=LIMITS), self.number + 1
        ports = {
            name: {"dtype": array.dtype.name, "shape": list(array.shape), "axes": slice_axes(array.shape)}
            | {key: words_of(value) for key, value in numbers_of(array).items()}
            for name, array in self.last.results.items()
        }
        statuses = {outcome.block: outcome.status for outcome in self.last.outcomes}
        problems = [problem.as_json() for problem in self.last.problems]
        return {"run": self.number, "ports": ports, "problems": problems, "blocks": statuses}

    def slice(self, number: int, port: str, place: list[int]) -> tuple[tuple[int, int], bytes]:
        """One plane of a result, its first 256 x 256 cells, as little-endian float32."""
        if self.last is None or number != self.number or port not in self.last.results:
            raise KeyError(f"there is no result {port!r} of run {number}")
        array = self.last.results[port]
        sizes = [size for _, size in slice_axes(array.shape)]
        if len(place) != len(sizes) or any(not 0 <= n < size for n, size in zip(place, sizes, strict=True)):
            raise KeyError(f"there is no slice {place} of {port!r}")
        part = plane(array, place)[:MOST_CELLS, :MOST_CELLS]
        with np.errstate(over="ignore"):
            return (part.shape[0], part.shape[1]), part.astype("<f4").tobytes()

    def export(self, text: str, page: str | None, form: str) -> str:
        """The page as a program."""
        document = loads(text, folder=self.folder)
        return export(Document((document.page(page),), document.title), form)


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
