"""Every kind of block by its name: the ops, drawn from the op table, and the plain blocks."""

from __future__ import annotations

import inspect
from typing import Any

from poolgrad import raw_ops
from poolgrad.calls import DATA
from poolgrad.dtypes import INDICES
from poolgrad.pages.fields import REQUIRED, Field
from poolgrad.pages.kinds import Kind, Pin
from poolgrad.pages.plain import PLAIN
from poolgrad.raw_ops import OPS, Spec
from poolgrad.specs import argument_text

_GROUPS = {
    "mean": "Forward",
    "maximum": "Forward",
    "spread": "Gradients",
    "route": "Gradients",
    "pick": "Gradients of gradients",
}
# Arguments of the ops that are not lists of integers.
_FIELD_KINDS = {
    "padding": "choice",
    "data_format": "choice",
    "Targmax": "choice",
    "pooling_ratio": "numbers",
    "seed": "integer",
    "seed2": "integer",
    "include_batch_in_index": "flag",
    "pseudo_random": "flag",
    "overlapping": "flag",
    "deterministic": "flag",
}


def _initial(spec: Spec, name: str, default: Any) -> Any:
    """What a new block starts with: small windows side by side, and draws that repeat."""
    halves = [1, *[2] * spec.spatial, 1]
    starts: dict[str, Any] = {"ksize": halves, "strides": halves, "padding": "SAME"}
    starts |= {"pooling_ratio": [1.0, 1.5, 1.5, 1.0], "deterministic": True, "seed": 1}
    return starts.get(name, None if default is REQUIRED else default)


def _field(spec: Spec, name: str) -> Field:
    default: Any = inspect.signature(getattr(raw_ops, spec.name)).parameters[name].default
    default = REQUIRED if default is inspect.Parameter.empty else default
    choices = {"padding": spec.paddings, "data_format": spec.formats, "Targmax": INDICES}.get(name, ())
    if name == "Targmax":
        default = default.__name__
    kind = _FIELD_KINDS.get(name, "integers")
    return Field(name, kind, argument_text(spec, name), default, choices, _initial(spec, name, default))


def _pin(spec: Spec, name: str) -> Pin:
    return Pin(name, argument_text(spec, name), None if name in DATA else _field(spec, name))


def _kind(spec: Spec) -> Kind:
    function = getattr(raw_ops, spec.name)
    return Kind(
        op=spec.name,
        group=_GROUPS[spec.family],
        summary=spec.summary,
        pins=tuple(_pin(spec, name) for name in spec.inputs),
        fields=tuple(_field(spec, name) for name in spec.attributes),
        outputs=spec.outputs,
        outline=function,
        compute=function,
    )


BLOCKS = {kind.op: kind for kind in (*PLAIN, *map(_kind, OPS.values()))}
"""Every kind of block by its name."""
