"""Which axis of an array is which: the ops of a page say so, by their data formats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from poolgrad.pages.checks import Checked, Step
from poolgrad.pages.values import Array
from poolgrad.plan import Shape
from poolgrad.raw_ops import OPS

_NAMES = {"N": "batch", "D": "depth", "C": "channel"}
_ASSUMED = {4: "NHWC", 5: "NDHWC"}


def layouts(checked: Checked) -> dict[str, str]:
    """The data format of each port that an op gives or takes, also through blocks that keep the order of axes.

    >>> from poolgrad.pages import Page, check
    >>> page = Page().block("x", "Ones", shape=[1, 3, 4, 4]).block("y", "Add", x="x", y="x")
    >>> page = page.block("z", "AvgPool", value="y", ksize="1,1,2,2", strides="1,1,2,2", padding="SAME",
    ...                   data_format="NCHW")
    >>> layouts(check(page))
    {'z.output': 'NCHW', 'y.output': 'NCHW', 'x.output': 'NCHW'}
    """
    found: dict[str, str] = {}
    # An op's own results first: where two ops disagree about an array between them, the one that made it is right.
    for is_result in (True, False):
        for step in checked.steps:
            if step.block.op in OPS:
                layout = step.attributes.get("data_format") or OPS[step.block.op].formats[0]
                for port in _results(step) if is_result else map(str, step.feeds.values()):
                    if port in checked.outlines and len(checked.outlines[port].shape) == len(layout):
                        found.setdefault(port, layout)
    keeping = [step for step in checked.steps if step.block.op not in OPS and step.block.op != "Reshape"]
    before = -1
    while before < len(found):
        before = len(found)
        for step in keeping:
            ports = [port for port in (*map(str, step.feeds.values()), *_results(step)) if port in checked.outlines]
            for rank in _ASSUMED:
                alike = [port for port in ports if len(checked.outlines[port].shape) == rank]
                known = next((found[port] for port in alike if port in found), None)
                found |= {} if known is None else {port: known for port in alike if port not in found}
    return found


def _results(step: Step) -> list[str]:
    return [f"{step.block.id}.{name}" for name in step.kind.outputs]


def _order(shape: Shape, layout: str | None) -> list[int]:
    """The axes of an array, height and width last."""
    letters = layout or _ASSUMED.get(len(shape))
    if letters is None:
        return list(range(len(shape)))
    return [letters.index(letter) for letter in "NDCHW" if letter in letters]


def slice_axes(shape: Shape, layout: str | None = None) -> list[tuple[str, int]]:
    """The axes along which a plane is chosen, with their sizes: all but height and width, or but the last two.

    Where nobody says what an array's axes are, those of images and volumes end with the channels.

    >>> slice_axes((1, 2, 4, 5, 3)), slice_axes((4, 5)), slice_axes((7, 4, 5))
    ([('batch', 1), ('depth', 2), ('channel', 3)], [], [('axis 0', 7)])
    >>> slice_axes((1, 3, 4, 5), "NCHW")
    [('batch', 1), ('channel', 3)]
    """
    letters = layout or _ASSUMED.get(len(shape))
    axes = _order(shape, layout)[:-2]
    return [(_NAMES[letters[axis]] if letters else f"axis {axis}", shape[axis]) for axis in axes]


def plane_shape(shape: Shape, layout: str | None = None) -> tuple[int, int]:
    """Height and width of a plane.

    >>> plane_shape((1, 3, 4, 5), "NCHW"), plane_shape((7,))
    ((4, 5), (1, 7))
    """
    height, width = (1, 1, *(shape[axis] for axis in _order(shape, layout)))[-2:]
    return height, width


def plane(array: Array, place: Sequence[int], layout: str | None = None) -> Array:
    """One plane of an array, by its place along :func:`slice_axes`.

    >>> plane(np.arange(8).reshape(1, 2, 2, 2), [0, 1]).tolist()
    [[1, 3], [5, 7]]
    >>> plane(np.arange(8).reshape(1, 2, 2, 2), [0, 1], "NCHW").tolist()
    [[4, 5], [6, 7]]
    """
    found: Array = np.atleast_2d(np.transpose(array, _order(array.shape, layout)))[tuple(place)]
    return found
