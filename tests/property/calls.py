"""Every function of the functional API as one call of the same form, for tests that hold for all of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import poolgrad

from .shapes import REALS, Array, Geometry, any_bits

Call = Callable[..., tuple[Array, ...]]


def _tuple(result: Any) -> tuple[Array, ...]:
    return tuple(result) if isinstance(result, tuple) else (result,)


def _offsets(x: Array, geometry: Geometry, **options: Any) -> Array:
    return poolgrad.max_pool(x, **geometry.keywords, return_offsets=True, **options).offsets


def _argmax(x: Array, geometry: Geometry, **options: Any) -> Array:
    return poolgrad.max_pool(x, **geometry.keywords, return_argmax=True, **options).argmax


# name -> (takes x [input side], g [output side], v [input side] and runs); all options go through.
CALLS: dict[str, Callable[..., Any]] = {
    "avg_pool": lambda x, g, v, k, **o: poolgrad.avg_pool(x, **k.keywords, **o),
    "avg_pool_grad": lambda x, g, v, k, **o: poolgrad.avg_pool_grad(g, x.shape, **k.keywords, **o),
    "max_pool": lambda x, g, v, k, **o: poolgrad.max_pool(x, **k.keywords, **o),
    "max_pool_offsets": lambda x, g, v, k, **o: poolgrad.max_pool(x, **k.keywords, return_offsets=True, **o),
    "max_pool_argmax": lambda x, g, v, k, **o: poolgrad.max_pool(x, **k.keywords, return_argmax=True, **o),
    "max_pool_grad": lambda x, g, v, k, **o: poolgrad.max_pool_grad(g, x, **k.keywords, **o),
    "max_pool_grad_all": lambda x, g, v, k, **o: poolgrad.max_pool_grad(g, x, **k.keywords, ties="all", **o),
    "max_pool_grad_offsets": lambda x, g, v, k, **o: poolgrad.max_pool_grad(
        g, None, **k.keywords, offsets=_offsets(x, k, **_layout(o)), input_shape=x.shape, **o
    ),
    "max_pool_grad_grad": lambda x, g, v, k, **o: poolgrad.max_pool_grad_grad(v, x, **k.keywords, **o),
    "max_pool_grad_grad_all": lambda x, g, v, k, **o: poolgrad.max_pool_grad_grad(v, x, **k.keywords, ties="all", **o),
    "max_pool_grad_grad_offsets": lambda x, g, v, k, **o: poolgrad.max_pool_grad_grad(
        v, None, **k.keywords, offsets=_offsets(x, k, **_layout(o)), input_shape=x.shape, **o
    ),
    "max_unpool": lambda x, g, v, k, **o: poolgrad.max_unpool(g, _argmax(x, k, **_layout(o)), x.shape, **o),
    "max_unpool_grad": lambda x, g, v, k, **o: poolgrad.max_unpool_grad(v, _argmax(x, k, **_layout(o)), **o),
}
AVERAGES = ("avg_pool", "avg_pool_grad")
# Called in the input's place: what comes back has the input's shape.
BACK = ("avg_pool_grad", "max_pool_grad", "max_pool_grad_all", "max_pool_grad_offsets", "max_unpool")


def _layout(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name == "layout"}


def dtypes(name: str) -> tuple[Any, ...]:
    """The dtypes a function takes."""
    return REALS[:4] if name in AVERAGES else REALS


def data(geometry: Geometry, dtype: Any, seed: int) -> tuple[Array, Array, Array]:
    """x and v on the input side, g on the output side."""
    return (
        any_bits(seed, geometry.shape, dtype),
        any_bits(seed + 1, geometry.output_shape, dtype),
        any_bits(seed + 2, geometry.shape, dtype),
    )


def run(name: str, arrays: tuple[Array, Array, Array], geometry: Geometry, **options: Any) -> tuple[Array, ...]:
    return _tuple(CALLS[name](*arrays, geometry, **options))
