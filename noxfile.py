"""Every command of this project. `nox` alone runs what must pass before a change lands; `nox -l` lists all."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2024.10"
nox.options.sessions = ["lint", "tests", "types", "native", "oracle", "wheel"]
nox.options.default_venv_backend = "venv"
nox.options.error_on_external_run = True

ROOT = Path(__file__).parent
NATIVE = sorted(str(path) for kind in ("h", "cpp", "inc") for path in (ROOT / "native").rglob(f"*.{kind}"))
TESTS = nox.project.dependency_groups(nox.project.load_toml("pyproject.toml"), "test")
# One build serves all sessions that only use the package.
WHEELHOUSE = ROOT / "build" / "wheelhouse"


def install_package(session: nox.Session) -> None:
    """The package as users get it, built once for all sessions of one run."""
    if not list(WHEELHOUSE.glob("*.whl")) or os.environ.get("POOLGRAD_WHEEL_OF") != str(os.getpid()):
        shutil.rmtree(WHEELHOUSE, ignore_errors=True)
        session.run("python", "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(WHEELHOUSE), str(ROOT))
        os.environ["POOLGRAD_WHEEL_OF"] = str(os.getpid())
    session.install("--force-reinstall", "--no-deps", *map(str, WHEELHOUSE.glob("*.whl")))
    session.install("numpy>=1.26")


@nox.session
def lint(session: nox.Session) -> None:
    """Style of Python (ruff) and C++ (clang-format)."""
    session.install("ruff==0.17.*", "clang-format==23.*")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("clang-format", "--dry-run", "--Werror", *NATIVE)


@nox.session(tags=["gen"])
def format(session: nox.Session) -> None:
    """Rewrite Python and C++ in the project's style."""
    session.install("ruff==0.17.*", "clang-format==23.*")
    session.run("ruff", "check", "--fix", "--exit-zero")
    session.run("ruff", "format")
    session.run("clang-format", "-i", *NATIVE)


@nox.session
def types(session: nox.Session) -> None:
    """mypy --strict over the installed package and this file."""
    install_package(session)
    session.install("mypy==2.*", "nox")
    with session.chdir(session.create_tmp()):
        session.run("mypy", "--strict", "--package", "poolgrad")
        session.run("mypy", "--strict", str(ROOT / "noxfile.py"))


@nox.session
def tests(session: nox.Session) -> None:
    """All Python tests against the installed package; arguments go to pytest."""
    install_package(session)
    session.install(*TESTS)
    session.run("pytest", *session.posargs)


@nox.session
def native(session: nox.Session) -> None:
    """C++ tests: plain, under the address and undefined-behaviour sanitizers, and the threads under the thread sanitizer."""
    session.install("cmake", "ninja")
    for name, sanitizers, arguments in (
        ("plain", "", []),
        ("address", "address,undefined", []),
        ("thread", "thread", ["threads"]),
    ):
        build = str(ROOT / "build" / "native" / name)
        options = ["-DPOOLGRAD_PYTHON=OFF", "-DPOOLGRAD_TESTS=ON", f"-DPOOLGRAD_SANITIZE={sanitizers}"]
        session.run("cmake", "-S", str(ROOT), "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options, silent=True)
        session.run("cmake", "--build", build)
        session.run(f"{build}/native_tests", *arguments, external=True)


@nox.session
def oracle(session: nox.Session) -> None:
    """Compare live with TensorFlow 2.21, its stock kernels on."""
    install_package(session)
    session.install(*TESTS, "tensorflow-cpu==2.21.*")
    session.run("pytest", "-m", "tensorflow", "tests/oracle", *session.posargs)


@nox.session
def record(session: nox.Session) -> None:
    """Record the golden results anew from TensorFlow 2.21."""
    install_package(session)
    session.install(*TESTS, "tensorflow-cpu==2.21.*")
    session.run("python", "-m", "tests.oracle.record")


@nox.session
def wheel(session: nox.Session) -> None:
    """Build sdist and wheel; the wheel made from the sdist installs into an empty environment and passes the tests."""
    session.install("build")
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    session.run("python", "-m", "build", "--outdir", str(dist), str(ROOT), silent=True)
    session.run("python", "-m", "venv", "--clear", str(ROOT / "build" / "empty"))
    python = str(ROOT / "build" / "empty" / ("Scripts" if os.name == "nt" else "bin") / "python")
    session.run(python, "-m", "pip", "install", "--quiet", *map(str, dist.glob("*.whl")), external=True)
    session.run(python, "-c", "import poolgrad; print(poolgrad.get_num_threads())", external=True)
    session.run(python, "-m", "pip", "install", "--quiet", *TESTS, external=True)
    session.run(python, "-m", "pytest", "-q", "tests/unit", "tests/oracle", external=True)


@nox.session
def demo(session: nox.Session) -> None:
    """Install the package with what the demo needs, and run it."""
    session.install(".[demo]")
    session.run("poolgrad", "demo")
