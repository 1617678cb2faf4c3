"""Measures rows in a process of its own, since libraries fix their threads when they start.

Reads a `Task` as JSON from standard input and writes one JSON object a line to standard output.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from benchmarks import check, ours, tensors
from benchmarks.bandwidth import COPIES, Probe, ProbeError, survey
from benchmarks.peers import PEERS
from benchmarks.problems import Array, Arrays, Problem, make_arrays
from benchmarks.results import OURS, Result
from benchmarks.runners import Peer, Runner
from benchmarks.timing import Patience, measure
from benchmarks.workloads import all_rows


@dataclass(frozen=True)
class Task:
    """Rows by name, in order, with what they are measured against."""

    rows: list[str]
    threads: int
    peers: list[str] = field(default_factory=list)
    repeats: int = Patience.repeats
    seconds: float = Patience.seconds
    tensors: bool = False

    @property
    def patience(self) -> Patience:
        return Patience(self.repeats, self.seconds)


def environment(threads: int) -> dict[str, str]:
    """Variables that libraries read when they start."""
    own = {
        "CUDA_VISIBLE_DEVICES": "",
        "JAX_PLATFORMS": "cpu",
        "OMP_NUM_THREADS": str(threads),
        "POOLGRAD_NUM_THREADS": str(threads),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TORCHINDUCTOR_COMPILE_THREADS": "1",  # no processes of its own beside what is timed
    }
    if threads == 1:
        own["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return {**os.environ, **own}


def bind(threads: int) -> None:
    """Stay on as many processors as there are threads, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])


def missing(peer: Peer) -> bool:
    """Whether a peer's library is not installed."""
    return importlib.util.find_spec(peer.package) is None


def _empty(problem: Problem, threads: int) -> Result:
    work = problem.workload
    return Result(
        name=problem.name,
        workload=work.name,
        pooling=work.pooling,
        dtype=problem.dtype,
        data_format=problem.data_format,
        direction=problem.direction,
        kind=problem.kind,
        results=problem.results,
        threads=threads,
        tiny=work.tiny,
        fewest_bytes=problem.fewest_bytes(),
    )


def failed(name: str, threads: int, error: str) -> Result:
    """A row without times."""
    result = _empty(next(problem for problem in all_rows() if problem.name == name), threads)
    result.error = error
    return result


def _prepared(peer: Peer, problem: Problem, arrays: Arrays, expected: Array, notes: dict[str, str]) -> Runner | None:
    """A peer's call after it has run once; a peer without a kernel for the row is told by its error."""
    try:
        runner = peer.prepare(problem, arrays)
        if runner is None:
            return None
        note = check.peer_note(problem, expected, check.sample(runner.to_numpy(runner.call())))
    except Exception as error:  # each library has its own kinds, and none may end the run
        notes[peer.name] = f"cannot: {str(error).strip().splitlines()[0][:160] if str(error) else type(error).__name__}"
        return None
    if note:
        notes[peer.name] = note
    return runner


def measure_row(problem: Problem, task: Task, peers: list[Peer], probe: Probe | None) -> Result:
    """Check a row, then time it with its peers and the probe in common rounds."""
    result = _empty(problem, task.threads)
    check.check_against_reference(problem)
    arrays = make_arrays(problem)
    runner = (tensors if task.tensors else ours).prepare(problem, arrays)
    expected = check.sample(runner.to_numpy(runner.call()))
    contestants: dict[str, Callable[[], Any]] = {OURS: runner.call}
    for peer in peers:
        prepared = _prepared(peer, problem, arrays, expected, result.notes)
        if prepared is not None:
            contestants[peer.name] = prepared.call
    if len(contestants) == 1 and peers:
        result.notes["peers"] = f"no peer with {problem.results} results" if problem.results == "reused" else "no peer"
    many = task.threads > 1
    if problem.workload.tiny or probe is None:
        result.times = measure(contestants, task.patience, tiny=problem.workload.tiny, settle=many)
        return result
    found = measure(contestants | probe.calls(COPIES, task.threads), task.patience, settle=many)
    result.bandwidths = {kind: probe.rate(kind, task.threads, found.pop(kind)) for kind in COPIES}
    result.times = found
    return result


def _write(kind: str, value: Any) -> None:
    sys.stdout.write(json.dumps({kind: value}) + "\n")
    sys.stdout.flush()


def _start_peers(task: Task) -> list[Peer]:
    peers = [PEERS[name] for name in task.peers if not missing(PEERS[name])]
    if task.tensors:
        PEERS["torch"].start(task.threads)
    _write("versions", {peer.name: peer.start(task.threads) for peer in peers})
    return peers


def _start_probe(task: Task) -> Probe | None:
    try:
        probe = Probe()
    except ProbeError as error:
        _write("warning", f"{error}: rows have no limit")
        return None
    _write("bandwidths", survey(probe, [task.threads], Patience(5, 0.3)))
    return probe


def run(task: Task) -> None:
    """Measure all rows of a task."""
    problems = {problem.name: problem for problem in all_rows()}
    bind(task.threads)
    probe = _start_probe(task)
    peers = _start_peers(task)
    for name in task.rows:
        _write("start", name)
        try:
            result = measure_row(problems[name], task, peers, probe)
        except (check.WrongResultError, MemoryError) as error:
            result = failed(name, task.threads, str(error) or type(error).__name__)
        for peer in peers:
            peer.forget()
        gc.collect()
        _write("row", asdict(result))


def main() -> None:
    """Entry of the process."""
    task = Task(**json.loads(sys.stdin.read()))
    try:
        run(task)
    except (KeyboardInterrupt, BrokenPipeError):
        sys.exit(130)


if __name__ == "__main__":
    main()
