"""Tests of what runs on a GPU. Without one the kernels run in Triton's interpreter, which must be on before they are
imported, and tests marked ``gpu`` are skipped."""

import os

import pytest
import torch

from tests.frontends.conftest import one_thread

# The interpreter's operations are tiny, too.
__all__ = ["one_thread"]

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"
# What cuBLAS wants before it is deterministic.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs CUDA, and PyTorch finds no such device"))
