"""Pooling on a GPU beside PyTorch's own kernels, `torch.compile` and a copy: ``python -m benchmarks gpu``.

Every contestant is called as programs call it, on tensors, with autograd. What it launches is recorded as a graph, and
that is timed: times are of the device, the caches cold, however busy the host is.
"""

from __future__ import annotations

import argparse
import datetime
import functools
import itertools
import platform
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import results, workloads
from benchmarks.results import OURS, Result, Run, geometric_mean
from benchmarks.timing import Measurement

PEERS = ("torch", "inductor")
GRADIENT, TRAINING = "gradient", "training"
DTYPES, LAYOUTS = ("float32", "bfloat16"), ("NHWC", "NCHW")
_COPIED = 2**30
_SHORT = (64_000_000, 256_000_000)


class Workload(NamedTuple):
    """A pooling layer of a network: [batch, channels, sizes...], and windows whose padding averages do not count."""

    name: str
    kind: str
    shape: tuple[int, ...]
    window: int
    stride: int
    pad: int

    def pool(self, functions: Any) -> Callable[[Any], Any]:
        """The call, by the functions of a library."""
        function = getattr(functions, f"{self.kind}_pool{len(self.shape) - 2}d")
        if self.kind == "max":
            return lambda x: function(x, self.window, self.stride, self.pad)
        return lambda x: function(x, self.window, self.stride, self.pad, count_include_pad=False)


WORKLOADS = (
    Workload("resnet_stem", "max", (256, 64, 112, 112), 3, 2, 1),
    Workload("vgg", "max", (128, 64, 224, 224), 2, 2, 0),
    Workload("inception", "avg", (256, 288, 35, 35), 3, 1, 1),
    Workload("densenet", "avg", (256, 256, 56, 56), 2, 2, 0),
    Workload("unet3d", "max", (4, 32, 128, 128, 128), 2, 2, 0),
    Workload("i3d_a", "max", (16, 64, 32, 112, 112), 3, 2, 1),
    Workload("i3d_b", "max", (16, 192, 16, 28, 28), 3, 1, 1),
    Workload("volume_2", "avg", (4, 32, 128, 128, 128), 2, 2, 0),
    Workload("volume_3", "avg", (4, 64, 64, 64, 64), 3, 1, 1),
    Workload("spp_13", "max", (64, 512, 20, 20), 13, 1, 6),
    Workload("plane_3", "max", (64, 64, 56, 56), 3, 1, 1),
)


class Case(NamedTuple):
    """A workload with elements of a dtype, in a layout."""

    workload: Workload
    dtype: str
    layout: str

    @property
    def name(self) -> str:
        return f"{self.workload.name}/{self.dtype}/{self.layout}"

    def input(self, batch: int | None = None) -> Any:
        """Random elements on the device."""
        import torch

        shape = (self.workload.shape[0] if batch is None else batch, *self.workload.shape[1:])
        if self.layout == "NHWC":
            x = torch.randn(shape[0], *shape[2:], shape[1], device="cuda", dtype=getattr(torch, self.dtype))
            return x.movedim(-1, 1).requires_grad_()
        return torch.randn(shape, device="cuda", dtype=getattr(torch, self.dtype)).requires_grad_()

    def contestants(self) -> dict[str, Callable[[Any], Any]]:
        """Who pools."""
        import torch

        import poolgrad.torch

        torch._dynamo.reset()
        eager = self.workload.pool(torch.nn.functional)
        return {OURS: self.workload.pool(poolgrad.torch), "torch": eager, "inductor": torch.compile(eager)}


def cases(filters: list[str]) -> list[Case]:
    """The chosen cases."""
    every = (Case(*parts) for parts in itertools.product(WORKLOADS, DTYPES, LAYOUTS))
    return [case for case in every if workloads.matches(case.name, filters)]


def _grad(y: Any, x: Any, g: Any) -> Any:
    import torch

    return torch.autograd.grad(y, x, g, retain_graph=True)[0]


def check(case: Case) -> None:
    """Refuse to measure what is wrong: value and gradient beside PyTorch's, contiguous and in float64."""
    import torch

    import poolgrad.torch

    x = case.input(batch=1)
    y = case.workload.pool(poolgrad.torch)(x)
    g = torch.randn_like(y)
    exact = x.detach().double().contiguous().requires_grad_()
    wanted = case.workload.pool(torch.nn.functional)(exact)
    near = 2**-7 if case.dtype == "bfloat16" else 1e-4
    tolerance = {"rtol": near, "atol": near}
    torch.testing.assert_close(y.double(), wanted, **tolerance)
    if case.workload.kind == "max" and case.workload.window > case.workload.stride and case.dtype == "bfloat16":
        return  # a sum of many, rounded after each addition
    torch.testing.assert_close(_grad(y, x, g).double(), _grad(wanted, exact, g.double()), **tolerance)


def _fewest_bytes(x: Any, y: Any, kind: str) -> int:
    """Bytes that a gradient, and a forward call that saves offsets, has to move."""
    return int((x.numel() + y.numel()) * x.element_size() + (y.numel() if kind == "max" else 0))


def _recorded(call: Callable[[], Any], stream: Any) -> Callable[[], None]:
    """What a call launches, without the host's time for it."""
    import torch

    with torch.cuda.stream(stream):
        for _ in range(3):  # until all is compiled and chosen
            call()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        call()
    return graph.replay


def _timed(call: Callable[[], Any], stream: Any, milliseconds: float) -> Measurement:
    from triton.testing import do_bench

    low, middle = do_bench(_recorded(call, stream), warmup=5, rep=milliseconds, quantiles=[0.0, 0.5])
    return Measurement(middle / 1e3, low / 1e3, 0)


def short_copies(copy: float, milliseconds: float) -> str:
    """What copies of few bytes take, timed as rows are, and their share of the limit."""
    import torch

    parts = []
    for moved in _SHORT:
        source = torch.empty(moved // 2, dtype=torch.uint8, device="cuda").random_()
        target = torch.empty_like(source)
        found = _timed(functools.partial(target.copy_, source), torch.cuda.Stream(), milliseconds).median
        parts.append(f"{moved / 1e6:.0f} MB in {found * 1e3:.3f} ms ({100 * moved / copy / found:.0f} % of the limit)")
    return f"a copy moves {', '.join(parts)}"


def measure(case: Case, copy: float, milliseconds: float) -> Iterator[Result]:
    """The gradient alone, and with the forward call before it."""
    import torch

    stream = torch.cuda.Stream()

    def median(call: Callable[[], Any]) -> Measurement:
        return _timed(call, stream, milliseconds)

    x = case.input()
    times: dict[str, dict[str, Measurement]] = {GRADIENT: {}, TRAINING: {}}
    fewest = 0
    for name, pool in case.contestants().items():
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):  # a gradient is computed where its forward call was
            y = pool(x)
            g = torch.randn_like(y)
        fewest = _fewest_bytes(x, y, case.workload.kind)
        times[GRADIENT][name] = median(lambda y=y, g=g: _grad(y, x, g))
        del y
        times[TRAINING][name] = median(lambda pool=pool, g=g: _grad(pool(x), x, g))
    for direction, found in times.items():
        yield Result(
            name=f"{case.name}/{direction}",
            workload=case.workload.name,
            pooling=case.workload.kind,
            dtype=case.dtype,
            data_format=case.layout,
            direction=direction,
            kind="",
            results="fresh",
            threads=0,
            tiny=False,
            fewest_bytes=fewest * (1 if direction == GRADIENT else 2),
            times=found,
            bandwidths={"copy": copy},
        )


def copy_speed() -> float:
    """Bytes a second that a copy reads and writes."""
    import torch
    from triton.testing import do_bench

    source = torch.empty(_COPIED, dtype=torch.uint8, device="cuda").random_()
    target = torch.empty_like(source)
    return float(2 * _COPIED / (do_bench(lambda: target.copy_(source), return_mode="median") / 1e3))


def compile_all(chosen: list[Case], jobs: int, filters: list[str]) -> None:
    """Compile all that is measured later, side by side: compilers keep what they made."""
    own = [option for text in filters for option in ("--filter", text)]
    command = [sys.executable, "-m", "benchmarks", "gpu", *own, "--compile"]
    started = [subprocess.Popen([*command, f"{k}/{jobs}"]) for k in range(min(jobs, len(chosen)))]
    outcomes = [process.wait() for process in started]
    if any(outcomes):
        raise RuntimeError("a process that compiles kernels failed")


def _compile(chosen: list[Case], part: str) -> None:
    import torch

    first, jobs = (int(number) for number in part.split("/"))
    for case in chosen[first::jobs]:
        check(case)
        x = case.input()
        for pool in case.contestants().values():
            y = pool(x)
            _grad(y, x, torch.randn_like(y))
        del x, y
        torch.cuda.empty_cache()


def describe() -> dict[str, Any]:
    """The device, the versions and the day."""
    import torch
    import triton

    versions = {"python": platform.python_version(), "torch": torch.__version__, "triton": triton.__version__}
    day = datetime.datetime.now(datetime.UTC).date().isoformat()
    return {"processor": torch.cuda.get_device_name(), "date": day, "versions": versions, "bandwidths": {}}


def header() -> str:
    """The titles of the table, in Markdown."""
    return (
        "| | | gradient, ms | of the limit | PyTorch | compiled | factor | both, ms | of the limit | PyTorch | compiled"
        " | factor |\n|---|---|---|---|---|---|---|---|---|---|---|---|"
    )


def line(pair: tuple[Result, Result]) -> str:
    """A case in the table."""
    first = pair[0]
    cells = [first.workload, f"{first.dtype} {first.data_format}"]
    for row in pair:
        own, *others = (f"{row.times[name].median * 1e3:.3f}" for name in (OURS, *PEERS))
        cells += [own, f"{100 * (row.share() or 0):.0f} %", *others, f"{row.factor():.2f}"]
    return f"| {' | '.join(cells)} |"


def summary(run: Run) -> str:
    """The machine and the means."""
    found = run.machine
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    lines = [f"{found['processor']}, {found['date']}, {versions}, copy {found['bandwidths']['copy'] / 1e9:.0f} GB/s"]
    for direction in (GRADIENT, TRAINING):
        factors = [row.factor() or 0 for row in run.rows if row.direction == direction]
        slower = sum(factor < 1 for factor in factors)
        lines.append(
            f"{direction}: {geometric_mean(factors):.2f} times the better of both peers, least {min(factors):.2f},"
            f" slower on {slower} of {len(factors)} rows"
        )
    return "\n".join(lines)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--filter", action="append", default=[], metavar="TEXT", dest="only", help="part of a name")
    parser.add_argument("--jobs", type=int, default=8, help="processes that compile before anything is measured")
    parser.add_argument("--milliseconds", type=float, default=15, help="time for each contestant of a row")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there", dest="gpu_json")
    parser.add_argument("--compile", metavar="K/N", default="", help=argparse.SUPPRESS)


def main(options: argparse.Namespace) -> int:
    """Measure, and print the table as it grows."""
    import torch

    chosen = cases(options.only)
    if not torch.cuda.is_available():
        print("there is no CUDA device", file=sys.stderr)
        return 2
    if options.compile:
        _compile(chosen, options.compile)
        return 0
    compile_all(chosen, options.jobs, options.only)
    run = Run(describe())
    run.machine["bandwidths"]["copy"] = copy = copy_speed()
    print(header(), flush=True)
    for case in chosen:
        first, second = measure(case, copy, options.milliseconds)
        run.rows += [first, second]
        print(line((first, second)), flush=True)
        torch.cuda.empty_cache()
        if options.gpu_json:
            results.write(run, options.gpu_json)
    print(f"\n{summary(run)}\n{short_copies(copy, options.milliseconds)}")
    return 0
