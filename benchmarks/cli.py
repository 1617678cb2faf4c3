"""The command line: measure rows, show how cost grows, draw kept results."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import arithmetic, cost, gpu, picture, results, small, table, tensors, workloads
from benchmarks.peers import PEERS
from benchmarks.results import Result, Run
from benchmarks.runs import describe_machine, execute, progress
from benchmarks.timing import Patience
from benchmarks.worker import Task, missing
from poolgrad import machine


def numbers(text: str) -> list[int]:
    """Comma-separated positive numbers."""
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise argparse.ArgumentTypeError(f"numbers from 1 on, got {text}")
    return found


def peer_names(text: str) -> list[str]:
    """Comma-separated names of peers, or "none"."""
    names = [] if text == "none" else text.split(",")
    unknown = [name for name in names if name not in PEERS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown {', '.join(unknown)}; there are {', '.join(PEERS)} and none")
    return names


def _choices(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which rows")
    group.add_argument("--filter", action="append", default=[], metavar="TEXT", help="part of a name, or with stars")
    group.add_argument("--dtype", action="append", default=[], choices=[*workloads.TYPES, "uint8"])
    group.add_argument("--layout", action="append", default=[], choices=list(workloads.BOTH))
    group.add_argument("--direction", action="append", default=[], choices=["forward", "gradient", "second"])
    group.add_argument("--results", default="both", choices=["fresh", "reused", "both"])
    group.add_argument("--list", action="store_true", help="print the names of the rows and stop")


def _how(parser: argparse.ArgumentParser) -> None:
    cores = machine.processors()
    group = parser.add_argument_group("how")
    group.add_argument("--threads", type=numbers, default=sorted({1, cores}), metavar="1,2")
    group.add_argument("--repeats", type=int, default=Patience.repeats, help="least number of timed calls")
    group.add_argument("--seconds", type=float, default=Patience.seconds, help="time for each contestant of a row")
    group.add_argument("--tensors", action="store_true", help="give poolgrad PyTorch's tensors in place of arrays")
    group.add_argument("--json", type=Path, metavar="FILE", help="write everything there")
    group.add_argument("--picture", type=Path, metavar="FILE", help="draw the rows there (needs matplotlib)")


def parser() -> argparse.ArgumentParser:
    """All options."""
    made = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    _choices(made)
    _how(made)
    made.add_argument("--peers", type=peer_names, default=list(PEERS), metavar="NAMES", help=f"{','.join(PEERS)}|none")
    made.add_argument("--below", type=numbers, default=[50], metavar="PERCENT", help="list rows below these shares")
    commands = made.add_subparsers(dest="command", metavar="arithmetic|cost|gpu|picture|small")
    commands.add_parser("arithmetic", help="what arithmetic leaves of the memory's limit")
    growth = commands.add_parser("cost", help="how time for an element grows with size, window and threads")
    cost.add_options(growth)
    gpu.add_options(commands.add_parser("gpu", help="pooling on a GPU beside PyTorch's"))
    small.add_options(commands.add_parser("small", help="small calls of poolgrad.torch beside PyTorch's"))
    drawn = commands.add_parser("picture", help="draw kept results")
    drawn.add_argument("results", type=Path)
    drawn.add_argument("target", type=Path)
    drawn.add_argument(
        "--filter", action="append", default=[], metavar="TEXT", dest="only", help="part of a row's name"
    )
    drawn.add_argument("--threads", type=numbers, default=[], metavar="1,2", dest="only_threads")
    return made


def _rows(options: argparse.Namespace) -> list[str]:
    kinds = () if options.results == "both" else (options.results,)
    chosen = workloads.select(
        workloads.all_rows(), options.filter, options.dtype, options.layout, options.direction, kinds
    )
    return [row.name for row in chosen if not options.tensors or tensors.has(row)]


def _present(names: Sequence[str]) -> list[str]:
    """The installed ones; the others are named with what brings them."""
    for name in names:
        if missing(PEERS[name]):
            progress(f"{name} is missing: pip install '{PEERS[name].install}'")
    return [name for name in names if not missing(PEERS[name])]


def measure(options: argparse.Namespace) -> int:
    """Measure the chosen rows and print the table as it grows."""
    rows = _rows(options)
    if options.list or not rows:
        print("\n".join(rows) or "no row has such a name; --list shows all")
        return 0 if rows else 2
    peers = _present(options.peers)
    run = Run(describe_machine())
    settings = (peers, options.repeats, options.seconds, options.tensors)
    tasks = [Task(rows, threads, *settings) for threads in options.threads]
    print(table.header(peers), flush=True)

    def show(row: Result) -> None:
        print(table.line(row, peers), flush=True)
        if options.json:
            results.write(run, options.json)

    execute(tasks, run, show)
    print(f"\n{table.machine_text(run)}\n{table.summary(run, options.below)}")
    if options.picture:
        picture.draw(run, options.picture)
    expected = len(rows) * len(tasks)
    return 1 if any(row.error for row in run.rows) or len(run.rows) < expected else 0


def draw(options: argparse.Namespace) -> int:
    """Draw the chosen rows of kept results."""
    run = results.read(options.results)
    run.rows = [
        row
        for row in run.rows
        if workloads.matches(row.name, options.only) and row.threads in (options.only_threads or [row.threads])
    ]
    drawn = picture.draw(run, options.target)
    print(f"{drawn} rows drawn to {options.target}" if drawn else "no row has such a name and a limit: nothing drawn")
    return 0 if drawn else 1


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and give its exit status."""
    options = parser().parse_args(arguments)
    if options.command == "arithmetic":
        return arithmetic.main(options)
    if options.command == "cost":
        return cost.main(options)
    if options.command == "gpu":
        return gpu.main(options)
    if options.command == "picture":
        return draw(options)
    if options.command == "small":
        return small.main(options)
    return measure(options)


if __name__ == "__main__":
    sys.exit(main())
