"""The folder that pages are opened from and saved in: nothing outside of it is reached, links followed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from poolgrad.pages import dumps, examples, load, loads
from poolgrad.pages.files import SUFFIX

_MOST_FILES = 500


class RefusedError(Exception):
    """A request that cannot be answered: status and words."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


@dataclass
class Shelf:
    """Pages below a folder, and the examples."""

    folder: Path
    read_only: bool = False

    def inside(self, name: str) -> Path:
        """A page's path from its name, below the folder when all links are followed."""
        folder = self.folder.resolve()
        path = folder if "\0" in name else (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.name.endswith(SUFFIX):
            raise RefusedError(403, f"a page must be a file *{SUFFIX} below the folder of the studio, got {name!r}")
        return path

    def names(self) -> list[str]:
        """The pages there are."""
        folder = self.folder.resolve()
        found = sorted(self.folder.rglob(f"*{SUFFIX}"))[:_MOST_FILES]
        return [path.relative_to(self.folder).as_posix() for path in found if path.resolve().is_relative_to(folder)]

    def read(self, name: str) -> str:
        """A page as text."""
        return dumps(load(self.inside(name)))

    def write(self, name: str, text: str) -> str:
        """Keep a page; the answer is its name without folders."""
        if self.read_only:
            raise RefusedError(403, "the studio was started with --read-only")
        path = self.inside(name)
        written = dumps(loads(text))
        try:
            path.write_text(written, encoding="utf-8", newline="\n")
        except OSError as error:
            raise RefusedError(400, f"cannot write {path.name}: {error.strerror or error}") from None
        return path.name


def example(name: str) -> str:
    """A page that comes along, as text."""
    path = examples().get(name)
    if path is None:
        raise RefusedError(404, "there is no such example")
    return dumps(load(path))


def titles() -> dict[str, str]:
    """The pages that come along, with their titles."""
    return {name: load(path).title for name, path in examples().items()}
