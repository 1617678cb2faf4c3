"""Settings for all tests: examples are the same in every run, a slow machine is no failure, and no kernel finds
anything useful in memory that it has not written."""

import gc

from hypothesis import settings

from poolgrad import _core

settings.register_profile("poolgrad", deadline=None, max_examples=40, derandomize=True, print_blob=True)
settings.load_profile("poolgrad")
_core.spoil_scratch(True)


def pytest_unconfigure() -> None:
    """Hypothesis leaves a callback with the garbage collector, which keeps its module's contents, and the functions it
    has seen, until after the native core looks for what leaked: that would be reported at the end of some runs."""
    gc.callbacks[:] = [call for call in gc.callbacks if not getattr(call, "__module__", "").startswith("hypothesis")]
