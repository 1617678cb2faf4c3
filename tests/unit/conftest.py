"""What tests of calls that are kept begin with."""

from collections.abc import Iterator

import pytest

from poolgrad import calls
from poolgrad.kernels import cpu


@pytest.fixture
def nothing_kept() -> Iterator[None]:
    """No call was made before; afterwards calls are kept, and made with the best instructions."""
    for kept in calls.KEPT.values():
        kept.clear()
    yield
    calls.remember(True)
    cpu.force_isa(None)
