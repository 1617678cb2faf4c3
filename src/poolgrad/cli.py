"""The command ``poolgrad``."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from poolgrad import demo, demo_text, results, threads
from poolgrad.errors import PoolGradError
from poolgrad.kernels import cpu
from poolgrad.pages import commands
from poolgrad.pages.commands import Command

_PICTURE = Path("poolgrad-demo.png")
# Import names, and the distributions that may hold them.
_LIBRARIES = {
    "ml_dtypes": ("ml_dtypes",),
    "matplotlib": ("matplotlib",),
    "torch": ("torch",),
    "jax": ("jax",),
    "cupy": ("cupy", "cupy-cuda13x", "cupy-cuda12x", "cupy-cuda11x"),
    "dask": ("dask",),
    "zarr": ("zarr",),
}


def _version(*distributions: str) -> str | None:
    for name in distributions:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _own_version() -> str:
    return _version("poolgrad") or "unknown (not installed as a package)"


def _instructions() -> str:
    return f"{cpu.isa()} in use, of {', '.join(cpu.available_isas())}"


def _threads() -> str:
    return f"{threads.get_num_threads()}, {threads.origin()}"


def _results() -> str:
    bound, idle = results.get_result_pool(), results.idle_bytes()
    return f"up to {bound / 2**20:.0f} MiB kept for reuse, {idle / 2**20:.0f} MiB now" if bound else "not kept"


def _info(_: argparse.Namespace) -> int:
    code = 0
    rows = [
        ("poolgrad", _own_version()),
        ("Python", f"{platform.python_version()}, {platform.python_implementation()}"),
        ("System", f"{platform.system()} {platform.machine()}"),
        ("NumPy", np.__version__),
    ]
    for name, answer in (("Instructions", _instructions), ("Threads", _threads), ("Results", _results)):
        try:
            rows.append((name, answer()))
        except PoolGradError as error:
            rows.append((name, f"error: {error}"))
            code = 1
    rows.append(("Optional", ""))
    rows += [(f"  {name}", _version(*names) or "not installed") for name, names in _LIBRARIES.items()]
    for name, text in rows:
        print(f"{name:<14}{text}".rstrip())
    return code


def _draw(outcomes: list[demo.Outcome], path: Path) -> int:
    try:
        from poolgrad.demo_picture import draw
    except ImportError as error:
        if (error.name or "").partition(".")[0] != "matplotlib":
            raise
        print('No picture: it needs matplotlib. To get it: pip install "poolgrad[demo]"')
        return 0
    try:
        draw(outcomes, path)
    except OSError as error:
        print(f"poolgrad: cannot write the picture to {path}: {error.strerror or error}", file=sys.stderr)
        return 2
    print(f"Picture: {path.resolve()}")
    return 0


def _demo(options: argparse.Namespace) -> int:
    print("Gradients of pooling on small examples, each value compared with the one computed by hand.")
    print("Rows, columns and depth are counted from 0.\n")
    outcomes = []
    for example in demo.EXAMPLES:
        outcomes.append(demo.run(example))
        print(demo_text.report(outcomes[-1]), end="\n\n")
    values, right = sum(outcome.values for outcome in outcomes), sum(outcome.right for outcome in outcomes)
    verdict = "all as computed by hand" if right == values else f"{values - right} WRONG"
    print(f"{len(outcomes)} examples, {values} values: {verdict}.")
    code = 0 if options.picture is None else _draw(outcomes, options.picture)
    return code if right == values else 1


def _png(text: str) -> Path:
    if not text.lower().endswith(".png"):
        raise argparse.ArgumentTypeError(f"the picture is a PNG, so its name must end in .png, got {text!r}")
    return Path(text)


def _subcommands(parent: argparse.ArgumentParser) -> Command:
    """What adds a command below another: by its name, what it runs, what it does and how it is used."""
    commands = parent.add_subparsers(title="commands", metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], int], text: str, examples: str) -> argparse.ArgumentParser:
        parser = commands.add_parser(
            name,
            help=text,
            description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"examples:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.set_defaults(run=run)
        return parser

    return add


def _studio(options: argparse.Namespace) -> int:
    try:
        server = importlib.import_module("poolgrad.studio.server")
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn", "anyio"):
            raise
        print('poolgrad: the studio needs a server. To get it: pip install "poolgrad[studio]"', file=sys.stderr)
        return 2
    if not (server.WEB / "index.html").is_file():
        print(
            "poolgrad: this installation has no front end for the studio: it was built without npm;"
            " `poolgrad run FILE --html OUT` shows a page all the same",
            file=sys.stderr,
        )
        return 2
    if options.file is not None and not Path(options.file).is_file():
        print(f"poolgrad: there is no file {options.file}", file=sys.stderr)
        return 2
    answer: int = server.serve(
        options.file, port=options.port, opens_browser=not options.no_open, read_only=options.read_only
    )
    return answer


def _completion(options: argparse.Namespace) -> int:
    try:
        shtab = importlib.import_module("shtab")
    except ImportError:
        print('poolgrad: completion needs shtab. To get it: pip install "poolgrad[cli]"', file=sys.stderr)
        return 2
    print(shtab.complete(_parser(), options.shell))
    return 0


def _add_studio(command: Command) -> None:
    parser = command(
        "studio",
        _studio,
        "edit pages of blocks in the browser",
        "  poolgrad studio\n  poolgrad studio page.pool.json --port 8000 --no-open",
    )
    parser.add_argument("file", nargs="?", metavar="FILE", help="a page to open; its folder is all that can be reached")
    parser.add_argument("--port", type=int, default=0, help="which port of this machine (default: a free one)")
    parser.add_argument("--no-open", action="store_true", help="print the address and open no browser")
    parser.add_argument("--read-only", action="store_true", help="save nothing")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="poolgrad",
        description="Pooling and its gradients, with TensorFlow's names and without TensorFlow.",
        epilog="examples:\n  poolgrad demo        see what the gradient ops compute\n"
        "  poolgrad run tour    run a page of blocks\n  poolgrad info        for a bug report",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"poolgrad {_own_version()}")
    command = _subcommands(parser)
    command(
        "info",
        _info,
        "print versions, the instruction set, threads, memory and optional libraries",
        "  poolgrad info\n  POOLGRAD_NUM_THREADS=2 poolgrad info",
    )
    shown = command(
        "demo",
        _demo,
        "run the gradient ops on small examples, check every value and draw them",
        "  poolgrad demo\n  poolgrad demo --picture gradients.png\n  poolgrad demo --no-picture",
    )
    choice = shown.add_mutually_exclusive_group()
    choice.add_argument(
        "--picture", type=_png, metavar="PATH", default=_PICTURE, help=f"where to write it (default: {_PICTURE})"
    )
    choice.add_argument(
        "--no-picture", dest="picture", action="store_const", const=None, help="text only; matplotlib is not needed"
    )
    commands.add_run(command)
    commands.add_page(command, _subcommands)
    _add_studio(command)
    shells = command(
        "completion",
        _completion,
        "print a script that completes commands in your shell",
        "  poolgrad completion bash > ~/.local/share/bash-completion/completions/poolgrad",
    )
    shells.add_argument("shell", choices=("bash", "zsh", "tcsh"), help="which shell")
    return parser


def main(argv: list[str] | None = None) -> int:
    """Run the command; the answer is its exit code.

    Args:
        argv: the command's words, those of this process by default

    >>> main(["info"])  # doctest: +ELLIPSIS
    poolgrad      ...
    0
    """
    parser = _parser()
    options = parser.parse_args(argv)
    if not hasattr(options, "run"):
        parser.print_help()
        return 0
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader has gone (`poolgrad demo | head`); what is left in the buffer must not raise again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except PoolGradError as error:
        print(f"poolgrad: {error}", file=sys.stderr)
        return 2
    return code
