"""Plans are kept for the next call, but only those that can come again."""

from __future__ import annotations

import numpy as np

import poolgrad
from poolgrad.kernels import cpu


def kept() -> int:
    return cpu._kept.cache_info().currsize


def test_equal_calls_share_a_plan() -> None:
    x = np.zeros((1, 11, 13, 3), np.float32)
    poolgrad.avg_pool(x, (2, 5))
    before = cpu._kept.cache_info().hits
    poolgrad.avg_pool(x, (2, 5))
    assert cpu._kept.cache_info().hits == before + 1


def test_drawn_windows_are_not_kept() -> None:
    x = np.zeros((1, 101, 1), np.float32)
    before = kept()
    for seed in range(20):
        poolgrad.fractional_avg_pool(x, 1.44, seed=seed)
    assert kept() == before


def test_others_are_kept() -> None:
    before = kept()
    poolgrad.avg_pool(np.zeros((1, 17, 19, 23), np.float32), 3)
    assert kept() == before + 1
