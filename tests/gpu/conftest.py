"""Tests of what runs on a GPU. Without one the kernels run in Triton's interpreter, which must be on before they are
imported, and tests marked ``gpu`` are skipped."""

import os
from collections.abc import Iterator

import pytest
import torch

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


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """The interpreter's operations are tiny: threads that wait for each other take most of the time."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
