"""A good call of every function, small and with ties, and what its arguments are for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import poolgrad
from poolgrad import raw_ops

Array = np.ndarray[Any, Any]
Arguments = dict[str, Any]


def ramp(*shape: int, dtype: Any = "float32", period: int = 11) -> Array:
    """Small whole numbers that rise and start again."""
    count = int(np.prod(shape))
    return (np.arange(count) % period).reshape(shape).astype(dtype)


def misaligned(array: Array) -> Array:
    """The same elements, none of them where its size divides its address."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    other = memory[1:].view(array.dtype).reshape(array.shape)
    other[...] = array
    return other


PLANE, HALVED = (2, 4, 4, 2), (2, 2, 2, 2)
VOLUME, HALVED_VOLUME = (2, 4, 4, 4, 2), (2, 2, 2, 2, 2)
_FLAT: Arguments = {"ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1], "padding": "VALID"}
_SOLID: Arguments = {"ksize": [1, 2, 2, 2, 1], "strides": [1, 2, 2, 2, 1], "padding": "VALID"}
_TRIPLE: Arguments = {"orig_input": ramp(*PLANE), "orig_output": ramp(*HALVED), "grad": ramp(*HALVED)}
_TWICE: Arguments = _TRIPLE | {"grad": ramp(*PLANE)}
_SOLID_TRIPLE: Arguments = {
    "orig_input": ramp(*VOLUME),
    "orig_output": ramp(*HALVED_VOLUME),
    "grad": ramp(*HALVED_VOLUME),
}
_ARGMAX: Arguments = {"input": ramp(*PLANE), "grad": ramp(*HALVED), "argmax": ramp(*HALVED, dtype="int64")}
_RATIO: Arguments = {"value": ramp(*PLANE), "pooling_ratio": [1.0, 2.0, 2.0, 1.0], "deterministic": True, "seed": 1}
_BORDERS: Arguments = {"row_pooling_sequence": [0, 2, 4], "col_pooling_sequence": [0, 2, 4]}
_MAXIMA = ramp(*PLANE).reshape(2, 2, 2, 2, 2, 2).max(axis=(2, 4))  # of the cells that _BORDERS makes
_SAVED: Arguments = {"x": None, "offsets": ramp(*HALVED, dtype="uint8", period=4), "input_shape": PLANE}

RAW: dict[str, Arguments] = {
    "AvgPool": {"value": ramp(*PLANE)} | _FLAT,
    "AvgPoolGrad": {"orig_input_shape": list(PLANE), "grad": ramp(*HALVED)} | _FLAT,
    "AvgPool3D": {"input": ramp(*VOLUME)} | _SOLID,
    "AvgPool3DGrad": {"orig_input_shape": list(VOLUME), "grad": ramp(*HALVED_VOLUME)} | _SOLID,
    "MaxPool": {"input": ramp(*PLANE)} | _FLAT,
    "MaxPoolV2": {"input": ramp(*PLANE)} | _FLAT,
    "MaxPoolGrad": _TRIPLE | _FLAT,
    "MaxPoolGradV2": _TRIPLE | _FLAT,
    "MaxPoolGradGrad": _TWICE | _FLAT,
    "MaxPoolGradGradV2": _TWICE | _FLAT,
    "MaxPool3D": {"input": ramp(*VOLUME)} | _SOLID,
    "MaxPool3DGrad": _SOLID_TRIPLE | _SOLID,
    "MaxPool3DGradGrad": _SOLID_TRIPLE | {"grad": ramp(*VOLUME)} | _SOLID,
    "MaxPoolWithArgmax": {"input": ramp(*PLANE)} | _FLAT,
    "MaxPoolGradWithArgmax": _ARGMAX | _FLAT,
    "MaxPoolGradGradWithArgmax": _ARGMAX | {"grad": ramp(*PLANE)} | _FLAT,
    "FractionalAvgPool": _RATIO,
    "FractionalAvgPoolGrad": {"orig_input_tensor_shape": list(PLANE), "out_backprop": ramp(*HALVED)} | _BORDERS,
    "FractionalMaxPool": _RATIO,
    "FractionalMaxPoolGrad": {"orig_input": ramp(*PLANE), "orig_output": _MAXIMA, "out_backprop": ramp(*HALVED)}
    | _BORDERS,
}

PLAIN: dict[str, Arguments] = {
    "avg_pool": {"x": ramp(*PLANE), "window": 2},
    "avg_pool_grad": {"grad": ramp(*HALVED), "input_shape": PLANE, "window": 2},
    "max_pool": {"x": ramp(*PLANE), "window": 2},
    "max_pool_grad": {"grad": ramp(*HALVED), "x": ramp(*PLANE), "window": 2},
    "max_pool_grad_grad": {"grad": ramp(*PLANE), "x": ramp(*PLANE), "window": 2},
    "max_unpool": {"values": ramp(*HALVED), "argmax": ramp(*HALVED, dtype="int64"), "input_shape": PLANE},
    "max_unpool_grad": {"grad": ramp(*PLANE), "argmax": ramp(*HALVED, dtype="int64")},
    "fractional_avg_pool": {"x": ramp(*PLANE), "ratio": 2.0, "seed": 1},
    "fractional_max_pool": {"x": ramp(*PLANE), "ratio": 2.0, "seed": 1},
    "fractional_avg_pool_grad": {"grad": ramp(*HALVED), "input_shape": PLANE, "sequences": ([0, 2, 4], [0, 2, 4])},
    "fractional_max_pool_grad": {"grad": ramp(*HALVED), "x": ramp(*PLANE), "sequences": ([0, 2, 4], [0, 2, 4])},
    "fractional_max_pool_grad_grad": {"grad": ramp(*PLANE), "x": ramp(*PLANE), "sequences": ([0, 2, 4], [0, 2, 4])},
    "pooling_sequence": {"size": 10, "outputs": 6, "seed": (1, 2)},
}

# The same functions called another way: a name, a dot and what differs.
OTHERWISE: dict[str, Arguments] = {
    "max_pool.offsets": PLAIN["max_pool"] | {"return_offsets": True},
    "max_pool.argmax": PLAIN["max_pool"] | {"return_argmax": True},
    "max_pool_grad.all": PLAIN["max_pool_grad"] | {"ties": "all"},
    "max_pool_grad.offsets": PLAIN["max_pool_grad"] | _SAVED,
    "max_pool_grad_grad.offsets": PLAIN["max_pool_grad_grad"] | _SAVED,
    "fractional_avg_pool.sequences": {"x": ramp(*PLANE), "sequences": ([0, 2, 4], [0, 2, 4])},
    "fractional_max_pool.sequences": {"x": ramp(*PLANE), "sequences": ([0, 2, 4], [0, 2, 4])},
}

GOOD = RAW | PLAIN | OTHERWISE

WITH_KSIZE = [name for name, given in RAW.items() if "ksize" in given]
WITH_ARRAY_KSIZE = ["MaxPoolV2", "MaxPoolGradV2", "MaxPoolGradGradV2"]
WITH_EXPLICIT = ["MaxPool", "MaxPoolGrad", "MaxPoolGradGrad"]
WITH_FORMAT = [name for name in WITH_KSIZE if "Argmax" not in name]
WITH_WINDOW = [name for name, given in (PLAIN | OTHERWISE).items() if "window" in given]
WITH_LAYOUT = [name for name in PLAIN if name != "pooling_sequence"]
WITH_OUT = [name for name in (*PLAIN, *OTHERWISE) if name != "pooling_sequence"]
ARRAYS = {name: [key for key, value in given.items() if isinstance(value, np.ndarray)] for name, given in GOOD.items()}


def function(name: str) -> Callable[..., Any]:
    name = name.partition(".")[0]
    return getattr(raw_ops, name) if name in RAW else getattr(poolgrad, name)


def arguments_of(name: str, changes: Arguments) -> Arguments:
    """The good call with some arguments changed, its arrays copied."""
    given = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in GOOD[name].items()}
    return given | changes


def results(name: str, changes: Arguments) -> list[Array]:
    """What a call gives, as a flat list of arrays."""
    result = function(name)(**arguments_of(name, changes))
    if isinstance(result, np.ndarray):
        return [result]
    return [array for part in result for array in (part if isinstance(part, tuple) else (part,))]
