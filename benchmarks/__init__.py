"""How fast poolgrad is, beside other libraries and the memory's limit: ``python -m benchmarks --help``."""
