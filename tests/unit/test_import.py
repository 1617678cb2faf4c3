"""Importing the package brings NumPy and the standard library, quickly, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Prints what an import brings beyond NumPy: foreign modules, seconds of the processor (others use it, too), threads.
PROBE = """
import sys, time
import numpy
before = set(sys.modules)
start = time.process_time()
{statement}
seconds = time.process_time() - start
with open('/proc/self/status') as status:
    threads = next(line for line in status if line.startswith('Threads:')).split()[1]
new = {{name.partition('.')[0] for name in set(sys.modules) - before}}
print(sorted(new - set(sys.stdlib_module_names) - {{'numpy', 'poolgrad'}}), seconds, threads)
"""
SECONDS = 0.15

needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="counts threads in /proc")


def probe(statement: str) -> tuple[str, float, int]:
    code = PROBE.format(statement=statement)
    # NumPy's own threads are none of ours.
    environment = {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "PYTHONPATH": ":".join(filter(None, sys.path))}
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    foreign, seconds, threads = run.stdout.rsplit(maxsplit=2)
    return foreign, float(seconds), int(threads)


@needs_linux
@pytest.mark.parametrize(
    ("statement", "foreign"),
    [
        pytest.param("import poolgrad", "[]", id="poolgrad"),
        pytest.param("import poolgrad.raw_ops", "[]", id="raw_ops"),
        pytest.param("import poolgrad.cli", "[]", id="cli"),
        pytest.param("import poolgrad.reference", "[]", id="reference"),
        pytest.param("import poolgrad, ml_dtypes", "['ml_dtypes']", id="the-check-can-fail"),
        pytest.param("import poolgrad, matplotlib.figure", None, id="the-check-can-fail-for-many"),
    ],
)
def test_modules(statement: str, foreign: str | None) -> None:
    found = probe(statement)[0]
    if foreign is None:
        assert "'matplotlib'" in found
    else:
        assert found == foreign


@needs_linux
def test_time() -> None:
    assert min(probe("import poolgrad")[1] for _ in range(5)) < SECONDS


@needs_linux
def test_time_can_be_too_long() -> None:
    busy = f"while time.process_time() < start + {SECONDS}: pass"
    assert probe(f"import poolgrad\n{busy}")[1] >= SECONDS


@needs_linux
def test_no_threads() -> None:
    assert probe("import poolgrad")[2] == 1


@needs_linux
def test_threads_are_seen() -> None:
    statement = "import threading; threading.Thread(target=time.sleep, args=(1,), daemon=True).start()"
    assert probe(statement)[2] == 2
