"""Fractional pooling over 1, 2 or 3 spatial axes: cells of uneven sizes, so that any ratio is possible.

Borders are drawn as TensorFlow draws them, from one generator for all axes in order, or given.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from poolgrad import arguments, dispatch, philox
from poolgrad.calls import named
from poolgrad.dtypes import FRACTIONAL, REALS
from poolgrad.errors import InvalidArgumentError
from poolgrad.functional import SELECTORS, Array, read_input_shape, spatial_axes
from poolgrad.plan import Shape, fold_sequences, make
from poolgrad.windows import fractional_outputs

Seed = int | tuple[int, int] | None

_MOST_OUTPUTS = 2**26  # drawn one by one


class FractionalPool(NamedTuple):
    """Pooled values, and for each spatial axis the borders of its cells."""

    output: Array
    sequences: tuple[Array, ...]


def _generator(seed: object) -> philox.Philox:
    if seed is None:
        return philox.Philox(secrets.randbits(64), secrets.randbits(64))
    if isinstance(seed, tuple):
        if len(seed) != 2:
            raise InvalidArgumentError(f"seed must be None, an integer or a pair of them, got {seed!r}")
        return philox.Philox(*(arguments.integer("seed", part, most=arguments.INT64_MAX) for part in seed))
    return philox.Philox(arguments.integer("seed", seed, most=arguments.INT64_MAX), 0)


@named
def pooling_sequence(size: int, outputs: int, *, pseudo_random: bool = False, seed: Seed = None) -> Array:
    """Borders of the cells of one axis, as TensorFlow draws them.

    Args:
        size: cells of the input
        outputs: cells of the result, at most `size`
        pseudo_random: a pseudo-random pattern instead of a random shuffle of cell lengths
        seed: an integer or TensorFlow's pair (seed, seed2); None draws anew each time

    >>> import numpy as np
    >>> pooling_sequence(10, 6, seed=(1, 2)).tolist()
    [0, 1, 3, 4, 6, 8, 10]
    """
    cells = arguments.integer("size", size, least=1, most=arguments.INT64_MAX)
    wanted = arguments.integer("outputs", outputs, least=1, most=arguments.INT64_MAX)
    if wanted > cells:
        raise InvalidArgumentError(f"outputs must be at most size, {cells}, got {wanted}")
    if wanted > _MOST_OUTPUTS:
        raise InvalidArgumentError(f"outputs must be at most {_MOST_OUTPUTS}, got {wanted}")
    pattern = arguments.flag("pseudo_random", pseudo_random)
    return np.array(philox.sequence(cells, wanted, pattern, _generator(seed)), np.int64)


def _drawn(
    shape: Shape, first: int, axes: int, ratio: object, pseudo_random: object, seed: Seed
) -> list[tuple[int, ...]]:
    given = ratio if isinstance(ratio, list | tuple) else [ratio] * axes
    ratios = arguments.ratios("ratio", given, axes)
    pattern, generator = arguments.flag("pseudo_random", pseudo_random), _generator(seed)
    borders = []
    for size, number in zip(shape[first : first + axes], ratios, strict=True):
        if size < number:
            raise InvalidArgumentError(f"ratio must not be larger than the input's {size} cells, got {number}")
        borders.append(philox.sequence(size, fractional_outputs(size, number), pattern, generator))
    return borders


def _given(shape: Shape, first: int, axes: int, sequences: object, outputs: Shape | None) -> list[tuple[int, ...]]:
    if not isinstance(sequences, list | tuple) or len(sequences) != axes:
        raise TypeError(
            f"sequences must be a tuple of {axes} sequences, one a spatial axis, got {arguments.describe(sequences)}"
        )
    return [
        arguments.sequence(f"sequences[{k}]", value, outputs[first + k] if outputs else None, shape[first + k])
        for k, value in enumerate(sequences)
    ]


def _pooled(
    family: str,
    selector: str,
    x: Array,
    ratio: object,
    sequences: object,
    overlapping: object,
    pseudo_random: object,
    seed: Seed,
    layout: object,
    out: Array | None,
) -> FractionalPool:
    info = dispatch.inspect("x", x)
    dtype = dispatch.checked_dtype(info, FRACTIONAL if family == "mean" else REALS)
    first, axes = spatial_axes("x", info.shape, layout)
    if ratio is None and sequences is None:
        raise TypeError("ratio or sequences must be given, got None for both")
    if ratio is not None and sequences is not None:
        raise TypeError(f"ratio and sequences must not both be given, got ratio={arguments.describe(ratio)}")
    if sequences is None:
        borders = _drawn(info.shape, first, axes, ratio, pseudo_random, seed)
    else:
        borders = _given(info.shape, first, axes, sequences, None)
    plan = make(
        family, selector, dtype, fold_sequences(info.shape, first, borders, arguments.flag("overlapping", overlapping))
    )
    output = dispatch.execute(plan, {"input": x}, {"input": "x"}, out)
    return FractionalPool(output, tuple(dispatch.vector(b, x, "x") for b in borders))


@named
def fractional_avg_pool(
    x: Array,
    ratio: float | Sequence[float] | None = None,
    *,
    sequences: Sequence[Array] | None = None,
    overlapping: bool = False,
    pseudo_random: bool = False,
    seed: Seed = None,
    layout: str = "channels_last",
    out: Array | None = None,
) -> FractionalPool:
    """The average of each cell of a grid with drawn or given borders.

    Args:
        x: array of a float dtype, int32 or int64 (integers are divided as in C)
        ratio: input size over output size, one number or one a spatial axis
        sequences: the borders themselves instead of a ratio
        overlapping: whether neighbouring cells share the one at their border
        pseudo_random, seed: as in pooling_sequence
        layout, out: as in avg_pool

    >>> import numpy as np
    >>> x = np.arange(1.0, 6.0).reshape(1, 5, 1)
    >>> fractional_avg_pool(x, sequences=([0, 2, 5],), overlapping=True).output.ravel().tolist()
    [2.0, 4.0]
    """
    return _pooled("mean", "none", x, ratio, sequences, overlapping, pseudo_random, seed, layout, out)


@named
def fractional_max_pool(
    x: Array,
    ratio: float | Sequence[float] | None = None,
    *,
    sequences: Sequence[Array] | None = None,
    overlapping: bool = False,
    pseudo_random: bool = False,
    seed: Seed = None,
    layout: str = "channels_last",
    out: Array | None = None,
) -> FractionalPool:
    """The largest element of each cell of a grid with drawn or given borders; a NaN wins.

    Args:
        x: array of a float or integer dtype
        ratio, sequences, overlapping, pseudo_random, seed, layout, out: as in fractional_avg_pool

    >>> import numpy as np
    >>> x = np.arange(1.0, 6.0).reshape(1, 5, 1)
    >>> fractional_max_pool(x, sequences=([0, 2, 5],)).output.ravel().tolist()
    [2.0, 5.0]
    """
    return _pooled("maximum", "first_nan", x, ratio, sequences, overlapping, pseudo_random, seed, layout, out)


@named
def fractional_avg_pool_grad(
    grad: Array,
    input_shape: Sequence[int],
    sequences: Sequence[Array],
    *,
    overlapping: bool = False,
    layout: str = "channels_last",
    out: Array | None = None,
) -> Array:
    """The gradient of fractional_avg_pool: each cell's gradient is shared out evenly over its elements.

    Args:
        grad: gradient of fractional_avg_pool's result
        input_shape: shape of its input
        sequences: the borders it gave
        overlapping, layout, out: as there

    >>> import numpy as np
    >>> fractional_avg_pool_grad(np.array([2.0, 6.0]).reshape(1, 2, 1), (1, 5, 1), ([0, 2, 5],)).ravel().tolist()
    [1.0, 1.0, 2.0, 2.0, 2.0]
    """
    info = dispatch.inspect("grad", grad)
    dtype = dispatch.checked_dtype(info, FRACTIONAL)
    shape = read_input_shape(input_shape)
    first, axes = spatial_axes("input_shape", shape, layout)
    _same_rank(info.shape, shape)
    borders = _given(shape, first, axes, sequences, info.shape)
    folded = fold_sequences(shape, first, borders, arguments.flag("overlapping", overlapping))
    dispatch.checked_like(info, folded.output_shape, dtype, "the result")
    return dispatch.execute(make("spread", "none", dtype, folded), {"data": grad}, {"data": "grad"}, out)


def _same_rank(grad: Shape, shape: Shape) -> None:
    if len(grad) != len(shape):
        raise InvalidArgumentError(f"grad must have {len(shape)} dimensions like the input, got shape {list(grad)}")


def _selected(
    family: str, grad: Array, x: Array, sequences: object, overlapping: object, ties: object, layout: object, out: Any
) -> Array:
    selector = SELECTORS[arguments.choice("ties", ties, tuple(SELECTORS))]
    info, given = dispatch.inspect("x", x), dispatch.inspect("grad", grad)
    dtype = dispatch.checked_dtype(info, REALS)
    first, axes = spatial_axes("x", info.shape, layout)
    _same_rank(given.shape, info.shape)
    outputs = given.shape if family == "route" else None
    borders = _given(info.shape, first, axes, sequences, outputs)
    folded = fold_sequences(info.shape, first, borders, arguments.flag("overlapping", overlapping))
    dispatch.checked_like(given, folded.output_shape if family == "route" else info.shape, dtype, "x")
    plan = make(family, selector, dtype, folded)
    return dispatch.execute(plan, {"data": grad, "input": x}, {"data": "grad", "input": "x"}, out)


@named
def fractional_max_pool_grad(
    grad: Array,
    x: Array,
    sequences: Sequence[Array],
    *,
    overlapping: bool = False,
    ties: str = "first",
    layout: str = "channels_last",
    out: Array | None = None,
) -> Array:
    """The gradient of fractional_max_pool: each cell's gradient goes to its first maximum, or whole to all of them.

    Args:
        grad: gradient of fractional_max_pool's result
        x: its input
        sequences: the borders it gave
        overlapping, layout, out: as there
        ties: "first" or "all"

    >>> import numpy as np
    >>> x = np.array([1.0, 5.0, 2.0]).reshape(1, 3, 1)
    >>> grad = np.array([1.0, 10.0]).reshape(1, 2, 1)
    >>> fractional_max_pool_grad(grad, x, ([0, 1, 3],), overlapping=True).ravel().tolist()
    [0.0, 11.0, 0.0]
    """
    return _selected("route", grad, x, sequences, overlapping, ties, layout, out)


@named
def fractional_max_pool_grad_grad(
    grad: Array,
    x: Array,
    sequences: Sequence[Array],
    *,
    overlapping: bool = False,
    ties: str = "first",
    layout: str = "channels_last",
    out: Array | None = None,
) -> Array:
    """The gradient of fractional_max_pool_grad in its `grad`, its transpose: what `grad` holds at each cell's maximum.

    Args:
        grad: array of the shape of fractional_max_pool's input
        x, sequences, overlapping, ties, layout, out: as in fractional_max_pool_grad

    >>> import numpy as np
    >>> x = np.array([1.0, 5.0, 2.0]).reshape(1, 3, 1)
    >>> fractional_max_pool_grad_grad(10 * x, x, ([0, 1, 3],)).ravel().tolist()
    [10.0, 50.0]
    """
    return _selected("pick", grad, x, sequences, overlapping, ties, layout, out)
