"""``python -m benchmarks``."""

import os
import sys

from benchmarks.cli import main

try:
    code = main()
    sys.stdout.flush()
except BrokenPipeError:
    # The reader has gone (`python -m benchmarks --list | head`); what is left must not raise again at exit.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    code = 1
sys.exit(code)
