"""What every function does around its work: remembers calls, and puts its name on errors.

A call like one before, in all but the contents of its arrays, needs no second look at its arguments: the native core
keeps what it came to and runs it again. Whatever it does not know at once, and whatever goes wrong, is left to the
ordinary path, so that every check is written once, in Python.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from poolgrad import _core, errors
from poolgrad.errors import RAISED
from poolgrad.threads import get_num_threads

P = ParamSpec("P")
R = TypeVar("R")

# Arguments of which shape and dtype make a plan, and the contents are what it works on. All others count by value.
DATA = frozenset(
    {"argmax", "grad", "input", "offsets", "orig_input", "orig_output", "out", "out_backprop", "value", "values", "x"}
)

KEPT: dict[str, _core.Calls] = {}
"""The calls of each function by its name."""


class Run(NamedTuple):
    """How a result was made: the problem, and the arrays and argument names of its roles."""

    problem: _core.Problem
    isa: str
    arrays: dict[str, Any]
    names: dict[str, Any]
    values: Any
    index: Any


class _Learning(threading.local):
    is_on = False
    run: Run | None = None


_learning = _Learning()


def note(run: Run) -> None:
    """Say how the result of the call that is going on was made, so that it can be remembered."""
    if _learning.is_on:
        _learning.run = run


def remember(on: bool) -> None:
    """Switch the memory of calls off or on. Results do not depend on it."""
    _core.remember_calls(on)


def forget() -> None:
    """Make nothing of what is remembered hold any longer."""
    _core.forget_calls()


def _is_pair(result: object, run: Run) -> bool:
    return isinstance(result, tuple) and len(result) == 2 and result[0] is run.values and result[1] is run.index


def _learn(kept: _core.Calls, function: Callable[..., R], args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    key = kept.key(args, kwargs)
    if key is None:
        return function(*args, **kwargs)
    _learning.is_on = True
    try:
        result = function(*args, **kwargs)
        run = _learning.run
    finally:
        _learning.is_on, _learning.run = False, None
    if run is not None and (result is run.values or _is_pair(result, run)):
        kept.keep(args, kwargs, key, run.problem, run.isa, run.names, run.arrays, run.values, run.index, type(result))
    return result


def remembered(function: Callable[P, R], state: Callable[[], object] | None = None) -> Callable[P, R]:
    """A function that looks at nothing but its arguments, and at ``state()``, does so once for equal calls."""
    parameters = inspect.signature(function).parameters.values()
    kept = _core.Calls(
        [parameter.name for parameter in parameters],
        [parameter.name in DATA for parameter in parameters],
        sum(parameter.kind is not inspect.Parameter.KEYWORD_ONLY for parameter in parameters),
        state,
        get_num_threads,
    )
    KEPT[function.__name__] = kept

    def ordinary(*args: P.args, **kwargs: P.kwargs) -> R:
        return _learn(kept, function, args, kwargs)

    call = cast(Callable[P, R], kept.function(ordinary))
    return functools.update_wrapper(call, function)


def named(function: Callable[P, R]) -> Callable[P, R]:
    """Errors start with the function's name."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except RAISED as error:
            raise errors.named(function.__name__, error) from error.__cause__

    return call
