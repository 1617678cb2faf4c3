"""What will come out of each block of a page, and what is wrong with it, before anything is computed.

Shapes are not worked out here: each block is called with outlines of its inputs, and answers with outlines.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from poolgrad.errors import RAISED
from poolgrad.outlines import Outline, outline
from poolgrad.pages import fields
from poolgrad.pages.blocks import BLOCKS
from poolgrad.pages.kinds import Kind
from poolgrad.pages.model import LIMITS, Block, Limits, Page, Port, Wire, check_names
from poolgrad.pages.order import ordered
from poolgrad.pages.problems import PageError, Problem, fault
from poolgrad.pages.values import Value, numpy_dtype

Known = Mapping[str, Any]
"""What is known of each port: an outline, or the array itself."""


@dataclass(frozen=True, slots=True)
class Step:
    """A block that is read: its kind, its attributes, and the outputs its pins are wired to."""

    block: Block
    kind: Kind
    attributes: Mapping[str, Any]
    feeds: Mapping[str, Port]

    def arguments(self, ports: Known) -> dict[str, Any]:
        """What the block is called with when its pins hold these."""
        return {**self.attributes, **{pin: ports[str(source)] for pin, source in self.feeds.items()}}


@dataclass(frozen=True, slots=True)
class Checked:
    """A page that was checked: steps in an order in which they can be run, what each port will hold, and all faults."""

    page: Page
    steps: tuple[Step, ...]
    outlines: Mapping[str, Outline]
    problems: tuple[Problem, ...]
    known: Known

    def problem(self, block: str) -> Problem | None:
        """The first fault of a block."""
        return next((problem for problem in self.problems if problem.block == block), None)


def check(page: Page, limits: Limits = LIMITS) -> Checked:
    """Check a page and infer the shape and dtype of every output.

    >>> page = Page().block("x", "Ones", shape=[1, 5, 5, 1])
    >>> page = page.block("y", "MaxPool", input="x", ksize="1,2,2,1", strides="1,2,2,1", padding="VALID")
    >>> check(page).outlines["y.output"]
    Outline(shape=(1, 2, 2, 1), dtype='float32')
    """
    check_names(page, limits)
    problems: list[Problem] = []
    steps: dict[str, Step] = {}
    for block in page.blocks:
        try:
            steps[block.id] = _step(block, page)
        except (PageError, *RAISED) as error:
            problems.append(problem_of(error, page, block))
    problems += _wiring_problems(page)
    order, circular = ordered(page)
    problems += [
        Problem("PG108", "the block waits for itself: its wires run in a circle", page.name, name) for name in circular
    ]
    outlines: dict[str, Outline] = {}
    known: dict[str, Any] = {}
    failed = {problem.block for problem in problems}
    for name in order:
        if name in failed:
            continue
        step = steps[name]
        waiting = sorted({source.block for source in step.feeds.values()} & failed)
        try:
            if waiting:
                raise fault("PG401", f"waits for {', '.join(waiting)}")
            made = _outlined(step, known)
            outlines |= _within(limits, made, outlines)
            known |= made
        except (PageError, *RAISED) as error:
            problems.append(problem_of(error, page, step.block))
            failed.add(name)
    runnable = tuple(steps[name] for name in order if name in steps)
    return Checked(page, runnable, outlines, tuple(problems), known)


def misfits(page: Page, source: Port, limits: Limits = LIMITS) -> dict[str, Problem]:
    """The pins that a wire from this output cannot go to, each with the reason.

    >>> page = Page().block("x", "Ones", shape=[1, 4, 4, 1]).block("n", "Const", value=[1, 4, 4, 1], dtype="int32")
    >>> page = page.block("dx", "AvgPoolGrad", orig_input_shape="n", ksize="1,2,2,1", strides="1,2,2,1", padding="SAME")
    >>> misfits(page, Port("x", "output"))["dx.grad"].expected
    (1, 2, 2, 1)
    """
    checked = check(page, limits)
    reasons = {}
    for block in page.blocks:
        kind = BLOCKS.get(block.op)
        for target in (Port(block.id, pin.name) for pin in (kind.pins if kind else ())):
            problem = _misfit(checked, block, Wire(source, target))
            if problem:
                reasons[str(target)] = problem
    return reasons


def _misfit(checked: Checked, block: Block, wire: Wire) -> Problem | None:
    """What would be wrong at the end of a wire, as far as that can be told."""
    page = checked.page
    if block.id in _before(page, wire.source.block):
        return Problem("PG108", "the wires would run in a circle", page.name, block.id, wire.target.name)
    if str(wire.source) not in checked.known:
        return None
    attrs = {name: given for name, given in block.attrs.items() if name != wire.target.name}
    kept = [other for other in page.wires if other.target != wire.target]
    try:
        made = _step(replace(block, attrs=attrs), replace(page, wires=[*kept, wire]))
        if all(str(source) in checked.known for source in made.feeds.values()):
            _outlined(made, checked.known)
    except (PageError, *RAISED) as error:
        problem = problem_of(error, page, block)
        return problem if problem.place == wire.target.name and problem.code != "PG106" else None
    return None


def _before(page: Page, block: str) -> set[str]:
    """A block and all it is computed from."""
    found, todo = {block}, [block]
    while todo:
        target = todo.pop()
        new = {wire.source.block for wire in page.wires if wire.target.block == target} - found
        found |= new
        todo += new
    return found


def _step(block: Block, page: Page) -> Step:
    kind = BLOCKS.get(block.op)
    if kind is None:
        near = [name for name in BLOCKS if name.casefold() == block.op.casefold()]
        hint = f"; did you mean {near[0]!r}?" if near else "; `poolgrad page blocks` lists them"
        raise fault("PG101", f"there is no block {block.op!r}{hint}")
    feeds = {wire.target.name: wire.source for wire in page.wires if wire.target.block == block.id}
    given = fields.spelled_out(block.attrs)
    for name in given:
        if kind.field(name) is None:
            allowed = ", ".join(field.name for field in kind.fields) or "none"
            raise fault("PG102", f"{kind.op} has no attribute {name!r}, only: {allowed}", place=name)
        if name in feeds:
            raise fault("PG107", f"{name} must be wired or typed, not both", place=name)
    attributes = {field.name: _attribute(field, given, page.folder) for field in kind.fields}
    for pin in kind.pins:
        if pin.name in given and pin.typed:
            attributes[pin.name] = _attribute(pin.typed, given, page.folder)
        elif pin.name not in feeds:
            how = "wired or typed" if pin.typed else "wired"
            raise fault("PG106", f"{pin.name} must be {how}: {pin.text}", place=pin.name)
    return Step(block, kind, attributes, feeds)


def _attribute(field: fields.Field, given: Mapping[str, Any], folder: Path | None) -> Any:
    if field.name not in given:
        if field.is_required:
            raise fault("PG103", f"{field.name} must be given: {field.text}", place=field.name)
        return field.default
    entry = fields.read(field, given[field.name])
    return Value(entry, folder) if field.kind == "value" else entry


def _wiring_problems(page: Page) -> list[Problem]:
    """Wires that lead nowhere, come from nowhere, or meet another at a pin."""
    kinds = {block.id: BLOCKS.get(block.op) for block in page.blocks}
    problems, taken = [], set()
    for wire in page.wires:
        source, target = wire.source, wire.target
        from_kind, to_kind = kinds.get(source.block), kinds.get(target.block)
        message, code = "", "PG105"
        if target.block not in kinds:
            message = f"a wire goes to {target}, but there is no block {target.block!r}"
        elif to_kind and not to_kind.pin(target.name):
            pins = ", ".join(pin.name for pin in to_kind.pins) or "none"
            message = f"{to_kind.op} has no pin {target.name!r}, only: {pins}"
        elif source.block not in kinds:
            message = f"the wire comes from {source}, but there is no block {source.block!r}"
        elif from_kind and source.name not in from_kind.outputs:
            message = f"{from_kind.op} has no output {source.name!r}, only: {', '.join(from_kind.outputs) or 'none'}"
        elif target in taken:
            message, code = f"two wires go to {target}", "PG107"
        taken.add(target)
        if message:
            problems.append(Problem(code, message, page.name, target.block, target.name))
    return problems


def _outlined(step: Step, known: Known) -> dict[str, Any]:
    """What the outputs of a block will hold, by port."""
    given = step.arguments(known)
    for pin in step.kind.pins:
        if pin.typed is None:
            given[pin.name] = outline(given[pin.name])
        elif isinstance(given[pin.name], Outline):
            raise fault(
                "PG206", f"{pin.name} must be known before the run: wire a Const of integers or a Shape", place=pin.name
            )
    made = step.kind.outline(**given)
    parts = made if isinstance(made, tuple) else (made,)
    return {f"{step.block.id}.{name}": part for name, part in zip(step.kind.outputs, parts, strict=True)}


def _within(limits: Limits, made: Known, before: Mapping[str, Outline]) -> dict[str, Outline]:
    """Outlines of new outputs, if the page has room for them."""
    new = {name: outline(part) for name, part in made.items()}
    for name, shape in ((name, part.shape) for name, part in new.items()):
        if math.prod(shape) > limits.elements:
            count, place = math.prod(shape), name.partition(".")[2]
            message = f"{place} must have at most {limits.elements} elements, got {count}: shape {list(shape)}"
            raise fault("PG301", message, place=place)
    total = sum(_bytes(part) for part in (*before.values(), *new.values()))
    if total > limits.bytes:
        raise fault("PG302", f"the page must need at most {limits.bytes} bytes, got {total} with this block")
    return new


def _bytes(part: Outline) -> int:
    return math.prod(part.shape) * numpy_dtype(part.dtype).itemsize


def problem_of(error: Exception, page: Page, block: Block, default: str = "PG205") -> Problem:
    """An error of a block as a problem, with the pin or attribute it is about."""
    if isinstance(error, PageError):
        return replace(error.problem, page=page.name, block=block.id)
    message = str(error).removeprefix(f"{block.op}: ")
    code = "PG403" if isinstance(error, MemoryError) else getattr(error, "code", default)
    place = getattr(error, "argument", None) or _place(message, BLOCKS[block.op])
    return Problem(code, message, page.name, block.id, place, getattr(error, "expected", None))


def _place(message: str, kind: Kind) -> str:
    """The argument that an error is about: errors name it first."""
    names = [*(pin.name for pin in kind.pins), *(field.name for field in kind.fields)]
    found = re.search(rf"\b({'|'.join(names)})\b", message) if names else None
    return found[0] if found else ""
