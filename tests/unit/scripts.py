"""Code for fresh interpreters, and what it prints there."""

from __future__ import annotations

import os
import subprocess
import sys

# All threads at work, and their result.
USE_ALL = """
import numpy as np
x = (np.arange(2**21) % 8191).reshape(1, 2**10, 2**11, 1).astype(np.float32)
poolgrad.set_num_threads(8)
wanted = poolgrad.max_pool(x, 3, 2, 'same').tobytes()
"""


def script(code: str, timeout: float = 60, **environment: str) -> str:
    """What a fresh interpreter prints; its errors come as their class and text."""
    lines = "\n".join(f"    {line}" for line in code.strip().splitlines())
    whole = (
        f"import poolgrad\ntry:\n{lines}\nexcept Exception as error:\n    print(f'{{type(error).__name__}}: {{error}}')"
    )
    kept = {key: value for key, value in os.environ.items() if not key.startswith("POOLGRAD_")}
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    run = subprocess.run(
        [sys.executable, "-c", whole],
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
        env=kept | path | environment,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.strip()
