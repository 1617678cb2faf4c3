"""What is wrong with data that a kernel refused, in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from poolgrad.plan import Plan, Shape


def _place(position: int, shape: Shape) -> tuple[int, ...]:
    where = []
    for size in reversed(shape):
        position, index = divmod(position, size)
        where.append(index)
    return tuple(reversed(where))


def explain(plan: Plan, arrays: Mapping[str, Any], names: Mapping[str, str], bad: int) -> str:
    """Why the element at this flat position of the output's side is bad; ``arrays`` and ``names`` are by role."""
    where = _place(bad, plan.output_shape)
    place = f"[{', '.join(str(i) for i in where)}]"
    if plan.verify:
        return (
            f"{names['reference']} must hold the maxima of {names['input']}, got {arrays['reference'][where]}"
            f" at {place}, which is not the maximum of its cell"
        )
    name, value = names["index"], int(arrays["index"][where])
    if plan.selector == "offset":
        return f"{name} must name cells of their windows inside the input, got {value} at {place}"
    before, _, _, limit = plan.index_map
    first, last = 0, limit - 1
    if limit < 0:
        first = -before * int(where[0])
        last = first + math.prod(plan.input_shape) - 1
    return f"{name} must have entries from {first} to {last} there, got {value} at {place}"
