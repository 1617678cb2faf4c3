"""Export to ONNX: calls become PyTorch's own ops, which the exporter writes as standard ones, or say why not."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from poolgrad.errors import UnsupportedError
from poolgrad.torch._arguments import per_axis, read_pads
from poolgrad.windows import span


def standard(name: str, input: Tensor, arguments: tuple[Any, ...], indices: bool) -> Any:
    """PyTorch's function of this name; ``arguments`` are those of :func:`poolgrad.torch._functions.pooled`."""
    function = getattr(functional, name)
    if name.startswith("adaptive"):
        return function(input, *arguments, return_indices=True) if indices else function(input, *arguments)
    kernel_size, stride, padding, dilation, ceil_mode, *averages = arguments
    if _is_uneven(padding):
        return _padded(name, input, arguments, indices)
    if not averages:
        return function(input, kernel_size, stride, padding, dilation, ceil_mode, indices)
    counts, divisor = averages
    more = {} if divisor is None else {"divisor_override": divisor}
    return function(input, kernel_size, stride, padding, ceil_mode, counts, **more)


def _is_uneven(padding: Any) -> bool:
    entries = padding if isinstance(padding, list | tuple) else [padding]
    return not all(isinstance(entry, int) for entry in entries)


def _padded(name: str, input: Tensor, arguments: tuple[Any, ...], indices: bool) -> Tensor:
    """The same with the padding as cells of a larger input."""
    kernel_size, stride, padding, dilation, ceil_mode, *averages = arguments
    if indices or (ceil_mode and padding != "same") or (averages and averages[1] is not None):
        raise UnsupportedError(
            f"{name}: padding must be numbers to be exported to ONNX with return_indices, ceil_mode or"
            f" divisor_override, got {padding!r}"
        )
    spatial = int(name[-2])
    window = per_axis("kernel_size", kernel_size, spatial, 1)
    steps = window if stride is None else per_axis("stride", stride, spatial, 1)
    reach = tuple(span(*axis) for axis in zip(window, per_axis("dilation", dilation, spatial, 1), strict=True))
    pads = read_pads(padding, input.shape[-spatial:], reach, steps)
    around = [pad for pair in reversed(pads) for pad in pair]
    function = getattr(functional, name)
    if not averages:
        return function(functional.pad(input, around, value=-torch.inf), window, steps, 0, dilation)
    mean = function(functional.pad(input, around), window, steps)
    counts = averages[0] and not isinstance(padding, str)
    return mean if counts else mean / function(functional.pad(torch.ones_like(input), around), window, steps)
