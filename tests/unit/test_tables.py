"""What stands in two places is the same in both: dtypes, signatures, documentation, the public names."""

from __future__ import annotations

import doctest
import importlib
import inspect
import pkgutil
import pydoc
import re
from typing import Any

import numpy as np
import pytest

import poolgrad
from poolgrad import _core, raw_ops
from poolgrad.dtypes import FLOATS, FRACTIONAL, INDICES, INTEGERS, OFFSETS, REALS

from .good_calls import RAW

REQUIRED = inspect.Parameter.empty

_FLAT: dict[str, Any] = {"ksize": REQUIRED, "strides": REQUIRED, "padding": REQUIRED, "data_format": "NHWC"}
_SOLID: dict[str, Any] = _FLAT | {"data_format": "NDHWC"}
_EXPLICIT: dict[str, Any] = {
    "ksize": REQUIRED,
    "strides": REQUIRED,
    "padding": REQUIRED,
    "explicit_paddings": [],
    "data_format": "NHWC",
}
_TRIPLE: dict[str, Any] = {"orig_input": REQUIRED, "orig_output": REQUIRED, "grad": REQUIRED}
_ARGMAX: dict[str, Any] = {
    "input": REQUIRED,
    "grad": REQUIRED,
    "argmax": REQUIRED,
    "ksize": REQUIRED,
    "strides": REQUIRED,
    "padding": REQUIRED,
    "include_batch_in_index": False,
}
_FRACTIONAL: dict[str, Any] = {
    "value": REQUIRED,
    "pooling_ratio": REQUIRED,
    "pseudo_random": False,
    "overlapping": False,
    "deterministic": False,
    "seed": 0,
    "seed2": 0,
}
_BORDERS: dict[str, Any] = {"row_pooling_sequence": REQUIRED, "col_pooling_sequence": REQUIRED, "overlapping": False}

# tf.raw_ops of TensorFlow 2.21, arguments in its order. An empty tuple stands for its empty list.
TENSORFLOW: dict[str, dict[str, Any]] = {
    "AvgPool": {"value": REQUIRED} | _FLAT,
    "AvgPoolGrad": {"orig_input_shape": REQUIRED, "grad": REQUIRED} | _FLAT,
    "AvgPool3D": {"input": REQUIRED} | _SOLID,
    "AvgPool3DGrad": {"orig_input_shape": REQUIRED, "grad": REQUIRED} | _SOLID,
    "MaxPool": {"input": REQUIRED} | _EXPLICIT,
    "MaxPoolV2": {"input": REQUIRED} | _FLAT,
    "MaxPoolGrad": _TRIPLE | _EXPLICIT,
    "MaxPoolGradV2": _TRIPLE | _FLAT,
    "MaxPoolGradGrad": _TRIPLE | _FLAT,
    "MaxPoolGradGradV2": _TRIPLE | _FLAT,
    "MaxPool3D": {"input": REQUIRED} | _SOLID,
    "MaxPool3DGrad": _TRIPLE | _SOLID,
    "MaxPool3DGradGrad": _TRIPLE | _SOLID,
    "MaxPoolWithArgmax": {
        "input": REQUIRED,
        "ksize": REQUIRED,
        "strides": REQUIRED,
        "padding": REQUIRED,
        "Targmax": np.int64,
        "include_batch_in_index": False,
    },
    "MaxPoolGradWithArgmax": _ARGMAX,
    "MaxPoolGradGradWithArgmax": _ARGMAX,
    "FractionalAvgPool": _FRACTIONAL,
    "FractionalAvgPoolGrad": {"orig_input_tensor_shape": REQUIRED, "out_backprop": REQUIRED} | _BORDERS,
    "FractionalMaxPool": _FRACTIONAL,
    "FractionalMaxPoolGrad": {"orig_input": REQUIRED, "orig_output": REQUIRED, "out_backprop": REQUIRED} | _BORDERS,
}

# poolgrad's own arguments come after TensorFlow's.
OURS: dict[str, dict[str, Any]] = {"MaxPoolGradGrad": {"explicit_paddings": []}}

OUTPUTS = {
    "MaxPoolWithArgmax": ("output", "argmax"),
    "FractionalAvgPool": ("output", "row_pooling_sequence", "col_pooling_sequence"),
    "FractionalMaxPool": ("output", "row_pooling_sequence", "col_pooling_sequence"),
}

OPS = [pytest.param(name, id=name) for name in TENSORFLOW]


def test_twenty_ops() -> None:
    assert len(TENSORFLOW) == 20
    assert set(raw_ops.OPS) == set(TENSORFLOW) == set(RAW)
    assert set(TENSORFLOW) <= set(raw_ops.__all__)


@pytest.mark.parametrize("name", OPS)
def test_signature(name: str) -> None:
    parameters = inspect.signature(getattr(raw_ops, name)).parameters
    wanted = TENSORFLOW[name] | OURS.get(name, {}) | {"name": None}
    assert [(p.name, p.default) for p in parameters.values()] == list(wanted.items())
    assert {p.kind for p in parameters.values()} == {inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("name", OPS)
def test_row(name: str) -> None:
    row = raw_ops.OPS[name]
    assert row.name == name
    assert sorted([*row.inputs, *row.attributes]) == sorted(TENSORFLOW[name] | OURS.get(name, {}))
    assert row.inputs == tuple(_tensors(name))
    assert row.outputs == OUTPUTS.get(name, ("output",))
    assert row.spatial == (3 if "3D" in name else 2)
    assert row.paddings == (
        () if "Fractional" in name else ("SAME", "VALID", "EXPLICIT")[: 3 if _explicit(name) else 2]
    )
    assert row.summary


def _tensors(name: str) -> list[str]:
    """What TensorFlow takes as tensors: in V2 the window too, and the borders of fractional cells."""
    words = {"value", "input", "grad", "argmax", "orig_input", "orig_output", "out_backprop"}
    words |= {"orig_input_shape", "orig_input_tensor_shape", "row_pooling_sequence", "col_pooling_sequence"}
    words |= {"ksize", "strides"} if name.endswith("V2") else set()
    return [argument for argument in TENSORFLOW[name] if argument in words]


def _explicit(name: str) -> bool:
    return "explicit_paddings" in TENSORFLOW[name] | OURS.get(name, {})


@pytest.mark.parametrize("name", OPS)
def test_help(name: str) -> None:
    text = pydoc.plain(pydoc.render_doc(getattr(raw_ops, name)))
    for argument in [*TENSORFLOW[name], *OURS.get(name, {}), "name"]:
        assert re.search(rf"^ +{argument}: \S", text, re.MULTILINE), argument
    assert f"{name}(*, " in text
    assert "spec" not in text.partition("\n")[2].split("(")[1].split(")")[0]


def test_dtypes_are_those_of_the_core() -> None:
    assert set(_core.dtypes()) == set(REALS)
    assert len(REALS) == len(set(REALS)) == 12
    assert [name for name in _core.dtypes() if name in INTEGERS] == list(INTEGERS)
    assert set(FLOATS) | set(INTEGERS) == set(REALS)
    assert set(FRACTIONAL) | set(INDICES) | set(OFFSETS) <= set(REALS)


def test_order_of_dtypes_is_that_of_the_core() -> None:
    assert _core.dtypes() == list(REALS)


PUBLIC = [(poolgrad, name) for name in poolgrad.__all__] + [(raw_ops, name) for name in raw_ops.__all__]


@pytest.mark.parametrize(
    ("owner", "name"), [pytest.param(owner, name, id=f"{owner.__name__}.{name}") for owner, name in PUBLIC]
)
def test_public_name(owner: Any, name: str) -> None:
    value = getattr(owner, name)
    if name == "OPS":
        return
    assert inspect.getdoc(value), name
    if inspect.isroutine(value):
        assert ">>> " in inspect.getdoc(value), "no example"
        assert value.__name__ == name


def test_nothing_else_is_public() -> None:
    modules = {name for name, value in vars(poolgrad).items() if inspect.ismodule(value)}
    extra = {name for name in vars(poolgrad) if not name.startswith("_")} - set(poolgrad.__all__) - modules
    assert extra == set()
    assert sorted(poolgrad.__all__) == list(poolgrad.__all__)


MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(poolgrad.__path__, "poolgrad.")
    if module.name not in ("poolgrad._core", "poolgrad.__main__")
    # What these import is not installed here.
    and not re.search(r"torch|cupy|triton|kernels\.gpu(?!_tiles)|studio\.(server|widget)", module.name)
)


@pytest.mark.parametrize("module", [pytest.param(name, id=name) for name in ("poolgrad", *MODULES)])
def test_examples(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module))
    assert results.failed == 0


def test_examples_of_raw_ops_are_found() -> None:
    """The ops are wrapped, and doctest must find them all the same."""
    found = {
        test.name.rpartition(".")[2]
        for module in MODULES
        for test in doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(module))
        if test.examples
    }
    assert set(TENSORFLOW) <= found
    functions = {name for name in poolgrad.__all__ if inspect.isroutine(getattr(poolgrad, name))}
    assert functions
    assert functions <= found


def test_no_module_is_left_out() -> None:
    assert "poolgrad.raw_ops._maxima" in MODULES
    assert "poolgrad.frontends._numpy" in MODULES
    assert "poolgrad.reference._maxima" in MODULES
