"""Plans are kept for the next call, but only those that can come again."""

from __future__ import annotations

import numpy as np
import pytest

import poolgrad
from poolgrad.kernels import cpu


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    cpu._kept.cache_clear()


def kept() -> int:
    return cpu._kept.cache_info().currsize


def test_equal_calls_share_a_plan() -> None:
    x = np.zeros((1, 11, 13, 3), np.float32)
    poolgrad.avg_pool(x, (2, 5))
    before = cpu._kept.cache_info().hits
    poolgrad.avg_pool(np.asfortranarray(x), (2, 5))  # not remembered as a call
    assert cpu._kept.cache_info().hits == before + 1


def test_drawn_windows_are_not_kept() -> None:
    x = np.zeros((1, 101, 1), np.float32)
    for seed in range(20):
        poolgrad.fractional_avg_pool(x, 1.44, seed=seed)
    assert kept() == 0


def test_others_are_kept() -> None:
    poolgrad.avg_pool(np.zeros((1, 17, 19, 23), np.float32), 3)
    assert kept() == 1
