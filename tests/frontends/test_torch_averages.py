"""Divisors against the slow oracle: padding that counts, and given numbers, in every family that averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import poolgrad.torch
from poolgrad import reference

from .torch_cases import check_gradients_of_padded_averages

CASES: list[Any] = [
    # sizes, window, stride, padding, windows beyond the padding
    pytest.param((7,), (3,), (2,), (1,), (0,), id="line"),
    pytest.param((6,), (3,), (2,), (1,), (1,), id="line-ceil"),
    pytest.param((7, 9), (3, 2), (2, 1), (1, 1), (0, 0), id="plane"),
    pytest.param((6, 8), (3, 3), (2, 2), (1, 1), (1, 1), id="plane-ceil"),
    pytest.param((4, 5, 6), (2, 3, 3), (2, 1, 2), (1, 1, 1), (0, 0, 1), id="volume-ceil"),
    pytest.param((9, 9), (3, 3), (1, 1), (1, 1), (0, 0), id="slides"),
    # Two windows that have the same cells and count different padding.
    pytest.param((1, 8), (4, 2), (2, 2), (2, 1), (1, 0), id="same-cells"),
    pytest.param((1, 1, 8), (4, 4, 2), (2, 2, 2), (2, 2, 1), (1, 1, 0), id="same-cells-volume"),
]


@pytest.mark.parametrize("channels", [1, 3, 64])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("sizes", "window", "stride", "padding", "beyond", "divisor"),
    [
        pytest.param(*case.values, divisor, id=f"{case.id}-{'divisor' if divisor else 'counts'}")
        for case in CASES
        for divisor in (None, 7)
        if not (divisor and len(case.values[0]) == 1)  # avg_pool1d has no divisor_override
    ],
)
def test_divisors(
    sizes: tuple[int, ...],
    window: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    beyond: tuple[int, ...],
    divisor: int | None,
    dtype: str,
    channels: int,
) -> None:
    random = np.random.default_rng(5)
    array = random.standard_normal((1, *sizes, channels)).astype(dtype)
    pads = [(pad, pad + more) for pad, more in zip(padding, beyond, strict=True)]
    expected = reference.avg_pool(array, window, stride, pads, None, None if divisor else padding, divisor)
    x = torch.from_numpy(array).movedim(-1, 1)  # channels last in memory
    named = {"divisor_override": divisor} if divisor else {}
    pool = getattr(poolgrad.torch, f"avg_pool{len(sizes)}d")
    grad = random.standard_normal(expected.shape).astype(dtype)
    shares = reference.avg_pool_grad(
        grad, array.shape, window, stride, pads, None, None if divisor else padding, divisor
    )
    for laid in (x, x.contiguous()):
        leaf = laid.clone(memory_format=torch.preserve_format).requires_grad_()
        y = pool(leaf, window, stride, padding, ceil_mode=any(beyond), **named)
        y.backward(torch.from_numpy(grad).movedim(-1, 1))
        np.testing.assert_array_max_ulp(y.detach().movedim(1, -1).numpy(), expected, 1)
        assert leaf.grad is not None
        scale = np.abs(grad).max()
        tolerance = 4 * np.finfo(dtype).eps
        np.testing.assert_allclose(leaf.grad.movedim(1, -1).numpy(), shares, rtol=tolerance, atol=tolerance * scale)


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("spatial", [2, 3])
def test_gradients_of_padded_averages_do_not_depend_on_the_memory_format(spatial: int, counts: bool) -> None:
    x = torch.randn(2, 20, *[7] * spatial, generator=torch.Generator().manual_seed(1))
    check_gradients_of_padded_averages(x, counts)
