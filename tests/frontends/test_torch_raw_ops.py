"""raw_ops and the plain functions on tensors: the same bits as on NumPy's arrays, differentiable, clear refusals."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import poolgrad
from poolgrad import raw_ops
from tests.unit.good_calls import RAW

WINDOW = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
SEEDED = {"pooling_ratio": [1, 1.5, 1.5, 1], "deterministic": True, "seed": 3}


def as_tensors(arguments: dict[str, Any]) -> dict[str, Any]:
    return {k: torch.from_numpy(v.copy()) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}


def as_arrays(result: Any) -> list[Any]:
    several = result if isinstance(result, tuple) else (result,)
    return [one.numpy() if isinstance(one, Tensor) else one for one in several]


@pytest.mark.parametrize("name", sorted(RAW))
def test_same_bits_as_numpy(name: str) -> None:
    arguments = RAW[name]
    expected = getattr(raw_ops, name)(**arguments)
    found = getattr(raw_ops, name)(**as_tensors(arguments))
    several = found if isinstance(found, tuple) else (found,)
    assert all(isinstance(one, Tensor) for one in several)
    for ours, theirs in zip(as_arrays(found), as_arrays(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


PROGRAMS = {
    "max_pool": lambda x: poolgrad.max_pool(x, 3, 2, "same"),
    "max_pool-argmax": lambda x: poolgrad.max_pool(x, 3, 2, "same", return_argmax=True)[0],
    "avg_pool": lambda x: poolgrad.avg_pool(x, 3, 2, "same"),
    "avg_pool_grad": lambda x: poolgrad.avg_pool_grad(x, (2, 12, 14, 3), 2),
    "max_pool_grad_grad": lambda x: poolgrad.max_pool_grad_grad(x, x.detach().roll(1), 2, ties="all"),
    "fractional_max_pool": lambda x: poolgrad.fractional_max_pool(x, 1.5, seed=3).output,
    "MaxPool": lambda x: raw_ops.MaxPool(input=x, **WINDOW),
    "MaxPoolWithArgmax": lambda x: raw_ops.MaxPoolWithArgmax(input=x, **WINDOW)[0],
    "MaxPoolWithArgmax-batch": lambda x: raw_ops.MaxPoolWithArgmax(input=x, include_batch_in_index=True, **WINDOW)[0],
    "FractionalAvgPool": lambda x: raw_ops.FractionalAvgPool(value=x, **SEEDED)[0],
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    x = torch.randn(2, 6, 7, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    assert torch.autograd.gradcheck(PROGRAMS[name], x, fast_mode=True)
    assert torch.autograd.gradgradcheck(PROGRAMS[name], x, fast_mode=True)


def test_derivative_in_three_dimensions() -> None:
    x = torch.randn(1, 4, 4, 4, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()
    window = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "SAME"}
    assert torch.autograd.gradcheck(lambda x: raw_ops.MaxPool3D(input=x, **window), x)


def test_out() -> None:
    x = torch.randn(2, 6, 7, 3)
    out, offsets = torch.empty(2, 3, 4, 3), torch.empty(2, 3, 4, 3, dtype=torch.uint8)
    assert poolgrad.max_pool(x, 3, 2, "same", out=out) is out
    values, index = poolgrad.max_pool(x, 3, 2, "same", return_offsets=True, out=(torch.empty_like(out), offsets))
    assert torch.equal(values, out)
    assert index is offsets


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda x: poolgrad.max_pool_grad(x, x.numpy(), 1), "arrays must all be of one library, got grad of torch"),
        (lambda x: poolgrad.max_pool(x, 2, out=x.numpy()), "out must be a tensor to fill"),
        (lambda x: poolgrad.max_pool(x, 1, out=x), "out must not share memory with x"),
        (lambda x: poolgrad.max_pool(x, 2, out=torch.empty(1)), "out must have shape"),
        (lambda x: poolgrad.max_pool(x.to_sparse(), 2), "x must be a dense tensor"),
        (lambda x: poolgrad.avg_pool(x.int(), 2), "x must have one of the dtypes"),
        (lambda x: poolgrad.max_pool_grad(x, x.to("meta"), 1), "x must be on the device of grad"),
        (lambda x: poolgrad.max_pool(x.requires_grad_(), 1, out=torch.empty_like(x)), "out must be left out"),
        (lambda x: poolgrad.max_unpool(x, torch.full(x.shape, 99), x.shape), "argmax must have entries from 0 to"),
    ],
)
def test_refusals(call: Any, text: str) -> None:
    with pytest.raises((poolgrad.InvalidArgumentError, poolgrad.UnsupportedError, TypeError), match=text):
        call(torch.randn(1, 4, 4, 2))


def test_bfloat16_needs_no_numpy_dtype() -> None:
    x = torch.randn(1, 6, 6, 2).bfloat16()
    y = poolgrad.avg_pool(x, 3)
    assert y.dtype == torch.bfloat16
    torch.testing.assert_close(y, poolgrad.avg_pool(x.double(), 3).bfloat16(), rtol=0, atol=0)


def test_compiled_programs_call_them_outside_their_graph() -> None:
    @torch.compiler.disable
    def pooled(x: Tensor) -> Tensor:
        return poolgrad.max_pool(x, 2) + raw_ops.AvgPool(value=x, **WINDOW)

    def program(x: Tensor) -> Tensor:
        return pooled(x * 2) + 1

    x = torch.randn(1, 6, 6, 2)
    assert torch.equal(torch.compile(program, backend="aot_eager")(x), program(x))


def test_numpy_needs_no_torch() -> None:
    """Whoever has PyTorch installed and calls with arrays does not import it."""
    code = "import numpy, poolgrad, sys; poolgrad.max_pool(numpy.ones((1, 4, 1)), 2); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
    code = "import numpy, torch, poolgrad, sys; poolgrad.max_pool(torch.ones(1, 4, 1), 2)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stderr == b""
