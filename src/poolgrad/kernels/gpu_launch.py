"""Launches of kernels, and launches that are repeated: the next call of a plan has other tensors and nothing else.

To choose tiles takes as long as many a kernel runs, and so does Triton's look at every argument. Where one kernel does
all of a plan's work its launch is kept. What was compiled counts on pointers to multiples of 16 bytes, as PyTorch gives
them: others are launched the long way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

_ALIGNED = 16
_local = threading.local()


def launch(kernel: Any, programs: int, warps: int, *arguments: Any) -> None:
    """Run a kernel that does all of a plan's work."""
    compiled = kernel[(programs,)](*arguments, num_warps=warps, enable_fp_fusion=False)
    launches = getattr(_local, "launches", None)
    if launches is not None:
        launches.append((compiled, programs, arguments))


def several() -> None:
    """Say that this plan takes more than one kernel."""
    if getattr(_local, "launches", None) is not None:
        _local.launches += [None, None]


class Repeat:
    """A launch without its tensors."""

    __slots__ = ("_arguments", "_device", "_run", "_slots")

    def __init__(self, run: Any, arguments: list[Any], slots: list[tuple[int, int]], device: int) -> None:
        """``slots`` are places among the arguments and the number of the tensor that goes there."""
        self._run, self._arguments, self._slots, self._device = run, arguments, slots, device

    def run(self, tensors: Sequence[Any]) -> bool:
        """Launch it with these tensors, if it is made for such."""
        if torch.cuda.current_device() != self._device:
            return False
        arguments = self._arguments.copy()
        for place, number in self._slots:
            tensor = tensors[number]
            if tensor.data_ptr() % _ALIGNED:
                return False
            arguments[place] = tensor
        self._run(*arguments)
        return True


def recorded(fill: Callable[[], None], tensors: Sequence[Any]) -> Repeat | None:
    """Do it, and give back its launch if that is all it is."""
    _local.launches = launches = []
    try:
        fill()
    finally:
        _local.launches = None
    if len(launches) != 1 or launches[0][0] is None:  # the interpreter compiles nothing
        return None
    compiled, programs, arguments = launches[0]
    kept, slots = list(arguments), []
    for place, argument in enumerate(arguments):
        if isinstance(argument, torch.Tensor):
            if argument.data_ptr() % _ALIGNED:
                return None
            found = [number for number, tensor in enumerate(tensors) if tensor is argument]
            if found:  # others are tables, which stay
                kept[place] = None
                slots.append((place, found[0]))
    return Repeat(compiled[(programs, 1, 1)], kept, slots, torch.cuda.current_device())
