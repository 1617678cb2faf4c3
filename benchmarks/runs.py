"""Runs tasks in worker processes and gathers what they find."""

from __future__ import annotations

import datetime
import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

import poolgrad
from benchmarks.bandwidth import processor
from benchmarks.results import Result, Run, result_from
from benchmarks.worker import Task, environment
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
        return f"from {Path(poolgrad.__file__).parent.name}/"


def _messages(task: Task) -> Iterator[dict[str, Any]]:
    """What a worker says, line by line; the worker ends with this generator."""
    worker = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.worker"],
        cwd=ROOT,
        env=environment(task.threads) | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdin is not None
    assert worker.stdout is not None
    try:
        worker.stdin.write(json.dumps(asdict(task)))
        worker.stdin.close()
        for line in worker.stdout:
            if line.startswith("{"):
                yield json.loads(line)
        if worker.wait():
            progress(f"the worker with {task.threads} threads ended with status {worker.returncode}; going on without")
    finally:
        if worker.poll() is None:
            worker.terminate()
            worker.wait()


def execute(tasks: list[Task], run: Run, show: Callable[[Result], None]) -> None:
    """Do the tasks one after the other; Ctrl-C ends them, and what is found by then stays in ``run``."""
    total, done = sum(len(task.rows) for task in tasks), 0
    try:
        for task in tasks:
            for message in _messages(task):
                match message:
                    case {"versions": versions}:
                        run.machine["versions"] |= versions
                    case {"bandwidths": found}:
                        run.machine["bandwidths"] |= found
                    case {"warning": text}:
                        progress(f"warning: {text}")
                    case {"start": name}:
                        done += 1
                        progress(f"[{done} of {total}] {task.threads} threads: {name}")
                    case {"row": values}:
                        run.rows.append(result_from(values))
                        show(run.rows[-1])
    except KeyboardInterrupt:
        progress("interrupted: this is what there is")
