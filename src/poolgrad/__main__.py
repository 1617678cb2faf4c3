"""``python -m poolgrad`` is the command ``poolgrad``."""

import sys

from poolgrad.cli import main

if __name__ == "__main__":
    sys.exit(main())
