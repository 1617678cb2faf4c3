"""The op table: a decorated function is one row of :data:`OPS`, from which tables, tests and docs are made."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Concatenate, ParamSpec, TypeVar

from poolgrad.attributes import FORMATS, uses_stock_windows
from poolgrad.calls import remembered
from poolgrad.errors import RAISED, named

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Spec:
    """One op: what it computes, for which arrays. ``inputs`` are the arguments that TensorFlow takes as tensors."""

    name: str
    family: str
    selector: str
    spatial: int
    dtypes: tuple[str, ...]
    formats: tuple[str, ...]
    paddings: tuple[str, ...]
    inputs: tuple[str, ...]
    attributes: tuple[str, ...]
    outputs: tuple[str, ...]
    summary: str


OPS: dict[str, Spec] = {}

_TEXTS = {
    "ksize": "window, one integer for each axis of the input, 1 on batch and channels",
    "strides": "steps of the window, one integer for each axis, 1 on batch and channels",
    "padding": "one of {paddings}",
    "explicit_paddings": "with 'EXPLICIT': a (before, after) pair for each axis of `data_format`, flattened",
    "data_format": "one of {formats}; `ksize` and `strides` follow its order",
    "orig_input_shape": "shape of the forward op's input",
    "orig_input_tensor_shape": "shape of the forward op's input",
    "orig_input": "the forward op's input",
    "orig_output": "the forward op's output",
    "argmax": "the forward op's argmax, int32 or int64",
    "include_batch_in_index": "whether argmax counts over the whole batch or within one image",
    "Targmax": "dtype of argmax: int32 or int64, as a NumPy type, dtype or name",
    "pooling_ratio": "input size over output size, one number for each axis, 1 on batch and channels",
    "pseudo_random": "whether cell borders follow a pseudo-random pattern or a random shuffle",
    "overlapping": "whether neighbouring cells share the row or column at their border",
    "deterministic": "whether the seeds are used; without it each call draws anew",
    "seed": "first seed, 0 unless `deterministic`",
    "seed2": "second seed, 0 unless `deterministic`",
    "row_pooling_sequence": "borders of the cells along height, as the forward op gave them",
    "col_pooling_sequence": "borders of the cells along width, as the forward op gave them",
    "name": "accepted for TensorFlow's sake and ignored",
}


def argument_text(spec: Spec, argument: str) -> str:
    """What an argument of an op is, in a few words."""
    words = {"paddings": _either(spec.paddings), "formats": _either(spec.formats)}
    return _TEXTS.get(argument, f"array of {', '.join(spec.dtypes)}").format(**words)


def _document(function: Callable[..., object], spec: Spec) -> str:
    """The docstring with its arguments written out between the first sentence and the example."""
    head, _, example = inspect.cleandoc(function.__doc__ or "").partition("\n\n")
    lines = [f"    {name}: {argument_text(spec, name)}" for name in (*spec.inputs, *spec.attributes, "name")]
    outputs = f"Returns: {' and '.join(spec.outputs)}"
    return "\n".join([head, "", "Args:", *lines, "", outputs, "", example])


def _either(words: tuple[str, ...]) -> str:
    return " or ".join(repr(word) for word in words)


def op(
    family: str,
    selector: str = "none",
    *,
    spatial: int = 2,
    dtypes: tuple[str, ...],
    inputs: tuple[str, ...],
    outputs: tuple[str, ...] = ("output",),
) -> Callable[[Callable[Concatenate[Spec, P], R]], Callable[P, R]]:
    """Enter a function, called with its row first, into the table."""

    def enter(function: Callable[Concatenate[Spec, P], R]) -> Callable[P, R]:
        signature = inspect.signature(function)
        visible = list(signature.parameters.values())[1:]
        names = [parameter.name for parameter in visible]
        has_format = "data_format" in names
        paddings = ("SAME", "VALID") if "padding" in names else ()
        spec = Spec(
            name=function.__name__,
            family=family,
            selector=selector,
            spatial=spatial,
            dtypes=dtypes,
            formats=FORMATS[spatial] if has_format else FORMATS[spatial][:1],
            paddings=(*paddings, "EXPLICIT") if "explicit_paddings" in names else paddings,
            inputs=inputs,
            attributes=tuple(name for name in names if name not in inputs and name != "name"),
            outputs=outputs,
            summary=inspect.cleandoc(function.__doc__ or "").partition("\n")[0],
        )
        OPS[spec.name] = spec

        @functools.wraps(function)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            if args:
                raise TypeError(f"{spec.name} takes keyword arguments only: {', '.join(names)}")
            try:
                return function(spec, *args, **kwargs)
            except RAISED as error:
                raise named(spec.name, error) from error.__cause__

        del checked.__wrapped__
        checked.__signature__ = signature.replace(parameters=visible)  # type: ignore[attr-defined]
        checked.__doc__ = _document(function, spec)
        return remembered(checked, uses_stock_windows)

    return enter
