"""Imports point down only. The table says which modules of the package each module may import."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import poolgrad

ROOT = Path(poolgrad.__file__).parent

_GPU = ("kernels.gpu_launch", "kernels.gpu_tables", "kernels.gpu_tiles")
_AVERAGES = {f"kernels.triton_{name}" for name in ("sums", "slides", "lines")}
_MAXIMA = {f"kernels.triton_{name}" for name in ("maxima", "routes", "even", "planes", "picks")}
_FAMILIES = {f"kernels.gpu_{name}" for name in ("averages", "maxima", "given", "drawn")}

# Module -> those it may import when it is imported itself. A folder's name stands for all in it.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "dtypes": {"errors"},
    "windows": {"errors"},
    "philox": set(),
    "machine": set(),
    "arguments": {"errors"},
    "threads": {"arguments", "machine", "errors"},
    "plan": {"windows", "dtypes", "errors"},
    "forms": {"plan", "windows", "errors"},
    "faults": {"plan"},
    "attributes": {"arguments", "plan", "windows", "errors"},
    "calls": {"threads", "errors", "_core"},
    "results": {"arguments", "machine", "errors", "_core"},
    "specs": {"attributes", "calls", "errors"},
    "dispatch": {"plan", "arguments", "errors"},
    "kernels": set(),
    "kernels.cpu": {"plan", "calls", "threads", "errors", "_core"},
    "kernels.triton_tiles": set(),
    "kernels.triton_sums": {"kernels.triton_tiles"},
    "kernels.triton_slides": {"kernels.triton_tiles"},
    "kernels.triton_lines": {"kernels.triton_tiles"},
    "kernels.triton_maxima": {"kernels.triton_tiles"},
    "kernels.triton_routes": {"kernels.triton_tiles"},
    "kernels.triton_even": {"kernels.triton_tiles", "kernels.triton_routes"},
    "kernels.triton_planes": {"kernels.triton_tiles"},
    "kernels.triton_picks": {"kernels.triton_tiles", "kernels.triton_routes"},
    "kernels.triton_drawn": {"kernels.triton_tiles", "kernels.triton_maxima"},
    "kernels.triton_given": {"kernels.triton_tiles", "kernels.triton_routes"},
    "kernels.gpu_tables": {"kernels.gpu_launch", "plan", "windows"},
    "kernels.gpu_tiles": {"plan"},
    "kernels.gpu_launch": set(),
    "kernels.gpu_averages": {*_AVERAGES, *_GPU, "plan", "windows"},
    "kernels.gpu_maxima": {*_MAXIMA, *_GPU, "plan", "windows"},
    "kernels.gpu_drawn": {"kernels.triton_drawn", "kernels.gpu_maxima", *_GPU},
    "kernels.gpu_given": {"kernels.triton_given", "kernels.gpu_maxima", *_GPU, "plan"},
    "kernels.gpu": {*_FAMILIES, "kernels.gpu_launch", "plan", "errors"},
    "frontends": set(),
    "outlines": {"plan"},
    "frontends._outlines": {"dispatch", "outlines", "plan", "dtypes"},
    "frontends._numpy": {"dispatch", "plan", "kernels", "calls", "results", "dtypes", "faults", "errors"},
    "frontends._torch": {"dispatch", "torch", "forms", "plan", "errors"},
    "frontends._cupy": {"dispatch", "frontends._torch", "torch", "plan", "errors"},
    "torch": {*("arguments", "dtypes", "errors", "faults", "forms", "kernels", "philox", "plan", "results"), "windows"},
    "functional": {"calls", "arguments", "dispatch", "dtypes", "plan", "windows", "errors"},
    "fractional": {"functional", "calls", "arguments", "dispatch", "philox", "dtypes", "plan", "windows", "errors"},
    "raw_ops": {"specs", "attributes", "arguments", "dispatch", "philox", "dtypes", "plan", "windows", "errors"},
    "reference": set(),
    "routes": {"raw_ops", "calls", "dispatch", "outlines", "plan", "windows", "errors"},
    "": {"raw_ops", "routes", "functional", "fractional", "results", "threads", "errors"},
    "demo": {"raw_ops", "windows"},
    "demo_text": {"demo"},
    "demo_picture": {"demo", "windows"},
    "pages": {"raw_ops", "specs", "calls", "dispatch", "outlines", "arguments", "dtypes", "plan", "errors"},
    "studio": {"pages", "raw_ops", "routes", "errors"},
    "cli": {"pages", "demo", "demo_text", "results", "threads", "kernels", "errors"},
    "__main__": {"cli"},
}

# What a module may load later, when it is called, or names as text for importlib.
LATER: dict[str, set[str]] = {"dispatch": {"frontends"}, "cli": {"demo_picture", "studio"}, "": {"studio"}}

# Packages that nobody has to have; the modules that may import one are loaded later, and by name.
OPTIONAL = {"torch", "jax", "cupy", "dask", "triton", "matplotlib", "ml_dtypes", "tensorflow"}
OPTIONAL |= {"starlette", "uvicorn", "anywidget", "traitlets"}
NEEDING = {"demo_picture": {"matplotlib"}, "frontends._torch": {"torch"}, "torch": {"torch"}}
NEEDING |= {"frontends._cupy": {"cupy", "torch"}}
_TRITON = ("tiles", "sums", "slides", "lines", "maxima", "even", "routes", "planes", "picks", "drawn", "given")
NEEDING |= {f"kernels.triton_{name}": {"triton"} for name in _TRITON}
NEEDING |= {name: {"torch", "triton"} for name in ("kernels.gpu", *_GPU[:2], *_FAMILIES)}
NEEDING |= {"studio.server": {"starlette", "uvicorn"}, "studio.widget": {"anywidget", "traitlets"}}


def _modules() -> dict[str, Path]:
    names = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


MODULES = _modules()


def _imports(source: str, package: str) -> Iterator[tuple[str, bool]]:
    """Full names of what a source imports, and whether only when it is called."""
    tree = ast.parse(source)
    later = {
        inner
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        for inner in ast.walk(outer)
    }
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((alias.name, node in later) for alias in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                above = package.split(".")[: len(package.split(".")) + 1 - level] if level else []
                base = ".".join([*above, *([module] if module else [])])
                yield from ((f"{base}.{alias.name}", node in later) for alias in names)
            case ast.Constant(value=str(text)) if re.fullmatch(r"poolgrad(\.\w+)+", text):
                yield text, True


def _module_of(name: str) -> str | None:
    """The longest module of the package that a name starts with, without the package's own name."""
    if name != "poolgrad" and not name.startswith("poolgrad."):
        return None
    parts = name.split(".")[1:]
    while parts and ".".join(parts) not in MODULES and parts != ["_core"]:
        parts.pop()
    return ".".join(parts)


def _row(module: str, table: dict[str, set[str]]) -> set[str]:
    """A module's own row, or that of the folder it is in together with the folder itself."""
    if module in table:
        return table[module]
    folder = module.partition(".")[0]
    return table.get(folder, set()) | ({folder} if "." in module else set())


def _is_in(module: str, allowed: set[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in allowed)


def violations(module: str, source: str) -> list[str]:
    """What a module imports and may not."""
    path = MODULES.get(module)
    package = f"poolgrad.{module}".rstrip(".")
    if path is None or path.name != "__init__.py":
        package = package.rpartition(".")[0]
    found = []
    for name, later in _imports(source, package):
        target = _module_of(name)
        top = name.partition(".")[0]
        if target is None:
            if top in OPTIONAL and not later and top not in _row(module, NEEDING):
                found.append(f"{module or 'poolgrad'} imports {top}")
            continue
        allowed = _row(module, ALLOWED) | (_row(module, LATER) if later else set())
        itself = target == module or (path is not None and path.name == "__init__.py" and _is_in(target, {module}))
        if module == "" and target:
            itself = False
        if not itself and not _is_in(target, allowed):
            found.append(f"{module or 'poolgrad'} imports {name}{' later' if later else ''}")
    return found


@pytest.mark.parametrize("module", [pytest.param(name, id=name or "poolgrad") for name in MODULES])
def test_imports_point_down(module: str) -> None:
    assert violations(module, MODULES[module].read_text()) == []


def test_every_module_has_a_row() -> None:
    assert {name for name in MODULES if not _is_in(name, set(ALLOWED) - {""}) and name} == set()
    assert {name for name in ALLOWED if name not in MODULES} == set()


def test_rows_do_not_go_in_circles() -> None:
    """Whoever a module may import may not import it."""

    def below(name: str) -> set[str]:
        names = set(ALLOWED.get(name, set()))
        for module in ALLOWED:
            if module.startswith(f"{name}.") and name:
                names |= ALLOWED[module]
        return names

    for start in ALLOWED:
        seen: set[str] = set()
        todo = sorted(below(start))
        while todo:
            name = todo.pop()
            assert name != start, start
            if name not in seen:
                seen.add(name)
                todo += sorted(below(name))


@pytest.mark.parametrize(
    ("module", "source", "found"),
    [
        pytest.param("errors", "import poolgrad.plan", ["errors imports poolgrad.plan"], id="upwards"),
        pytest.param("plan", "from poolgrad import dispatch", ["plan imports poolgrad.dispatch"], id="from-package"),
        pytest.param("plan", "from . import dispatch", ["plan imports poolgrad.dispatch"], id="relative"),
        pytest.param("plan", "from .kernels import cpu", ["plan imports poolgrad.kernels.cpu"], id="relative-folder"),
        pytest.param(
            "kernels.cpu", "from ..arguments import flag", ["kernels.cpu imports poolgrad.arguments.flag"], id="two-up"
        ),
        pytest.param(
            "windows",
            "def f():\n    from poolgrad.dispatch import x",
            ["windows imports poolgrad.dispatch.x later"],
            id="hidden-in-a-function",
        ),
        pytest.param(
            "dispatch",
            "from poolgrad.frontends import _numpy",
            ["dispatch imports poolgrad.frontends._numpy"],
            id="frontend-not-later",
        ),
        pytest.param("dispatch", "NAMES = ['poolgrad.frontends._numpy']", [], id="frontend-by-name"),
        pytest.param(
            "plan",
            "import importlib\nimportlib.import_module('poolgrad.cli')",
            ["plan imports poolgrad.cli later"],
            id="by-name",
        ),
        pytest.param("reference", "import poolgrad", ["reference imports poolgrad"], id="reference-package"),
        pytest.param(
            "reference._maxima",
            "from poolgrad.windows import Axis",
            ["reference._maxima imports poolgrad.windows.Axis"],
            id="reference",
        ),
        pytest.param("reference._maxima", "from poolgrad.reference._windows import f", [], id="within-reference"),
        pytest.param("raw_ops._maxima", "from poolgrad.plan import make", [], id="row-of-the-folder"),
        pytest.param(
            "raw_ops._maxima", "from poolgrad import demo", ["raw_ops._maxima imports poolgrad.demo"], id="demo"
        ),
        pytest.param("functional", "import poolgrad.cli", ["functional imports poolgrad.cli"], id="cli"),
        pytest.param("", "from poolgrad import demo", ["poolgrad imports poolgrad.demo"], id="package"),
        pytest.param("", "from poolgrad import raw_ops", [], id="package-fine"),
        pytest.param("dtypes", "import ml_dtypes", ["dtypes imports ml_dtypes"], id="optional"),
        pytest.param("dtypes", "from jax.numpy import x", ["dtypes imports jax"], id="optional-from"),
        pytest.param("dtypes", "if True:\n    import torch", ["dtypes imports torch"], id="optional-in-a-branch"),
        pytest.param("dtypes", "def f():\n    import torch", [], id="optional-later"),
        pytest.param("demo", "import matplotlib", ["demo imports matplotlib"], id="picture"),
        pytest.param("torch._memory", "import torch, triton", ["torch._memory imports triton"], id="triton"),
        pytest.param("frontends._numpy", "import torch", ["frontends._numpy imports torch"], id="another-frontend"),
        pytest.param("torch", "import poolgrad.dispatch", ["torch imports poolgrad.dispatch"], id="torch-upwards"),
    ],
)
def test_the_check_can_fail(module: str, source: str, found: list[str]) -> None:
    assert violations(module, source) == found
