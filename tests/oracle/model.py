"""What a case is."""

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Call:
    """One call of a raw op: array arguments, other arguments, and why TensorFlow may differ (see `cases`)."""

    op: str
    id: str
    arrays: dict[str, Array]
    attributes: dict[str, Any]
    quirk: str | None = None

    @property
    def is_recorded(self) -> bool:
        """TensorFlow's CPU can run it without harm, and to some use."""
        unsafe = self.quirk is not None and (self.quirk.startswith("U") or self.quirk in ("beyond", "ignored"))
        flushed = self.quirk == "denormal" and "Max" in self.op
        return not unsafe and not flushed and self.op != "MaxPoolGradGradWithArgmax"

    @property
    def is_refused(self) -> bool:
        """TensorFlow's result would be meaningless; poolgrad raises."""
        return self.quirk in ("U2", "U3", "U6", "U7", "ignored")

    @property
    def uses_stock_windows(self) -> bool:
        return self.quirk in ("Q1", "Q2")


@dataclass(frozen=True)
class Failure:
    """An exception of TensorFlow: the name of its class and its message."""

    kind: str
    message: str
