"""Where each gradient goes: the window of every output, the cells that receive from it, and who feeds a cell.

Windows come from the call's own plan, and winners from the kernels themselves: a gradient of one at one place goes
where the kernel sends it, and the adjoint of the call tells where a cell is fed from. So this cannot disagree with what
is computed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from poolgrad import dispatch, raw_ops
from poolgrad.calls import DATA
from poolgrad.errors import InvalidArgumentError
from poolgrad.outlines import Outline, outline
from poolgrad.plan import Plan, Shape
from poolgrad.raw_ops import OPS
from poolgrad.windows import Axis, bounds, divisor_of, sources, whole

Array = Any
Range = tuple[int, int]

_NAMES = {"D": "depth", "H": "row", "W": "column"}
_MOST_LISTED = 6


@dataclass(frozen=True, slots=True)
class Window:
    """One output of the forward op: its gradient, its window along each axis, and who receives the gradient.

    ``inside`` is the window clipped to the input, ``whole`` with its padding, both as ``[start, stop)`` for each
    spatial axis, empty where an argmax may point anywhere. ``targets`` are the cells that win the gradient; of one that
    is spread none are named, since all ``receivers`` inside the window get a share.
    """

    place: Shape
    grad: float
    inside: tuple[Range, ...]
    whole: tuple[Range, ...]
    targets: tuple[Shape, ...]
    receivers: int
    words: str


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the result: its value, and the outputs whose gradients reach it."""

    place: Shape
    value: float
    sources: tuple[Shape, ...]
    words: str


@dataclass(frozen=True)
class Flow:
    """The gradients of one call, one by one. Places are indices of ``grad`` and of the result, in their own layout."""

    op: str
    plan: Plan
    layout: str
    arrays: Mapping[str, Array]

    @property
    def grad(self) -> Array:
        """The gradient that comes in."""
        return self.arrays["data"]

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """Windows along each spatial axis, none where an argmax names the cells."""
        return () if self.plan.numbering == "position" else _unfolded(self.plan, self.spatial)

    @property
    def spatial(self) -> tuple[int, ...]:
        """Which axes are pooled."""
        return tuple(axis for axis, letter in enumerate(self.layout) if letter in _NAMES)

    @cached_property
    def result(self) -> Array:
        """What the call gives."""
        return self._run(self.grad)

    def cover(self) -> Array:
        """How many windows hold each cell, over the spatial axes; the same for every image and channel."""
        counts = np.ones((), np.int64)
        for _, held, _ in self._holders:
            counts = np.multiply.outer(counts, held)
        return counts

    def hits(self) -> Array:
        """How many gradients reach each cell."""
        return self._run(np.ones(self.plan.output_shape, self.grad.dtype), self._marks)

    @cached_property
    def winners(self) -> Array:
        """How many cells receive each gradient: none where it is lost, several where cells tie."""
        return self._run(np.ones(self.plan.input_shape, self.grad.dtype), self._marks.adjoint())

    def partial(self, count: int, batch: int, channel: int) -> Array:
        """The result of the first ``count`` windows of one image and channel, all others left out."""
        grad = np.zeros_like(self.grad)
        turned, source = (np.moveaxis(array, self.layout.index("C"), 1) for array in (grad, self.grad))
        kept = source[batch, channel].copy()
        kept.reshape(-1)[count:] = 0
        turned[batch, channel] = kept
        return self._run(grad)

    def window(self, place: Shape) -> Window:
        """The window of one gradient, and where that goes.

        >>> grad = np.array([6, 9], np.float32).reshape(1, 1, 2, 1)
        >>> flow = gradient_flow("AvgPoolGrad", orig_input_shape=[1, 1, 4, 1], grad=grad, ksize=[1, 1, 3, 1],
        ...                      strides=[1, 1, 2, 1], padding="SAME")
        >>> flow.window((0, 0, 1, 0)).words
        '9 shared over 2 cells (window clipped to the input): each gets 9/2 = 4.5'
        """
        _check_place("grad", place, self.plan.output_shape)
        outputs = [place[axis] for axis in self.spatial]
        ranges = [_cells(axis, output) for axis, output in zip(self.axes, outputs, strict=bool(self.axes))]
        grad = float(self.grad[place])
        is_spread = self.plan.family == "spread"
        one = () if is_spread else self._run(self._one(self.plan.output_shape, place), self._marks)
        targets = _nonzero(one)
        return Window(
            place,
            grad,
            tuple((found.start, found.stop) for found in ranges),
            tuple(whole(axis, output) for axis, output in zip(self.axes, outputs, strict=bool(self.axes))),
            targets,
            math.prod(map(len, ranges)) if is_spread else len(targets),
            self._spread_words(place) if is_spread else self._route_words(place, targets),
        )

    def cell(self, place: Shape) -> Cell:
        """The gradients that reach one cell, and their sum written out.

        >>> grad = np.array([6, 9], np.float32).reshape(1, 1, 2, 1)
        >>> flow = gradient_flow("AvgPoolGrad", orig_input_shape=[1, 1, 4, 1], grad=grad, ksize=[1, 1, 3, 1],
        ...                      strides=[1, 1, 2, 1], padding="SAME")
        >>> flow.cell((0, 0, 2, 0)).words
        '6/3 + 9/2 = 6.5'
        """
        _check_place("place", place, self.plan.input_shape)
        value = float(self.result[place])
        if self.plan.family == "spread":
            found = itertools.product(
                *(
                    range(first[place[k]], first[place[k]] + count[place[k]] * step, step)
                    for k, (first, count, step) in zip(self.spatial, self._holders, strict=True)
                )
            )
            feeding = tuple(self._placed(place, outputs) for outputs in found)
            terms = [f"{_number(self.grad[source])}/{self._count(source)}" for source in feeding]
        else:
            feeding = _nonzero(self._run(self._one(self.plan.input_shape, place), self._marks.adjoint()))
            terms = [_number(self.grad[source]) for source in feeding]
        if len(feeding) == 1 and self.plan.family == "route":
            words = f"{terms[0]}, from one window"
        elif feeding:
            words = f"{_listed(terms, ' + ')} = {_number(value)}"
        elif self.axes and not self.cover()[tuple(place[k] for k in self.spatial)]:
            words = "0: no window holds this cell"
        else:
            words = "0: no gradient goes here"
        return Cell(place, value, feeding, words)

    @cached_property
    def _holders(self) -> tuple[tuple[Array, Array, int], ...]:
        """The outputs whose windows hold each cell, along each axis: first ones, how many, and their distance."""
        return tuple(sources(axis, back=True) for axis in self.axes)

    @property
    def _marks(self) -> Plan:
        """The plan for gradients of one: what is checked of the data was checked by the call itself."""
        return replace(self.plan, verify=False)

    def _run(self, data: Array, plan: Plan | None = None) -> Array:
        arrays = {**self.arrays, "data": data}
        return dispatch.execute(plan or self.plan, arrays, {role: role for role in arrays})

    def _one(self, shape: Shape, place: Shape) -> Array:
        data = np.zeros(shape, self.grad.dtype)
        data[place] = 1
        return data

    def _placed(self, place: Shape, spatial: tuple[int, ...]) -> Shape:
        """A place with these spatial indices, of the same image and channel."""
        changed = dict(zip(self.spatial, spatial, strict=True))
        return tuple(changed.get(axis, index) for axis, index in enumerate(place))

    def _count(self, place: Shape) -> int:
        return math.prod(divisor_of(axis, place[k]) for k, axis in zip(self.spatial, self.axes, strict=True))

    def _spread_words(self, place: Shape) -> str:
        grad, count = float(self.grad[place]), self._count(place)
        share = _number(grad / count)
        if grad.is_integer() and str(Fraction(int(grad), count)) != share:
            share = f"{Fraction(int(grad), count)} = {share}"
        is_clipped = any(_is_clipped(axis, place[k]) for k, axis in zip(self.spatial, self.axes, strict=True))
        clipped = " (window clipped to the input)" if is_clipped else ""
        return f"{_number(grad)} shared over {_counted(count)}{clipped}: each gets {share}"

    def _route_words(self, place: Shape, targets: tuple[Shape, ...]) -> str:
        grad = _number(self.grad[place])
        where = _listed([self.place_words(target) for target in targets], "; ")
        if "index" in self.arrays:
            return f"{grad} goes to {where}, where argmax says"
        if self.plan.selector == "all_near":
            aim = _number(self.arrays["reference"][place])
            if not targets:
                return f"{grad} is lost: no cell of the window holds orig_output, {aim}"
            if len(targets) > 1:
                return f"{len(targets)} cells tie at {aim}, each gets the full {grad}: {where}"
            return f"{grad} goes to {where}, which holds orig_output, {aim}"
        if not targets:
            return f"{grad} is lost: no cell of the window can win"
        best = self.arrays["input"][targets[0]]
        ties = self._ties(place, best)
        first = (
            f", the first of {ties} cells that tie at {_number(best)}" if ties > 1 else f", the maximum {_number(best)}"
        )
        return f"{grad} goes to {where}{first}"

    def _ties(self, place: Shape, best: Array) -> int:
        index: list[Any] = list(place)
        for k, axis in zip(self.spatial, self.axes, strict=True):
            found = _cells(axis, place[k])
            index[k] = slice(found.start, found.stop, found.step)
        return int(np.count_nonzero(self.arrays["input"][tuple(index)] == best))

    def place_words(self, place: Shape) -> str:
        """A place in words: depth, row and column."""
        return ", ".join(f"{_NAMES[self.layout[axis]]} {place[axis]}" for axis in self.spatial)


def gradient_flow(op: str, /, **arguments: Any) -> Flow:
    """Where each gradient of a call goes. ``op`` is a gradient of ``raw_ops``, called with these NumPy arguments.

    >>> x = np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 4, 1)
    >>> y = np.array([3, 3], np.float32).reshape(1, 1, 2, 1)
    >>> flow = gradient_flow("MaxPoolGrad", orig_input=x, orig_output=y, grad=y, ksize=[1, 1, 3, 1],
    ...                      strides=[1, 1, 1, 1], padding="VALID")
    >>> flow.window((0, 0, 1, 0)).words
    '3 goes to row 0, column 1, the first of 2 cells that tie at 3'
    >>> flow.hits().ravel().tolist()
    [0.0, 2.0, 0.0, 0.0]
    """
    spec = OPS.get(op)
    if spec is None or spec.family not in ("spread", "route"):
        known = ", ".join(name for name, row in OPS.items() if row.family in ("spread", "route"))
        raise InvalidArgumentError(f"op must be one of {known}, got {op!r}")
    outlines = {name: outline(np.asarray(given)) if name in DATA else given for name, given in arguments.items()}
    made: Outline = getattr(raw_ops, op)(**outlines)
    assert made.origin is not None
    arrays = {role: np.asarray(arguments[name]) for role, name in made.origin.roles}
    return Flow(op, made.origin.plan, arguments.get("data_format") or spec.formats[0], arrays)


def _unfolded(plan: Plan, spatial: tuple[int, ...]) -> tuple[Axis, ...]:
    """The windows of each spatial axis: those the plan has, and one cell each along axes that it folded away."""
    shape, first, last = plan.input_shape, spatial[0], spatial[-1] + 1
    for kept in range(len(spatial) + 1):
        for lead in range(len(spatial) - kept + 1):
            start, stop = first + lead, first + lead + kept
            axes = plan.axes[3 - kept :]
            ends = (math.prod(shape[:start]), math.prod(shape[stop:]))
            rest = all(axis.is_trivial for axis in plan.axes[: 3 - kept])
            if (
                ends == (plan.outer, plan.inner)
                and rest
                and _sizes(axes) == (shape[start:stop], plan.output_shape[start:stop])
            ):
                before, after = (tuple(Axis(n, n) for n in shape[a:b]) for a, b in ((first, start), (stop, last)))
                return (*before, *axes, *after)
    raise AssertionError("a plan is a folded shape")


def _sizes(axes: tuple[Axis, ...]) -> tuple[Shape, Shape]:
    return tuple(axis.size for axis in axes), tuple(axis.outputs for axis in axes)


def _cells(axis: Axis, output: int) -> range:
    """The cells of a window."""
    return range(*bounds(axis, output), axis.dilation)


def _is_clipped(axis: Axis, output: int) -> bool:
    start, stop = whole(axis, output)
    return start < 0 or stop > axis.size


def _nonzero(array: Array) -> tuple[Shape, ...]:
    """Places of what is not zero."""
    return tuple(tuple(int(n) for n in place) for place in np.argwhere(array))


def _check_place(name: str, place: Shape, shape: Shape) -> None:
    if len(place) != len(shape) or any(not 0 <= index < size for index, size in zip(place, shape, strict=True)):
        raise InvalidArgumentError(f"{name} must be indexed within shape {list(shape)}, got {list(place)}")


def _number(value: Any) -> str:
    return f"{float(value):.6g}"


def _counted(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


def _listed(words: list[str], between: str) -> str:
    more = len(words) - _MOST_LISTED
    return between.join(words[:_MOST_LISTED] + ([f"{more} more"] if more > 0 else []))
