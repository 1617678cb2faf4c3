"""Whole programs on CUDA: training repeated to the bit, compilers, autocast, tensors beyond 2^31 elements, CuPy."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import poolgrad
import poolgrad.torch
from poolgrad import raw_ops

pytestmark = pytest.mark.gpu


@pytest.fixture
def _deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


class UNet(nn.Module):
    """Two levels down and up again, with every kind of pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv3d(1, 16, 3, padding=1), nn.Conv3d(16, 16, 3, padding=1)
        self.middle, self.up = nn.Conv3d(16, 16, 3, padding=1), nn.ConvTranspose3d(16, 16, 2, stride=2)
        self.last, self.head = nn.Conv3d(32, 1, 1), nn.Linear(16 * 27, 4)
        self.down = poolgrad.torch.MaxPool3d(2, return_indices=True)
        self.back = poolgrad.torch.MaxUnpool3d(2)
        self.overlapping = poolgrad.torch.MaxPool3d(3, 1, 1)
        self.average = poolgrad.torch.AvgPool3d(3, 2, 1)
        self.squeeze = poolgrad.torch.AdaptiveAvgPool3d(3)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        one = self.first(x).relu()
        small, index = self.down(one)
        two = self.overlapping(self.second(small).relu())
        three = self.middle(self.average(two)).relu()
        joined = torch.cat([one, self.back(self.up(three) + two, index)], 1)
        return self.last(joined), self.head(self.squeeze(three).flatten(1))


def trained(steps: int, memory_format: torch.memory_format, dtype: torch.dtype | None) -> str:
    """The hash of the weights after some steps."""
    torch.manual_seed(7)
    model = UNet().cuda().to(memory_format=memory_format)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
    x = torch.randn(2, 1, 24, 28, 20, device="cuda").to(memory_format=memory_format)
    for _ in range(steps):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=dtype or torch.float16, enabled=dtype is not None):
            image, numbers = model(x)
        (image.float().pow(2).mean() + (numbers.float() - 1).pow(2).mean()).backward()
        optimizer.step()
    weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    assert weights.isfinite().all()
    return hashlib.sha256(weights.cpu().numpy().tobytes()).hexdigest()


@pytest.mark.usefixtures("_deterministic")
@pytest.mark.parametrize("dtype", [None, torch.bfloat16], ids=str)
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last_3d], ids=str)
def test_training_repeats(memory_format: torch.memory_format, dtype: torch.dtype | None, record_property: Any) -> None:
    """Also nothing warns of an operation that is not deterministic: a warning is an error here."""
    first = trained(20, memory_format, dtype)
    record_property("hash", first)
    print(f"weights after 20 steps: {first[:16]}")
    assert trained(20, memory_format, dtype) == first


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("memory_format", [torch.contiguous_format, torch.channels_last_3d], ids=str)
def test_compile(memory_format: torch.memory_format, dynamic: bool) -> None:
    torch._dynamo.reset()
    model = nn.Sequential(
        poolgrad.torch.MaxPool3d(3, 2, 1),
        nn.ReLU(),
        poolgrad.torch.AvgPool3d(2, ceil_mode=True),
        poolgrad.torch.AdaptiveMaxPool3d(2),
    )
    compiled = torch.compile(model, fullgraph=True, dynamic=dynamic)
    for size in (16, 19) if dynamic else (16,):
        x = torch.randn(2, 5, size, 16, 18, device="cuda").to(memory_format=memory_format)
        found = []
        for program in (compiled, model):
            leaf = x.clone(memory_format=torch.preserve_format).requires_grad_()
            y = program(leaf)
            found += [y, *torch.autograd.grad(y.pow(2).sum(), leaf)]
        assert torch.equal(found[0], found[2])
        assert torch.equal(found[1], found[3])
        assert found[0].stride() == found[2].stride()
    torch._dynamo.reset()


@pytest.mark.filterwarnings("ignore:The CUDA Graph is empty")  # one that PyTorch makes to begin with
def test_compiled_training_step_in_a_graph() -> None:
    torch._dynamo.reset()
    model = nn.Sequential(nn.Conv2d(3, 8, 3), poolgrad.torch.MaxPool2d(2), poolgrad.torch.AvgPool2d(3, 1, 1)).cuda()
    compiled = torch.compile(model, fullgraph=True, mode="reduce-overhead")
    x = torch.randn(2, 3, 18, 18, device="cuda")
    for _ in range(4):
        model.zero_grad()
        compiled(x).pow(2).sum().backward()
        found = model[0].weight.grad.clone()
    model.zero_grad()
    model(x).pow(2).sum().backward()
    torch.testing.assert_close(found, model[0].weight.grad)
    torch._dynamo.reset()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_autocast(dtype: torch.dtype) -> None:
    """On a GPU autocast leaves pooling in the dtype it is given."""
    x = torch.randn(2, 3, 8, 8, 8, device="cuda")
    with torch.autocast("cuda", dtype=dtype):
        y = nn.Conv3d(3, 4, 3).cuda()(x)
        for name in ("max_pool3d", "avg_pool3d"):
            ours, theirs = getattr(poolgrad.torch, name)(y, 2), getattr(nn.functional, name)(y, 2)
            assert ours.dtype == theirs.dtype == dtype
            torch.testing.assert_close(ours, theirs)
            assert getattr(poolgrad.torch, name)(x, 2).dtype == torch.float32


LAYOUTS = [
    pytest.param((36, 1, 8192, 8192), torch.contiguous_format, id="first"),
    pytest.param((36, 64, 1024, 1024), torch.channels_last, id="last"),
    pytest.param((2200, 1024, 31, 31), torch.contiguous_format, id="many planes"),
]


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
@pytest.mark.parametrize(("shape", "laid"), LAYOUTS)
def test_more_than_two_to_the_31_elements(
    shape: tuple[int, ...], laid: torch.memory_format, name: str, stride: int
) -> None:
    """The first and the last slice of a large tensor have the bits of slices by themselves."""
    x = torch.randn(shape, device="cuda", dtype=torch.bfloat16).contiguous(memory_format=laid).requires_grad_()
    assert x.numel() > 2**31
    pool = getattr(poolgrad.torch, name)
    y = pool(x, 3, stride, 1)
    (grad,) = torch.autograd.grad(y, x, y.detach())
    for k in (0, 17, shape[0] - 1):
        leaf = x.detach()[k : k + 1].clone(memory_format=laid).requires_grad_()
        alone = pool(leaf, 3, stride, 1)
        (grad_alone,) = torch.autograd.grad(alone, leaf, alone.detach())
        assert torch.equal(alone[0], y[k])
        assert torch.equal(grad_alone[0], grad[k])


@pytest.mark.parametrize("name", ["max_pool3d", "avg_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool3d"])
def test_volumes_of_more_than_two_to_the_31_elements(name: str) -> None:
    """One volume alone is so large; the far end of it has the bits of that end by itself."""
    x = torch.randn(1, 1, 1160, 1536, 1536, device="cuda", dtype=torch.bfloat16).requires_grad_()
    assert x.numel() > 2**31
    pool, is_adaptive = getattr(poolgrad.torch, name), "adaptive" in name
    y = pool(x, (580, 512, 500) if is_adaptive else 2)
    (grad,) = torch.autograd.grad(y, x, y.detach())
    leaf = x.detach()[:, :, -2:].clone().requires_grad_()
    alone = pool(leaf, (1, 512, 500) if is_adaptive else 2)
    (grad_alone,) = torch.autograd.grad(alone, leaf, alone.detach())
    assert torch.equal(alone[:, :, 0], y[:, :, -1])
    assert torch.equal(grad_alone, grad[:, :, -2:])


def test_cupy() -> None:
    cupy = pytest.importorskip("cupy")
    numpy = pytest.importorskip("numpy")
    host = numpy.random.default_rng(1).standard_normal((2, 9, 8, 3)).astype("float32")
    x = cupy.asarray(host)
    y, argmax = poolgrad.max_pool(x, 3, 2, "same", return_argmax=True)
    expected = poolgrad.max_pool(host, 3, 2, "same", return_argmax=True)
    assert isinstance(y, cupy.ndarray)
    numpy.testing.assert_array_equal(y.get(), expected[0])
    numpy.testing.assert_array_equal(argmax.get(), expected[1])
    grad = poolgrad.max_pool_grad(y, x, 3, 2, "same")
    numpy.testing.assert_array_equal(grad.get(), poolgrad.max_pool_grad(expected[0], host, 3, 2, "same"))
    window = {"ksize": [1, 3, 3, 1], "strides": [1, 2, 2, 1], "padding": "SAME"}
    shared = raw_ops.AvgPoolGrad(orig_input_shape=host.shape, grad=y, **window)
    numpy.testing.assert_array_equal(
        shared.get(), raw_ops.AvgPoolGrad(orig_input_shape=host.shape, grad=expected[0], **window)
    )
    out = cupy.zeros_like(x)
    assert poolgrad.avg_pool_grad(y, host.shape, 3, 2, "same", out=out) is out
    numpy.testing.assert_array_equal(out.get(), shared.get())
    reversed_x, reversed_host = x[:, ::-1], host[:, ::-1]
    numpy.testing.assert_array_equal(poolgrad.avg_pool(reversed_x, 2).get(), poolgrad.avg_pool(reversed_host, 2))
    with pytest.raises(TypeError, match="of one library"):
        poolgrad.max_pool_grad(y, host, 3, 2, "same")
