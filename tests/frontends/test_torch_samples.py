"""PyTorch's own samples: the OpInfo and ModuleInfo cases of the installed package, values and gradients."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

import poolgrad.torch

NAMES = [name for name in poolgrad.torch.__all__ if name.islower() and hasattr(torch.nn.functional, name)]
OPS = {op.name.rpartition(".")[2]: op for op in op_db if op.name.rpartition(".")[2] in NAMES}
MODULES = [info for info in module_db if hasattr(poolgrad.torch, info.module_cls.__name__)]


def as_tuple(value: Any) -> tuple[Tensor, ...]:
    return tuple(value) if isinstance(value, tuple | list) else (value,)


def compared(ours: Any, theirs: Any, leaves: tuple[Tensor, Tensor]) -> None:
    for mine, yours in zip(as_tuple(ours), as_tuple(theirs), strict=True):
        assert mine.dtype == yours.dtype
        torch.testing.assert_close(mine, yours, equal_nan=True)
    first, second = as_tuple(ours)[0], as_tuple(theirs)[0]
    if second.requires_grad:
        weights = torch.linspace(-1, 1, second.numel(), dtype=second.dtype).reshape(second.shape)
        grads = torch.autograd.grad(first, leaves[0], weights), torch.autograd.grad(second, leaves[1], weights)
        torch.testing.assert_close(*grads)


def test_samples_are_found() -> None:
    missing = set(NAMES) - set(OPS)
    assert missing <= {"max_unpool1d", "max_unpool2d", "max_unpool3d"}, missing
    assert len(MODULES) >= 14


@pytest.mark.parametrize("name", sorted(OPS))
def test_op_samples(name: str) -> None:
    op = OPS[name]
    count = 0
    samples = list(op.sample_inputs("cpu", torch.float64, requires_grad=True))
    # Some have thousands, which differ in little.
    for sample in samples[:: max(1, len(samples) // 150)]:
        leaves = tuple(sample.input.detach().clone().requires_grad_() for _ in range(2))
        torch.manual_seed(0)
        theirs = getattr(torch.nn.functional, name)(leaves[1], *sample.args, **sample.kwargs)
        torch.manual_seed(0)
        ours = getattr(poolgrad.torch, name)(leaves[0], *sample.args, **sample.kwargs)
        compared(ours, theirs, (leaves[0], leaves[1]))
        count += 1
    assert count


@pytest.mark.parametrize("info", MODULES, ids=lambda info: info.module_cls.__name__)
def test_module_samples(info: Any) -> None:
    ours_cls = getattr(poolgrad.torch, info.module_cls.__name__)
    samples = info.module_inputs_func(info, device="cpu", dtype=torch.float64, requires_grad=False, training=True)
    for sample in samples:
        made, call = sample.constructor_input, sample.forward_input
        pair = ours_cls(*made.args, **made.kwargs), info.module_cls(*made.args, **made.kwargs)
        assert repr(pair[0]) == repr(pair[1])
        leaves = tuple(call.args[0].detach().clone().requires_grad_() for _ in range(2))
        results = []
        for module, leaf in zip(pair, leaves, strict=True):
            torch.manual_seed(0)
            results.append(module(leaf, *call.args[1:], **call.kwargs))
        compared(results[0], results[1], (leaves[0], leaves[1]))
