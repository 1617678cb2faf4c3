"""Where each gradient goes: values worked out by hand, and every op's windows put together again to its result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import raw_ops
from poolgrad.routes import Flow, gradient_flow

GRADIENTS = [name for name, spec in raw_ops.OPS.items() if spec.family in ("spread", "route")]


def ramp(*shape: int) -> np.ndarray:
    return np.arange(1, 1 + np.prod(shape), dtype=np.float32).reshape(shape)


def average() -> Flow:
    """4 x 4 cells, windows of 3 x 3 every 2 cells: rows 0..2 and 2..3, a row of padding below."""
    return gradient_flow(
        "AvgPoolGrad",
        orig_input_shape=[1, 4, 4, 1],
        grad=ramp(1, 2, 2, 1),
        ksize=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        padding="SAME",
    )


def test_a_window_of_an_average() -> None:
    window = average().window((0, 0, 1, 0))
    assert (window.inside, window.whole) == (((0, 3), (2, 4)), ((0, 3), (2, 5)))
    assert (window.grad, window.receivers, window.targets) == (2, 6, ())
    assert window.words == "2 shared over 6 cells (window clipped to the input): each gets 1/3 = 0.333333"
    assert average().window((0, 0, 0, 0)).words == "1 shared over 9 cells: each gets 1/9 = 0.111111"


@pytest.mark.parametrize(
    ("place", "sources", "words"),
    [
        ((0, 0, 0, 0), [(0, 0, 0, 0)], "1/9 = 0.111111"),
        ((0, 0, 2, 0), [(0, 0, 0, 0), (0, 0, 1, 0)], "1/9 + 2/6 = 0.444444"),
        ((0, 2, 2, 0), [(0, 0, 0, 0), (0, 0, 1, 0), (0, 1, 0, 0), (0, 1, 1, 0)], "1/9 + 2/6 + 3/6 + 4/4 = 1.94444"),
    ],
)
def test_a_cell_of_an_average(place: tuple[int, ...], sources: list[tuple[int, ...]], words: str) -> None:
    cell = average().cell(place)
    assert list(cell.sources) == sources
    assert cell.words == words


def test_cover() -> None:
    assert average().cover().tolist() == [[1, 1, 2, 1], [1, 1, 2, 1], [2, 2, 4, 2], [1, 1, 2, 1]]
    apart = gradient_flow(
        "AvgPoolGrad",
        orig_input_shape=[1, 1, 5, 1],
        grad=ramp(1, 1, 2, 1),
        ksize=[1, 1, 1, 1],
        strides=[1, 1, 3, 1],
        padding="VALID",
    )
    assert apart.cover().tolist() == [[1, 0, 0, 1, 0]]
    assert apart.cell((0, 0, 1, 0)).words == "0: no window holds this cell"


def seed(reference: np.ndarray) -> Flow:
    x = ramp(2, 2, 2, 2, 2)
    x.reshape(-1)[2] = 1
    grad = np.array([3, 4, 5, 6], np.float32).reshape(2, 1, 1, 1, 2)
    return gradient_flow(
        "MaxPool3DGrad",
        orig_input=x,
        orig_output=reference,
        grad=grad,
        ksize=[1, 2, 2, 2, 1],
        strides=[1, 4, 3, 2, 1],
        padding="SAME",
    )


def test_ties_and_lost_gradients() -> None:
    flow = seed(np.ones((2, 1, 1, 1, 2), np.float32))
    assert flow.winners.ravel().tolist() == [2, 0, 0, 0]
    tied = flow.window((0, 0, 0, 0, 0))
    assert tied.targets == ((0, 0, 0, 0, 0), (0, 0, 0, 1, 0))
    assert tied.words.startswith("2 cells tie at 1, each gets the full 3: ")
    assert flow.window((0, 0, 0, 0, 1)).words == "4 is lost: no cell of the window holds orig_output, 1"
    assert flow.hits().ravel()[:4].tolist() == [1, 0, 1, 0]


def test_one_winner_each() -> None:
    flow = seed(np.array([15, 16, 31, 32], np.float32).reshape(2, 1, 1, 1, 2))
    assert flow.window((1, 0, 0, 0, 1)).targets == ((1, 1, 1, 1, 1),)
    assert flow.window((1, 0, 0, 0, 1)).words == "6 goes to depth 1, row 1, column 1, which holds orig_output, 32"
    cell = flow.cell((1, 1, 1, 1, 1))
    assert (cell.sources, cell.words) == (((1, 0, 0, 0, 1),), "6, from one window")
    assert flow.cell((1, 0, 0, 0, 1)).words == "0: no gradient goes here"


def test_the_first_of_a_tie() -> None:
    x = np.array([1, 3, 3, 2], np.float32).reshape(1, 1, 4, 1)
    y = np.array([3, 3, 3], np.float32).reshape(1, 1, 3, 1)
    grad = np.array([1, 10, 100], np.float32).reshape(1, 1, 3, 1)
    flow = gradient_flow(
        "MaxPoolGrad", orig_input=x, orig_output=y, grad=grad, ksize=[1, 1, 2, 1], strides=[1] * 4, padding="VALID"
    )
    assert flow.window((0, 0, 1, 0)).words == "10 goes to row 0, column 1, the first of 2 cells that tie at 3"
    assert flow.window((0, 0, 2, 0)).words == "100 goes to row 0, column 2, the maximum 3"
    assert flow.cell((0, 0, 1, 0)).words == "1 + 10 = 11"
    assert flow.partial(2, 0, 0).ravel().tolist() == [0, 11, 0, 0]


@pytest.mark.parametrize(
    ("overlapping", "rows", "columns"),
    [
        (False, [(0, 2), (2, 3), (3, 6)], [(0, 2), (2, 5), (5, 7)]),
        (True, [(0, 3), (2, 4), (3, 6)], [(0, 3), (2, 6), (5, 7)]),
    ],
)
def test_fractional_cells(overlapping: bool, rows: list[Any], columns: list[Any]) -> None:
    flow = gradient_flow(
        "FractionalAvgPoolGrad",
        orig_input_tensor_shape=[1, 6, 7, 1],
        out_backprop=ramp(1, 3, 3, 1),
        row_pooling_sequence=[0, 2, 3, 6],
        col_pooling_sequence=[0, 2, 5, 7],
        overlapping=overlapping,
    )
    for n in range(9):
        assert flow.window((0, n // 3, n % 3, 0)).inside == (rows[n // 3], columns[n % 3])


def test_argmax_points_anywhere() -> None:
    flow = gradient_flow(
        "MaxPoolGradWithArgmax",
        input=np.zeros((1, 1, 4, 1), np.float32),
        grad=ramp(1, 1, 2, 1),
        argmax=np.array([3, 3]).reshape(1, 1, 2, 1),
        ksize=[1, 1, 2, 1],
        strides=[1, 1, 2, 1],
        padding="VALID",
    )
    assert flow.window((0, 0, 0, 0)).words == "1 goes to row 0, column 3, where argmax says"
    assert flow.window((0, 0, 0, 0)).inside == ()
    assert flow.cell((0, 0, 3, 0)).words == "1 + 2 = 3"


def arguments_of(op: str, layout: str) -> dict[str, Any]:
    """A call of any gradient with windows that overlap and are clipped, batch and channels of 2."""
    rng = np.random.default_rng(5)
    spec = raw_ops.OPS[op]
    if op.startswith("Fractional"):
        x = rng.integers(0, 4, (2, 6, 7, 2)).astype(np.float64)
        borders = {"row_pooling_sequence": [0, 2, 3, 6], "col_pooling_sequence": [0, 2, 5, 7], "overlapping": True}
        back = {"out_backprop": rng.integers(1, 9, (2, 3, 3, 2)).astype(np.float64)}
        if spec.family == "spread":
            return {"orig_input_tensor_shape": x.shape, **back, **borders}
        pooled = np.array(
            [[[x[n, r : r + h, c : c + w, k].max() for k in range(2)] for c, w in ((0, 3), (2, 4), (5, 2))]
             for n in range(2) for r, h in ((0, 3), (2, 2), (3, 3))]
        ).reshape(2, 3, 3, 2)  # fmt: skip
        return {"orig_input": x, "orig_output": pooled, **back, **borders}
    spatial = (3, 5, 4)[-spec.spatial :]
    last = layout.endswith("C")
    shape = (2, *spatial, 2) if last else (2, 2, *spatial)
    sizes = {"ksize": (3, 3, 2)[-spec.spatial :], "strides": (2, 2, 1)[-spec.spatial :]}
    attributes = {name: [1, *given, 1] if last else [1, 1, *given] for name, given in sizes.items()}
    common: dict[str, Any] = {**attributes, "padding": "SAME"}
    common |= {"data_format": layout} if "data_format" in spec.attributes else {}
    x = rng.integers(0, 4, shape).astype(np.float64)
    forward = raw_ops.MaxPool3D if spec.spatial == 3 else raw_ops.MaxPool
    y = forward(input=x, **attributes, padding="SAME", data_format=layout)
    grad = rng.integers(1, 9, y.shape).astype(np.float64)
    if op.endswith("Argmax"):
        argmax = raw_ops.MaxPoolWithArgmax(input=x, **common).argmax
        return {"input": x, "grad": grad, "argmax": argmax, **common}
    if spec.family == "spread":
        return {"orig_input_shape": shape, "grad": grad, **common}
    return {"orig_input": x, "orig_output": y, "grad": grad, **common}


CASES = [(op, layout) for op in GRADIENTS for layout in raw_ops.OPS[op].formats]


@pytest.mark.parametrize(("op", "layout"), CASES)
def test_windows_put_together_are_the_result(op: str, layout: str) -> None:
    arguments = arguments_of(op, layout)
    flow = poolgrad.gradient_flow(op, **arguments)
    expected = getattr(raw_ops, op)(**arguments)
    np.testing.assert_array_equal(flow.result, expected)
    total, reached = np.zeros_like(expected), np.zeros_like(expected)
    for place in np.ndindex(*flow.plan.output_shape):
        window = flow.window(place)
        if flow.plan.family == "spread":
            index: list[Any] = list(place)
            for axis, (start, stop) in zip(flow.spatial, window.inside, strict=True):
                index[axis] = slice(start, stop)
            total[tuple(index)] += window.grad / window.receivers
            reached[tuple(index)] += 1
        for target in window.targets:
            total[target] += window.grad
            reached[target] += 1
    np.testing.assert_allclose(total, expected, rtol=1e-12)
    np.testing.assert_array_equal(flow.hits() if flow.plan.family == "route" else reached, reached)
    for place in np.ndindex(*expected.shape):
        assert len(flow.cell(place).sources) == reached[place]
    if flow.plan.family == "spread":
        moved = np.moveaxis(reached, flow.layout.index("C"), 1)
        np.testing.assert_array_equal(moved, np.broadcast_to(flow.cover(), moved.shape))
    whole = sum(flow.partial(flow.plan.output_shape[flow.spatial[0]] * 10**3, n, c) for n in range(2) for c in range(2))
    np.testing.assert_allclose(whole, expected, rtol=1e-12)


@pytest.mark.parametrize("shape", [[1, 1, 4, 1], [1, 4, 1, 1], [1, 1, 1, 1], [3, 1, 4, 2], [1, 4, 4, 1]])
@pytest.mark.parametrize("window", [[1, 1], [1, 3], [3, 1], [3, 3]])
def test_axes_that_a_plan_folds_away(shape: list[int], window: list[int]) -> None:
    grad = np.ones(shape, np.float64)
    flow = gradient_flow(
        "AvgPoolGrad", orig_input_shape=shape, grad=grad, ksize=[1, *window, 1], strides=[1] * 4, padding="SAME"
    )
    total = np.zeros(shape)
    for place in np.ndindex(*shape):
        (top, bottom), (left, right) = flow.window(place).inside
        total[place[0], top:bottom, left:right, place[3]] += 1 / flow.window(place).receivers
    np.testing.assert_allclose(total, flow.result)


@pytest.mark.parametrize("op", ["MaxPool", "MaxPoolGradGrad", "Sum"])
def test_only_gradients_flow(op: str) -> None:
    with pytest.raises(poolgrad.InvalidArgumentError, match="op must be one of AvgPoolGrad, "):
        gradient_flow(op)


def test_places_outside_are_refused() -> None:
    for place in ((0, 0, 2, 0), (0, -1, 0, 0), (0, 0, 0)):
        with pytest.raises(poolgrad.InvalidArgumentError, match="grad must be indexed within shape"):
            average().window(place)
    with pytest.raises(poolgrad.InvalidArgumentError, match="place must be indexed within shape"):
        average().cell((0, 4, 0, 0))
