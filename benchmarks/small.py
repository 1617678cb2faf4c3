"""Small calls of every function of poolgrad.torch beside PyTorch's own: ``python -m benchmarks small``.

What is measured is the way to the kernel and back, for tensors of a thousand elements: forwards without a derivative,
forwards with one to come (*saving*), and forwards with the gradient. On a GPU it is the time of the host.
"""

from __future__ import annotations

import argparse
import functools
import platform
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from benchmarks import workloads
from benchmarks.bandwidth import processor
from benchmarks.results import OURS, geometric_mean
from benchmarks.timing import Measurement, Patience, measure
from benchmarks.worker import bind

PEER = "torch"
KINDS = ("forward", "saving", "gradient")
LAYOUTS = ("NCHW", "NHWC")
LIMIT = 3
_SIZES = {1: (64,), 2: (8, 8), 3: (4, 4, 4)}
_CHANNELS = 16


class Call(NamedTuple):
    """A function with its arguments; ``own`` are poolgrad's alone."""

    name: str
    function: str
    arguments: tuple[Any, ...]
    own: dict[str, Any]

    @property
    def spatial(self) -> int:
        return int(self.function[-2])


def calls() -> Iterator[Call]:
    """Every function, most of them with windows of two kinds."""
    for spatial in (1, 2, 3):
        for kind in ("avg", "max"):
            pool, adaptive = f"{kind}_pool{spatial}d", f"adaptive_{kind}_pool{spatial}d"
            yield Call(f"{pool} 2", pool, (2,), {})
            yield Call(f"{pool} 3/2", pool, (3, 2, 1), {})
            yield Call(f"{adaptive} 2", adaptive, (2,), {})
            yield Call(f"{adaptive} 3", adaptive, (3,), {})
        pool = f"max_pool{spatial}d"
        yield Call(f"{pool} 2, indices", pool, (2, None, 0, 1, False, True), {})
        yield Call(f"max_unpool{spatial}d 2", f"max_unpool{spatial}d", (2,), {})
    for spatial in (2, 3):
        pool = f"fractional_max_pool{spatial}d"
        yield Call(f"{pool} 2", pool, (2, 2), {})
        yield Call(f"{pool} 2, tensorflow", pool, (2, 2), {"sequence": "tensorflow"})
    yield Call("fractional_avg_pool2d", "fractional_avg_pool2d", (2,), {})


class Row(NamedTuple):
    """A call on tensors of one layout, and what is done with it."""

    call: Call
    layout: str
    kind: str

    @property
    def name(self) -> str:
        return f"{self.call.name}/{self.layout}/{self.kind}"

    def contestants(self, device: str) -> dict[str, Callable[[], Any]]:
        """Both libraries' calls; PyTorch has no fractional averages and no windows by TensorFlow's rule."""
        import torch

        import poolgrad.torch

        found = {OURS: functools.partial(getattr(poolgrad.torch, self.call.function), **self.call.own)}
        if hasattr(torch.nn.functional, self.call.function) and not self.call.own:
            found[PEER] = getattr(torch.nn.functional, self.call.function)
        return {name: self._bound(function, device) for name, function in found.items()}

    def _bound(self, function: Callable[..., Any], device: str) -> Callable[[], Any]:
        import torch

        sizes = _SIZES[self.call.spatial]
        x = torch.randn(1, *sizes, _CHANNELS, device=device).movedim(-1, 1)
        x = x if self.layout == "NHWC" else x.contiguous()
        arguments = self.call.arguments
        if "unpool" in self.call.function:
            pool = getattr(torch.nn.functional, self.call.function.replace("unpool", "pool"))
            x, indices = pool(x, 2, return_indices=True)
            arguments = (indices, *arguments)
        if self.kind == "forward":
            return functools.partial(function, x, *arguments)
        x.requires_grad_()
        if self.kind == "saving":
            return functools.partial(function, x, *arguments)
        grad = torch.ones_like(_values(function(x, *arguments)))
        return lambda: torch.autograd.grad(_values(function(x, *arguments)), x, grad)


def _values(made: Any) -> Any:
    return made[0] if isinstance(made, tuple) else made


def rows(filters: list[str]) -> list[Row]:
    """The chosen rows."""
    every = (Row(call, layout, kind) for call in calls() for layout in LAYOUTS for kind in KINDS)
    return [row for row in every if workloads.matches(row.name, filters)]


def ratio(found: dict[str, Measurement]) -> float | None:
    """Our time over PyTorch's."""
    return found[OURS].median / found[PEER].median if PEER in found else None


def line(call: Call, layout: str, found: dict[str, dict[str, Measurement]]) -> str:
    """A call in the table, in Markdown: microseconds."""
    cells = [call.name, layout]
    for times in found.values():
        factor = ratio(times)
        own, *peers = (f"{one.median * 1e6:.1f}" for one in times.values())
        cells += [own, *(peers or ["-"]), "-" if factor is None else f"{factor:.2f}"]
    return f"| {' | '.join(cells)} |"


def header(kinds: list[str]) -> str:
    """The titles of the table."""
    titles = ["", "", *(title for kind in kinds for title in (f"{kind}, µs", "PyTorch", "ratio"))]
    return f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}"


def summary(found: dict[str, float]) -> str:
    """The means, and the rows beyond what is promised."""
    beyond = {name: factor for name, factor in found.items() if factor > LIMIT}
    lines = [f"geometric mean {geometric_mean(list(found.values())) or 0:.2f}, most {max(found.values()):.2f}"]
    lines.append(f"beyond {LIMIT} times PyTorch's: {len(beyond)} of {len(found)} rows")
    lines += [f"  {name}: {factor:.2f}" for name, factor in beyond.items()]
    return "\n".join(lines)


def describe(device: str) -> str:
    """Machine and versions."""
    import torch

    name = processor() if device == "cpu" else torch.cuda.get_device_name()
    return f"{name}, 1 thread, Python {platform.python_version()}, PyTorch {torch.__version__}"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.add_argument("--filter", action="append", default=[], metavar="TEXT", dest="only", help="part of a name")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--milliseconds", type=float, default=60, help="time for each contestant of a row")


def main(options: argparse.Namespace) -> int:
    """Measure, and print the table as it grows."""
    import torch

    chosen = rows(options.only)
    if not chosen:
        print("no row has such a name", file=sys.stderr)
        return 2
    if options.device == "cpu":  # on a GPU gradients are computed by a thread of their own
        bind(1)
    torch.set_num_threads(1)
    patience = Patience(5, options.milliseconds / 1e3)
    ratios: dict[str, float] = {}
    kinds = [kind for kind in KINDS if any(row.kind == kind for row in chosen)]
    print(header(kinds), flush=True)
    for call, layout in dict.fromkeys((row.call.name, row.layout) for row in chosen):
        own = [row for row in chosen if (row.call.name, row.layout) == (call, layout)]
        found = {}
        for row in own:
            found[row.kind] = measure(row.contestants(options.device), patience, tiny=True)
            factor = ratio(found[row.kind])
            if factor is not None:
                ratios[row.name] = factor
            if options.device == "cuda":
                torch.cuda.synchronize()
        print(line(own[0].call, layout, found), flush=True)
    print(f"\n{describe(options.device)}\n{summary(ratios)}")
    return 0
