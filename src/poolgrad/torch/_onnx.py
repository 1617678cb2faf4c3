"""Export to ONNX: calls that PyTorch knows too become its own ops, which the exporter writes as standard ones."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from poolgrad.errors import UnsupportedError


def _is_plain_padding(padding: Any) -> bool:
    entries = padding if isinstance(padding, list | tuple) else [padding]
    return all(isinstance(entry, int) for entry in entries)


def standard(name: str, input: Tensor, arguments: tuple[Any, ...], indices: bool) -> Any:
    """PyTorch's function of this name; ``arguments`` are those of :func:`poolgrad.torch._functions.pooled`."""
    function = getattr(torch.nn.functional, name)
    if name.startswith("adaptive"):
        return function(input, *arguments, return_indices=True) if indices else function(input, *arguments)
    kernel_size, stride, padding, dilation, ceil_mode, *averages = arguments
    if not _is_plain_padding(padding):
        raise UnsupportedError(
            f"{name}: padding must be numbers to be exported to ONNX, which PyTorch's exporter has no other ops for,"
            f" got {padding!r}"
        )
    if not averages:
        return function(input, kernel_size, stride, padding, dilation, ceil_mode, indices)
    counts, divisor = averages
    more = {} if divisor is None else {"divisor_override": divisor}
    return function(input, kernel_size, stride, padding, ceil_mode, counts, **more)
