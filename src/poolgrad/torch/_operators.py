"""The families of kernels as PyTorch operators, ``torch.ops.poolgrad.*``.

They pool the last one to three axes of a tensor: PyTorch's conventions end before. Each is linear in its data (of the
maxima: their derivative is), and the derivative is its adjoint, again one of them; so all orders of derivative exist.
Under ``torch.compile`` an operator is one opaque call, whatever the shapes.

``numbers``, ``tables`` and ``rule`` are a plan in flat form: see :mod:`poolgrad.forms`. ``order`` says how the axes lie
in memory, of arguments and results alike: compilers follow a result better than a view of one. A traced program that
draws its windows has the tables in a tensor, ``drawn``, which the operator ``borders`` makes.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NamedTuple, cast

import torch
from torch import Tensor
from torch._functorch.utils import enable_single_level_autograd_function
from torch.autograd import forward_ad

from poolgrad.errors import InvalidArgumentError, UnsupportedError
from poolgrad.forms import EACH, axes_of, derived, numbers_of, rule_of
from poolgrad.philox import Philox, sequence
from poolgrad.plan import ADJOINT, BACK, Shape
from poolgrad.torch._memory import Call, call_of, side
from poolgrad.windows import Axis, from_sequence, refuse_empty_windows

_BY = "Tensor? input, Tensor? reference, Tensor? index"
_FORM = "SymInt[] numbers, SymInt[] tables, str rule, int[] order, Tensor? drawn=None"
_SCHEMAS = {
    "mean": f"(Tensor data, {_FORM}) -> Tensor",
    "spread": f"(Tensor data, {_FORM}) -> Tensor",
    "maximum": f"(Tensor data, {_FORM}) -> (Tensor, Tensor)",
    "pick": f"(Tensor data, {_BY}, {_FORM}) -> Tensor",
    "route": f"(Tensor data, {_BY}, {_FORM}) -> Tensor",
}
_NOBODY = (None, None, None)
_is_grad_enabled = torch.is_grad_enabled

By = tuple[Tensor | None, Tensor | None, Tensor | None]
Numbers = list[int]

library = torch.library.Library("poolgrad", "DEF")


def overload(family: str) -> Any:
    """The operator of a family."""
    return getattr(torch.ops.poolgrad, family).default


class Form(NamedTuple):
    """A plan in flat form."""

    numbers: Numbers
    tables: Numbers
    rule: str
    order: list[int]
    drawn: Tensor | None = None


def _split(family: str, arguments: tuple[Any, ...]) -> tuple[By, Form]:
    """What follows the data: who selects, and the form."""
    if family in ("pick", "route"):
        return cast(By, arguments[:3]), Form(*arguments[3:])
    return _NOBODY, Form(*arguments)


def _joined(family: str, by: By) -> tuple[Tensor | None, ...]:
    return by if family in ("pick", "route") else ()


def result_shape(family: str, data: Tensor, numbers: Numbers) -> Shape:
    """The shape of what a family makes of its data; sizes may be symbolic."""
    return (*data.shape[: -(len(numbers) // EACH)], *numbers[0 if family in BACK else 1 :: EACH])


@functools.lru_cache(maxsize=1024)
def _call(
    family: str,
    rule: str,
    dtype: torch.dtype,
    shape: Shape,
    order: Shape,
    numbers: tuple[int, ...],
    tables: tuple[int, ...],
) -> Call:
    axes = axes_of(numbers, tables)
    if rule_of(rule).selector != "given":  # whose axes have no windows
        for axis in axes:
            refuse_empty_windows(axis)
    return call_of(family, rule_of(rule), axes, shape, order, dtype)


def _kernel(family: str) -> Callable[..., Any]:
    def run(data: Tensor, *arguments: Any) -> Any:
        by, form = _split(family, arguments)
        numbers, tables = form.numbers, form.tables if form.drawn is None else form.drawn.tolist()
        if len(numbers) not in (EACH, 2 * EACH, 3 * EACH) or data.dim() <= len(numbers) // EACH:
            raise InvalidArgumentError(
                f"{family} takes data with one to three pooled axes behind others and {EACH} numbers for each, got"
                f" shape {list(data.shape)} and {len(numbers)} numbers"
            )
        shape = (*data.shape[: -(len(numbers) // EACH)], *numbers[::EACH])
        make = _call.__wrapped__ if tables else _call  # windows in tables are drawn anew with almost every call
        call = make(family, form.rule, data.dtype, shape, tuple(form.order), tuple(numbers), tuple(tables))
        made = call.run(data, *by)
        if family != "maximum" or call.index_dtype is not None:
            return made
        return made, made.new_empty(0, dtype=torch.uint8)

    return run


def _fake(family: str) -> Callable[..., Any]:
    def run(data: Tensor, *arguments: Any) -> Any:
        _, form = _split(family, arguments)
        made = side(result_shape(family, data, form.numbers), tuple(form.order))
        out = data.new_empty_strided(made.shape, made.strides)
        if family != "maximum":
            return out
        rule = rule_of(form.rule)
        if rule.numbering == "ordinal":
            return out, data.new_empty(0, dtype=torch.uint8)
        return out, data.new_empty_strided(made.shape, made.strides, dtype=getattr(torch, rule.index_dtype))

    return run


class Traced:
    """A call of an operator, as the derivative sees it."""

    gives_index = True

    def __init__(self, keyset: Any, family: str, form: Form) -> None:
        self.keyset, self.family, self.form = keyset, family, form

    @property
    def names_winners(self) -> bool:
        """Does the index of a maximum say which cells won?"""
        return rule_of(self.form.rule).numbering != "ordinal"

    def run(self, data: Tensor, *by: Tensor | None) -> Any:
        """The operator itself, without its derivative."""
        # Gradients are not off for the transforms of torch.func outside this one.
        with torch._C._AutoDispatchBelowAutograd(), torch.enable_grad(), forward_ad._set_fwd_grad_enabled(True):
            after = self.keyset & torch._C._after_autograd_keyset
            return overload(self.family).redispatch(after, data, *_joined(self.family, cast(By, by)), *self.form)

    def adjoint(self, grad: Tensor, *by: Tensor | None) -> Tensor:
        """The derivative in the data, applied backwards."""
        return self._moved(ADJOINT.get(self.family, "route"), grad, by)

    def tangent(self, data: Tensor, *by: Tensor | None) -> Tensor:
        """The derivative in the data, applied forwards."""
        return self._moved("pick" if self.family == "maximum" else self.family, data, by)

    def _moved(self, family: str, data: Tensor, by: tuple[Tensor | None, ...]) -> Tensor:
        form = self.form
        if self.family == "maximum":
            rule = derived(rule_of(form.rule))
            form = form._replace(rule=rule.text())
            if rule.selector == "given":  # by position among all cells, whatever the windows
                form = form._replace(tables=[], drawn=None)
        return cast(Tensor, overload(family)(data, *_joined(family, cast(By, by)), *form))


class Pooled(torch.autograd.function._SingleLevelFunction):
    """The one rule of differentiation: a call's derivative in its data is the adjoint, backwards, and itself, forwards.

    ``call`` is a :class:`Traced` here, or in plain eager programs a call made ready before, which may be the context's
    own: see :func:`differentiated`.
    """

    apply: ClassVar[Callable[..., Any]]

    @staticmethod
    def forward(
        ctx: Any,
        data: Tensor,
        input: Tensor | None = None,
        reference: Tensor | None = None,
        index: Tensor | None = None,
        call: Any = None,
    ) -> Any:
        if call is None:
            call = ctx.call
        else:
            ctx.call = call
        family = call.family
        if family == "mean" or family == "spread":
            return call.run(data)
        if family == "maximum":
            out = call.run(data)
            if type(out) is tuple:
                out, index = out
            by: By = (None, None, index) if call.names_winners else (data, out, None)
        else:
            by = input, reference, index
            out = call.run(data, *by)
        ctx.save_for_backward(*by)
        if forward_ad._current_level >= 0:
            ctx.save_for_forward(*by)
        if family != "maximum" or not call.gives_index:
            return out
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(index)
        return out, index

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        grad = None if grads[0] is None else ctx.call.adjoint(grads[0], *ctx.saved_tensors)
        return grad, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        moved = None if tangents[0] is None else ctx.call.tangent(tangents[0], *ctx.saved_tensors)
        return (moved, None) if ctx.call.family == "maximum" and ctx.call.gives_index else moved

    @staticmethod
    def _compiled_autograd_key(ctx: Any) -> tuple[int, ...]:
        """What a compiler of backward passes knows a class by; the call is looked at with each pass."""
        return (ctx._autograd_function_id,)


def differentiated(call: Any) -> Callable[..., Any]:
    """A call that is made often, as a part of the graph of derivatives.

    It has a class of its own: an argument and an attribute more would take a tenth of a small call's time.
    """
    own: Any = type("Pooled", (Pooled,), {})
    own._backward_cls.call = call
    return own.apply


def needs_derivative(data: Tensor) -> bool:
    """May a derivative in this tensor be asked for later?"""
    wanted: bool = (data.requires_grad and _is_grad_enabled()) or forward_ad._current_level >= 0
    return wanted


def _differentiable(family: str) -> Callable[..., Any]:
    def run(keyset: Any, data: Tensor, *arguments: Any) -> Any:
        by, form = _split(family, arguments)
        call = Traced(keyset, family, form)
        if needs_derivative(data):
            # A transform of torch.func that is under way has come down to its own level here.
            with enable_single_level_autograd_function():
                return Pooled.apply(data, *by, call)
        return call.run(data, *by)

    return run


def _batched(family: str) -> Callable[..., Any]:
    """Under vmap the batch is one more of the outer axes."""

    def moved(tensor: Tensor | None, axis: int | None, size: int) -> Tensor | None:
        if tensor is None:
            return None
        return tensor.expand(size, *tensor.shape) if axis is None else tensor.movedim(axis, 0)

    def run(info: Any, axes: tuple[Any, ...], data: Tensor, *arguments: Any) -> Any:
        by, form = _split(family, arguments)
        rule = rule_of(form.rule)
        if rule.base == "batch":
            raise UnsupportedError("an index over the whole batch cannot be used under vmap")
        form = form._replace(order=[0, *(axis + 1 for axis in form.order)])
        several = [moved(*pair, info.batch_size) for pair in zip((data, *by), axes[:4], strict=False)]
        out = overload(family)(several[0], *_joined(family, cast(By, tuple(several[1:]))), *form)
        if family != "maximum":
            return out, 0
        return out, (0, None if rule.numbering == "ordinal" else 0)

    return run


def _borders(like: Tensor, sizes: Numbers, outputs: Numbers, overlapping: bool, pseudo_random: bool) -> Tensor:
    axes = sequence_axes(sizes, outputs, overlapping, pseudo_random)
    return torch.tensor(numbers_of(axes)[1], dtype=torch.int64, device="cpu")


def _fake_borders(like: Tensor, sizes: Numbers, outputs: Numbers, overlapping: bool, pseudo_random: bool) -> Tensor:
    return torch.empty(2 * sum(outputs), dtype=torch.int64, device="cpu")


def _batched_borders(info: Any, axes: tuple[Any, ...], like: Tensor, *arguments: Any) -> tuple[Tensor, None]:
    return torch.ops.poolgrad.borders(like.select(axes[0], 0), *arguments), None


def sequence_axes(
    sizes: Sequence[int], outputs: Sequence[int], overlapping: bool, pseudo_random: bool
) -> tuple[Axis, ...]:
    """Axes cut into cells by TensorFlow's rule."""
    # Seeds come from PyTorch's generator, so that torch.manual_seed repeats them.
    first, second = torch.randint(2**62, (2,), device="cpu").tolist()
    generator = Philox(first, second)
    return tuple(
        from_sequence(size, sequence(size, count, pseudo_random, generator), overlapping)
        for size, count in zip(sizes, outputs, strict=True)
    )


def _define_borders() -> None:
    schema = "(Tensor like, SymInt[] sizes, SymInt[] outputs, bool overlapping, bool pseudo_random) -> Tensor"
    library.define("borders" + schema, tags=(torch.Tag.pt2_compliant_tag, torch.Tag.nondeterministic_seeded))
    for key in ("CPU", "CUDA"):
        library.impl("borders", _borders, key)
    torch.library.register_fake("poolgrad::borders", _fake_borders, lib=library)
    torch.library.register_vmap("poolgrad::borders", _batched_borders, lib=library)


def _define() -> None:
    for family, schema in _SCHEMAS.items():
        library.define(family + schema, tags=(torch.Tag.pt2_compliant_tag,))
        for key in ("CPU", "CUDA"):
            library.impl(family, _kernel(family), key)
        library.impl(family, _differentiable(family), "Autograd", with_keyset=True)
        torch.library.register_fake(f"poolgrad::{family}", _fake(family), lib=library)
        torch.library.register_vmap(f"poolgrad::{family}", _batched(family), lib=library)


_define()
_define_borders()
