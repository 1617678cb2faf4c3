"""Calls that were made before are repeated by the core alone; none is taken for another, and watchers see them all."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

import poolgrad
import poolgrad.torch
from poolgrad.kernels import cpu
from poolgrad.torch._eager import kept

PLACES = torch.tensor([[[[0, 3], [8, 11]]]])
CALLS: dict[str, Callable[[Tensor], Any]] = {
    "avg": lambda x: poolgrad.torch.avg_pool2d(x, 2),
    "max": lambda x: poolgrad.torch.max_pool2d(x, 3, 2, 1),
    "indices": lambda x: poolgrad.torch.max_pool2d(x, 2, return_indices=True)[0],
    "adaptive": lambda x: poolgrad.torch.adaptive_max_pool2d(x, (3, None)),
    "volumes": lambda x: poolgrad.torch.avg_pool3d(x.view(1, 4, 2, 2), (2, 2, 2), divisor_override=3),
    "unpool": lambda x: poolgrad.torch.max_unpool2d(x[..., :2, :2], PLACES, 2),
    "fractional": lambda x: _seeded(lambda: poolgrad.torch.fractional_max_pool2d(x, 2, 2)),
}


def _seeded(call: Callable[[], Any]) -> Any:
    torch.manual_seed(3)
    return call()


@pytest.fixture(params=CALLS)
def call(request: pytest.FixtureRequest) -> Callable[[Tensor], Tensor]:
    return CALLS[request.param]


def data(seed: int = 1) -> Tensor:
    return torch.randn(1, 1, 4, 4, generator=torch.Generator().manual_seed(seed))


def test_repetitions_are_new_tensors_of_the_same_bits(call: Callable[[Tensor], Tensor]) -> None:
    x = data()
    first, second = call(x), call(x)
    assert first.data_ptr() != second.data_ptr()
    assert torch.equal(first, second)
    assert (first.dtype, first.stride(), first.requires_grad) == (second.dtype, second.stride(), False)
    found = []
    for _ in range(2):
        leaf = x.clone().requires_grad_()
        y = call(leaf)
        found.append((y, *torch.autograd.grad(y.square().sum(), leaf)))
    assert torch.equal(found[0][0], first)
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def _others(x: Tensor) -> Iterator[Tensor]:
    """The same numbers in tensors that are told from each other by one thing only."""
    yield x
    yield x.double()
    yield x.half()
    yield x[0]
    yield x.transpose(2, 3).contiguous().transpose(2, 3)
    yield x.repeat_interleave(2, 3)[..., ::2]
    yield torch.nn.Parameter(x)
    yield x.clone().requires_grad_()
    yield torch._neg_view(-x)
    yield torch.complex(torch.zeros_like(x), -x).conj().imag


@pytest.mark.parametrize("name", ["avg", "max", "adaptive"])
def test_tensors_are_not_taken_for_each_other(name: str) -> None:
    call, x = CALLS[name], data().half().float()
    expected = call(x)
    for _ in range(2):
        for other in _others(x):
            y = call(other)
            assert y.dtype == other.dtype
            assert torch.equal(y.float().view_as(expected), expected.to(y.dtype).float())
            assert y.requires_grad == other.requires_grad
            assert y.dim() == other.dim()


def test_gradients_may_be_off_at_first() -> None:
    x = torch.randn(1, 1, 4, 5, requires_grad=True)
    for is_on in (False, True, False):
        with torch.set_grad_enabled(is_on):
            assert CALLS["avg"](x).requires_grad == is_on


def test_orders_are_not_taken_for_each_other() -> None:
    x = torch.randn(1, 4, 4, 4)
    last = x.to(memory_format=torch.channels_last)
    for tensor in (x, last, x, last):
        y = poolgrad.torch.max_pool2d(tensor, 2)
        assert y.stride() == torch.nn.functional.max_pool2d(tensor, 2).stride()


def test_arguments_are_not_taken_for_each_other() -> None:
    x = data()
    sizes: list[Any] = [2, (2, 2), [2, 2], (2,), torch.Size((2, 2)), np.int64(2), (np.int32(2), 2)]
    for _ in range(2):
        assert all(torch.equal(poolgrad.torch.avg_pool2d(x, size), CALLS["avg"](x)) for size in sizes)
        assert torch.equal(poolgrad.torch.avg_pool2d(x, 1), x)
        with pytest.raises(TypeError, match="kernel_size must be an integer"):
            poolgrad.torch.avg_pool2d(x, True)
        with pytest.raises(TypeError, match="kernel_size must be an integer"):
            poolgrad.torch.avg_pool2d(x, 2.0)
        with pytest.raises(TypeError, match="kernel_size must be an integer"):
            poolgrad.torch.avg_pool2d(x, np.timedelta64(2))
    assert all(kept("avg_pool2d", x, (size, None, 0, 1, False, True, None), False) for size in sizes)


def test_arguments_that_change() -> None:
    x, listed, counted = data(), [2, 2], torch.tensor(2)
    for size in (listed, counted):
        assert poolgrad.torch.avg_pool2d(x, size).shape[-1] == 2
    listed[1] = 4
    counted.add_(2)
    for size in (listed, counted):
        assert poolgrad.torch.avg_pool2d(x, size).shape[-1] == 1


class _Seen(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(function))
        return function(*args, **kwargs or {})


def test_dispatch_modes_see_repetitions(call: Callable[[Tensor], Tensor]) -> None:
    for x in (data(), data().requires_grad_()):
        expected = call(x)
        with _Seen() as seen:
            assert torch.equal(call(x), expected)
        assert any(name.startswith("poolgrad.") for name in seen.names)


def test_function_modes_keep_calls_from_the_core() -> None:
    class Mode(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return function(*args, **kwargs or {})

    x, arguments = data(), (2, None, 0, 1, False, True, None)
    CALLS["avg"](x)
    assert kept("avg_pool2d", x, arguments, False) is not None
    with Mode():
        assert kept("avg_pool2d", x, arguments, False) is None


def test_transforms_keep_calls_from_the_core() -> None:
    x, arguments = data(), (2, None, 0, 1, False, True, None)
    CALLS["avg"](x)
    found = []
    torch.func.vmap(lambda one: found.append(kept("avg_pool2d", x, arguments, False)) or one)(torch.ones(2))
    assert found == [None]


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_transforms_and_traces_see_repetitions() -> None:
    x = data()
    for name in ("avg", "max", "adaptive"):
        call = CALLS[name]
        expected = call(x)
        several = torch.func.vmap(call)(torch.stack([x, x]))
        assert all(torch.equal(one, expected) for one in several)
        traced = torch.jit.trace(call, x)
        assert "poolgrad::" in str(traced.graph)
        with forward_ad.dual_level():
            moved = forward_ad.unpack_dual(call(forward_ad.make_dual(x, torch.ones_like(x))))
        assert moved.tangent is not None
        assert torch.equal(moved.tangent, torch.ones_like(expected))


def test_tensors_without_memory() -> None:
    x = data()
    CALLS["avg"](x)
    assert CALLS["avg"](x.to("meta")).is_meta
    empty = torch.empty(0, 1, 4, 4)
    assert [CALLS["avg"](empty).shape for _ in range(2)] == [(0, 1, 2, 2)] * 2
    for wrong in (x.to_sparse(), x.to_mkldnn()):
        with pytest.raises(TypeError, match="input must be a dense tensor"):
            CALLS["avg"](wrong)


def test_nothing_of_a_call_is_kept_alive(call: Callable[[Tensor], Tensor]) -> None:
    call(data().requires_grad_())  # what is made ready for the next ones
    gc.disable()
    try:
        x = data().requires_grad_()
        y = call(x)
        ends = [weakref.ref(x), weakref.ref(y), weakref.ref(y.grad_fn)]
        y.sum().backward()
        del x, y
        assert [end() for end in ends] == [None, None, None]
    finally:
        gc.enable()


def test_hooks_see_what_is_saved() -> None:
    x, packed = data().requires_grad_(), []
    CALLS["max"](x)

    def pack(tensor: Tensor) -> int:
        packed.append(tensor)
        return len(packed) - 1

    with torch.autograd.graph.saved_tensors_hooks(pack, packed.__getitem__):
        y = CALLS["max"](x)
    assert [tensor.dtype for tensor in packed] == [torch.uint8]
    assert y.sum().backward() is None


def test_bad_indices_are_explained_after_good_ones() -> None:
    values, good = torch.ones(1, 1, 2, 2), PLACES
    for _ in range(2):
        poolgrad.torch.max_unpool2d(values, good, 2)
        with pytest.raises(poolgrad.InvalidArgumentError, match="max_unpool2d: indices"):
            poolgrad.torch.max_unpool2d(values, good + 16, 2)


def test_repetitions_follow_the_instruction_set() -> None:
    x = data()
    expected = CALLS["avg"](x)
    try:
        for name in cpu.available_isas():
            cpu.force_isa(name)
            assert torch.equal(CALLS["avg"](x), expected)
        cpu.force_isa("none of these")
        with pytest.raises(poolgrad.InvalidArgumentError, match="none of these"):
            CALLS["avg"](x)
    finally:
        cpu.force_isa(None)
    assert torch.equal(CALLS["avg"](x), expected)


def test_more_calls_than_are_kept_by_many_threads() -> None:
    def run(first: int) -> bool:
        sizes = itertools.product(range(2, 22), range(first, first + 20))
        several = [torch.full((1, height, width), float(first)) for height, width in sizes]
        return all((poolgrad.torch.avg_pool2d(x, 2) == first).all() for x in several)

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(run, [2, 22, 42, 62]))
