"""Where gradients go, as the front end draws it: places as depth, row and column of one image and channel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from poolgrad.pages import Run, check
from poolgrad.pages.summaries import words_of
from poolgrad.routes import Flow, gradient_flow

Json = dict[str, Any]

GROUP = "Gradients"
MOST_DEPTH, MOST_CELLS, MOST_TARGETS = 16, 40, 64


def flow_of(run: Run, block: str) -> Flow:
    """The flow of a gradient block of a page that was run."""
    step = next((step for step in check(run.page).steps if step.block.id == block), None)
    if step is None or step.kind.group != GROUP or f"{block}.output" not in run.results:
        raise KeyError(f"there are no gradients of a block {block!r}")
    return gradient_flow(step.block.op, **step.arguments(run.results))


def overview(flow: Flow) -> Json:
    """Sizes, cuts and sums."""
    grad, result = (array.astype(np.float64) for array in (flow.grad, flow.result))
    family, channel = flow.plan.family, flow.layout.index("C")
    made: Json = {
        "family": family,
        "batch": flow.plan.input_shape[0],
        "channel": flow.plan.input_shape[channel],
        "outputs": _three([flow.plan.output_shape[k] for k in flow.spatial]),
        "size": _three([flow.plan.input_shape[k] for k in flow.spatial]),
        "cuts": [[list(pair) for pair in zip(axis.starts, axis.stops, strict=True)] for axis in flow.axes],
    }
    with np.errstate(all="ignore"):
        made["sums"] = [words_of(float(array.sum())) for array in (grad, result)]
    made["words"] = _check_words(flow, *made["sums"])
    return made


def _check_words(flow: Flow, came: float | str, went: float | str) -> str:
    """Does all of the gradient arrive?"""
    short = [f"{n:.6g}" if isinstance(n, float) else n for n in (came, went)]
    sums = f"sum of grad {short[0]}, of dx {short[1]}"
    if flow.plan.family == "spread":
        return f"{sums}: every gradient is shared out whole"
    lost, tied = (int(np.count_nonzero(found)) for found in (flow.winners == 0, flow.winners > 1))
    parts = [f"{lost} of {flow.winners.size} gradients lost" if lost else "no gradient lost"]
    parts += [f"{tied} sent to several cells that tie"] if tied else []
    return f"{sums}: {', '.join(parts)}"


def window(flow: Flow, batch: int, channel: int, place: Sequence[int]) -> Json:
    """The window of one gradient: ranges along depth, row and column, winners, and the arithmetic in words."""
    found = flow.window(_index(flow, batch, channel, place, flow.plan.output_shape))
    own = [target for target in found.targets if _image(flow, target) == (batch, channel)]
    words = found.words
    if len(own) < len(found.targets):
        words += " (in another image or channel)"
    return {
        "inside": _three([list(pair) for pair in found.inside], [0, 1]) if found.inside else None,
        "whole": _three([list(pair) for pair in found.whole], [0, 1]) if found.whole else None,
        "targets": [_spatial(flow, target) for target in own[:MOST_TARGETS]],
        "lost": found.receivers == 0,
        "words": words,
    }


def cell(flow: Flow, batch: int, channel: int, place: Sequence[int]) -> Json:
    """The gradients that reach one cell, and their sum in words."""
    found = flow.cell(_index(flow, batch, channel, place, flow.plan.input_shape))
    own = [source for source in found.sources if _image(flow, source) == (batch, channel)]
    return {"sources": [_spatial(flow, source) for source in own[:MOST_TARGETS]], "words": found.words}


def volume(flow: Flow, what: str, batch: int, channel: int, count: int | None) -> tuple[tuple[int, ...], bytes]:
    """One image and channel, cut to a corner: the gradient, the result (of the first windows only), or counts.

    "cover" is how many windows hold each cell, "hits" how many gradients reach it, "winners" how many cells receive
    each gradient. Where an argmax names the cells, there are no windows, and cover is hits.
    """
    shape = flow.plan.output_shape
    _index(flow, batch, channel, [0, 0, 0], shape)
    if what == "cover" and flow.axes:
        found = flow.cover()
    else:
        arrays: dict[str, Callable[[], Any]] = {
            "grad": lambda: flow.grad,
            "dx": lambda: flow.result if count is None else flow.partial(count, batch, channel),
            "cover": flow.hits,
            "hits": flow.hits,
            "winners": lambda: np.ones(shape) if flow.plan.family == "spread" else flow.winners,
        }
        if what not in arrays:
            raise KeyError(f"there is no volume {what!r}")
        found = np.moveaxis(arrays[what](), flow.layout.index("C"), 1)[batch, channel]
    whole = found if found.ndim == 3 else found[np.newaxis]
    part = whole[:MOST_DEPTH, :MOST_CELLS, :MOST_CELLS]
    with np.errstate(over="ignore"):
        return part.shape, part.astype("<f4").tobytes()


def _three(numbers: list[Any], first: Any = 1) -> list[Any]:
    """Numbers for depth, row and column; a plane is a volume of depth 1."""
    return [first] * (3 - len(numbers)) + numbers


def _index(flow: Flow, batch: int, channel: int, place: Sequence[int], shape: tuple[int, ...]) -> tuple[int, ...]:
    index = [0] * len(shape)
    index[0], index[flow.layout.index("C")] = batch, channel
    for axis, number in zip(flow.spatial, place[3 - len(flow.spatial) :], strict=True):
        index[axis] = number
    if any(not 0 <= n < size for n, size in zip(index, shape, strict=True)):
        raise KeyError(f"there is no place {index} in shape {list(shape)}")
    return tuple(index)


def _image(flow: Flow, place: tuple[int, ...]) -> tuple[int, int]:
    return place[0], place[flow.layout.index("C")]


def _spatial(flow: Flow, place: tuple[int, ...]) -> list[int]:
    return _three([place[k] for k in flow.spatial], 0)
