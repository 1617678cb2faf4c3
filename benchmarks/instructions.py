"""Instructions of small calls, counted by valgrind: a check of speed that no busy machine disturbs.

``python -m benchmarks.instructions check`` compares with `instructions.json`, ``record`` writes it anew. One process
makes every call N times and then 2 N times; a count is the difference over N, so that nothing but the call is in it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import ours
from benchmarks.problems import Problem, Workload, make_arrays

RECORD = Path(__file__).with_suffix(".json")
ROOT = RECORD.parent.parent
ALLOWED = 0.05
MARKER = "getppid"  # valgrind writes and clears its counts whenever this is called; nothing else here calls it

AVG2 = Workload("avg2", "avg", (1, 32, 32, 64), (2, 2), (2, 2))
AVG3 = Workload("avg3", "avg", (1, 28, 28, 64), (3, 3), (1, 1), "SAME")
MAX2 = Workload("max2", "max", (1, 32, 32, 64), (2, 2), (2, 2))
MAX3 = Workload("max3", "max", (1, 28, 28, 64), (3, 3), (2, 2), "SAME")
MAX13 = Workload("max13", "max", (1, 20, 20, 32), (13, 13), (1, 1), "SAME")
VOLUME_AVG3 = Workload("volume_avg3", "avg", (1, 12, 12, 12, 32), (3, 3, 3), (1, 1, 1), "SAME")
VOLUME_MAX2 = Workload("volume_max2", "max", (1, 12, 12, 12, 32), (2, 2, 2), (2, 2, 2))
FRACTIONAL = Workload("fractional", "avg", (1, 28, 28, 64), ratio=1.44)
TINY_AVG = Workload("tiny_avg", "avg", (1, 8, 8, 16), (2, 2), (2, 2), tiny=True)
TINY_MAX = Workload("tiny_max", "max", (1, 8, 8, 16), (2, 2), (2, 2), tiny=True)

PROBLEMS = (
    Problem(AVG2, direction="forward"),
    Problem(AVG2, direction="gradient"),
    Problem(AVG2, dtype="float16", direction="gradient"),
    Problem(AVG3, direction="gradient"),
    Problem(AVG3, layout="channels_first", direction="gradient"),
    Problem(MAX2, direction="forward"),
    Problem(MAX2, dtype="uint8", direction="forward"),
    Problem(MAX2, layout="channels_first", direction="gradient", kind="input"),
    Problem(MAX3, direction="gradient", kind="input"),
    Problem(MAX3, dtype="float16", direction="gradient", kind="input"),
    Problem(MAX3, direction="gradient", kind="offsets"),
    Problem(MAX3, direction="second", kind="input"),
    Problem(MAX13, direction="forward"),
    Problem(VOLUME_AVG3, direction="gradient"),
    Problem(VOLUME_MAX2, direction="gradient", kind="input"),
    Problem(FRACTIONAL, direction="gradient"),
    Problem(TINY_AVG, direction="gradient"),
    Problem(TINY_MAX, direction="gradient", kind="input"),
)


def repeats(problem: Problem) -> int:
    """N: a few calls, and of tiny ones many."""
    return 40 if problem.workload.tiny else 3


def work() -> None:
    """What runs under valgrind: every problem warmed up, then N and 2 N times between markers."""
    for problem in PROBLEMS:
        call = ours.prepare(problem, make_arrays(problem)).call
        for _ in range(3):
            call()
        for times in (1, 2):
            os.getppid()
            for _ in range(times * repeats(problem)):
                call()
        os.getppid()


def totals(folder: Path) -> list[int]:
    """Instructions of each part that valgrind wrote, in order."""
    parts = {}
    for path in folder.glob("counts.*"):
        text = path.read_text(errors="replace")
        part, total = re.search(r"^part: (\d+)", text, re.M), re.search(r"^(?:totals|summary): (\d+)", text, re.M)
        if part and total:
            parts[int(part[1])] = int(total[1])
    return [parts[number] for number in sorted(parts)]


def differences(parts: Sequence[int]) -> dict[str, int]:
    """Instructions of one call of each problem, from the parts between markers."""
    wanted = 3 * len(PROBLEMS)
    if len(parts) < wanted:
        raise SystemExit(f"valgrind wrote {len(parts)} counts instead of {wanted}: does it see {MARKER}?")
    found = {}
    for place, problem in enumerate(PROBLEMS):
        once, twice = parts[3 * place + 1 : 3 * place + 3]
        found[problem.name] = (twice - once) // repeats(problem)
    return found


def count() -> dict[str, int]:
    """Run the work under valgrind."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise SystemExit("valgrind is not installed; counting instructions needs it (Debian: apt install valgrind)")
    own = {"POOLGRAD_ISA": "avx2", "POOLGRAD_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}  # valgrind has no AVX-512
    own["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    with tempfile.TemporaryDirectory() as folder:
        command = [valgrind, "--tool=callgrind", f"--dump-before={MARKER}", f"--callgrind-out-file={folder}/counts"]
        command += [sys.executable, "-m", "benchmarks.instructions", "work"]
        done = subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"valgrind failed:\n{done.stderr[-2000:]}")
        return differences(totals(Path(folder)))


@dataclass(frozen=True)
class Comparison:
    """Counts beside recorded ones."""

    lines: list[str]
    worse: bool
    better: bool


def compare(recorded: dict[str, int], found: dict[str, int]) -> Comparison:
    """Counts beside recorded ones: worse if one is more than 5 % above, better if one is as much below."""
    lines, worse, better = [], recorded.keys() != found.keys(), False
    for name in [*found, *(name for name in recorded if name not in found)]:
        old, new = recorded.get(name), found.get(name)
        if not old or new is None:
            lines.append(f"{name:50} {old or 'not recorded'!s:>12} -> {'gone' if new is None else new}")
            continue
        change = new / old - 1
        worse, better = worse or change > ALLOWED, better or change < -ALLOWED
        mark = "  MORE" if change > ALLOWED else "  less" if change < -ALLOWED else ""
        lines.append(f"{name:50} {old:12} -> {new:12} {change:+7.1%}{mark}")
    return Comparison(lines, worse, better)


def _versions() -> dict[str, Any]:
    return {"python": platform.python_version(), "machine": platform.machine()}


def check() -> int:
    """Compare with the record; 1 if a count has grown."""
    recorded = json.loads(RECORD.read_text())
    if recorded["versions"] != _versions():
        print(f"recorded with {recorded['versions']}, counted with {_versions()}")
    comparison = compare(recorded["counts"], count())
    print("\n".join(comparison.lines))
    if comparison.worse:
        print("more instructions than recorded (or other problems): make them fewer, or record and say why")
    elif comparison.better:
        print("fewer instructions than recorded: record them, so that they stay")
    return int(comparison.worse)


def record() -> int:
    """Write the record anew."""
    counts = count()
    RECORD.write_text(json.dumps({"versions": _versions(), "counts": counts}, indent=1) + "\n")
    print("\n".join(f"{name:50} {number:12}" for name, number in counts.items()))
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.instructions", description=__doc__)
    parser.add_argument("command", choices=["check", "record", "work"], help="work is what runs under valgrind")
    command = parser.parse_args(arguments).command
    if command == "work":
        work()
        return 0
    return check() if command == "check" else record()


if __name__ == "__main__":
    sys.exit(main())
