"""A page as a program, plain poolgrad or the same with TensorFlow or a notebook, one call a block; or as a drawing."""

from __future__ import annotations

import json
import keyword
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from poolgrad.pages.checks import Checked, Step, check
from poolgrad.pages.drawing import picture
from poolgrad.pages.model import Document, Page
from poolgrad.pages.problems import PageError
from poolgrad.pages.values import Value

_LIBRARIES = {
    "poolgrad": ("import poolgrad", "poolgrad.raw_ops"),
    "tensorflow": ("import tensorflow as tf", "tf.raw_ops"),
}
_TAKEN = {"np", "tf", "poolgrad", "ml_dtypes", "float", "tuple"}
_WIDTH = 110

FORMATS = {"python": ".py", "tensorflow": ".py", "notebook": ".ipynb", "svg": ".svg"}
"""What a page can be exported to, and how such files end."""


@dataclass(frozen=True, slots=True)
class _Cell:
    """A few lines of the program, and the words above them."""

    text: str
    code: str = ""


def export(page: Page | Document, form: str) -> str:
    """A page as text in one of :data:`FORMATS`.

    >>> page = Page().block("x", "Ones", shape=[1, 2, 2, 1])
    >>> page = page.block("y", "AvgPool", value="x", ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
    >>> print(export(page, "python"))
    import numpy as np
    import poolgrad
    <BLANKLINE>
    x = np.ones([1, 2, 2, 1], 'float32')
    y = poolgrad.raw_ops.AvgPool(value=x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='SAME')
    <BLANKLINE>
    """
    title = page.title if isinstance(page, Document) else ""
    first = page.page() if isinstance(page, Document) else page
    if form == "svg":
        return picture(first)
    checked = check(first)
    if checked.problems:
        raise PageError(checked.problems[0])
    cells = [*_cells(checked, "tensorflow" if form == "tensorflow" else "poolgrad")]
    return _notebook(title, cells) if form == "notebook" else _program(title, cells)


def _cells(checked: Checked, library: str) -> Iterator[_Cell]:
    statement, ops = _LIBRARIES[library]
    uses_bfloat16 = any(part.dtype == "bfloat16" for part in checked.outlines.values())
    extra = "import ml_dtypes  # makes bfloat16 known to NumPy\n" if uses_bfloat16 else ""
    yield _Cell("", f"{extra}import numpy as np\n{statement}")
    names = _names(checked)
    for step in checked.steps:
        if step.block.op == "Note":
            yield _Cell(step.attributes["text"])
        elif step.block.op == "Result":
            yield _Cell("", f"print({names[str(step.feeds['input'])]})")
        else:
            yield _Cell("", _assignment(step, checked, names, ops))


def _names(checked: Checked) -> dict[str, str]:
    """A variable for each output: the block's id, with the output's name where there are several."""
    names: dict[str, str] = {}
    ids = {step.block.id for step in checked.steps}
    for step in checked.steps:
        outputs = step.kind.outputs
        for output in outputs:
            name = step.block.id if len(outputs) == 1 else f"{step.block.id}_{output}"
            others = ids - {step.block.id} | set(names.values()) | _TAKEN
            while keyword.iskeyword(name) or name in others:
                name += "_"
            names[f"{step.block.id}.{output}"] = name
    return names


def _assignment(step: Step, checked: Checked, names: Mapping[str, str], ops: str) -> str:
    ports = [f"{step.block.id}.{output}" for output in step.kind.outputs]
    targets = ", ".join(names[port] for port in ports)
    wired = {pin: names[str(source)] for pin, source in step.feeds.items()}
    if step.kind.python:
        given = {name: entry.form if isinstance(entry, Value) else entry for name, entry in step.attributes.items()}
        return f"{targets} = {step.kind.python(given | wired, checked.outlines[ports[0]].dtype)}"
    defaults = {field.name: field.default for field in step.kind.fields}
    typed = {name: repr(entry) for name, entry in step.attributes.items() if entry != defaults.get(name)}
    order = [*(pin.name for pin in step.kind.pins), *defaults]
    words = [f"{name}={(wired | typed)[name]}" for name in order if name in wired or name in typed]
    call = f"{targets} = {ops}.{step.block.op}("
    if len(call) + len(", ".join(words)) < _WIDTH:
        return f"{call}{', '.join(words)})"
    lines = "".join(f"    {word},\n" for word in words)
    return f"{call}\n{lines})"


def _program(title: str, cells: list[_Cell]) -> str:
    lines = [f"# {title}\n"] if title else []
    for number, cell in enumerate(cells):
        lines += [f"# {line}" for line in cell.text.splitlines()]
        lines += [cell.code + ("\n" if number == 0 else "")] if cell.code else []
    return "\n".join(lines) + "\n"


def _notebook(title: str, cells: list[_Cell]) -> str:
    made: list[dict[str, Any]] = []
    for cell in [*([_Cell(f"# {title}")] if title else []), *cells]:
        kind, text = ("code", cell.code) if cell.code else ("markdown", cell.text)
        made.append({"cell_type": kind, "id": f"cell-{len(made)}", "metadata": {}, "source": text.splitlines(True)})
        if kind == "code":
            made[-1] |= {"execution_count": None, "outputs": []}
    language = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": language, "cells": made}, indent=1) + "\n"
