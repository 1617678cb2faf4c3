"""Every derivative: first and second order, backwards and forwards, batched, under torch.func, and in the operators."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.library import opcheck

import poolgrad.torch
from poolgrad.forms import Rule, numbers_of
from poolgrad.windows import Axis, adaptive_axis, torch_axis

from .torch_cases import CASES, FEW, Case

ops = torch.ops.poolgrad


def small(case: Case) -> Tensor:
    return case.input(batch=1)[:, :1].clone().requires_grad_()


@pytest.mark.parametrize("case", CASES)
def test_gradcheck(case: Case) -> None:
    x = small(case)
    assert torch.autograd.gradcheck(case.ours, x, fast_mode=True)
    assert torch.autograd.gradgradcheck(case.ours, x, fast_mode=True)


@pytest.mark.parametrize("case", FEW)
def test_gradcheck_forwards_and_batched(case: Case) -> None:
    x = small(case)
    assert torch.autograd.gradcheck(case.ours, x, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(case.ours, x, check_fwd_over_rev=True, check_batched_grad=True)


@pytest.mark.parametrize("transform", ["grad", "jacrev", "jacfwd", "hessian"])
@pytest.mark.parametrize("case", FEW)
def test_torch_func(case: Case, transform: str) -> None:
    x = small(case).detach()
    ours, theirs = (
        getattr(torch.func, transform)(lambda x, f=function: (f(x) ** 3).sum())(x)
        for function in (case.ours, case.theirs)
    )
    torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("case", FEW)
def test_vmap(case: Case) -> None:
    x = case.input()
    for axis in (0, 1):
        several = torch.stack([x, 2 * x, -x], axis)
        ours = torch.func.vmap(case.ours, in_dims=axis)(several)
        assert torch.equal(ours, torch.stack([case.ours(x), case.ours(2 * x), case.ours(-x)]))
    grads = torch.func.vmap(torch.func.grad(lambda x: case.ours(x).pow(2).sum()))(torch.stack([x, -x]))
    torch.testing.assert_close(grads[1], torch.func.grad(lambda x: case.ours(x).pow(2).sum())(-x))


def test_third_derivative() -> None:
    x = torch.randn(1, 1, 4, 4, dtype=torch.float64, requires_grad=True, generator=torch.Generator().manual_seed(1))
    y = poolgrad.torch.avg_pool2d(x, 2).pow(4).sum()
    for _ in range(3):
        (y,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    mean = poolgrad.torch.avg_pool2d(x, 2)
    # Each cell of a window sees 24 * mean, once for each pair of cells in between, over 4 cells thrice.
    expected = (24 * mean * 16 / 4**3).repeat_interleave(2, -1).repeat_interleave(2, -2)
    torch.testing.assert_close(y, expected)


def test_nothing_is_saved_but_offsets() -> None:
    """The backward of max reads neither input nor output, and offsets take one byte a window."""
    saved: list[Tensor] = []

    def keep(tensor: Tensor) -> Tensor:
        saved.append(tensor)
        return tensor

    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = poolgrad.torch.max_pool2d(x, 3, 2, 1)
    assert [(tensor.dtype, tensor.shape) for tensor in saved] == [(torch.uint8, y.shape)] * len(saved)
    assert saved
    wide = poolgrad.torch.max_pool2d(torch.randn(1, 1, 40, 40, requires_grad=True), 20)
    assert wide.grad_fn.saved_tensors[-1].dtype == torch.uint16


def test_no_gradient_no_offsets() -> None:
    x = torch.randn(1, 1, 4, 4, requires_grad=True)
    with torch.no_grad():
        assert poolgrad.torch.max_pool2d(x, 2).grad_fn is None
    with torch.inference_mode():
        assert poolgrad.torch.max_pool2d(x, 2).is_inference()


AXES = (torch_axis(5, 3, 2, (1, 1), counts_padding=True), torch_axis(6, 2, 2, (0, 0)))
TABLES = (adaptive_axis(5, 3), adaptive_axis(6, 4))
POSITION = Rule("first_nan", "position", "int64", "plane").text()
OFFSET = Rule("first_nan", "offset", "uint8").text()


def _operands() -> list[Any]:
    order = [0, 2, 3, 1]
    x = torch.randn(2, 3, 5, 6, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = []
    largest = Rule("first_nan").text()
    for label, axes in (("numbers", AXES), ("tables", TABLES)):
        form = numbers_of(axes)
        outputs = [axis.outputs for axis in axes]
        y = torch.randn(2, 3, *outputs, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
        found += [
            pytest.param("mean", (x, *form, Rule().text(), order), id=f"mean-{label}"),
            pytest.param("spread", (y, *form, Rule().text(), order), id=f"spread-{label}"),
            pytest.param("maximum", (x, *form, POSITION, order), id=f"argmax-{label}"),
            pytest.param("maximum", (x, *form, largest, order), id=f"maximum-{label}"),
            pytest.param("pick", (x, x.roll(1), None, None, *form, largest, order), id=f"pick-{label}"),
            pytest.param("route", (y, x, None, None, *form, Rule("all_equal").text(), order), id=f"route-{label}"),
        ]
    form = numbers_of(AXES)
    offsets = ops.maximum(x, *form, OFFSET, order)[1]
    rule = Rule("offset", "offset", "uint8").text()
    flat = numbers_of((Axis(30, 4),))
    places = torch.tensor([3, 3, 29, 0]).expand(2, 3, 4).contiguous()
    given = Rule("given", "position", "int64", "plane").text()
    y, z = torch.randn(offsets.shape, dtype=torch.float64), torch.randn(2, 3, 4, dtype=torch.float64)
    maxima = ops.maximum(x, *form, largest, order)[0]
    first, near = Rule("first_equal").text(), Rule("all_near", flags="s").text()
    return [
        *found,
        pytest.param("pick", (x.roll(1), x, maxima, None, *form, first, order), id="pick-orig_output"),
        pytest.param("route", (maxima.roll(1), x, maxima, None, *form, near, order), id="route-orig_output"),
        pytest.param("maximum", (x, *form, OFFSET, order), id="offsets"),
        pytest.param("pick", (x, None, None, offsets, *form, rule, order), id="pick-offset"),
        pytest.param("route", (y, None, None, offsets, *form, rule, order), id="route-offset"),
        pytest.param("pick", (x.view(2, 3, 30), None, None, places, *flat, given, [0, 1, 2]), id="pick-given"),
        pytest.param("route", (z, None, None, places, *flat, given, [0, 1, 2]), id="route-given"),
    ]


@pytest.mark.parametrize(("name", "arguments"), _operands())
def test_opcheck(name: str, arguments: tuple[Any, ...]) -> None:
    data = arguments[0].clone().requires_grad_()
    opcheck(getattr(ops, name).default, (data, *arguments[1:]))


@pytest.mark.parametrize(("name", "arguments"), _operands())
def test_operators_gradcheck(name: str, arguments: tuple[Any, ...]) -> None:
    def run(data: Tensor) -> Tensor:
        made = getattr(ops, name)(data, *arguments[1:])
        return made[0] if name == "maximum" else made

    data = arguments[0].clone().requires_grad_()
    assert torch.autograd.gradcheck(run, data, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(run, data)
