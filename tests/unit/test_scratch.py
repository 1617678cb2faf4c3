"""Memory a call takes beside its arrays: rows that a thread works on, whatever the size of the tensors."""

from __future__ import annotations

import sys

import pytest

from .scripts import script

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

# The peak is reset after all arrays exist; what the call adds to it is scratch memory.
SCRIPT = """
import numpy as np
import poolgrad
from pathlib import Path

def peak():
    text = Path("/proc/self/status").read_text()
    return int(text.split("VmHWM:")[1].split()[0]) * 1024

def reset():
    Path("/proc/self/clear_refs").write_text("5")

poolgrad.set_num_threads({threads})
x = np.zeros({shape}, np.{dtype}) + np.{dtype}(1)
y = poolgrad.max_pool(x, {window}, {stride}, "same")
out = np.empty_like(x)
out[...] = 0
reset()
before = peak()
poolgrad.{call}
print(peak() - before)
"""
SHAPES = {
    "image": ((4, 512, 512, 32), "(3, 3)", 2),
    "planes": ((1024, 160, 160, 1), "(3, 3)", 1),
    "volume": ((1, 256, 256, 256, 1), "(3, 3, 3)", 1),
    "channels": ((2, 32, 64, 64, 256), "(2, 2, 2)", 2),
    "wide": ((8, 256, 256, 64), "(13, 13)", 1),
    "deep": ((1, 8, 128, 1024, 32), "(5, 48, 48)", (1, 16, 16)),
}
CALLS = {
    "avg_pool": "avg_pool(x, {window}, {stride}, 'same', out=y)",
    "avg_pool_grad": "avg_pool_grad(y, x.shape, {window}, {stride}, 'same', out=out)",
    "max_pool": "max_pool(x, {window}, {stride}, 'same', out=y)",
    "max_pool_grad": "max_pool_grad(y, x, {window}, {stride}, 'same', out=out)",
    "max_pool_grad_all": "max_pool_grad(y, x, {window}, {stride}, 'same', ties='all', out=out)",
    "max_pool_grad_grad": "max_pool_grad_grad(out, x, {window}, {stride}, 'same', out=y)",
}


# With all ties every cell of every window is looked at: minutes, where windows are wide.
CASES = [
    (shape, name) for shape in SHAPES for name in CALLS if name != "max_pool_grad_all" or shape not in {"wide", "deep"}
]


@pytest.mark.parametrize(("shape", "name"), CASES)
def test_scratch_memory_is_small(shape: str, name: str) -> None:
    sizes, window, stride = SHAPES[shape]
    call = CALLS[name].format(window=window, stride=stride)
    code = SCRIPT.format(threads=2, shape=sizes, dtype="float32", window=window, stride=stride, call=call)
    assert int(script(code)) < 8 << 20  # of two threads; the arrays have 100 to 270 MB each
