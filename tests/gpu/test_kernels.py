"""GPU kernels give the bits of the native core, for any plan."""

import itertools
import random
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from poolgrad.errors import UnsupportedError
from poolgrad.kernels import gpu, gpu_averages, gpu_maxima
from poolgrad.kernels.gpu_tables import shares
from poolgrad.kernels.gpu_tiles import March
from poolgrad.plan import fold, make
from poolgrad.windows import Axis, make_axis, torch_axis
from tests.gpu.cases import DTYPES, Case, case_of, drawn_case

# The interpreter warns of what NaN and infinities do.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def assert_same(found: torch.Tensor, expected: torch.Tensor) -> None:
    """The same bits; a NaN may be any."""
    found = found.cpu()
    bits, wanted = (tensor.contiguous().view(BITS[tensor.element_size()]) for tensor in (found, expected))
    if expected.dtype.is_floating_point:
        assert torch.equal(found.isnan(), expected.isnan())
        bits, wanted = bits[~found.isnan()], wanted[~expected.isnan()]
    assert torch.equal(bits, wanted)


def check(case: Case) -> None:
    bad, out, index = case.expected()
    found, found_index = case.results(DEVICE)
    arrays = {role: tensor.to(DEVICE) for role, tensor in case.arrays.items()}
    assert gpu.run(case.plan, arrays, found, found_index) == bad
    if bad is None:
        assert_same(found, out)
        if index is not None:
            assert found_index is not None
            assert_same(found_index, index)


@pytest.mark.parametrize("seed", range(40))
def test_any_plan(seed: int) -> None:
    check(drawn_case(seed))


@pytest.mark.gpu
@pytest.mark.parametrize("first", range(40, 640, 20))
def test_many_plans(first: int) -> None:
    for seed in range(first, first + 20):
        check(drawn_case(seed))


WINDOWS = {
    "2x2 s2": [make_axis("x", 9, 2, 2, "valid"), make_axis("x", 10, 2, 2, "valid")],
    "3x3 s2": [make_axis("x", 9, 3, 2, "same"), make_axis("x", 16, 3, 2, "same")],
    "3x3 s1": [make_axis("x", 9, 3, 1, "same"), make_axis("x", 12, 3, 1, "same")],
    "3x3 s1 counted": [torch_axis(9, 3, 1, (1, 1), counts_padding=True), torch_axis(12, 3, 1, (1, 1))],
    "2x2x2 s2": [make_axis("x", 4, 2, 2, "valid")] * 3,
    "3x3x3 s1": [make_axis("x", 5, 3, 1, "same")] * 3,
    "3x3x3 s2": [make_axis("x", 5, 3, 2, "same")] * 3,
    "13x13 s1": [make_axis("x", 9, 13, 1, "same")] * 2,
}


FAMILIES = (("mean", "none"), ("spread", "none"), ("maximum", "first_nan"), ("route", "offset"))


def _usual() -> Iterator[Any]:
    """Kernels differ by windows and layout: in the interpreter dtypes take turns."""
    for (turn, windows), dtype, inner in itertools.product(enumerate(WINDOWS), DTYPES, (1, 6, 64, 130)):
        is_turn = inner in (1, 6) and dtype == list(DTYPES)[(turn + inner) % len(DTYPES)]
        yield pytest.param(windows, dtype, inner, marks=() if is_turn else pytest.mark.gpu)


@pytest.mark.parametrize(("windows", "dtype", "inner"), list(_usual()))
def test_usual_windows(windows: str, dtype: str, inner: int) -> None:
    draw = random.Random(f"{windows} {dtype} {inner}")
    for family, selector in FAMILIES:
        check(case_of(draw, family, selector, dtype, 3, WINDOWS[windows], inner))


@pytest.mark.parametrize(
    ("size", "inner", "dtypes"),
    [
        pytest.param(8, 1, ("bfloat16", "float64"), id="first"),
        pytest.param(8, 33, ("float32",), id="last"),
        pytest.param(11, 128, tuple(DTYPES), id="many", marks=pytest.mark.gpu),
    ],
)
def test_windows_that_many_cells_share(
    size: int, inner: int, dtypes: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each channel is a lane there; fewer of them are enough."""
    monkeypatch.setattr(gpu_maxima, "_LEAST_PLANES", 1)
    axes = [make_axis("x", size, 9, 1, "same")] * 2
    for dtype in dtypes:
        check(case_of(random.Random(dtype), "route", "offset", dtype, 2, axes, inner))


@pytest.mark.parametrize("inner", [1, 5])
def test_places_of_many_windows_that_are_no_maxima(inner: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Maxima of windows side by side follow each other; any places are added in the order of windows."""
    monkeypatch.setattr(gpu_maxima, "_LEAST_PLANES", 1)
    axes = [make_axis("x", 8, 9, 1, "same")] * 2
    draw = random.Random(inner)
    first, second = (case_of(draw, "route", "offset", "float32", 2, axes, inner) for _ in range(2))
    some = torch.rand(first.arrays["index"].shape, generator=torch.Generator().manual_seed(inner)) < 0.5
    mixed = torch.where(some, first.arrays["index"], second.arrays["index"])
    check(Case(first.plan, {**first.arrays, "index": mixed}))


@pytest.mark.parametrize("is_finite", [True, False], ids=["finite", "not finite"])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    ("sizes", "inner"), [((9, 8), 1), ((6, 13), 1), ((4, 3, 5), 1), ((6, 4), 8), ((4, 3, 2), 16)], ids=str
)
def test_windows_as_many_as_cells(
    sizes: tuple[int, ...], inner: int, dtype: str, is_finite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All elements are one line there. Programs are small, so that some lie at an end of it and some do not."""
    for last, deep in itertools.product((False, True), repeat=2):
        monkeypatch.setitem(gpu_maxima.EVEN, (last, deep), March(256, 3, 1))
    axes = [make_axis("x", size, 3, 1, "same") for size in sizes]
    case = case_of(random.Random(f"{sizes} {dtype}"), "route", "offset", dtype, 60 // inner + 1, axes, inner)
    assert gpu_maxima._is_even(case.plan, case.arrays["data"])
    some = case.arrays["data"].view(-1)
    if is_finite:
        some[some.isnan() | some.isinf()] = 1.5
    else:
        some[3::101], some[50::203], some[99::211] = float("nan"), float("inf"), -0.0
    check(case)


@pytest.mark.parametrize("inner", [1, 8])
def test_windows_fewer_than_cells(inner: int) -> None:
    """They make no line with their cells."""
    axes = [make_axis("x", 6, 3, 1, "same"), make_axis("x", 12, 3, 1, (1, 0))]
    check(case_of(random.Random(inner), "route", "offset", "bfloat16", 5, axes, inner))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("width", [3, 5, 8, 11])
@pytest.mark.parametrize("padding", ["same", "valid"])
def test_rows_whose_lanes_overlap(padding: str, width: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lanes of four at the end of a row share results; rows come in pieces, the last one shorter."""
    for short, deep in itertools.product((False, True), repeat=2):
        monkeypatch.setitem(gpu_averages.SLIDE_ROWS, (short, deep), March(32, 3, 1))
    draw = random.Random(f"{padding} {width} {dtype}")
    for axes in (
        [make_axis("x", 7, 3, 1, padding)],
        [make_axis("x", 4, 2, 1, padding), make_axis("x", 5, 3, 1, padding)],
    ):
        for family in ("mean", "spread"):
            check(case_of(draw, family, "none", dtype, 3, [*axes, make_axis("x", width, 3, 1, padding)], 1))


@pytest.mark.parametrize(("family", "dtype"), [("spread", "bfloat16"), ("spread", "float16"), ("mean", "bfloat16")])
@pytest.mark.parametrize(("sizes", "outer"), [((9, 7), 26), ((4, 6), 33), ((8, 8), 14)], ids=str)
def test_planes_that_are_one_line(
    sizes: tuple[int, int], outer: int, family: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs are small: some lie at an end of the line, one has something infinite, and some have neither."""
    monkeypatch.setattr(gpu_averages, "LINE", March(32, 2, 1))
    for name in ("_LINE_PROGRAMS", "_LINE_STEPS"):
        monkeypatch.setattr(gpu_averages, name, 1)
    axes = [
        make_axis("x", sizes[0], 3 if dtype == "bfloat16" else 2, 1, "same"),
        make_axis("x", sizes[1], 3, 1, "same"),
    ]
    case = case_of(random.Random(f"{sizes} {family}"), family, "none", dtype, outer, axes, 1)
    (data,) = case.arrays.values()
    assert gpu_averages._is_line(case.plan, shares(case.plan, data.device), data, data)
    some = data.view(-1)
    some[~some.isfinite()], some[::7] = 1.5, -0.0
    some[some.numel() // 2] = float("inf")
    check(case)


def test_integers_are_refused() -> None:
    plan = make("maximum", "first_max", "int32", fold((4,), 0, (Axis(4, 2, 2, 2),)))
    x = torch.zeros(4, dtype=torch.int32, device=DEVICE)
    with pytest.raises(UnsupportedError, match=r"dtype must be float16, bfloat16, float32 or float64, got torch"):
        gpu.run(plan, {"input": x}, torch.zeros(2, dtype=torch.int32, device=DEVICE))
