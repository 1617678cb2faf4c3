"""The commands ``poolgrad run`` and ``poolgrad page``."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.checks import check
from poolgrad.pages.enuspace import import_enuspace
from poolgrad.pages.export import FORMATS, export
from poolgrad.pages.files import SUFFIX, dumps, examples, load
from poolgrad.pages.kinds import Kind
from poolgrad.pages.layout import laid_out
from poolgrad.pages.model import LIMITS, NO_LIMITS, Document, Limits, Page
from poolgrad.pages.problems import PageError, Problem
from poolgrad.pages.runner import Outcome, Run, run, unmet
from poolgrad.pages.schema import schema
from poolgrad.pages.summaries import in_words, kind_of, run_as_json

FAILED, BAD_FILE, NOT_AS_EXPECTED = 1, 2, 3

# What shtab puts into its scripts where a file is wanted.
_COMPLETE_FILES = {"bash": "_shtab_compgen_files", "zsh": "_files", "tcsh": "f"}

Command = Callable[[str, Callable[[argparse.Namespace], int], str, str], argparse.ArgumentParser]


def _document(name: str, limits: Limits = LIMITS) -> Document:
    """The file, or the page of that name that comes with the package."""
    path = Path(name)
    if not path.exists() and name in examples():
        path = examples()[name]
    return load(path, limits)


def _pages(document: Document, options: argparse.Namespace) -> list[Page]:
    pages = list(document.pages) if options.page is None else [document.page(options.page)]
    for setting in getattr(options, "set", None) or []:
        target, _, text = setting.partition("=")
        pages = [page.with_attribute(target.strip(), text.strip()) for page in pages]
    return pages


def _bar(total: int) -> Any:
    """A bar on the terminal for runs that take long, where tqdm is installed."""
    try:
        tqdm = importlib.import_module("tqdm")
    except ImportError:
        return None
    return tqdm.tqdm(total=total, unit="block", delay=1, leave=False, disable=None, file=sys.stderr)


def _line(outcome: Outcome, results: dict[str, Any]) -> list[str]:
    head = f"  {outcome.block:<14} {outcome.op:<22} "
    if outcome.problems:
        return [f"{head}{problem.code} {problem.name}: {problem.message}" for problem in outcome.problems]
    lines = []
    for name, part in outcome.outputs.items():
        label = name if len(outcome.outputs) > 1 else outcome.block
        lines.append(f"  {label:<14} {outcome.op:<22} {kind_of(part):<24} {in_words(results[name])}".rstrip())
    return lines


def _run_page(page: Page, options: argparse.Namespace, quiet: bool) -> Run:
    limits = NO_LIMITS if options.no_limits else LIMITS
    bar = None if quiet else _bar(len(page.blocks))
    done = run(page, limits=limits, progress=None if bar is None else lambda _: bar.update())
    if bar is not None:
        bar.close()
    if not quiet:
        print(f"page {page.name}")
        for outcome in done.outcomes:
            print(
                "\n".join(_line(outcome, dict(done.results))), end="\n" if outcome.outputs or outcome.problems else ""
            )
    return done


def _run(options: argparse.Namespace) -> int:
    document = _document(options.file, NO_LIMITS if options.no_limits else LIMITS)
    quiet = "-" in (options.json, options.html)
    runs = [_run_page(page, options, quiet) for page in _pages(document, options)]
    faults = [unmet(done) for done in runs] if options.check else None
    _write(document, runs, faults, options)
    if faults is None:
        return FAILED if any(done.problems for done in runs) else 0
    found = [problem for problems in faults for problem in problems]
    wrong = [problem for problem in found if problem.code == "PG501"]
    for problem in wrong:
        print(f"not as expected: {problem.where}: {problem.message}", file=sys.stderr)
    expected = sum(len(done.page.expect) for done in runs)
    if not quiet:
        verdict = "all as expected" if not found else f"{len(wrong)} NOT AS EXPECTED" if wrong else "a block FAILED"
        print(f"{expected} expected: {verdict}")
    return NOT_AS_EXPECTED if wrong else FAILED if found else 0


def _write(
    document: Document, runs: list[Run], faults: list[tuple[Problem, ...]] | None, options: argparse.Namespace
) -> None:
    """Results as files, for whoever asked."""
    if options.json:
        pages = [run_as_json(done, None if faults is None else faults[n]) for n, done in enumerate(runs)]
        text = json.dumps({"title": document.title, "pages": pages}, ensure_ascii=False, allow_nan=False)
        _put(options.json, text + "\n")
    if options.npz:
        arrays = {_key(done, name, runs): array for done in runs for name, array in done.results.items()}
        try:
            np.savez(options.npz, **arrays)  # type: ignore[arg-type]
        except OSError as error:
            raise _unwritable(options.npz, error) from None
    if options.html:
        from poolgrad.pages.report import report

        _put(options.html, report(document.title, runs))


def _key(done: Run, name: str, runs: list[Run]) -> str:
    return name if len(runs) == 1 else f"{done.page.name}/{name}"


def _put(path: str, text: str) -> None:
    if path == "-":
        print(text, end="")
        return
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from None


def _unwritable(path: str, error: OSError) -> PageError:
    return PageError(Problem("PG001", f"cannot write {path}: {error.strerror or error}"))


def _check(options: argparse.Namespace) -> int:
    code = 0
    for page in _pages(_document(options.file), options):
        checked = check(page)
        print(f"page {page.name}: {len(page.blocks)} blocks, {len(page.wires)} wires")
        for name, part in checked.outlines.items():
            print(f"  {name:<30} {kind_of(part)}")
        for problem in checked.problems:
            print(f"  {problem}")
        code = FAILED if checked.problems else code
    return code


def _export(options: argparse.Namespace) -> int:
    document = _document(options.file)
    page = document.page(options.page)
    _put(options.output, export(Document((page,), document.title), options.to))
    return 0


def _import(options: argparse.Namespace) -> int:
    document = import_enuspace(options.file)
    _put(options.output, dumps(Document(tuple(map(laid_out, document.pages)), document.title)))
    return 0


def _examples(_: argparse.Namespace) -> int:
    for name, path in examples().items():
        print(f"{name:<26} {load(path).title}")
    return 0


def _schema(options: argparse.Namespace) -> int:
    _put(options.output, json.dumps(schema(), indent=1) + "\n")
    return 0


def _blocks(options: argparse.Namespace) -> int:
    if options.name is None:
        for group in dict.fromkeys(kind.group for kind in BLOCKS.values()):
            print(group)
            for one in BLOCKS.values():
                if one.group == group:
                    print(f"  {one.op:<26} {one.summary}")
        return 0
    if options.name not in BLOCKS:
        print(f"poolgrad: there is no block {options.name!r}; `poolgrad page blocks` lists them", file=sys.stderr)
        return BAD_FILE
    print("\n".join(_described(BLOCKS[options.name])))
    return 0


def _described(kind: Kind) -> list[str]:
    lines = [f"{kind.op}: {kind.summary}"]
    lines += [f"  pin        {pin.name:<24} {pin.text}{' (wired or typed)' if pin.typed else ''}" for pin in kind.pins]
    for field in kind.fields:
        default = "" if field.is_required else f" (default: {field.default})"
        lines.append(f"  attribute  {field.name:<24} {field.text}{default}")
    return [*lines, *(f"  output     {name}" for name in kind.outputs)]


def add_run(command: Command) -> None:
    """The command ``run``."""
    parser = command(
        "run",
        _run,
        "run a page of blocks, one line for each of them",
        "  poolgrad run tour\n"
        "  poolgrad run page.pool.json --check\n"
        "  poolgrad run page.pool.json --set dx.padding=VALID --set dx.ksize=1,3,3,1\n"
        "  poolgrad run page.pool.json --npz results.npz\n\n"
        "exit codes: 0 fine, 1 a block failed, 2 the file cannot be read, 3 not as expected (--check)",
    )
    _add_file(parser)
    parser.add_argument("--page", help="run this page only (default: all pages of the file)")
    parser.add_argument("--set", action="append", metavar="BLOCK.NAME=VALUE", help="change an attribute for this run")
    parser.add_argument("--check", action="store_true", help="compare with the values the page expects")
    parser.add_argument("--no-limits", action="store_true", help="run a page of any size, as far as memory goes")
    outputs = parser.add_mutually_exclusive_group()
    outputs.add_argument("--json", metavar="OUT", help="write results and problems as JSON, to - for standard output")
    outputs.add_argument("--npz", metavar="OUT", help="write the arrays as an .npz file")
    outputs.add_argument("--html", metavar="OUT", help="write a page to look at, in one file")


def _add_file(parser: argparse.ArgumentParser) -> None:
    file: Any = parser.add_argument("file", metavar="FILE", help=f"a file *{SUFFIX}, or an example by name")
    file.complete = _COMPLETE_FILES


def add_page(command: Command, subcommands: Callable[[argparse.ArgumentParser], Command]) -> None:
    """The command ``page`` and those below it."""
    text = "check, export or import a page; list blocks and examples"
    parser = command("page", lambda _: _usage(parser), text, "  poolgrad page blocks\n  poolgrad page check tour")
    below = subcommands(parser)
    checked = below(
        "check", _check, "check a page and print every shape, computing nothing", "  poolgrad page check tour"
    )
    _add_file(checked)
    checked.add_argument("--page", help="this page only")
    exported = below(
        "export",
        _export,
        "write a page as a program",
        "  poolgrad page export tour --to python\n  poolgrad page export tour --to notebook -o tour.ipynb",
    )
    _add_file(exported)
    exported.add_argument("--page", help="which page (default: the first)")
    exported.add_argument("--to", choices=FORMATS, default="python", help="what to write (default: python)")
    imported = below(
        "import",
        _import,
        "read a page that enuSpace-TensorFlow wrote",
        f"  poolgrad page import old.json -o new{SUFFIX}",
    )
    _add_file(imported)
    listed = below("blocks", _blocks, "list all blocks, or describe one", "  poolgrad page blocks AvgPool3DGrad")
    listed.add_argument("name", nargs="?", metavar="BLOCK", help="describe this one")
    below("examples", _examples, "list the pages that come along", "  poolgrad page examples")
    described = below("schema", _schema, "print the JSON schema of pages", "  poolgrad page schema -o page.schema.json")
    for one in (exported, imported, described):
        one.add_argument("-o", "--output", default="-", metavar="OUT", help="where to (default: standard output)")


def _usage(parser: argparse.ArgumentParser) -> int:
    parser.print_help()
    return 0
