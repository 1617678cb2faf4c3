"""Fractional pooling: windows at uneven steps, so that any number of outputs is possible.

PyTorch draws the steps anew for each plane (batch entry and channel), TensorFlow once for each axis, where windows end
at the next one's start. Both are here.
"""

from __future__ import annotations

import copy
import functools
import itertools
from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from poolgrad import errors
from poolgrad.arguments import choice, describe
from poolgrad.errors import InvalidArgumentError, UnsupportedError
from poolgrad.forms import TRUSTED, Rule, plan_of, product
from poolgrad.kernels import cpu
from poolgrad.torch._arguments import Numbers, checked_rank, per_axis
from poolgrad.torch._eager import (
    Eager,
    is_plain,
    is_traced,
    keep,
    kept,
    order_in,
    repeated,
    through_operator,
    traced_order,
)
from poolgrad.torch._functions import FLOATS, PLACES, saving, widened
from poolgrad.torch._memory import DTYPES, empty, gpu_kernels, laid, side
from poolgrad.torch._operators import Pooled, differentiated, needs_derivative, sequence_axes
from poolgrad.torch._places import moved, mover
from poolgrad.windows import Axis, torch_fractional_line

Ratios = float | Sequence[float]

_NAMES = {2: "fractional_max_pool2d", 3: "fractional_max_pool3d"}


def _outputs(sizes: Sequence[int], output_size: Any, output_ratio: Any) -> tuple[int, ...]:
    spatial = len(sizes)
    if (output_size is None) == (output_ratio is None):
        raise InvalidArgumentError(
            f"output_size or output_ratio must be given, and not both, got {output_size} and {output_ratio}"
        )
    if output_size is not None:
        return per_axis("output_size", output_size, spatial, 1)
    ratios = tuple(output_ratio) if isinstance(output_ratio, list | tuple) else (output_ratio,) * spatial
    if len(ratios) != spatial or not all(isinstance(ratio, float) and 0 < ratio < 1 for ratio in ratios):
        raise InvalidArgumentError(
            f"output_ratio must be one number or {spatial}, between 0 and 1, got {describe(output_ratio)}"
        )
    return tuple(max(int(size * ratio), 1) for size, ratio in zip(sizes, ratios, strict=True))


def _starts(sample: Tensor, size: int, window: int, outputs: int, steps: Tensor | None = None) -> Tensor:
    """Where the windows of each plane begin, [planes..., outputs]; or the first and some others, ``steps`` in the
    samples' dtype."""
    slope, last = torch_fractional_line(size, window, outputs)
    if steps is None:
        steps = _steps(outputs, sample)
    moved = ((steps + sample.unsqueeze(-1)) * slope).to(torch.int64)
    return torch.where(steps == outputs - 1, last, moved - moved[..., :1])


def _steps(outputs: int, like: Tensor) -> Tensor:
    """The numbers of windows, each rounded to the samples' dtype: a range of short ones would add up what it rounds."""
    return torch.arange(outputs, device=like.device).to(like.dtype)


@functools.lru_cache(maxsize=1024)
def _always_fits(dtype: torch.dtype, size: int, window: int, outputs: int) -> bool:
    """Do windows stay on their axis, whatever sample of [0, 1) moves them?

    A start but the last one is less than ``step * slope + 1``, and that is at most ``last + 1 - slope``: but for
    roundings, three of ``(step + sample) * slope`` and two of ``sample * slope``. While all five are less than a slope
    the start is at most the last one. Of more windows every sample of 16 bits is tried, with the one before the last:
    starts do not go back.
    """
    if outputs <= 0.25 / torch.finfo(dtype).eps:  # five times half of it, of as many slopes
        return True
    if dtype.itemsize > 2:
        return False
    ones = int(torch.ones(1, dtype=dtype).view(torch.int16))
    every = torch.arange(ones, dtype=torch.int16).view(dtype)
    steps = _steps(outputs, every)
    starts = _starts(every, size, window, outputs, torch.stack([steps[0], steps[steps != steps[-1]][-1]]))
    return bool(starts.max() <= size - window)


def _places(samples: Tensor, sizes: Sequence[int], window: Sequence[int], outputs: Sequence[int]) -> Tensor:
    """The cells of every window, [planes..., outputs..., cells of a window]."""
    spatial = len(sizes)
    planes = samples.dim() - 1
    places = torch.zeros((), dtype=torch.int64, device=samples.device)
    for k in range(spatial):
        cells = _starts(samples[..., _sampled(k, spatial)], sizes[k], window[k], outputs[k]).unsqueeze(-1)
        cells = cells + torch.arange(window[k], device=samples.device)
        shape = [*cells.shape[:planes], *[1] * (2 * spatial)]
        shape[planes + k], shape[planes + spatial + k] = outputs[k], window[k]
        places = places * sizes[k] + cells.reshape(shape)
    return places.flatten(-spatial)


class _Drawing:
    """A call on plain tensors whose windows PyTorch's rule draws anew each time: to derivatives a maximum like any."""

    family = "maximum"
    names_winners = True

    def __init__(self, input: Tensor, spatial: int, arguments: tuple[Any, ...], gives_index: bool) -> None:
        """``arguments`` are kernel_size, output_size and output_ratio."""
        checked_rank(input, spatial)
        kernel_size, output_size, output_ratio = arguments
        sizes, shape = tuple(input.shape[-spatial:]), tuple(input.shape)
        outputs = _outputs(sizes, output_size, output_ratio)
        window = per_axis("kernel_size", kernel_size, spatial, 1)
        self._wanted = batch, channels, _ = _wanted_samples(input, spatial, window, outputs)
        self._pick = mover("pick", input, torch.int64, sizes, outputs, TRUSTED)
        order = traced_order(input, spatial)
        inner = 1 if order[-1] == len(shape) - 1 else channels
        outer = batch * channels // inner
        self._axes = tuple(zip(sizes, window, outputs, strict=True))
        lines = [(*torch_fractional_line(*axis), _sampled(k, spatial)) for k, axis in enumerate(self._axes)]
        boxes = sizes, window, outputs
        self._is_cpu = input.is_cpu
        if self._is_cpu:
            plan = plan_of("maximum", PLACES, DTYPES[input.dtype], 1, (Axis(product(window), 1, product(window)),), 1)
            self._planes: Any = cpu.planes(plan, outer, inner, boxes, lines)
        else:
            self._planes = gpu_kernels().Planes(outer, inner, boxes, lines)
            self._is_checked = not all(_always_fits(input.dtype, *axis) for axis in self._axes)
        self._reads, self._writes = side(shape, order), side((*shape[:-spatial], *outputs), order)
        self._samples: Tensor | None = None
        self.gives_index = gives_index

    def repeated(self) -> _Drawing:
        """The same call, which is made often."""
        self._pick.repeated(self._is_cpu)
        return self

    def given(self, samples: Tensor) -> _Drawing:
        """The same call on a GPU with samples that are not drawn."""
        made = copy.copy(self)
        made._samples, made._is_checked = _fitting(samples, self._wanted).contiguous(), True
        return made

    def run(self, input: Tensor) -> tuple[Tensor, Tensor]:
        """Maxima and their places, without a derivative."""
        samples = self._samples
        if samples is None:
            samples = torch.rand(self._wanted, dtype=input.dtype, device=input.device)
        data = laid(input, self._reads)
        out, index = empty(self._writes, input.dtype, data), empty(self._writes, torch.int64, data)
        if self._is_cpu:
            fits = self._find(data, samples, out, index)
        else:
            fits = self._planes.find(data, samples, out, index, self._is_checked)
        if not fits and self._samples is not None:
            raise InvalidArgumentError("_random_samples must be numbers of [0, 1): a window leaves its axis")
        if not fits:
            raise AssertionError("a window leaves its axis")
        return out, index

    def _find(self, data: Tensor, samples: Tensor, out: Tensor, index: Tensor) -> bool:
        made = (out.data_ptr(), index.data_ptr(), torch.get_num_threads(), cpu.isa_once())
        if samples.itemsize >= 4:
            fits = self._planes.find(data.data_ptr(), samples.data_ptr(), *made)
        else:
            several = enumerate(self._axes)
            planes = samples.flatten(0, 1)
            starts = [_starts(planes[:, _sampled(k, len(self._axes))], *axis).numpy() for k, axis in several]
            fits = self._planes.find_from(data.data_ptr(), starts, *made)
        return bool(fits)

    def maxima(self, input: Tensor) -> Tensor:
        """The same without the places."""
        return self.run(input)[0]

    def adjoint(self, grad: Tensor, *by: Tensor | None) -> Any:
        """The derivative in the data, applied backwards."""
        return self._pick.adjoint(grad, *by)

    def tangent(self, data: Tensor, *by: Tensor | None) -> Any:
        """The derivative in the data, applied forwards."""
        return self._pick(data, *by)


def _sampled(axis: int, spatial: int) -> int:
    """Which sample of a plane an axis has: they stand in the order of the axes in 3-D, and width first in 2-D."""
    return spatial - 1 - axis if spatial == 2 else axis


def _winners(input: Tensor, places: Tensor, spatial: int) -> Tensor:
    """The place of the first maximum of each window."""
    cells = input.detach().flatten(-spatial)
    values = cells.gather(-1, places.flatten(-spatial - 1)).unflatten(-1, places.shape[-spatial - 1 :])
    count = values.shape[-1]
    flat = values.reshape(1, -1, count)
    order = (0, 1, 2)
    _, winner = through_operator("maximum", PLACES, (Axis(count, 1, count, count),), order, True, flat)
    return places.gather(-1, winner.reshape(*values.shape[:-1], 1)).squeeze(-1)


def _wanted_samples(input: Tensor, spatial: int, window: Any, outputs: tuple[int, ...]) -> tuple[int, ...]:
    """The shape of the samples: one number for each plane and axis."""
    for size, cells, count in zip(input.shape[-spatial:], window, outputs, strict=True):
        if count + cells - 1 > size:
            raise InvalidArgumentError(
                f"output_size must leave room for the windows: {count} + {cells} - 1 is more than {size} cells"
            )
    batch = input.shape[0] if input.dim() == spatial + 2 else 1
    return batch, input.shape[-spatial - 1], spatial


def _fitting(samples: Tensor, wanted: tuple[int, ...]) -> Tensor:
    """The samples that are used of those that are given."""
    if samples.dim() != 3 or samples.shape[0] < wanted[0] or samples.shape[1:] != wanted[1:]:
        raise InvalidArgumentError(
            f"_random_samples must have shape {list(wanted)} or more along the batch, got {list(samples.shape)}"
        )
    return samples[: wanted[0]]


def _torch_pooled(input: Tensor, spatial: int, window: Any, outputs: tuple[int, ...], samples: Any) -> Any:
    sizes = input.shape[-spatial:]
    wanted = _wanted_samples(input, spatial, window, outputs)
    if samples is None:
        samples = torch.rand(wanted, dtype=input.dtype, device=input.device)
    samples = _fitting(samples, wanted)
    samples = samples if input.dim() == spatial + 2 else samples[0]
    index = _winners(input, _places(samples, sizes, window, outputs), spatial)
    return moved("pick", input, index, sizes, outputs, flags=TRUSTED), index


def _sequence_pooled(
    family: str, input: Tensor, outputs: Sequence[int], overlapping: bool, pseudo_random: bool, indices: bool
) -> Any:
    """Pooling over a grid whose borders TensorFlow's rule draws."""
    spatial = len(outputs)
    sizes = input.shape[-spatial:]
    rule = Rule() if family == "mean" else PLACES
    if not is_plain(input):
        # Borders that nobody knows yet are a tensor of their own.
        drawn = torch.ops.poolgrad.borders(input.detach(), sizes, outputs, overlapping, pseudo_random)
        axes = tuple([Axis(size, count, 0) for size, count in zip(sizes, outputs, strict=True)])
        order = traced_order(input, spatial)
        return through_operator(family, rule, axes, order, indices, input, drawn=drawn)
    axes = sequence_axes(sizes, outputs, overlapping, pseudo_random)
    if family == "maximum" and not indices:
        rule = saving(axes) if needs_derivative(input) else Rule("first_nan")
    return Eager(family, rule, axes, tuple(input.shape), order_in(input, spatial), input.dtype, indices)(input)


def _checked_outputs(sizes: Sequence[int], outputs: Sequence[int]) -> None:
    for size, count in itertools.zip_longest(sizes, outputs):
        if count > size:
            raise InvalidArgumentError(f"output_size must be at most the input's {size} cells, got {count}")


def _is_given_there(input: Tensor, samples: Any) -> bool:
    """Are these plain tensors of one GPU, and the samples such as a kernel takes?"""
    if not isinstance(samples, Tensor) or not samples.is_cuda or samples.dtype not in FLOATS:
        return False
    return is_plain(input) and is_plain(samples) and samples.device == input.device


def _given_call(
    name: str, input: Tensor, arguments: tuple[Any, ...], return_indices: bool, samples: Tensor
) -> _Drawing:
    """The call on tensors of a GPU whose windows follow from these samples."""
    known = (*arguments, return_indices)
    call = kept(name, input, known, samples)
    if call is None:
        call = _Drawing(input, int(name[-2]), arguments, return_indices)
        keep(name, input, known, samples, call.repeated)
    return cast(_Drawing, call).given(samples)


def _fractional_max(
    spatial: int,
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    return_indices: bool,
    samples: Any,
    rule: str,
    overlapping: bool,
) -> Any:
    name = _NAMES[spatial]
    if isinstance(input, Tensor):
        input = widened(input, name)
    arguments = (kernel_size, output_size, output_ratio)
    draws = samples is None and rule == "torch"
    if draws and not is_traced():
        made = repeated(name, input, arguments, return_indices)
        if made is not None:
            return made
    try:
        if rule == "torch" and _is_given_there(input, samples):
            call = _given_call(name, input, arguments, return_indices, samples)
            if needs_derivative(input):
                return Pooled.apply(input, None, None, None, call)
            return call.run(input) if return_indices else call.maxima(input)
        if draws and is_plain(input):
            call = _Drawing(input, spatial, arguments, return_indices)
            pool = call.run if return_indices else call.maxima
            saves = needs_derivative(input)
            keep(name, input, arguments, return_indices, lambda: differentiated(call.repeated()) if saves else pool)
            return Pooled.apply(input, None, None, None, call) if saves else pool(input)
        checked_rank(input, spatial)
        outputs = _outputs(input.shape[-spatial:], output_size, output_ratio)
        if choice("sequence", rule, ("torch", "tensorflow")) == "torch":
            window = per_axis("kernel_size", kernel_size, spatial, 1)
            out = _torch_pooled(input, spatial, window, outputs, samples)
            return out if return_indices else out[0]
        _checked_outputs(input.shape[-spatial:], outputs)
        return _sequence_pooled("maximum", input, outputs, overlapping, False, return_indices)
    except errors.RAISED as error:
        raise errors.named(name, error) from None


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
    *,
    sequence: str = "torch",
    overlapping: bool = False,
) -> Any:
    """``torch.nn.functional.fractional_max_pool2d``; with ``sequence="tensorflow"`` by TensorFlow's rule.

    TensorFlow's windows reach to the next one's start, with ``overlapping`` one cell further; ``kernel_size`` is then
    not used.

    >>> fractional_max_pool2d(torch.arange(16.0).view(1, 4, 4), 2, output_size=2).shape
    torch.Size([1, 2, 2])
    """
    return _fractional_max(
        2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples, sequence, overlapping
    )


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Numbers,
    output_size: Numbers | None = None,
    output_ratio: Ratios | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
    *,
    sequence: str = "torch",
    overlapping: bool = False,
) -> Any:
    """``torch.nn.functional.fractional_max_pool3d``; as :func:`fractional_max_pool2d`.

    >>> fractional_max_pool3d(torch.arange(64.0).view(1, 4, 4, 4), 2, output_ratio=0.5).shape
    torch.Size([1, 2, 2, 2])
    """
    return _fractional_max(
        3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples, sequence, overlapping
    )


def fractional_avg_pool2d(
    input: Tensor,
    output_size: Numbers | None = None,
    output_ratio: Ratios | None = None,
    *,
    overlapping: bool = False,
    pseudo_random: bool = False,
) -> Tensor:
    """The average of each cell of a grid whose borders TensorFlow's rule draws, with PyTorch's generator.

    >>> fractional_avg_pool2d(torch.ones(1, 5, 5), output_ratio=0.7).shape
    torch.Size([1, 3, 3])
    """
    try:
        checked_rank(input, 2)
        if not input.dtype.is_floating_point:
            raise UnsupportedError(f"input must have a float dtype, got {input.dtype}")
        outputs = _outputs(input.shape[-2:], output_size, output_ratio)
        _checked_outputs(input.shape[-2:], outputs)
        return cast(Tensor, _sequence_pooled("mean", input, outputs, overlapping, pseudo_random, False))
    except errors.RAISED as error:
        raise errors.named("fractional_avg_pool2d", error) from None
