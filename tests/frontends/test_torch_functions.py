"""Functions against PyTorch's own: values, gradients, indices, memory formats, dtypes, odd data."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional

import poolgrad
import poolgrad.torch
from benchmarks import small
from benchmarks.results import OURS
from poolgrad.torch import _fractional

from .torch_cases import ADAPTIVE, AVERAGES, CASES, MAXIMA, Case

FORMATS = [
    pytest.param(b, o, id=f"{'single' if b is None else 'batch'}-{o}") for b in (2, None) for o in ("first", "last")
]


def both(case: Case, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Results and gradients of both."""
    found = []
    for function in (case.ours, case.theirs):
        leaf = x.detach().clone(memory_format=torch.preserve_format).requires_grad_()
        y = function(leaf)
        weights = torch.linspace(-1, 2, y.numel(), dtype=y.dtype).reshape(y.shape)
        (grad,) = torch.autograd.grad(y, leaf, weights)
        found += [y.detach(), grad]
    return found[0], found[2], found[1], found[3]


@pytest.mark.parametrize(("batch", "order"), FORMATS)
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients(case: Case, batch: int | None, order: str) -> None:
    x = case.input(batch=batch, order=order)
    ours, theirs, grad, their_grad = both(case, x)
    torch.testing.assert_close(ours, theirs, rtol=1e-14, atol=1e-15)
    torch.testing.assert_close(grad, their_grad, rtol=1e-13, atol=1e-15)
    assert grad.stride() == x.stride()
    if order == "last" and ours[..., 0].numel() > 1:
        spatial = len(case.sizes)
        assert ours.movedim(-spatial - 1, -1).is_contiguous()


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("case", MAXIMA + [case for case in ADAPTIVE if "max" in case.values[0].name])
def test_indices(case: Case, order: str) -> None:
    x = case.input(order=order).requires_grad_()
    indexed = Case(case.name, case.sizes, {**case.arguments, "return_indices": True})
    y, index = indexed.ours(x)
    expected, expected_index = indexed.theirs(x)
    assert torch.equal(y, expected)
    assert torch.equal(index, expected_index)
    ours, theirs = (torch.autograd.grad(out, x, torch.ones_like(out))[0] for out in (y, expected))
    assert torch.equal(ours, theirs)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=str)
@pytest.mark.parametrize("case", [AVERAGES[7], AVERAGES[8], MAXIMA[6], ADAPTIVE[4], ADAPTIVE[5]])
def test_dtypes(case: Case, dtype: torch.dtype) -> None:
    """Averages are as close to the exact value as PyTorch's, maxima equal."""
    x = case.input(dtype)
    exact = case.theirs(x.double())
    ours = case.ours(x)
    assert ours.dtype == dtype
    if "max" in case.name:
        assert torch.equal(ours.double(), exact)
    else:
        torch.testing.assert_close(ours.double(), exact, rtol=torch.finfo(dtype).eps, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64], ids=str)
def test_integers_have_maxima(dtype: torch.dtype) -> None:
    x = torch.arange(2 * 6 * 7, dtype=dtype).reshape(1, 2, 6, 7)
    assert torch.equal(poolgrad.torch.max_pool2d(x, 3, 2, 1).long(), functional.max_pool2d(x.double(), 3, 2, 1).long())


def test_padding_counts_exactly() -> None:
    """Thirds of a padded average are rounded once: the sum is not first divided by the cells and then scaled."""
    x = torch.tensor([[1.0, 1.0, 1.0, 1.0]], dtype=torch.float32)
    y = poolgrad.torch.avg_pool1d(x, 3, 1, 1)
    assert y.tolist() == [[torch.tensor(2 / 3).item(), 1.0, 1.0, torch.tensor(2 / 3).item()]]


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize(("window", "stride"), [(2, 1), (3, 2), (2, 3)])
def test_same_padding_is_tensorflows(spatial: int, window: int, stride: int) -> None:
    x = torch.randn(2, 3, *range(6, 6 + spatial), generator=torch.Generator().manual_seed(2))
    for name in ("avg", "max"):
        ours = getattr(poolgrad.torch, f"{name}_pool{spatial}d")(x, window, stride, "same")
        expected = getattr(poolgrad, f"{name}_pool")(x.numpy(), window, stride, "same", layout="channels_first")
        assert torch.equal(ours, torch.from_numpy(expected))


def test_pairs_of_padding() -> None:
    x = torch.randn(1, 2, 6, 7, generator=torch.Generator().manual_seed(2))
    pads = [(1, 0), (0, 2)]
    ours = poolgrad.torch.max_pool2d(x, 3, 2, pads)
    assert torch.equal(ours, functional.max_pool2d(functional.pad(x, (0, 2, 1, 0), value=-torch.inf), 3, 2))
    ours = poolgrad.torch.avg_pool2d(x, 3, 2, pads)
    torch.testing.assert_close(ours, functional.avg_pool2d(functional.pad(x, (0, 2, 1, 0)), 3, 2))


@pytest.mark.parametrize("special", [torch.nan, -torch.inf, torch.inf])
def test_special_values(special: float) -> None:
    x = torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(3))
    x[0, 0, ::3, ::2] = special
    for function in ("max_pool2d", "avg_pool2d"):
        ours, theirs = (getattr(library, function)(x, 2) for library in (poolgrad.torch, functional))
        torch.testing.assert_close(ours, theirs, equal_nan=True)


def test_ties_go_to_the_first() -> None:
    x = torch.ones(1, 1, 4, 4, requires_grad=True)
    _, index = poolgrad.torch.max_pool2d(x, 2, return_indices=True)
    assert torch.equal(index, functional.max_pool2d(x, 2, return_indices=True)[1])


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 2, 3, 1), (1, 0, 2, 3), (1, 2, 3, 0), (2, 3, 0, 1), (0, 1, 3, 2)])
def test_orders_in_memory(order: tuple[int, ...]) -> None:
    """Dense orders with the spatial axes together are kept; others are copied."""
    x = torch.randn(2, 3, 6, 7, generator=torch.Generator().manual_seed(2))
    inverse = [order.index(axis) for axis in range(4)]
    laid = x.permute(order).contiguous().permute(inverse)
    y = poolgrad.torch.max_pool2d(laid, 2)
    assert torch.equal(y, functional.max_pool2d(x, 2))
    if order != (0, 1, 3, 2):
        assert y.permute(order).is_contiguous()


def test_views_and_broadcasts() -> None:
    x = torch.randn(4, 6, 12, 14, generator=torch.Generator().manual_seed(2))
    for view in (x[::2, 1::2, ::2, 1:], x[:1].expand(3, -1, -1, -1), x.flip(-1), x.transpose(-1, -2)):
        assert torch.equal(poolgrad.torch.max_pool2d(view, 2), functional.max_pool2d(view, 2))
    leaf = x.clone().requires_grad_()
    poolgrad.torch.avg_pool2d(leaf, 2).sum().backward()  # a gradient without strides
    assert torch.equal(leaf.grad, torch.full_like(x, 0.25))


def test_negative_views() -> None:
    z = torch.view_as_complex(torch.randn(1, 1, 4, 4, 2)).conj().imag
    assert z.is_neg()
    assert torch.equal(poolgrad.torch.max_pool2d(z, 2), functional.max_pool2d(z.resolve_neg(), 2))


def test_large_results() -> None:
    x = torch.randn(2, 8, 300, 300, generator=torch.Generator().manual_seed(2))
    leaf = x.clone().requires_grad_()
    y = poolgrad.torch.max_pool2d(leaf, 2, 1)
    y.sum().backward()
    assert torch.equal(y, functional.max_pool2d(x, 2, 1))
    assert leaf.grad is not None
    assert leaf.grad.sum().item() == y.numel()


def test_the_number_of_threads_does_not_matter() -> None:
    x = torch.randn(2, 8, 64, 64, generator=torch.Generator().manual_seed(2))
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            leaf = x.clone().requires_grad_()
            y = poolgrad.torch.avg_pool2d(poolgrad.torch.max_pool2d(leaf, 3, 1, 1), 5, 1, 2)
            y.pow(2).sum().backward()
            found.append((y, leaf.grad))
    finally:
        torch.set_num_threads(threads)
    for y, grad in found[1:]:
        assert torch.equal(y, found[0][0])
        assert torch.equal(grad, found[0][1])


def test_empty_batches() -> None:
    x = torch.randn(0, 3, 4, 4, requires_grad=True)
    for y in (poolgrad.torch.max_pool2d(x, 2), poolgrad.torch.avg_pool2d(x, 2)):
        assert y.shape == (0, 3, 2, 2)
        y.sum().backward()
    assert x.grad is not None
    assert x.grad.shape == x.shape


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize(("window", "stride"), [(2, 2), (3, 1)])
def test_unpooling(spatial: int, window: int, stride: int) -> None:
    x = torch.randn(2, 3, *[7] * spatial, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    y, index = getattr(functional, f"max_pool{spatial}d")(x, window, stride, return_indices=True)
    unpool = getattr(poolgrad.torch, f"max_unpool{spatial}d")
    ours = unpool(y, index, window, stride, output_size=x.shape)
    theirs = getattr(functional, f"max_unpool{spatial}d")(y, index, window, stride, output_size=x.shape)
    assert torch.equal(ours, theirs)
    assert torch.autograd.gradcheck(lambda v: unpool(v, index, window, stride, 0, x.shape), y.requires_grad_())


def test_the_last_of_several_stays() -> None:
    values = torch.tensor([[[1.0, 2.0, 3.0]]])
    index = torch.tensor([[[4, 4, 0]]])
    assert poolgrad.torch.max_unpool1d(values, index, 2).tolist() == [[[3.0, 0.0, 0.0, 0.0, 2.0, 0.0]]]


@pytest.mark.parametrize("spatial", [2, 3])
@pytest.mark.parametrize("outputs", [1, 4, 5, 7])
def test_fractional_windows_of_pytorch(spatial: int, outputs: int) -> None:
    x = torch.randn(2, 3, *[9] * spatial, generator=torch.Generator().manual_seed(4))
    samples = torch.rand(2, 3, spatial, generator=torch.Generator().manual_seed(5))
    name = f"fractional_max_pool{spatial}d"
    found = []
    for library in (poolgrad.torch, functional):
        leaf = x.clone().requires_grad_()
        y, index = getattr(library, name)(leaf, 2, outputs, return_indices=True, _random_samples=samples)
        y.sum().backward()
        found.append((y, index, leaf.grad))
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs)


def _in_order(x: Tensor, order: str) -> Tensor:
    """The same values in memory of another order."""
    if order == "last":
        return x.movedim(1, -1).contiguous().movedim(-1, 1)
    if order == "swapped":
        return x.transpose(0, 1).contiguous().transpose(0, 1)
    return x.repeat_interleave(2, -1)[..., ::2] if order == "sparse" else x


@pytest.mark.parametrize("order", ["first", "last", "swapped", "sparse"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("outputs", [(2, 2), (1, 4), (5, 3), (2, 2, 2), (3, 1, 4)])
def test_fractional_windows_drawn_as_pytorch_draws_them(
    outputs: tuple[int, ...], dtype: torch.dtype, order: str
) -> None:
    """Each plane has windows of its own, and a NaN wins."""
    sizes = (9, 7, 8)[: len(outputs)]
    x = torch.randn(3, 5, *sizes, generator=torch.Generator().manual_seed(4)).to(dtype)
    x.view(-1)[::17] = torch.nan
    x = _in_order(x, order)
    name = f"fractional_max_pool{len(outputs)}d"
    for data in (x, x[1]):
        found = []
        for library in (poolgrad.torch, functional):
            torch.manual_seed(9)
            leaf = data.detach().requires_grad_()
            y, index = getattr(library, name)(leaf, 2, outputs, return_indices=True)
            (grad,) = torch.autograd.grad(y.sum(), leaf)
            found.append((y, index, grad))
        (y, index, grad), (theirs, others, other_grad) = found
        assert torch.equal(y.isnan(), theirs.isnan())
        assert torch.equal(y.nan_to_num(), theirs.nan_to_num())
        single = ~y.isnan()  # of two NaN the first one is named here, the last one there
        assert torch.equal(index[single], others[single])
        cells = data.flatten(-len(sizes)).gather(-1, index.flatten(-len(sizes)))
        assert torch.equal(cells.isnan(), y.isnan().flatten(-len(sizes)))
        assert grad.sum() == other_grad.sum() == y.numel()


def test_fractional_windows_of_an_empty_batch() -> None:
    x = torch.ones(0, 3, 6, 6)
    assert poolgrad.torch.fractional_max_pool2d(x, 2, 3).shape == (0, 3, 3, 3)


@pytest.mark.parametrize("order", ["first", "last", "swapped", "sparse"])
@pytest.mark.parametrize("index_order", ["first", "last", "sparse"])
def test_unpooling_in_any_order(order: str, index_order: str) -> None:
    """Planes in which places meet and planes in which they do not."""
    generator = torch.Generator().manual_seed(6)
    x = torch.randn(3, 5, 4, 4, generator=generator)
    apart = torch.stack([torch.randperm(64, generator=generator)[:16] for _ in range(15)]).view(3, 5, 4, 4)
    meeting = apart.clone()
    meeting[2, 4, 3, 3] = meeting[2, 4, 0, 0]
    expected = torch.zeros(3, 5, 64).scatter_(-1, apart.flatten(-2), x.flatten(-2)).view(3, 5, 8, 8)
    for index in (apart, meeting):
        y = poolgrad.torch.max_unpool2d(_in_order(x, order), _in_order(index, index_order), 2)
        assert torch.equal(y[:2], expected[:2])
        assert y[2, 4].flatten()[index[2, 4, 3, 3]] == x[2, 4, 3, 3]
        assert (y != 0).sum() == 240 - (index is meeting)


@pytest.mark.parametrize("name", ["max_unpool2d", "fractional_max_pool2d", "max_pool2d"])
def test_arguments_that_no_key_can_hold(name: str) -> None:
    x = torch.randn(1, 2, 6, 6)
    more = {"max_unpool2d": (torch.arange(72).view_as(x) % 36,), "fractional_max_pool2d": ()}.get(name, ())
    function = getattr(poolgrad.torch, name)
    with pytest.raises(TypeError, match=f"{name}: kernel_size must be an integer"):
        function(x, *more, {2: 2}, **({"output_size": 2} if name.startswith("frac") else {}))


def test_small_calls_of_every_function_are_measured() -> None:
    functions = {name for name in poolgrad.torch.__all__ if name[0].islower()} - {"replace_pooling"}
    assert {call.function for call in small.calls()} == functions
    for row in small.rows(["fractional_max_pool2d 2*/NCHW", "max_unpool2d", "fractional_avg"]):
        made = {name: contestant() for name, contestant in row.contestants("cpu").items()}
        assert set(made) == ({OURS} if "avg" in row.name or "tensorflow" in row.name else {OURS, small.PEER})


def test_fractional_sequences_of_tensorflow() -> None:
    x = torch.randn(2, 3, 9, 10, dtype=torch.float64, generator=torch.Generator().manual_seed(4)).requires_grad_()

    def drawn(function: Any, *arguments: Any, **named: Any) -> Tensor:
        torch.manual_seed(7)
        return function(x, *arguments, **named)

    for named in ({"overlapping": False}, {"overlapping": True}):
        y = drawn(poolgrad.torch.fractional_avg_pool2d, (5, 6), **named)
        assert torch.equal(y, drawn(poolgrad.torch.fractional_avg_pool2d, (5, 6), **named))
        z = drawn(poolgrad.torch.fractional_max_pool2d, 2, (5, 6), sequence="tensorflow", **named)
        assert (z >= y).all()
        assert torch.autograd.grad(z.sum(), x)[0].sum() == z.numel()


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: poolgrad.torch.max_pool2d(torch.ones(2, 3), 2), "input must have 3 axes"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(2, 0, 4, 4), 2), "input must have 3 axes"),
        (lambda: poolgrad.torch.max_pool2d([1.0], 2), "input must be a tensor"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 4, 4), 2.5), "kernel_size must be an integer"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 4, 4), (2, 2, 2)), "kernel_size must be one integer or 2"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 4, 4), 5), "kernel_size must fit into the input"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 4, 4), 2, 0), "stride must be at least 1"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 4, 4), 2, 2, 2), "padding must be at most half"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 4, 4), 2, 2, "full"), "padding must be numbers, 'same'"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 4, 4), 2, 2, [(0, 2), (0, 0)]), "padding must be smaller"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 1, 1), 2, 1, 1, 2), "every window must hold a cell"),
        (lambda: poolgrad.torch.max_pool2d(torch.ones(1, 4, 4, dtype=torch.complex64), 2), "one of the dtypes"),
        (lambda: poolgrad.torch.avg_pool2d(torch.ones(1, 4, 4).int(), 2), "input must have a float dtype"),
        (lambda: poolgrad.torch.avg_pool2d(torch.ones(1, 4, 4), 2, divisor_override=0), "divisor_override must not be"),
        (lambda: poolgrad.torch.adaptive_avg_pool2d(torch.ones(1, 4, 4), (1, 2, 3)), "output_size must be one number"),
        (
            lambda: poolgrad.torch.max_unpool1d(torch.ones(1, 1), torch.tensor([[9]]), 2),
            "indices must have entries from 0 to 1",
        ),
        (lambda: poolgrad.torch.fractional_max_pool2d(torch.ones(1, 4, 4), 2), "output_size or output_ratio must"),
        (lambda: poolgrad.torch.fractional_max_pool2d(torch.ones(1, 4, 4), 3, 3), "output_size must leave room"),
        (lambda: poolgrad.torch.fractional_max_pool2d(torch.ones(1, 4, 4).cfloat(), 2, 2), "one of the dtypes"),
    ],
)
def test_wrong_arguments(call: Any, text: str) -> None:
    with pytest.raises((poolgrad.InvalidArgumentError, poolgrad.UnsupportedError, TypeError), match=text) as caught:
        call()
    assert "pool" in str(caught.value).partition(":")[0] or "dtypes" in text


@pytest.mark.parametrize(
    ("dtype", "lines"),
    [
        (torch.float16, [(600, 2, 256), (600, 2, 257), (301, 3, 280), (3000, 5, 2050)]),
        (torch.bfloat16, [(40, 2, 32), (65, 2, 33), (262, 3, 136), (269, 1, 200), (300, 1, 300)]),
    ],
)
def test_windows_of_every_sample(dtype: torch.dtype, lines: list[tuple[int, int, int]]) -> None:
    """What is known of a line beforehand is true of all samples and steps."""
    every = torch.arange(int(torch.ones(1, dtype=dtype).view(torch.int16)), dtype=torch.int16).view(dtype)
    lines += [(size, window, outputs) for size in range(2, 40, 3) for window in (1, 2) for outputs in range(1, size, 4)]
    found = set()
    for size, window, outputs in lines:
        starts = _fractional._starts(every, size, window, outputs)
        assert starts.min() >= 0
        fits = bool(starts.max() <= size - window)
        assert _fractional._always_fits(dtype, size, window, outputs) == fits
        found.add(fits)
    assert found == ({True, False} if dtype == torch.bfloat16 else {True})


def test_steps_of_short_samples_are_rounded() -> None:
    for dtype in (torch.bfloat16, torch.float16):
        sample = torch.zeros(1, dtype=dtype)
        starts = _fractional._starts(sample, 9002, 2, 9001)[0]
        assert torch.equal(starts[:-20], torch.arange(8981).to(dtype).long())
