"""The bandwidth probe: `bandwidth.cpp`, compiled for this machine when first used."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import Measurement, Patience, measure

SOURCE = Path(__file__).with_name("bandwidth.cpp")
BYTES = 256 * 2**20
KINDS = {"read": 0, "copy": 1, "streaming copy": 2}
COPIES = ("copy", "streaming copy")
# Without the last one the compiler would turn the plain copy into a call of memcpy, which picks its own stores.
FLAGS = ["-O3", "-march=native", "-std=c++17", "-shared", "-fPIC", "-pthread", "-fno-tree-loop-distribute-patterns"]


class ProbeError(RuntimeError):
    """The probe cannot be had here; rows then have no limit."""


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(home) / "poolgrad"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="poolgrad-"))
    return folder


def processor() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def compiled(source: Path) -> Path:
    """A C++ file as a library for this machine, made when first asked for."""
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    if compiler is None:
        raise ProbeError("no C++ compiler (c++) to build the bandwidth probe with")
    key = hashlib.sha256(b"\0".join([source.read_bytes(), " ".join(FLAGS).encode(), processor().encode()])).hexdigest()
    path = _cache() / f"{source.stem}-{key[:16]}.so"
    if not path.exists():
        unfinished = path.with_suffix(f".{os.getpid()}")
        command = [compiler, *FLAGS, str(source), "-o", str(unfinished)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ProbeError(f"the bandwidth probe does not compile: {done.stderr[-500:]}")
        unfinished.replace(path)
    return path


@functools.cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(str(compiled(SOURCE)))
    library.probe_allocate.restype = ctypes.c_void_p
    library.probe_allocate.argtypes = [ctypes.c_size_t]
    library.probe_release.argtypes = [ctypes.c_void_p]
    library.probe_run.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return library


class Probe:
    """Two buffers to read and copy between."""

    def __init__(self, size: int = BYTES) -> None:
        self.library = _library()
        self.size = size
        self.source = self.library.probe_allocate(size)
        self.target = self.library.probe_allocate(size)
        if not (self.source and self.target):
            raise ProbeError(f"no memory for two buffers of {size} bytes")

    def close(self) -> None:
        """Free the buffers."""
        for buffer in (self.source, self.target):
            self.library.probe_release(buffer)
        self.source = self.target = None

    def bytes_moved(self, kind: str, threads: int) -> int:
        """Bytes read and written in one call."""
        return self._part(threads) * threads * (1 if kind == "read" else 2)

    def _part(self, threads: int) -> int:
        return self.size // threads // 64 * 64

    def calls(self, kinds: tuple[str, ...], threads: int) -> dict[str, Callable[[], None]]:
        """Calls to time, by kind."""
        size = self._part(threads) * threads
        return {
            kind: functools.partial(self.library.probe_run, KINDS[kind], self.source, self.target, size, threads)
            for kind in kinds
        }

    def rate(self, kind: str, threads: int, measured: Measurement) -> float:
        """Bytes a second."""
        return self.bytes_moved(kind, threads) / measured.median


def survey(probe: Probe, threads: list[int], patience: Patience) -> dict[str, dict[str, float]]:
    """Bytes a second of every kind for each number of threads."""
    found: dict[str, dict[str, float]] = {}
    for count in threads:
        measured = measure(probe.calls(tuple(KINDS), count), patience)
        found[str(count)] = {kind: probe.rate(kind, count, measured[kind]) for kind in KINDS}
    return found
