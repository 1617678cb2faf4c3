"""What poolgrad raises. A wrong type is Python's own TypeError, too little memory its MemoryError."""

from __future__ import annotations

__all__ = ["InvalidArgumentError", "PoolGradError", "UnsupportedError"]


class PoolGradError(Exception):
    """Base of all errors that are poolgrad's own."""


class InvalidArgumentError(PoolGradError, ValueError):
    """An argument has the right type and a wrong value, shape or dtype."""


class UnsupportedError(PoolGradError, NotImplementedError):
    """The request makes sense but there is no such op: a dtype, or pooling across batch or channels."""


RAISED = (InvalidArgumentError, UnsupportedError, TypeError, MemoryError)


def named(name: str, error: Exception) -> Exception:
    """The same error with the name of the function that raised it in front."""
    text = str(error)
    kind = next(kind for kind in RAISED if isinstance(error, kind))
    return error if text.startswith(name) else kind(f"{name}: {text}")
