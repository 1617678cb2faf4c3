"""Tensors as memory: what does not fit is refused before a kernel sees its address; results are tensors like any."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import poolgrad
import poolgrad.torch
from poolgrad.forms import Rule, flattened, numbers_of, plan_of, rule_of
from poolgrad.torch._memory import Call, written_side
from poolgrad.windows import Axis

ops = torch.ops.poolgrad
HALVES = numbers_of((Axis(8, 4, 2, 2),))
ORDER = [0, 1, 2, 3, 4]
MEAN, MAX = Rule().text(), Rule("first_max").text()
GIVEN, OFFSET = Rule("given", "position", "int64", "plane").text(), Rule("offset", "offset", "uint8").text()


def cells(count: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(1, 1, 1, 1, count, dtype=dtype)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ops.mean(cells(4), *HALVES, MEAN, ORDER), r"input must have shape \[1, 1, 1, 1, 8\]"),
        (lambda: ops.spread(cells(8), *HALVES, MEAN, ORDER), r"the gradient must have shape \[1, 1, 1, 1, 4\]"),
        (lambda: ops.mean(torch.ones(()), *HALVES, MEAN, ORDER), "mean takes data"),
        (lambda: ops.mean(cells(8), HALVES[0][:7], [], MEAN, ORDER), "8 numbers for each, got"),
        (lambda: ops.mean(cells(8), *HALVES, "max", ORDER), "rule must have the parts"),
        (lambda: ops.mean(cells(8), *numbers_of((Axis(8, 5, 2, 2),)), MEAN, ORDER), "every window must begin and end"),
        (lambda: ops.mean(cells(8), *numbers_of((Axis(8, 4, 2, 2, 9),)), MEAN, ORDER), "every window must begin and"),
        (lambda: ops.mean(cells(8), *numbers_of((Axis(8, 4, 2, 2**62),)), MEAN, ORDER), "every window must begin and"),
        (lambda: ops.mean(cells(8), *numbers_of((Axis(8, 1, starts=(7,), stops=(9,)),)), MEAN, ORDER), "must ascend"),
        (lambda: ops.mean(cells(8), *HALVES, MEAN, [4, 3, 2, 1, 1]), "order must have the last 1 of 5 axes"),
        (lambda: ops.mean(cells(8, torch.bool), *HALVES, MEAN, ORDER), "input must have one of the dtypes"),
        (lambda: ops.route(cells(4), None, None, cells(3).long(), *HALVES, GIVEN, ORDER), "indices must have shape"),
        (lambda: ops.route(cells(4), None, None, cells(4).int(), *HALVES, GIVEN, ORDER), "dtype torch.int64"),
        (lambda: ops.route(cells(4), None, None, cells(4).byte() * 3, *HALVES, OFFSET, ORDER), "must name cells"),
        (lambda: ops.route(cells(4), None, None, None, *HALVES, GIVEN, ORDER), "the family needs is missing"),
        (lambda: ops.pick(cells(8), cells(7), None, None, *HALVES, MAX, ORDER), "input must have shape"),
    ],
)
def test_operators_refuse_what_does_not_fit(call: Any, text: str) -> None:
    with pytest.raises((ValueError, NotImplementedError), match=text):
        call()


@pytest.mark.parametrize("size", [8, 600], ids=["small", "large"])
def test_results_may_change_in_place(size: int) -> None:
    """As in ``nn.Sequential(MaxPool2d(2), ReLU(inplace=True))``; results of some size come from a pool of memory."""
    x = torch.randn(2, 2, size, size, generator=torch.Generator().manual_seed(1))
    found = []
    for library in (poolgrad.torch, nn):
        leaf = x.clone().requires_grad_()
        model = nn.Sequential(library.MaxPool2d(3, 1, 1), nn.ReLU(inplace=True), library.AvgPool2d(3, 1))
        y = model(leaf)
        y.mul_(2).sum().backward()
        found.append((y.detach(), leaf.grad))
    torch.testing.assert_close(found[0][0], found[1][0])
    torch.testing.assert_close(found[0][1], found[1][1])
    with torch.no_grad():
        y = poolgrad.torch.max_pool2d(x, 2)
    assert y._base is None
    weight = torch.ones((), requires_grad=True)
    y.mul_(weight).sum().backward()
    assert weight.grad is not None


def test_large_results_live_as_long_as_they_are_used() -> None:
    x = torch.randn(4, 4, 300, 300, generator=torch.Generator().manual_seed(1))
    views = [poolgrad.torch.max_pool2d(x, 2, 1)[0, 0] for _ in range(4)]
    expected = functional.max_pool2d(x, 2, 1)[0, 0]
    assert all(torch.equal(view, expected) for view in views)
    storage = poolgrad.torch.max_pool2d(x, 2, 1).untyped_storage()
    assert storage.nbytes() == 4 * 4 * 299 * 299 * 4


def test_a_default_device_does_not_matter() -> None:
    x = torch.randn(1, 1, 4, 4)
    with torch.device("meta"):
        y = poolgrad.torch.max_pool2d(x, 2)
    assert torch.equal(y, functional.max_pool2d(x, 2))


def test_devices_are_not_mixed() -> None:
    x = torch.randn(1, 1, 4, 4)
    y, index = poolgrad.torch.max_pool2d(x, 2, return_indices=True)
    with pytest.raises(poolgrad.InvalidArgumentError, match="max_unpool2d: indices must be on the input's device"):
        poolgrad.torch.max_unpool2d(y, index.to("meta"), 2)
    plan = plan_of("route", rule_of(GIVEN), "float32", 1, flattened((Axis(8, 4),)), 1)
    call = Call(plan, written_side(plan.output_shape), written_side(plan.input_shape))
    data, index = torch.ones(1, 4, 1), torch.zeros(1, 4, 1, dtype=torch.int64)
    with pytest.raises(poolgrad.InvalidArgumentError, match=r"indices must .* on cpu, got .* on meta"):
        call.run(data, None, None, index.to("meta"))


def test_shapes_alone() -> None:
    x = torch.empty(2, 3, 8, 8, device="meta", requires_grad=True)
    y = poolgrad.torch.max_pool2d(x, 2)
    assert (y.device.type, y.shape) == ("meta", (2, 3, 4, 4))
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.shape == x.shape


def test_integers_of_other_libraries() -> None:
    x = torch.randn(1, 1, 8, 8)
    y = poolgrad.torch.avg_pool2d(x, np.int64(2), torch.Size((2, 2)), divisor_override=np.int32(3))
    assert torch.equal(y, poolgrad.torch.avg_pool2d(x, 2, 2, divisor_override=3))


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_vast_windows(name: str) -> None:
    """Whose cells no index counts."""
    x = torch.randn(1, 1, 3, 4, requires_grad=True)
    huge = 2**31 - 2
    y = getattr(poolgrad.torch, name)(x, huge, huge, huge // 2)
    y.sum().backward()
    assert y.shape == (1, 1, 1, 1)
    if name == "max_pool2d":
        assert y.item() == x.max().item()
    with pytest.raises(poolgrad.InvalidArgumentError, match="kernel_size must be at most"):
        getattr(poolgrad.torch, name)(x, 2**31)


_TURNED = (
    ("adaptive_avg_pool1d", (31,), (7,)),
    ("adaptive_avg_pool2d", (9, 11), (4, 5)),
    ("adaptive_avg_pool3d", (5, 4, 6), (3, 4, 4)),
    ("adaptive_max_pool1d", (31,), (7,)),
    ("adaptive_max_pool2d", (9, 11), (4, 5)),
    ("adaptive_max_pool3d", (5, 4, 6), (3, 4, 4)),
    ("max_pool1d", (70,), (9, 5)),
    ("max_pool2d", (12, 33), ((2, 8), (1, 8))),
)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("channels", [7, 8, 19, 200])
@pytest.mark.parametrize(("name", "sizes", "arguments"), _TURNED, ids=[row[0] for row in _TURNED])
def test_channels_first_is_as_channels_last(
    name: str, sizes: tuple[int, ...], arguments: Any, channels: int, threads: int
) -> None:
    """Where windows stand in tables or are long, some slices at a time are turned: the bits are the same."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for dtype in (torch.float32, torch.float64, torch.bfloat16, torch.int8):
            if "avg" in name and not dtype.is_floating_point:
                continue
            x = torch.randn(2, channels, *sizes, generator=torch.Generator().manual_seed(channels)).mul(9).to(dtype)
            size = arguments if "adaptive" in name else arguments[0]
            more = () if "adaptive" in name else arguments[1:]
            found = []
            for data in (x, x.movedim(1, -1).contiguous().movedim(-1, 1)):
                leaf = data.requires_grad_(dtype.is_floating_point)
                y = getattr(poolgrad.torch, name)(leaf, size, *more)
                made = [y.detach()]
                if dtype.is_floating_point:
                    weights = torch.arange(y.numel(), dtype=torch.float64).view(y.shape).sin().to(dtype)
                    made += torch.autograd.grad(y, leaf, weights)
                if "max" in name:
                    made += getattr(poolgrad.torch, name)(data.detach(), size, *more, return_indices=True)
                found.append(made)
            assert len(found[0]) == len(found[1])
            assert all(torch.equal(first, last) for first, last in zip(*found, strict=True))
    finally:
        torch.set_num_threads(before)
