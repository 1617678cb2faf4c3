"""Functions, modules and raw_ops on CUDA tensors: the CPU's bits, every derivative, clear refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.library import opcheck

import poolgrad
import poolgrad.torch
from poolgrad import raw_ops
from poolgrad.forms import Rule, numbers_of
from poolgrad.torch._eager import is_plain
from poolgrad.windows import torch_axis
from tests.frontends.torch_cases import ADAPTIVE, AVERAGES, CASES, FEW, MAXIMA, Case, check_gradients_of_padded_averages
from tests.unit.good_calls import PLAIN, RAW

pytestmark = pytest.mark.gpu
DTYPES = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def results(case: Case, x: Tensor) -> list[Tensor]:
    """The value and the gradient, on the host."""
    leaf = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
    y = case.ours(leaf)
    (grad,) = torch.autograd.grad(y, leaf, torch.linspace(-1, 2, y.numel()).to(y).reshape(y.shape))
    assert y.device == grad.device == x.device
    assert grad.stride() == x.stride()
    return [y.detach().cpu(), grad.cpu()]


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("case", CASES)
def test_the_cpus_bits(case: Case, order: str) -> None:
    for dtype in DTYPES:
        x = case.input(dtype, order=order)
        for here, there in zip(results(case, x), results(case, x.cuda()), strict=True):
            assert torch.equal(here, there)
            assert here.stride() == there.stride()


@pytest.mark.parametrize("case", MAXIMA + [case for case in ADAPTIVE if "max" in case.values[0].name])
def test_indices(case: Case) -> None:
    x = case.input()
    indexed = Case(case.name, case.sizes, {**case.arguments, "return_indices": True})
    (y, index), (there, index_there) = indexed.ours(x), indexed.ours(x.cuda())
    assert torch.equal(there.cpu(), y)
    assert torch.equal(index_there.cpu(), index)


UNPOOLED = [
    pytest.param(1, (13,), id="line"),
    pytest.param(2, (7, 9), id="plane"),
    pytest.param(3, (5, 6, 7), id="volume"),
]


@pytest.mark.parametrize("window", [2, 3])
@pytest.mark.parametrize(("spatial", "sizes"), UNPOOLED)
def test_unpooling(spatial: int, sizes: tuple[int, ...], window: int) -> None:
    """Windows of three cells that go on by two name some places more than once: the last value stays."""
    spatial = len(sizes)
    x = torch.randn(2, 3, *sizes, generator=torch.Generator().manual_seed(1))
    y, index = getattr(poolgrad.torch, f"max_pool{spatial}d")(x, window, 2, return_indices=True)
    found = []
    for device in ("cpu", "cuda"):
        leaf = y.to(device, copy=True).requires_grad_()
        unpool = getattr(poolgrad.torch, f"max_unpool{spatial}d")
        back = unpool(leaf, index.to(device), window, 2, output_size=sizes)
        (back * torch.arange(float(back.numel()), device=device).reshape(back.shape)).sum().backward()
        found.append([back.detach().cpu(), leaf.grad.cpu()])
    for here, there in zip(*found, strict=True):
        assert torch.equal(here, there)


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("case", [*FEW, AVERAGES[5], MAXIMA[5]])
def test_launches_are_repeated(case: Case, order: str) -> None:
    """Kernels that a call has launched before are launched again, on other tensors, wherever these lie."""
    for number in range(4):
        x = case.input(torch.float32, order=order) * (number + 1)
        there = x.cuda()
        if number == 2:  # not where PyTorch's own memory begins
            there = torch.empty(x.numel() + 1, device="cuda")[1:].as_strided(x.shape, x.stride()).copy_(x)
            assert there.data_ptr() % 16
        for ours, theirs in zip(results(case, x), results(case, there), strict=True):
            assert torch.equal(ours, theirs)


def test_calls_need_no_operator() -> None:
    """Plain tensors of a GPU go straight to the kernels, as those of the CPU do."""
    x = torch.zeros(1, 1, 4, 4, device="cuda")
    assert is_plain(x)
    assert is_plain(x.requires_grad_())
    with torch.inference_mode():
        assert is_plain(torch.zeros(1, device="cuda"))


def to(device: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {k: torch.from_numpy(v.copy()).to(device) if isinstance(v, np.ndarray) else v for k, v in arguments.items()}


def arrays(result: Any) -> list[Any]:
    if isinstance(result, tuple):
        return [array for one in result for array in arrays(one)]
    return [result.cpu().numpy() if isinstance(result, Tensor) else result]


@pytest.mark.parametrize("name", sorted({*RAW, *PLAIN} - {"pooling_sequence"}))
def test_raw_ops_and_plain_functions(name: str) -> None:
    function = getattr(raw_ops if name in RAW else poolgrad, name)
    arguments = {**RAW, **PLAIN}[name]
    expected, found = function(**arguments), function(**to("cuda", arguments))
    first = found[0] if isinstance(found, tuple) else found
    assert first.is_cuda
    for ours, theirs in zip(arrays(found), arrays(expected), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("name", ["avg_pool", "max_pool", "max_pool_grad", "avg_pool_grad"])
def test_out(name: str) -> None:
    arguments = to("cuda", PLAIN[name])
    expected = getattr(poolgrad, name)(**arguments)
    out = torch.full_like(expected, 7)
    assert getattr(poolgrad, name)(**arguments, out=out) is out
    assert torch.equal(out, expected)


@pytest.mark.parametrize("case", FEW)
def test_derivatives(case: Case) -> None:
    x = case.input(batch=1)[:, :1].cuda().requires_grad_()
    assert torch.autograd.gradcheck(case.ours, x, fast_mode=True, check_forward_ad=True, check_batched_grad=True)
    assert torch.autograd.gradgradcheck(case.ours, x, fast_mode=True)
    hessian = torch.func.hessian(lambda x: (case.ours(x) ** 3).sum())(x.detach())
    here = torch.func.hessian(lambda x: (case.ours(x) ** 3).sum())(x.detach().cpu())
    torch.testing.assert_close(hessian.cpu(), here)
    several = torch.stack([x, -x]).detach()
    assert torch.equal(torch.func.vmap(case.ours)(several)[1], case.ours(-x))


def test_operators() -> None:
    form = numbers_of((torch_axis(5, 3, 2, (1, 1), counts_padding=True), torch_axis(6, 2, 2, (0, 0))))
    x = torch.randn(2, 3, 5, 6, dtype=torch.float64, device="cuda")
    order = [0, 2, 3, 1]
    offset = Rule("first_nan", "offset", "uint8").text()
    y, offsets = torch.ops.poolgrad.maximum(x, *form, offset, order)
    for name, arguments in (
        ("mean", (x, *form, Rule().text(), order)),
        ("spread", (y, *form, Rule().text(), order)),
        ("maximum", (x, *form, offset, order)),
        ("pick", (x, None, None, offsets, *form, Rule("offset", "offset", "uint8").text(), order)),
        ("route", (y, None, None, offsets, *form, Rule("offset", "offset", "uint8").text(), order)),
    ):
        data = arguments[0].clone().requires_grad_()
        opcheck(getattr(torch.ops.poolgrad, name).default, (data, *arguments[1:]))


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("spatial", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_gradients_of_padded_averages_channels_last(spatial: int, counts: bool, dtype: torch.dtype) -> None:
    x = torch.randn(2, 20, *[7] * spatial, dtype=dtype, device="cuda")
    check_gradients_of_padded_averages(x, counts, rtol=2 * torch.finfo(dtype).eps, atol=1e-6)


@pytest.mark.parametrize("name", ["avg_pool2d", "max_pool3d", "adaptive_avg_pool3d", "adaptive_max_pool2d"])
def test_odd_tensors(name: str) -> None:
    """No elements, and slices that have to be copied first."""
    spatial = int(name[-2])
    argument = {"output_size": 2} if "adaptive" in name else {"kernel_size": 2}
    pool = getattr(poolgrad.torch, name)
    assert pool(torch.zeros(0, 3, *[4] * spatial, device="cuda"), **argument).shape == (0, 3, *[2] * spatial)
    x = torch.randn(4, 6, *[8] * spatial)
    cut, cut_there = x[::2, 1::2, ..., ::2].transpose(-1, -2), x.cuda()[::2, 1::2, ..., ::2].transpose(-1, -2)
    assert torch.equal(pool(cut_there, **argument).cpu(), pool(cut, **argument))


def test_refusals() -> None:
    x = torch.arange(16, device="cuda").reshape(1, 4, 4)
    with pytest.raises(poolgrad.UnsupportedError, match="on a GPU the dtype must be float16"):
        poolgrad.torch.max_pool2d(x, 2)
    y = x.float()
    index = torch.full((1, 2, 2), 16, device="cuda")
    with pytest.raises(poolgrad.InvalidArgumentError, match="indices"):
        poolgrad.torch.max_unpool2d(y[:, :2, :2], index, 2)
    with pytest.raises(poolgrad.InvalidArgumentError, match="device"):
        poolgrad.torch.max_unpool2d(y[:, :2, :2], index.cpu(), 2)
    with pytest.raises(poolgrad.InvalidArgumentError, match="on the device of"):
        poolgrad.max_pool_grad(torch.ones(1, 2, 2, 1), torch.ones(1, 4, 4, 1, device="cuda"), 2)


@pytest.mark.parametrize("sequence", ["torch", "tensorflow"])
def test_fractional(sequence: str) -> None:
    x = torch.randn(2, 3, 11, 12)
    samples = torch.rand(2, 3, 2)
    found = []
    for here in (x, x.cuda()):
        leaf = here.clone().requires_grad_()
        torch.manual_seed(3)
        y, index = poolgrad.torch.fractional_max_pool2d(
            leaf, 2, 5, return_indices=True, _random_samples=samples.to(here.device), sequence=sequence
        )
        torch.manual_seed(4)
        mean = poolgrad.torch.fractional_avg_pool2d(leaf, 5, overlapping=True)
        (y + mean).pow(2).sum().backward()
        found.append([one.detach().cpu() for one in (y, index, mean, leaf.grad)])
    for ours, theirs in zip(*found, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@pytest.mark.parametrize("order", ["first", "last", "swapped"])
@pytest.mark.parametrize("spatial", [2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_drawn_windows(dtype: torch.dtype, spatial: int, order: str) -> None:
    """Maxima of windows that samples say, drawn ones too, again and again: the CPU's bits, gradients included."""
    pool = getattr(poolgrad.torch, f"fractional_max_pool{spatial}d")
    for number in range(3):
        x = torch.randn(2, 3, *(9, 8, 7)[:spatial], generator=torch.Generator().manual_seed(number)).to(dtype)
        if order != "first":
            axes = (0, *range(2, 2 + spatial), 1) if order == "last" else (1, 0, *range(2, 2 + spatial))
            x = x.permute(axes).contiguous().permute([axes.index(axis) for axis in range(2 + spatial)])
        for data in (x, x[1]):
            there = data.cuda()
            torch.manual_seed(number)
            drawn = torch.rand((*there.shape[:-spatial], spatial), dtype=dtype, device="cuda").view(-1, 3, spatial)
            found = []
            for here, samples in ((data, drawn.cpu()), (there, drawn), (there, None)):
                leaf = here.detach().clone(memory_format=torch.preserve_format).requires_grad_()
                torch.manual_seed(number)
                y, index = pool(leaf, 2, (5, 4, 4)[:spatial], return_indices=True, _random_samples=samples)
                weight = torch.linspace(-1, 2, y.numel()).to(y).reshape(y.shape)
                (grad,) = torch.autograd.grad(y, leaf, weight, create_graph=True)
                assert grad.stride() == leaf.stride()
                torch.manual_seed(number)
                with torch.no_grad():
                    assert torch.equal(pool(leaf, 2, (5, 4, 4)[:spatial], _random_samples=samples), y)
                found.append([one.detach().cpu() for one in (y, index, grad)])
            for result in found[1:]:
                for ours, theirs in zip(result, found[0], strict=True):
                    assert torch.equal(ours, theirs)


def test_drawn_windows_of_odd_tensors() -> None:
    assert poolgrad.torch.fractional_max_pool2d(torch.ones(0, 3, 6, 6, device="cuda"), 2, 3).shape == (0, 3, 3, 3)
    x = torch.randn(2, 3, 9, 8, device="cuda")
    samples = torch.full((2, 3, 2), 1e8 + 24, device="cuda")
    with pytest.raises(poolgrad.InvalidArgumentError, match=r"_random_samples must be numbers of \[0, 1\)"):
        poolgrad.torch.fractional_max_pool2d(x, 2, (6, 3), _random_samples=samples)
    with pytest.raises(poolgrad.InvalidArgumentError, match=r"_random_samples must have shape \[2, 3, 2\]"):
        poolgrad.torch.fractional_max_pool2d(x, 2, (6, 3), _random_samples=samples[:1])
    long = torch.randn(1, 1, 262, 4, device="cuda", dtype=torch.bfloat16)  # where rounding may lead out of the axis
    for _ in range(3):
        y, index = poolgrad.torch.fractional_max_pool2d(long, (3, 1), (100, 2), return_indices=True)
        assert torch.equal(long.flatten().gather(0, index.flatten()), y.flatten())


@pytest.mark.filterwarnings("ignore:Synchronization debug mode is a prototype")
def test_drawn_windows_without_a_wait() -> None:
    """Neither drawn windows nor their gradient wait for the device."""
    x = torch.randn(2, 3, 9, 8, device="cuda", requires_grad=True)

    def call() -> list[Tensor]:
        y, index = poolgrad.torch.fractional_max_pool2d(x, 2, (6, 3), return_indices=True)
        return [index, *torch.autograd.grad(y.sum(), x)]

    call()
    before = torch.cuda.get_sync_debug_mode()
    torch.cuda.set_sync_debug_mode("error")
    try:
        with pytest.raises(RuntimeError, match="synchronizing"):
            x.sum().item()
        index, grad = call()
    finally:
        torch.cuda.set_sync_debug_mode(before)
    assert torch.equal(
        grad.flatten(2), torch.zeros_like(grad).flatten(2).scatter_add(2, index.flatten(2), grad.new_ones(2, 3, 18))
    )


def test_unpooling_again_and_again() -> None:
    """Indices that are apart, that meet and that are beyond the plane take turns."""
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(2, 3, 4, 4, generator=generator)
    apart = torch.stack([torch.randperm(64, generator=generator)[:16] for _ in range(6)]).view(2, 3, 4, 4)
    meeting, beyond = apart.clone(), apart.clone()
    meeting[1, 2, 3, 3], beyond[1, 0, 2, 1] = meeting[1, 2, 0, 0], 64
    for index in (apart, apart, meeting, beyond, apart, meeting, beyond.neg()):
        for memory_format in (torch.contiguous_format, torch.channels_last):
            found = []
            if index.max() == 64 or index.min() < 0:
                with pytest.raises(poolgrad.InvalidArgumentError, match="indices"):
                    poolgrad.torch.max_unpool2d(x.cuda(), index.cuda(), 2)
                continue
            for device in ("cpu", "cuda"):
                leaf = x.to(device, memory_format=memory_format, copy=True).requires_grad_()
                y = poolgrad.torch.max_unpool2d(leaf, index.to(device), 2)
                weight = torch.linspace(-1, 2, y.numel(), device=device).reshape(y.shape)
                found.append([y.detach().cpu(), torch.autograd.grad(y, leaf, weight)[0].cpu()])
            for here, there in zip(*found, strict=True):
                assert torch.equal(here, there)


@pytest.mark.parametrize("case", [AVERAGES[7], MAXIMA[6]])
def test_streams(case: Case) -> None:
    """Kernels run on the stream that is current, and a graph can hold them."""
    x = case.input(torch.float32).cuda()
    expected = case.ours(x)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        there = case.ours(x * 2)
    torch.cuda.current_stream().wait_stream(stream)
    assert torch.equal(there, case.ours(x * 2))
    graph, source = torch.cuda.CUDAGraph(), torch.zeros_like(x)
    with torch.cuda.graph(graph):
        result = case.ours(source)
    source.copy_(x)
    graph.replay()
    assert torch.equal(result, expected)
