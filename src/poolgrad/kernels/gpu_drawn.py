"""Maxima of windows that each plane draws, on a GPU."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch

from poolgrad.kernels.gpu_launch import Launches, kept, launch
from poolgrad.kernels.gpu_maxima import COMPARED
from poolgrad.kernels.gpu_tiles import LANES, is_wide
from poolgrad.kernels.triton_drawn import best_drawn


@functools.lru_cache(maxsize=1024)
def _slopes(values: tuple[float, ...], device: torch.device) -> torch.Tensor:
    return kept(torch.tensor(values, dtype=torch.float64), device)


class Planes:
    """Planes of one shape, which lie as [outer, cells, inner], whose windows follow from samples."""

    def __init__(
        self, outer: int, inner: int, boxes: Sequence[Sequence[int]], lines: Sequence[tuple[float, int, int]]
    ) -> None:
        """``boxes`` are sizes, window and outputs, ``lines`` slope, last start and number of the sample, of axes."""
        self._sizes, self._window, self._outputs = ((*(1,) * (3 - len(box)), *box) for box in boxes)
        self._inner, self._spatial = inner, len(lines)
        self._total = outer * inner * math.prod(self._outputs)
        missing = 3 - len(lines)  # axes of one cell, whose only window is the last one
        self._line_slopes = (*(0.0,) * missing, *(slope for slope, _, _ in lines))
        self._samples = (*(0,) * missing, *(sample for _, _, sample in lines))
        self._launches = {checks: Launches(functools.partial(self._fill, checks)) for checks in (False, True)}

    def find(self, x: Any, samples: Any, out: Any, index: Any, checks: bool) -> bool:
        """Fill maxima and their index, by place in their plane; ``samples`` are [planes, axes].

        No if some window leaves its axis. To know it the host waits for the device: where that cannot be, it need not
        ask (``checks``).
        """
        if self._total == 0:
            return True
        leaves = torch.zeros(1, dtype=torch.int32, device=x.device) if checks else None
        self._launches[checks].run((x, samples, out, index, leaves), x.device)
        return leaves is None or not bool(leaves)

    def _fill(self, checks: bool, x: Any, samples: Any, out: Any, index: Any, leaves: Any) -> None:
        launch(
            best_drawn, -(-self._total // LANES), 4,
            x, samples, out, index, x if leaves is None else leaves, _slopes(self._line_slopes, x.device),
            self._total, *self._sizes, *self._outputs, self._inner, self._spatial, *self._window, *self._samples,
            checks, LANES, is_wide(self._total), COMPARED[x.dtype], COMPARED[samples.dtype],
        )  # fmt: skip
