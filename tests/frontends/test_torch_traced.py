"""torch.compile, torch.export, ONNX and torch.fx, with static and dynamic shapes."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterator
from typing import Any

import onnx
import pytest
import torch
from torch import Tensor, nn
from torch.export import Dim

import poolgrad.torch

from .torch_cases import FEW


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def _unpooled(x: Tensor) -> Tensor:
    y, index = poolgrad.torch.max_pool2d(x, 2, return_indices=True)
    return poolgrad.torch.max_unpool2d(y, index, 2, output_size=list(x.shape))


PROGRAMS: list[Any] = [
    *(pytest.param(case.values[0].ours, id=case.id) for case in FEW if len(case.values[0].sizes) == 2),
    pytest.param(lambda x: poolgrad.torch.max_pool2d(x, 3, 2, "same"), id="same"),
    pytest.param(lambda x: poolgrad.torch.max_pool2d(x, 2, return_indices=True)[0], id="indices"),
    pytest.param(lambda x: poolgrad.torch.avg_pool2d(x, 3, 2, [(1, 0), (0, 1)]), id="pairs"),
    pytest.param(_unpooled, id="unpool"),
    pytest.param(poolgrad.torch.AdaptiveMaxPool2d((3, None)), id="module"),
    pytest.param(
        lambda x: poolgrad.torch.fractional_max_pool2d(x, 2, 4, _random_samples=torch.full((2, 3, 2), 0.3).double()),
        id="fractional",
    ),
]


def compare(compiled: Callable[[Tensor], Tensor], program: Callable[[Tensor], Tensor], x: Tensor) -> None:
    grads = []
    for function in (compiled, program):
        leaf = x.clone().requires_grad_()
        y = function(leaf)
        grads += [y, *torch.autograd.grad(y.pow(2).sum(), leaf)]
    assert torch.equal(grads[0], grads[2])
    torch.testing.assert_close(grads[1], grads[3])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("program", PROGRAMS)
def test_compile(program: Callable[[Tensor], Tensor], dynamic: bool) -> None:
    compiled = torch.compile(program, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for size in (8, 11) if dynamic else (8,):
        x = torch.randn(2, 3, size, size + 1, dtype=torch.float64)
        compare(compiled, program, x)
        laid = x.to(memory_format=torch.channels_last)
        y = compiled(laid)
        assert torch.equal(y, program(laid))
        assert y.stride() == program(laid).stride()


def compiled_backward(y: Tensor) -> None:
    """The gradients of an eager program, by a compiled backward pass."""
    compiler = functools.partial(torch.compile, backend="aot_eager", dynamic=True)
    with torch._dynamo.compiled_autograd._enable(compiler):
        y.pow(2).sum().backward()


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")  # which PyTorch itself reads
@pytest.mark.parametrize("program", PROGRAMS)
def test_compiled_autograd(program: Callable[[Tensor], Tensor]) -> None:
    x = torch.randn(2, 3, 8, 9, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(program(x).pow(2).sum(), x)
    compiled_backward(program(x))
    assert x.grad is not None
    torch.testing.assert_close(x.grad, expected, rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_compiled_autograd_of_calls_that_differ_by_their_windows() -> None:
    """A compiled pass that is repeated finds the shapes and the class of the first call, and another window."""
    for window in (3, 5, 7):
        x = torch.randn(2, 3, 12, 12, requires_grad=True)
        (expected,) = torch.autograd.grad(nn.functional.avg_pool2d(x, window, 1, window // 2).pow(2).sum(), x)
        compiled_backward(poolgrad.torch.avg_pool2d(x, window, 1, window // 2))
        assert x.grad is not None
        torch.testing.assert_close(x.grad, expected)


@pytest.mark.parametrize("dynamic", [False, True])
def test_compile_with_inductor(dynamic: bool) -> None:
    model = nn.Sequential(
        poolgrad.torch.MaxPool2d(3, 2, 1), nn.ReLU(inplace=True), poolgrad.torch.AvgPool2d(2, ceil_mode=True)
    )
    compiled = torch.compile(model, fullgraph=True, dynamic=dynamic)
    for size in (12, 17) if dynamic else (12,):
        compare(compiled, model, torch.randn(2, 3, size, 12))


@pytest.mark.parametrize(
    "module",
    [
        poolgrad.torch.MaxPool2d(3, 2, 1),
        poolgrad.torch.AvgPool2d(3, 2, 1),
        poolgrad.torch.AdaptiveAvgPool2d(3),
        poolgrad.torch.AdaptiveMaxPool2d(3, return_indices=True),
        poolgrad.torch.MaxPool2d(3, 2, "same", return_indices=True),
    ],
    ids=lambda module: type(module).__name__,
)
def test_export(module: nn.Module) -> None:
    shapes = {"input": {0: Dim("batch"), 2: Dim("height", min=8, max=64)}}
    program = torch.export.export(module, (torch.randn(2, 3, 16, 12),), dynamic_shapes=shapes)
    assert any("poolgrad" in str(node.target) for node in program.graph.nodes)
    x = torch.randn(5, 3, 21, 12)
    torch.testing.assert_close(program.module()(x), module(x), rtol=0, atol=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamo", [True, False])
def test_onnx_has_standard_ops(dynamo: bool) -> None:
    model = nn.Sequential(
        poolgrad.torch.MaxPool2d(3, 2, "same"), poolgrad.torch.AvgPool2d(2), poolgrad.torch.AdaptiveAvgPool2d(1)
    ).eval()
    file = io.BytesIO()
    torch.onnx.export(model, (torch.randn(1, 3, 16, 16),), file, dynamo=dynamo, verbose=False)
    found = {node.op_type for node in onnx.load_from_string(file.getvalue()).graph.node}
    assert {"MaxPool", "AveragePool"} <= found
    assert not any("poolgrad" in name for name in found)


@pytest.mark.filterwarnings("ignore")
def test_onnx_says_what_it_lacks() -> None:
    module = poolgrad.torch.MaxPool2d(3, 2, "same", return_indices=True)
    with pytest.raises(poolgrad.UnsupportedError, match="return_indices"):
        torch.onnx.export(module, (torch.randn(1, 3, 8, 8),), io.BytesIO(), dynamo=False)


def test_fx_keeps_functions() -> None:
    model = nn.Sequential(poolgrad.torch.MaxPool2d(2), poolgrad.torch.AvgPool2d(2))
    traced = torch.fx.symbolic_trace(model)
    x = torch.randn(1, 1, 8, 8)
    assert torch.equal(traced(x), model(x))


@pytest.mark.filterwarnings("ignore")
def test_jit_trace_is_not_blind() -> None:
    """A tracer sees an operator, not a constant."""
    traced = torch.jit.trace(poolgrad.torch.MaxPool2d(2), torch.randn(1, 1, 4, 4))
    x = torch.randn(1, 1, 4, 4)
    assert torch.equal(traced(x), poolgrad.torch.max_pool2d(x, 2))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("indices", [False, True])
def test_drawn_sequences(indices: bool, dynamic: bool) -> None:
    """A compiled program draws windows with each call, the same ones as without the compiler."""

    def program(x: Tensor) -> Tensor:
        y = poolgrad.torch.fractional_avg_pool2d(x * 2, 3)
        z = poolgrad.torch.fractional_max_pool2d(x, 2, 3, return_indices=indices, sequence="tensorflow")
        return y + (z[0] if indices else z)

    def seeded(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        def run(x: Tensor) -> Tensor:
            torch.manual_seed(3)
            return function(x)

        return run

    compiled = torch.compile(program, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    for size in (7, 11) if dynamic else (7,):
        x = torch.randn(2, 3, size, size + 1, dtype=torch.float64)
        compare(seeded(compiled), seeded(program), x)
    assert not torch.equal(compiled(x), compiled(x))


def test_drawn_sequences_are_exported() -> None:
    module = poolgrad.torch.FractionalAvgPool2d(output_size=3)
    program = torch.export.export(module, (torch.randn(2, 3, 9, 9),), dynamic_shapes={"input": {0: Dim("batch")}})
    x = torch.randn(4, 3, 9, 9)
    torch.manual_seed(1)
    exported = program.module()(x)
    torch.manual_seed(1)
    assert torch.equal(exported, module(x))


def test_drawn_sequences_have_all_derivatives() -> None:
    def program(x: Tensor) -> Tensor:
        torch.manual_seed(2)
        y = poolgrad.torch.fractional_max_pool2d(x, 2, 3, sequence="tensorflow")
        return (y + poolgrad.torch.fractional_avg_pool2d(x, 3, overlapping=True)).pow(3).sum()

    x = torch.randn(1, 2, 6, 7, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(program(x), x)
    torch.testing.assert_close(torch.func.grad(program)(x.detach()), expected)
    assert torch.func.hessian(program)(x.detach()).shape == x.shape + x.shape
    several = torch.func.vmap(torch.func.grad(program), randomness="same")(torch.stack([x, x]).detach())
    torch.testing.assert_close(several[1], expected)
