"""Windows that each plane draws, and positions that are given: kernels against the tensor code and against counting."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from poolgrad.forms import Rule, flattened, plan_of
from poolgrad.kernels import gpu
from poolgrad.torch import _fractional
from poolgrad.windows import Axis, torch_fractional_line
from tests.gpu.test_kernels import DEVICE, assert_same

# The interpreter warns of what NaN and infinities do.
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
BOXES = [
    pytest.param((9, 7), (2, 2), (5, 3), id="plane"),
    pytest.param((9, 7), (3, 1), (1, 7), id="one output"),
    pytest.param((5, 9, 7), (2, 3, 2), (3, 4, 5), id="volume"),
    pytest.param((2, 700), (2, 3), (1, 600), id="many outputs"),
    pytest.param((1, 6001), (1, 2), (1, 5003), id="steps that are rounded", marks=pytest.mark.gpu),
]


def samples_of(dtype: torch.dtype, *shape: int) -> Tensor:
    """Numbers of [0, 1), with both ends."""
    made = torch.rand(shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64).to(dtype)
    largest = torch.nextafter(torch.ones((), dtype=dtype), torch.zeros((), dtype=dtype))
    made = made.minimum(largest)
    made[0, 0], made[0, 1] = 0, largest
    return made


def drawn(x: Tensor, samples: Tensor, window: Any, outputs: Any, last: bool, checks: bool) -> Any:
    """What the kernel fills, as [batch, channels, ...], and whether windows stay on their axes."""
    spatial, (batch, channels) = len(outputs), x.shape[:2]
    sizes = x.shape[2:]
    lines = [
        (*torch_fractional_line(*axis), _fractional._sampled(k, spatial))
        for k, axis in enumerate(zip(sizes, window, outputs, strict=True))
    ]
    data = (x.movedim(1, -1) if last else x).contiguous().to(DEVICE)
    out = torch.full((batch, *outputs, channels) if last else (batch, channels, *outputs), 5.0, dtype=x.dtype)
    out, index = out.to(DEVICE), out.to(DEVICE, torch.int64)
    outer, inner = (batch, channels) if last else (batch * channels, 1)
    planes = gpu.Planes(outer, inner, (sizes, window, outputs), lines)
    fits = planes.find(data, samples.to(DEVICE), out, index, checks)
    return fits, *((one.movedim(-1, 1) if last else one).cpu() for one in (out, index))


@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("sizes", "window", "outputs"), BOXES)
def test_drawn_windows(sizes: Any, window: Any, outputs: Any, dtype: torch.dtype, last: bool) -> None:
    """The bits of the tensor code, which lists the cells of every window; samples may have another dtype."""
    spatial = len(sizes)
    x = torch.randn(2, 3, *sizes, generator=torch.Generator().manual_seed(2)).to(dtype)
    x.view(-1)[::17] = torch.nan
    x.view(-1)[::5] = -0.0
    for samples in (samples_of(dtype, 2, 3, spatial), samples_of(torch.float32, 2, 3, spatial)):
        places = _fractional._places(samples, sizes, window, outputs)
        # Rounding may lead the windows of long axes beyond them.
        starts = [_fractional._starts(samples[..., _fractional._sampled(k, spatial)], *axis)
                  for k, axis in enumerate(zip(sizes, window, outputs, strict=True))]  # fmt: skip
        fit = all(int(one.max()) <= size - cells for one, size, cells in zip(starts, sizes, window, strict=True))
        fits, out, index = drawn(x, samples, window, outputs, last, True)
        assert fits == fit
        if not fit:
            continue
        expected = _fractional._winners(x, places, spatial)
        assert torch.equal(index, expected)
        assert_same(out, x.flatten(2).gather(-1, expected.flatten(2)).view_as(out))
        assert_same(drawn(x, samples, window, outputs, last, False)[1], out)


@pytest.mark.parametrize(("sample", "fit"), [(2.6, True), (-4.5, True), (1e8 + 24, False)])
def test_windows_that_leave_their_axis(sample: float, fit: bool) -> None:
    """Samples beyond [0, 1) are known by what they do. Nothing is read or written there."""
    samples = samples_of(torch.float32, 2, 3, 2)
    samples[1, 2, 1] = sample
    assert bool(_fractional._starts(samples[..., 1], 9, 2, 6).max() <= 7) == fit
    fits, out, _ = drawn(torch.zeros(2, 3, 9, 8), samples, (2, 2), (6, 3), False, True)
    assert fits == fit
    assert bool((out == 5).any()) != fit


@pytest.mark.parametrize("base", ["plane", "image", "batch"])
@pytest.mark.parametrize("inner", [1, 3])
def test_positions_apart(base: str, inner: int) -> None:
    """Positions are asked whether they are there and apart; those that are need no sorting."""
    rule = Rule("given", "position", "int64", base)
    plan = plan_of("route", rule, "float32", 2, flattened((Axis(30, 9), Axis(20, 7))), inner)
    cells, entries = 600, 63
    generator = torch.Generator().manual_seed(inner)
    position = torch.stack([torch.randperm(cells, generator=generator)[:entries] for _ in range(2 * inner)])
    position = position.view(2, inner, entries).movedim(1, 2)
    if base != "plane":
        position = position * inner + torch.arange(inner)
    if base == "batch":
        position = position + torch.arange(2)[:, None, None] * (cells * inner)
    position = position.contiguous()
    grad = torch.randn(2, entries, inner, generator=generator)
    contest = gpu.contest(plan)

    def is_odd(index: Tensor) -> bool:
        flag = torch.full((1,), 7, dtype=torch.int32, device=DEVICE)
        contest.run((index.to(DEVICE), flag), torch.device(DEVICE))
        assert int(flag) in (0, 1)
        return bool(flag)

    assert not is_odd(position)
    for entry, value in ((40, -(10**6)), (62, 10**6), (62, int(position[1, 3, 0]))):
        odd = position.clone()
        odd[1, entry, 0] = value
        assert is_odd(odd)
    assert not is_odd(position)
    found = []
    for are_apart in (False, True):
        out = torch.full((2, cells, inner), 5.0, device=DEVICE)
        arrays = {"data": grad.to(DEVICE), "index": position.to(DEVICE)}
        assert gpu.run(plan, arrays, out, is_trusted=True, are_apart=are_apart) is None
        found.append(out.cpu())
    assert_same(*found)
