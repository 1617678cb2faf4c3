"""What poolgrad raises. A wrong type is Python's own TypeError, too little memory its MemoryError."""

from __future__ import annotations

__all__ = ["InvalidArgumentError", "PoolGradError", "UnsupportedError"]


class PoolGradError(Exception):
    """Base of all errors that are poolgrad's own.

    ``code`` names the kind of fault and stays the same from version to version. Where two arrays do not fit,
    ``argument`` is the one to change and ``expected`` the shape or dtype it should have.
    """

    code = "PG200"

    def __init__(
        self,
        text: str = "",
        *,
        code: str | None = None,
        argument: str | None = None,
        expected: tuple[int, ...] | str | None = None,
    ) -> None:
        super().__init__(text)
        if code is not None:
            self.code = code
        self.argument = argument
        self.expected = expected


class InvalidArgumentError(PoolGradError, ValueError):
    """An argument has the right type and a wrong value, shape or dtype."""

    code = "PG203"


class UnsupportedError(PoolGradError, NotImplementedError):
    """The request makes sense but there is no such op: a dtype, or pooling across batch or channels."""

    code = "PG204"


RAISED = (InvalidArgumentError, UnsupportedError, TypeError, MemoryError)


def named(name: str, error: Exception) -> Exception:
    """The same error with the name of the function that raised it in front."""
    text = str(error)
    if text.startswith(name):
        return error
    kind = next(kind for kind in RAISED if isinstance(error, kind))
    again = kind(f"{name}: {text}")
    vars(again).update(vars(error))
    return again
