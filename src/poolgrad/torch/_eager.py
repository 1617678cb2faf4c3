"""Calls of plain eager programs: made ready once, then repeated without a look at their arguments.

An operator costs tens of microseconds before its kernel starts. Where nothing watches the program (no compiler, no
transform, no mode, no subclass) the kernel is called directly, with the same derivative.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad
from torch.jit._trace import is_tracing
from torch.nn import Parameter

from poolgrad.forms import Rule, derived, numbers_of
from poolgrad.kernels import cpu
from poolgrad.plan import ADJOINT, Shape
from poolgrad.torch._memory import call_of, order_of
from poolgrad.torch._operators import Pooled, needs_derivative, overload
from poolgrad.windows import Axis

Axes = tuple[Axis, ...]


def _plain_keys() -> frozenset[int]:
    """Dispatch keys of tensors that are nothing but memory, on the CPU and on a GPU, in inference mode and not."""
    key = torch._C.DispatchKey
    found = []
    for own, cast, grad in (
        (key.CPU, key.AutocastCPU, key.AutogradCPU),
        (key.CUDA, key.AutocastCUDA, key.AutogradCUDA),
    ):
        inference = torch._C.DispatchKeySet(own).add(cast)
        found += [inference, inference.add(key.ADInplaceOrView).add(grad)]
    return frozenset(one.raw_repr() for one in found)


_PLAIN = _plain_keys()
# Looked up once: every small call asks them all.
_is_compiling = torch.compiler.is_compiling
_dispatch_keys = torch._C._dispatch_keys
_raw_repr = torch._C.DispatchKeySet.raw_repr
is_traced = torch.compiler.is_dynamo_compiling  # a compiler reads the program, and can follow nothing of the core's

# A call is known by all that is_plain and needs_derivative look at, its arguments, and the layout of its tensors.
_known = cpu.tensors(
    Tensor.__dlpack_c_exchange_api__,
    (Tensor, Parameter),
    torch.Size,
    torch.empty_like,
    torch.get_num_threads,
    watchers=(
        torch._C._are_functorch_transforms_active,
        torch._C._len_torch_dispatch_stack,
        torch._C._is_torch_function_mode_enabled,
        torch._C._is_tracing,
    ),
    states=(torch.is_grad_enabled, functools.partial(getattr, forward_ad, "_current_level")),
)
_is_watched = _known.is_watched
# What was made before of a call on plain tensors, by its name, data, arguments and an option; what that makes of data.
kept: Callable[..., Any] = _known.find
repeated: Callable[..., Any] = _known.repeat
keep = _known.keep  # the same with a function that will make it when the call comes again: most never do


def is_plain(tensor: Tensor) -> bool:
    """Is this a tensor of a program that nothing watches or traces?"""
    kind = type(tensor)
    return (
        not _is_compiling()
        and (kind is Tensor or kind is Parameter)
        and _raw_repr(_dispatch_keys(tensor)) in _PLAIN
        and not _is_watched()
    )


class Eager:
    """A call on tensors of one shape, order and dtype."""

    __slots__ = (
        "_adjoint",
        "_tangent",
        "axes",
        "call",
        "family",
        "gives_index",
        "is_repeated",
        "names_winners",
        "order",
        "rule",
        "run",
        "shape",
    )

    def __init__(
        self, family: str, rule: Rule, axes: Axes, shape: Shape, order: Shape, dtype: torch.dtype, gives_index: bool
    ) -> None:
        """``shape`` is that of the pooled tensor, ``order`` how its axes lie."""
        self.family, self.rule, self.axes, self.gives_index = family, rule, axes, gives_index
        self.shape, self.order = shape, order
        self.names_winners = rule.numbering != "ordinal"
        self._adjoint: Eager | None = None
        self._tangent: Eager | None = None
        self.call = call_of(family, rule, axes, shape, order, dtype)
        self.run = self.call.run  # the kernel itself, without its derivative
        self.is_repeated = False

    def repeated(self, is_cpu: bool) -> Eager:
        """The same call, which is made often, on tensors of the host or not."""
        if is_cpu:
            self.run = self.call.repeated(_known)
            self.is_repeated = True
        return self

    def __call__(self, data: Tensor, *by: Tensor | None) -> Any:
        """The result, differentiable; the pair with the index where the call gives it."""
        if not is_plain(data):
            return through_operator(self.family, self.rule, self.axes, self.order, self.gives_index, data, *by)
        return self.plain(data, needs_derivative(data), *by)

    def plain(self, data: Tensor, is_differentiated: bool, *by: Tensor | None) -> Any:
        """The same for data that is known to be plain."""
        if is_differentiated:
            return Pooled.apply(data, *(by or (None, None, None)), self)
        made = self.run(data, *by)
        return made[0] if type(made) is tuple and not self.gives_index else made

    def _derived(self, family: str) -> Eager:
        rule = derived(self.rule) if self.family == "maximum" else self.rule
        made = Eager(family, rule, self.axes, self.shape, self.order, self.call.dtype, False)
        return made.repeated(self.is_repeated)

    def adjoint(self, grad: Tensor, *by: Tensor | None) -> Any:
        """The derivative in the data, applied backwards."""
        if self._adjoint is None:
            self._adjoint = self._derived(ADJOINT.get(self.family, "route"))
        return self._adjoint(grad, *by)

    def tangent(self, data: Tensor, *by: Tensor | None) -> Any:
        """The derivative in the data, applied forwards."""
        if self._tangent is None:
            self._tangent = self._derived("pick" if self.family == "maximum" else self.family)
        return self._tangent(data, *by)


def traced_order(tensor: Tensor, spatial: int) -> Shape:
    """The order of a tensor's axes as far as a traced program asks: channels first or last."""
    rank = tensor.dim()
    written = tuple(range(rank))
    last = (*range(rank - spatial - 1), *range(rank - spatial, rank), rank - spatial - 1)
    if not tensor.is_contiguous() and tensor.permute(last).is_contiguous():
        return last
    return written


def order_in(tensor: Tensor, spatial: int) -> Shape:
    """The order of a tensor's axes."""
    return order_of(tuple(tensor.shape), tensor.stride(), spatial)


def through_operator(
    family: str,
    rule: Rule,
    axes: Axes,
    order: Shape,
    gives_index: bool,
    data: Tensor,
    *by: Tensor | None,
    drawn: Tensor | None = None,
) -> Any:
    """The same through an operator, which can be traced. Axes whose windows are ``drawn`` have windows of no cells."""
    numbers, tables = numbers_of(axes)
    if is_tracing():  # where sizes are tensors, which lists of integers do not hold
        numbers, tables = [int(number) for number in numbers], [int(entry) for entry in tables]
    selecting = (by or (None, None, None)) if family in ("pick", "route") else ()
    made = overload(family)(data, *selecting, numbers, tables, rule.text(), list(order), drawn)
    return made if gives_index or family != "maximum" else made[0]
