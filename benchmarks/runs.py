"""Runs tasks in worker processes and gathers what they find."""

from __future__ import annotations

import datetime
import itertools
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bandwidth import processor
from benchmarks.results import Result, Run, result_from
from benchmarks.worker import Task, environment, failed
from poolgrad import machine

ROOT = Path(__file__).resolve().parent.parent


def progress(text: str) -> None:
    """Tell on standard error what is being done."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def describe_machine() -> dict[str, Any]:
    """What a figure is worth nothing without."""
    memory = machine.memory()
    return {
        "processor": processor(),
        "cores": machine.processors(),
        "memory": memory,
        "system": platform.platform(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "instruction set": os.environ.get("POOLGRAD_ISA", "the best this machine has"),
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "poolgrad": _version()},
        "bandwidths": {},
    }


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("poolgrad")
    except PackageNotFoundError:
        return "from a source folder"


class WorkerError(RuntimeError):
    """A worker died, with the end of what it said."""


def _messages(task: Task) -> Iterator[dict[str, Any]]:
    """What a worker says, line by line; the worker ends with this generator."""
    command = [sys.executable, "-m", "benchmarks.worker"]
    own = environment(task.threads) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile("w+") as log,  # libraries are talkative
        subprocess.Popen(command, cwd=ROOT, env=own, stdin=pipe, stdout=pipe, stderr=log, text=True) as worker,
    ):
        assert worker.stdin is not None
        assert worker.stdout is not None
        try:
            worker.stdin.write(json.dumps(asdict(task)))
            worker.stdin.close()
            for line in worker.stdout:
                if line.startswith("{"):
                    yield json.loads(line)
        except BaseException:
            worker.terminate()
            raise
        if worker.wait():
            log.seek(0)
            raise WorkerError(f"the worker ended with status {worker.returncode}: {log.read()[-1500:].strip()}")


def _finish(task: Task, run: Run, show: Callable[[Result], None], started: Callable[[str, int], None]) -> None:
    """Measure all rows of a task; a row that kills its worker fails, and a new worker does the rest."""
    rows = list(task.rows)
    while rows:
        current = ""
        try:
            for message in _messages(replace(task, rows=rows)):
                match message:
                    case {"versions": versions}:
                        run.machine["versions"] |= versions
                    case {"bandwidths": found}:
                        run.machine["bandwidths"] |= found
                    case {"warning": text}:
                        progress(f"warning: {text}")
                    case {"start": name}:
                        current = name
                        started(name, task.threads)
                    case {"row": values}:
                        run.rows.append(result_from(values))
                        show(run.rows[-1])
            return
        except WorkerError as error:
            if not current:
                raise
            run.rows.append(failed(current, task.threads, str(error)))
            show(run.rows[-1])
            rows = rows[rows.index(current) + 1 :]


def execute(tasks: list[Task], run: Run, show: Callable[[Result], None]) -> None:
    """Do the tasks one after the other; Ctrl-C ends them, and what is found by then stays in ``run``."""
    total, places = sum(len(task.rows) for task in tasks), itertools.count(1)

    def started(name: str, threads: int) -> None:
        progress(f"[{next(places)} of {total}] {threads} threads: {name}")

    try:
        for task in tasks:
            _finish(task, run, show, started)
    except KeyboardInterrupt:
        progress("interrupted: this is what there is")
