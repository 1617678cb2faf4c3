"""A plan in the flat form in which operators of array libraries carry it: a few numbers and a word.

Such operators are traced and stored by their library, which knows tensors, integers (symbolic ones too) and text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from poolgrad.errors import InvalidArgumentError
from poolgrad.plan import Plan, axis_numbers, fold, make, with_argmax, with_offsets
from poolgrad.windows import Axis

EACH = 8  # numbers of an axis
_FLAGS = {"s": "last_axis_slowest", "i": "infinite_floor", "v": "verify"}
TRUSTED = "t"
"""The flag of an index that a kernel made: a GPU does not look for bad entries in it, for which the host would wait."""
APART = "a"
"""The flag of an index by position that names no cell twice: on a GPU nothing is sorted then."""


class Rule(NamedTuple):
    """Who is selected, and how winners are named."""

    selector: str = "none"
    numbering: str = "ordinal"
    index_dtype: str = "int64"
    base: str = ""
    flags: str = ""

    def text(self) -> str:
        """The rule as one word.

        >>> Rule("first_nan", "offset", "uint8").text()
        'first_nan,offset,uint8,,'
        """
        return ",".join(self)


def rule_of(text: str) -> Rule:
    """A rule from its word.

    >>> rule_of("floor,ordinal,int64,,i").flags
    'i'
    """
    parts = text.split(",")
    if len(parts) != len(Rule._fields):
        raise InvalidArgumentError(f"rule must have the parts {', '.join(Rule._fields)}, got {text!r}")
    return Rule(*parts)


def rule_from(plan: Plan) -> Rule:
    """The rule of a plan."""
    flags = "".join(flag for flag, name in _FLAGS.items() if getattr(plan, name))
    return Rule(plan.selector, plan.numbering, plan.index_dtype, plan.base, flags)


def numbers_of(axes: Sequence[Axis]) -> tuple[list[int], list[int]]:
    """Axes as numbers, and their tables one after the other. A window of no cells says that there is a table.

    >>> numbers_of((Axis(5, 2, starts=(0, 2), stops=(3, 5)),))
    ([5, 2, 0, 1, 0, 1, -1, 0], [0, 2, 3, 5])
    """
    numbers: list[int] = []
    tables: list[int] = []
    for axis in axes:
        size, outputs, window, *rest = axis_numbers(axis)
        numbers += (size, outputs, 0 if axis.starts else window, *rest)
        tables += (*axis.starts, *axis.stops)
    return numbers, tables


def axes_of(numbers: Sequence[int], tables: Sequence[int]) -> tuple[Axis, ...]:
    """Axes from their numbers and tables.

    >>> axes_of([5, 2, 0, 1, 0, 1, -1, 0], [0, 2, 3, 5])[0].stops
    (3, 5)
    """
    axes = []
    at = 0
    for first in range(0, len(numbers), EACH):
        size, outputs, window, stride, pad, dilation, counted, divisor = numbers[first : first + EACH]
        rows = outputs if window == 0 else 0
        starts, stops = tuple(tables[at : at + rows]), tuple(tables[at + rows : at + 2 * rows])
        at += 2 * rows
        axes.append(Axis(size, outputs, window or 1, stride, pad, dilation, starts, stops, counted, divisor))
    return tuple(axes)


def product(numbers: Iterable[int]) -> int:
    """The product of numbers, of which some may be symbolic.

    >>> product((2, 3))
    6
    """
    result = 1
    for number in numbers:
        result = result * number
    return result


def flattened(axes: Sequence[Axis]) -> tuple[Axis]:
    """The axes of a call whose cells are given by position: one without windows. Sizes may be symbolic."""
    return (Axis(product([axis.size for axis in axes]), product([axis.outputs for axis in axes])),)


def plan_of(family: str, rule: Rule, dtype: str, outer: int, axes: Sequence[Axis], inner: int) -> Plan:
    """The plan of a call on ``[outer, one to three axes, inner]``."""
    shape = (outer, *(axis.size for axis in axes), inner)
    folded = fold(shape, 1, tuple(axes), numbered=rule.numbering == "position")
    flags = {name: flag in rule.flags for flag, name in _FLAGS.items()}
    plan = make(family, rule.selector, dtype, folded, **flags)
    if rule.numbering == "offset":
        return with_offsets(plan, tuple(axis.window for axis in axes))
    if rule.numbering == "position":
        return with_argmax(plan, rule.index_dtype, rule.base)
    return plan


def derived(rule: Rule) -> Rule:
    """Who gets the gradient of a maximum: whoever its index names, else who TensorFlow and the plain functions say.

    >>> derived(Rule("first_nan", "offset", "uint8")).selector, derived(Rule("floor")).selector
    ('offset', 'first_max')
    """
    if rule.numbering != "ordinal":
        return rule._replace(selector="offset" if rule.numbering == "offset" else "given", flags=TRUSTED)
    if "i" in rule.flags:
        return Rule("all_near", flags="s")
    return Rule("first_max") if rule.selector == "floor" else rule._replace(flags="")
