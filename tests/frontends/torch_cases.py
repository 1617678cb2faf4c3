"""Calls of PyTorch's pooling functions, as data: name, arguments, sizes of the spatial axes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import poolgrad.torch


@dataclass(frozen=True)
class Case:
    """A function and its arguments after the input."""

    name: str
    sizes: tuple[int, ...]
    arguments: dict[str, Any] = field(default_factory=dict)

    def ours(self, x: Tensor) -> Any:
        return getattr(poolgrad.torch, self.name)(x, **self.arguments)

    def theirs(self, x: Tensor) -> Any:
        return getattr(functional, self.name)(x, **self.arguments)

    def input(self, dtype: torch.dtype = torch.float64, batch: int | None = 2, order: str = "first") -> Tensor:
        shape = (3, *self.sizes) if batch is None else (batch, 3, *self.sizes)
        x = torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).to(dtype)
        if order == "last":
            spatial = len(self.sizes)
            x = x.movedim(-spatial - 1, -1).contiguous().movedim(-1, -spatial - 1)
        return x


def check_gradients_of_padded_averages(x: Tensor, counts: bool, **tolerance: float) -> None:
    """They do not depend on the memory format. pytorch#188344: PyTorch's own, channels last on CUDA, were wrong."""
    spatial = x.dim() - 2
    ours, theirs = (getattr(library, f"avg_pool{spatial}d") for library in (poolgrad.torch, functional))

    def gradient(leaf: Tensor, pool: Any) -> Tensor:
        leaf.requires_grad_()
        y = pool(leaf, 3, 2, 1, count_include_pad=counts)
        y.backward(torch.linspace(-1, 1, y.numel(), device=x.device).to(x.dtype).to(y.dtype).reshape(y.shape))
        assert leaf.grad is not None
        return leaf.grad

    formats = (torch.contiguous_format, torch.channels_last if spatial == 2 else torch.channels_last_3d)
    first, last = (gradient(x.clone(memory_format=memory_format), ours) for memory_format in formats)
    assert torch.equal(first, last)
    exact = gradient(x.to(torch.float64, copy=True), theirs)  # contiguous, where theirs is right
    torch.testing.assert_close(first.double(), exact, **tolerance)


def _case(name: str, sizes: tuple[int, ...], **arguments: Any) -> Any:
    shown = "-".join(f"{key}={value}".replace(" ", "") for key, value in arguments.items())
    return pytest.param(Case(name, sizes, arguments), id=f"{name}-{shown}")


_SIZES = {1: (13,), 2: (7, 9), 3: (5, 6, 7)}

MAXIMA = [
    _case(f"max_pool{d}d", _SIZES[d], **arguments)
    for d in (1, 2, 3)
    for arguments in (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 1, "padding": 1},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": 2, "stride": 2, "padding": 1, "dilation": 2},
        {"kernel_size": [3] * d, "stride": []},
    )
]
AVERAGES = [
    _case(f"avg_pool{d}d", _SIZES[d], **arguments)
    for d in (1, 2, 3)
    for arguments in (
        {"kernel_size": 2},
        {"kernel_size": 3, "stride": 2, "padding": 1},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True},
        {"kernel_size": 3, "stride": 1, "padding": 1, "count_include_pad": False},
        {"kernel_size": 3, "stride": 2, "padding": 1, "ceil_mode": True, "count_include_pad": False},
        *([{"kernel_size": 3, "stride": 2, "padding": 1, "divisor_override": 5}] if d > 1 else []),
        *([{"kernel_size": 2, "divisor_override": -3}] if d > 1 else []),
    )
]
ADAPTIVE = [
    _case(f"adaptive_{kind}_pool{d}d", _SIZES[d], output_size=size)
    for d in (1, 2, 3)
    for kind in ("avg", "max")
    for size in (1, 3, *([] if d == 1 else [(4,) * (d - 1) + (None,)]))
]
CASES = MAXIMA + AVERAGES + ADAPTIVE
FEW = [MAXIMA[6], MAXIMA[8], AVERAGES[9], AVERAGES[11], ADAPTIVE[7], ADAPTIVE[10]]
