"""Arguments of ``torch.nn``'s pooling as windows: each is checked here, and an error names it.

Sizes of a traced program may be symbolic, so nothing here asks more of a number than arithmetic and order.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from torch import SymInt, Tensor, strided

from poolgrad.arguments import INT32_MAX, describe
from poolgrad.errors import InvalidArgumentError
from poolgrad.windows import Axis, adaptive_axis, same_pads, span, torch_axis

Numbers = int | Sequence[int]
Pads = str | int | Sequence[int] | Sequence[tuple[int, int]]
Outputs = int | Sequence[int | None] | None


def _whole(name: str, value: Any, wanted: str, shown: Any) -> int:
    """An integer, or whatever says that it is one."""
    if type(value) in (int, SymInt):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be {wanted}, got {describe(shown)}")
    return operator.index(value)


def per_axis(name: str, value: Any, axes: int, least: int) -> tuple[int, ...]:
    """One number for each axis, from one number or a sequence of one or of them all."""
    entries = value if isinstance(value, list | tuple) else (value,)
    numbers = tuple([_whole(name, entry, f"an integer or {axes} of them", value) for entry in entries])
    if len(numbers) not in (1, axes):
        raise InvalidArgumentError(f"{name} must be one integer or {axes}, got {describe(value)}")
    for number in numbers:
        if number < least:
            raise InvalidArgumentError(f"{name} must be at least {least}, got {describe(value)}")
        if isinstance(number, int) and number > INT32_MAX:
            raise InvalidArgumentError(f"{name} must be at most {INT32_MAX}, got {describe(value)}")
    return numbers * axes if len(numbers) == 1 else numbers


def _half(padding: Any, reach: tuple[int, ...]) -> list[tuple[int, int]]:
    pads = per_axis("padding", padding, len(reach), 0)
    for pad, cells in zip(pads, reach, strict=True):
        if pad > cells // 2:
            raise InvalidArgumentError(
                f"padding must be at most half of the window, which reaches over {cells} cells, got {padding}"
            )
    return [(pad, pad) for pad in pads]


def _pairs(padding: Sequence[Any], reach: tuple[int, ...]) -> list[tuple[int, int]]:
    if len(padding) != len(reach) or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in padding):
        raise InvalidArgumentError(
            f"padding must have one (before, after) pair for each of {len(reach)} axes, got {describe(padding)}"
        )
    pairs = []
    for pair, cells in zip(padding, reach, strict=True):
        before, after = per_axis("padding", pair, 2, 0)
        if before >= cells or after >= cells:
            raise InvalidArgumentError(
                f"padding must be smaller than the window, which reaches over {cells} cells, got {pair}"
            )
        pairs.append((before, after))
    return pairs


def read_pads(
    padding: Any, sizes: Sequence[int], reach: tuple[int, ...], stride: tuple[int, ...]
) -> list[tuple[int, int]]:
    """Padding before and after each axis."""
    if isinstance(padding, str):
        if padding == "valid":
            return [(0, 0)] * len(reach)
        if padding == "same":
            return [same_pads(*axis) for axis in zip(sizes, reach, stride, strict=True)]
        raise InvalidArgumentError(f"padding must be numbers, 'same' or 'valid', got {padding!r}")
    if isinstance(padding, list | tuple) and any(isinstance(pair, list | tuple) for pair in padding):
        return _pairs(padding, reach)
    return _half(padding, reach)


def _divisors(divisor_override: Any, axes: int) -> tuple[int, ...]:
    """What averages divide by along each axis, 0 for the cells of a window."""
    if divisor_override is None:
        return (0,) * axes
    divisor = _whole("divisor_override", divisor_override, "an integer or None", divisor_override)
    if divisor == 0 or abs(divisor) > INT32_MAX:
        raise InvalidArgumentError(f"divisor_override must not be 0 nor beyond {INT32_MAX}, got {describe(divisor)}")
    return (*(1,) * (axes - 1), abs(divisor))


def regular_axes(
    sizes: Sequence[int],
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any = 1,
    ceil_mode: bool = False,
    count_include_pad: bool = False,
    divisor_override: Any = None,
) -> tuple[Axis, ...]:
    """Windows of one size at even steps."""
    axes = len(sizes)
    window = per_axis("kernel_size", kernel_size, axes, 1)
    # An empty stride is PyTorch's word for the window.
    default = stride is None or (isinstance(stride, list | tuple) and len(stride) == 0)
    steps = window if default else per_axis("stride", stride, axes, 1)
    spread = per_axis("dilation", dilation, axes, 1)
    reach = tuple(span(*axis) for axis in zip(window, spread, strict=True))
    pads = read_pads(padding, sizes, reach, steps)
    divisors = _divisors(divisor_override, axes)
    return tuple(
        torch_axis(
            sizes[k],
            window[k],
            steps[k],
            pads[k],
            spread[k],
            # TensorFlow's rule has as many windows as begin inside, whatever they reach over.
            ceil_mode=bool(ceil_mode) and padding != "same",
            counts_padding=bool(count_include_pad) and not isinstance(padding, str),
            divisor=divisors[k],
        )
        for k in range(axes)
    )


def adaptive_axes(sizes: Sequence[int], output_size: Any) -> tuple[Axis, ...]:
    """As many windows as asked for, over all of each axis; None leaves an axis as it is."""
    axes = len(sizes)
    wanted = tuple(output_size) if isinstance(output_size, list | tuple) else (output_size,) * axes
    if len(wanted) != axes:
        raise InvalidArgumentError(f"output_size must be one number or {axes}, got {describe(output_size)}")
    made = []
    for size, outputs in zip(sizes, wanted, strict=True):
        if outputs is None:
            made.append(Axis(size, size))
            continue
        (number,) = per_axis("output_size", outputs, 1, 0)
        made.append(adaptive_axis(size, number))
    return tuple(made)


def checked_rank(tensor: Any, spatial: int, name: str = "input") -> None:
    """Refuse what is not a tensor of channels and spatial axes, with or without a batch."""
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a tensor, got {describe(tensor)}")
    if tensor.layout is not strided:
        raise TypeError(f"{name} must be a dense tensor, got one of layout {tensor.layout}")
    shape = tensor.shape
    if len(shape) not in (spatial + 1, spatial + 2) or any(size == 0 for size in shape[-spatial - 1 :]):
        raise InvalidArgumentError(
            f"{name} must have {spatial + 1} axes (channels and space) or {spatial + 2} (with a batch, the only one"
            f" that may be empty), got shape {list(shape)}"
        )
