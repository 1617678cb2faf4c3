"""Launches of kernels, and calls that repeat them: the next call of a plan has other tensors and nothing else.

To choose kernels and tiles takes longer than many a kernel runs, and so does Triton's look at every argument. So what a
plan's first call launches is kept. What was compiled counts on pointers to multiples of 16 bytes, as PyTorch gives
them: with others the plan goes the long way.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import torch

_ALIGNED = 16
_local = threading.local()
# Looked up once: every small call asks them. They are not there where PyTorch was built without CUDA.
_current_device = getattr(torch._C, "_cuda_getDevice", torch.cuda.current_device)
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)


class _Recording:
    """What a call has done so far, and the memory it asked for."""

    def __init__(self) -> None:
        self.steps: list[tuple[Any, int, tuple[Any, ...]]] = []
        self.memory: list[Any] = []


class _Step(NamedTuple):
    """A launch without its tensors: ``slots`` are places among the arguments and the number of the tensor there."""

    run: Any
    arguments: list[Any]
    slots: list[tuple[int, int]]
    is_kernel: bool


def launch(kernel: Any, programs: int, warps: int, *arguments: Any) -> None:
    """Run a kernel."""
    compiled = kernel[(programs,)](*arguments, num_warps=warps, enable_fp_fusion=False)
    recording = getattr(_local, "recording", None)
    if recording is not None:
        recording.steps.append((compiled, programs, arguments))


def memory(count: int, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
    """A tensor for as long as the call takes."""
    made = torch.empty(count, dtype=dtype, device=device)
    recording = getattr(_local, "recording", None)
    if recording is not None:
        recording.memory.append(made)
    return made


def step(function: Callable[..., Any], *tensors: torch.Tensor) -> None:
    """Call a function that changes tensors in place."""
    function(*tensors)
    recording = getattr(_local, "recording", None)
    if recording is not None:
        recording.steps.append((function, 0, tensors))


def clear(tensor: torch.Tensor) -> None:
    """Fill a tensor with zeros."""
    step(torch.Tensor.zero_, tensor)


@cache
def _stream(device: torch.device) -> Any:
    return torch.cuda.Stream(device)


def _copied(values: torch.Tensor, device: torch.device, before: Any) -> torch.Tensor:
    stream = _stream(device)
    if before is not None:
        stream.wait_stream(before)
    with torch.cuda.stream(stream):
        moved = values.to(device)
    stream.synchronize()
    return moved


def kept(values: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Values of the host on a device, for any later call."""
    if device.type != "cuda":
        return values.to(device)
    before = None if torch.cuda.is_current_stream_capturing() else torch.cuda.current_stream(device)
    # A graph that is being recorded would own what this thread makes, or what is made on this stream.
    with ThreadPoolExecutor(1) as other:
        moved = other.submit(_copied, values, device, before).result()
    moved.is_kept = True  # type: ignore[attr-defined, unused-ignore]
    return moved


class Repeat:
    """What a call launched."""

    __slots__ = ("_device", "_given", "_memory", "_steps")

    def __init__(
        self, steps: list[_Step], given: int, wanted: list[tuple[int, torch.dtype]], device: torch.device
    ) -> None:
        """``given`` tensors come with each call, ``wanted`` are those in between: their elements and dtypes."""
        self._steps, self._memory, self._device = steps, wanted, device
        used = {number for step in steps for _, number in step.slots}
        self._given = sorted(number for number in used if number < given)

    def run(self, tensors: Sequence[Any]) -> bool:
        """Launch it with these tensors, if it is made for such."""
        index = self._device.index
        if _current_device() != index:
            return False
        for number in self._given:
            if tensors[number].data_ptr() % _ALIGNED:
                return False
        if self._memory:
            tensors = [*tensors, *(torch.empty(n, dtype=kind, device=self._device) for n, kind in self._memory)]
        # Triton would look for the stream anew with each launch.
        stream = None if _current_stream is None else _current_stream(index)
        for run, arguments, slots, is_kernel in self._steps:
            arguments = arguments.copy()
            for place, number in slots:
                arguments[place] = tensors[number]
            if is_kernel:
                run(*arguments, stream=stream)
            else:
                run(*arguments)
        return True


def _step(compiled: Any, programs: int, arguments: tuple[Any, ...], tensors: Sequence[Any]) -> _Step | None:
    left, slots = list(arguments), []
    for place, argument in enumerate(arguments):
        if not isinstance(argument, torch.Tensor) or getattr(argument, "is_kept", False):
            continue
        found = [number for number, tensor in enumerate(tensors) if tensor is argument]
        if not found or argument.data_ptr() % _ALIGNED:
            return None
        left[place] = None
        slots.append((place, found[0]))
    is_kernel = programs > 0
    return _Step(compiled[(programs, 1, 1)] if is_kernel else compiled, left, slots, is_kernel)


def recorded(fill: Callable[[], None], tensors: Sequence[Any], device: torch.device) -> Repeat | None:
    """Do it, and give back what it launched if that is all it did."""
    _local.recording = recording = _Recording()
    try:
        fill()
    finally:
        _local.recording = None
    every = [*tensors, *recording.memory]
    if not recording.steps or any(step[0] is None for step in recording.steps):
        return None
    steps = []
    for step in recording.steps:
        made = _step(*step, every)
        if made is None:
            return None
        steps.append(made)
    return Repeat(steps, len(tensors), [(one.numel(), one.dtype) for one in recording.memory], device)


class Launches:
    """What fills some tensors, recorded on each device when it is first done there, and repeated."""

    __slots__ = ("_fill", "_repeats")

    def __init__(self, fill: Callable[..., None]) -> None:
        self._fill = fill
        self._repeats: dict[int, Repeat | None] = {}

    def run(self, tensors: Sequence[Any], device: torch.device) -> None:
        """Do it with these tensors of a device."""
        if device.type != "cuda":
            self._fill(*tensors)
            return
        repeat = self._repeats.get(device.index)
        if repeat is not None and repeat.run(tensors):
            return
        with torch.cuda.device(device):
            self._repeats[device.index] = recorded(lambda: self._fill(*tensors), tensors, device)
