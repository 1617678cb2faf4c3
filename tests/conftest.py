"""Settings for all tests: examples are the same in every run, a slow machine is no failure, and no kernel finds
anything useful in memory that it has not written."""

from hypothesis import settings

from poolgrad import _core

settings.register_profile("poolgrad", deadline=None, max_examples=40, derandomize=True, print_blob=True)
settings.load_profile("poolgrad")
_core.spoil_scratch(True)
