"""Settings for all tests: examples are the same in every run, and a slow machine is no failure."""

from hypothesis import settings

settings.register_profile("poolgrad", deadline=None, max_examples=40, derandomize=True, print_blob=True)
settings.load_profile("poolgrad")
