"""Modules: repr, copies, pickles, state dicts, replacement; autocast, determinism, workers of a DataLoader."""

from __future__ import annotations

import copy
import doctest
import hashlib
import importlib
import inspect
import io
import pickle
import pkgutil
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, Dataset

import poolgrad.torch

POOLING = [name for name in poolgrad.torch.__all__ if hasattr(nn, name)]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", POOLING)
def test_signatures_are_pytorchs(name: str) -> None:
    ours, theirs = getattr(poolgrad.torch, name), getattr(nn, name)
    if not name.startswith("Fractional"):
        assert list(inspect.signature(ours).parameters) == list(inspect.signature(theirs).parameters)
    assert issubclass(ours, theirs)


def _pytorchs_parameters(name: str) -> list[str]:
    function = getattr(functional, name)
    if inspect.isbuiltin(function):  # whose signature stands in its documentation only
        found = re.search(rf"{name}\((.*?)\) -> Tensor", function.__doc__, re.DOTALL)
        assert found is not None
        return [f"{one}=None" if "=" not in one else one for one in re.split(r",\s*", found[1])]
    if list(inspect.signature(function).parameters) == ["args", "kwargs"]:  # one of two, by return_indices
        function = getattr(functional, f"{name}_with_indices")
    return [f"{one.name}={one.default}" for one in inspect.signature(function).parameters.values()]


@pytest.mark.parametrize("name", [name for name in poolgrad.torch.__all__ if hasattr(functional, name)])
def test_functions_have_pytorchs_parameters(name: str) -> None:
    """In their order, with their defaults; ours may have more, by keyword."""
    ours = [f"{one.name}={one.default}" for one in inspect.signature(getattr(poolgrad.torch, name)).parameters.values()]
    ours = [one.replace(str(inspect.Parameter.empty), "None") for one in ours]
    theirs = [one.replace(str(inspect.Parameter.empty), "None") for one in _pytorchs_parameters(name)]
    assert ours[: len(theirs)] == theirs


def _model() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.MaxPool2d(3, 2, 1),
        nn.Sequential(nn.AvgPool2d(2, ceil_mode=True), nn.BatchNorm2d(4)),
        nn.AdaptiveAvgPool2d(2),
        nn.FractionalMaxPool2d(1, output_size=1),
    )


def test_replacement() -> None:
    theirs = _model()
    ours = copy.deepcopy(theirs)
    found = poolgrad.torch.replace_pooling(ours)
    assert [one.name for one in found] == ["1", "2.0", "3", "4"]
    assert all(type(one.module).__module__.startswith("poolgrad") for one in found)
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    x = torch.randn(2, 3, 12, 12)
    torch.testing.assert_close(ours(x), theirs(x))
    assert repr(ours) == repr(theirs)
    assert poolgrad.torch.replace_pooling(ours) == []


@pytest.mark.parametrize("name", POOLING)
def test_replacement_of_each(name: str) -> None:
    options = {"output_ratio": 0.5} if name.startswith("Fractional") else {}
    model = nn.Sequential(getattr(nn, name)(2, **options))
    (found,) = poolgrad.torch.replace_pooling(model)
    assert type(found.module) is getattr(poolgrad.torch, name)
    x = torch.arange(4.0 ** int(name[-2])).view(1, *[4] * int(name[-2]))
    places = [torch.zeros(x.shape, dtype=torch.int64)] if "Unpool" in name else []
    assert found.module(x, *places).shape == (1, *[8 if places else 2] * int(name[-2]))


def test_replacement_leaves_subclasses() -> None:
    class Mine(nn.MaxPool2d):
        pass

    assert poolgrad.torch.replace_pooling(nn.Sequential(Mine(2), nn.LPPool2d(2, 2))) == []


def test_copies_and_pickles() -> None:
    model = _model()
    poolgrad.torch.replace_pooling(model)
    model.eval()
    x = torch.randn(2, 3, 12, 12)
    expected = model(x)
    file = io.BytesIO()
    torch.save(model, file)
    file.seek(0)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model)), torch.load(file, weights_only=False)):
        assert torch.equal(other(x), expected)


@pytest.mark.parametrize("spatial", [1, 2, 3])
@pytest.mark.parametrize("name", ["avg_pool", "max_pool", "adaptive_avg_pool", "adaptive_max_pool"])
def test_autocast(name: str, spatial: int) -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        x = torch.randn(1, 2, *[4] * spatial).to(dtype)
        with torch.autocast("cpu"):
            ours, theirs = (getattr(library, f"{name}{spatial}d")(x, 2) for library in (poolgrad.torch, functional))
        assert ours.dtype == theirs.dtype


class UNet(nn.Module):
    """Two levels down and up again, with pooling of every kind on the way."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv3d(1, 4, 3, padding=1), nn.Conv3d(4, 4, 3, padding=1)])
        self.deep = nn.Conv3d(4, 4, 3, padding=1)
        self.up = nn.ModuleList([nn.Conv3d(8, 4, 3, padding=1), nn.Conv3d(8, 4, 3, padding=1)])
        self.max = poolgrad.torch.MaxPool3d(2, return_indices=True)
        self.overlapping = poolgrad.torch.MaxPool3d(3, 1, 1)
        self.avg = poolgrad.torch.AvgPool3d(3, 1, 1, count_include_pad=False)
        self.unpool = poolgrad.torch.MaxUnpool3d(2)
        self.head = nn.Sequential(
            poolgrad.torch.AdaptiveMaxPool3d(5), poolgrad.torch.AdaptiveAvgPool3d((2, 3, 1)), nn.Flatten()
        )

    def forward(self, x: Tensor) -> Tensor:
        kept = []
        for conv in self.down:
            x = self.overlapping(torch.relu(conv(x)))
            y, index = self.max(x)
            kept.append((x, index))
            x = y
        x = self.avg(torch.relu(self.deep(x)))
        for conv, (before, index) in zip(self.up, reversed(kept), strict=True):
            x = torch.relu(conv(torch.cat([self.unpool(x, index, list(before.shape)), before], 1)))
        return self.head(x)


def trained(device: str = "cpu") -> str:
    """The hash of a small network's weights after twenty steps."""
    torch.manual_seed(0)
    model = UNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    x = torch.randn(2, 1, 8, 9, 10).to(device)
    for _ in range(20):
        optimizer.zero_grad()
        model(x).pow(2).sum().backward()
        optimizer.step()
    weights = b"".join(parameter.detach().cpu().numpy().tobytes() for parameter in model.parameters())
    assert np.isfinite(np.frombuffer(weights, np.float32)).all()
    return hashlib.sha256(weights).hexdigest()


def test_training_repeats() -> None:
    torch.use_deterministic_algorithms(True)
    try:
        assert trained() == trained()
    finally:
        torch.use_deterministic_algorithms(False)


class _Pooled(Dataset[Tensor]):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Tensor:
        # Two results, one of them of the size that comes from a pool of memory.
        large = poolgrad.torch.max_pool2d(torch.full((1, 520, 520), float(index)), 2, 1)
        return poolgrad.torch.max_pool2d(large, 2)


@pytest.mark.parametrize("start", ["fork", "spawn"])
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_workers(start: str) -> None:
    poolgrad.torch.max_pool2d(torch.randn(4, 256, 256), 2)  # so that threads exist before the fork
    loader = DataLoader(_Pooled(), batch_size=2, num_workers=2, multiprocessing_context=start, timeout=120)
    found = torch.cat(list(loader))
    assert found.flatten(1)[:, 0].tolist() == [0.0, 1.0, 2.0, 3.0]


MODULES = ["poolgrad.torch", "poolgrad.frontends._torch"]
MODULES += [module.name for module in pkgutil.iter_modules(poolgrad.torch.__path__, "poolgrad.torch.")]


@pytest.mark.parametrize("module", MODULES)
def test_examples(module: str) -> None:
    assert doctest.testmod(importlib.import_module(module)).failed == 0


def test_examples_of_the_page() -> None:
    found = doctest.testfile(str(ROOT / "docs" / "torch.md"), module_relative=False)
    assert found.failed == 0
    assert found.attempted > 5
