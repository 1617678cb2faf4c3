"""Planes of arrays are cut along height and width, wherever the data format of a page's ops puts them."""

from __future__ import annotations

import numpy as np
import pytest

from poolgrad.pages import Page, check, run
from poolgrad.pages.axes import layouts, plane, plane_shape, slice_axes
from poolgrad.pages.layout import laid_out
from poolgrad.pages.report import report


def volumes(data_format: str) -> Page:
    """Two channels, three depths, 4 x 5 cells, pooled; the input goes through blocks that do not say what it is."""
    first = data_format == "NCDHW"
    page = Page().block("x", "Random", shape="1,2,3,4,5" if first else "1,3,4,5,2", seed=3)
    page.block("y", "Mul", x="x", y="x").block("seen", "Result", input="x")
    page.block("kept", "Sum", input="y", axis="2" if first else "1", keep_dims=True)
    ksize = "1,1,1,2,2" if first else "1,1,2,2,1"
    return page.block("z", "AvgPool3D", input="y", ksize=ksize, strides=ksize, padding="SAME", data_format=data_format)


@pytest.mark.parametrize("data_format", ["NDHWC", "NCDHW"])
def test_layouts_go_up_and_down_the_wires(data_format: str) -> None:
    assert layouts(check(volumes(data_format))) == dict.fromkeys(
        ["x.output", "y.output", "kept.output", "z.output"], data_format
    )


def test_an_op_that_made_an_array_knows_best() -> None:
    """Between two ops of different formats; and nothing is known behind a Reshape, or of what has another rank."""
    page = Page().block("x", "Ones", shape="1,4,4,4")
    page.block("a", "MaxPool", input="x", ksize="1,1,2,2", strides="1,1,2,2", padding="SAME", data_format="NCHW")
    page.block("b", "MaxPool", input="a", ksize="1,2,2,1", strides="1,2,2,1", padding="SAME", data_format="NHWC")
    page.block("flat", "Reshape", tensor="b", shape="1,1,1,8").block("n", "Shape", input="a")
    assert layouts(check(page)) == {"a.output": "NCHW", "b.output": "NHWC", "x.output": "NCHW"}


def test_a_page_with_faults_has_layouts_too() -> None:
    page = Page().block("x", "Ones", shape="1,4,4").block("y", "Ones", shape="1,2,4,4")
    page.block("bad", "AvgPool", value="x", ksize="1,1,2,2", strides="1,1,2,2", padding="SAME", data_format="NCHW")
    page.block("good", "AvgPool", value="y", ksize="1,1,2,2", strides="1,1,2,2", padding="SAME", data_format="NCHW")
    assert layouts(check(page)) == {"y.output": "NCHW", "good.output": "NCHW"}


@pytest.mark.parametrize(
    ("shape", "layout", "axes", "size"),
    [
        ((2, 5, 6, 3), "NHWC", [("batch", 2), ("channel", 3)], (5, 6)),
        ((2, 3, 5, 6), "NCHW", [("batch", 2), ("channel", 3)], (5, 6)),
        ((2, 4, 5, 6, 3), "NDHWC", [("batch", 2), ("depth", 4), ("channel", 3)], (5, 6)),
        ((2, 3, 4, 5, 6), "NCDHW", [("batch", 2), ("depth", 4), ("channel", 3)], (5, 6)),
        ((2, 5, 6, 3), None, [("batch", 2), ("channel", 3)], (5, 6)),
        ((7, 2), None, [], (7, 2)),
        ((7,), None, [], (1, 7)),
        ((), None, [], (1, 1)),
        ((2, 3, 4, 5, 6, 7), None, [("axis 0", 2), ("axis 1", 3), ("axis 2", 4), ("axis 3", 5)], (6, 7)),
    ],
)
def test_planes(shape: tuple[int, ...], layout: str | None, axes: list[tuple[str, int]], size: tuple[int, int]) -> None:
    array = np.arange(np.prod(shape)).reshape(shape)
    assert slice_axes(shape, layout) == axes
    assert plane_shape(shape, layout) == size
    planes = [plane(array, place, layout) for place in np.ndindex(*(n for _, n in axes))]
    assert all(part.shape == size for part in planes)
    assert sorted(np.concatenate([part.ravel() for part in planes])) == list(range(array.size))


def test_the_same_planes_in_both_formats() -> None:
    found = []
    for data_format in ("NDHWC", "NCDHW"):
        page = volumes(data_format)
        done = run(page)
        array = done.results["z.output"]
        assert plane_shape(array.shape, done.layouts["z.output"]) == (2, 3)
        assert slice_axes(array.shape, done.layouts["z.output"]) == [("batch", 1), ("depth", 3), ("channel", 2)]
        found.append(report("", [done]).count("<figcaption>depth 2, channel 1</figcaption>"))
        found.append([block.at for block in laid_out(page).blocks])
    assert found[0] == 3
    assert found[:2] == found[2:]
