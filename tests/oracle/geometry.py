"""Shapes, windows, strides and paddings of the cases."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from poolgrad import reference


@dataclass(frozen=True)
class Geometry:
    """A channels-last input shape with one window, stride and (before, after) padding per spatial axis."""

    shape: tuple[int, ...]
    window: tuple[int, ...]
    stride: tuple[int, ...]
    padding: str
    pads: tuple[tuple[int, int], ...] = field(default=())

    @property
    def id(self) -> str:
        parts = ["x".join(map(str, sizes)) for sizes in (self.shape, self.window, self.stride)]
        pads = ["".join(f"p{a}{b}" for a, b in self.pads)] if self.pads else []
        return "-".join([parts[0], f"k{parts[1]}", f"s{parts[2]}", self.padding, *pads])

    def attributes(self) -> dict[str, Any]:
        result: dict[str, Any] = {
            "ksize": [1, *self.window, 1],
            "strides": [1, *self.stride, 1],
            "padding": self.padding,
        }
        if self.padding == "EXPLICIT":
            result["explicit_paddings"] = [0, 0, *(n for pair in self.pads for n in pair), 0, 0]
        return result

    def windows(self, rule: str) -> list[list[tuple[int, ...]]]:
        layout = "NHWC" if len(self.window) == 2 else "NDHWC"
        pooling = reference.Pooling(data_format=layout, **self.attributes())
        return [[tuple(cells) for cells in axis] for axis in pooling.windows(self.shape, rule)]

    @property
    def output_shape(self) -> tuple[int, ...]:
        return (self.shape[0], *(len(axis) for axis in self.windows("true")), self.shape[-1])


PLANES = [
    Geometry((1, 1, 1, 1), (1, 1), (1, 1), "VALID"),
    Geometry((1, 1, 1, 1), (3, 2), (2, 3), "SAME"),
    Geometry((2, 7, 11, 3), (2, 3), (1, 2), "VALID"),
    Geometry((2, 7, 11, 3), (3, 3), (2, 2), "SAME"),
    Geometry((1, 5, 5, 2), (3, 3), (1, 1), "SAME"),
    Geometry((3, 1, 13, 1), (1, 4), (1, 3), "SAME"),
    Geometry((1, 13, 1, 5), (5, 1), (2, 1), "VALID"),
    Geometry((1, 4, 4, 1), (5, 5), (1, 1), "SAME"),
    Geometry((1, 3, 2, 2), (7, 9), (2, 1), "SAME"),
    Geometry((1, 7, 9, 2), (1, 2), (3, 4), "SAME"),
    Geometry((1, 7, 9, 2), (2, 1), (5, 3), "VALID"),
    Geometry((1, 3, 3, 1), (3, 3), (4, 4), "VALID"),
    Geometry((2, 3, 3, 1), (4, 4), (1, 1), "VALID"),
    Geometry((1, 2, 5, 2), (4, 2), (2, 1), "VALID"),
    Geometry((0, 4, 4, 2), (2, 2), (2, 2), "VALID"),
    Geometry((2, 4, 4, 0), (2, 2), (1, 1), "SAME"),
    Geometry((1, 0, 4, 1), (2, 2), (2, 2), "SAME"),
    Geometry((1, 17, 19, 1), (17, 19), (1, 1), "VALID"),
    Geometry((1, 2, 31, 8), (2, 3), (2, 3), "VALID"),
    Geometry((1, 2, 5, 17), (2, 2), (1, 1), "SAME"),
    Geometry((1, 4, 4, 1), (2, 2), (2, 2), "EXPLICIT", ((1, 1), (1, 1))),
    Geometry((2, 5, 7, 3), (3, 4), (2, 1), "EXPLICIT", ((0, 2), (3, 1))),
    Geometry((1, 3, 3, 2), (2, 2), (3, 3), "EXPLICIT", ((1, 0), (0, 1))),
    Geometry((1, 2, 2, 1), (5, 6), (1, 2), "EXPLICIT", ((4, 2), (3, 4))),
    Geometry((1, 5, 3, 2), (2, 3), (1, 1), "EXPLICIT", ((0, 0), (0, 0))),
]

VOLUMES = [
    Geometry((1, 1, 1, 1, 1), (1, 1, 1), (1, 1, 1), "VALID"),
    Geometry((1, 1, 1, 1, 2), (2, 3, 2), (1, 2, 1), "SAME"),
    Geometry((2, 5, 3, 7, 3), (2, 2, 3), (1, 1, 2), "VALID"),
    Geometry((1, 5, 7, 3, 2), (3, 3, 3), (2, 2, 2), "SAME"),
    Geometry((1, 3, 3, 3, 9), (2, 2, 2), (1, 1, 1), "SAME"),
    Geometry((1, 3, 4, 5, 8), (2, 3, 2), (2, 1, 2), "VALID"),
    Geometry((1, 1, 1, 4, 1), (1, 1, 5), (1, 1, 1), "SAME"),
    Geometry((1, 2, 4, 3, 2), (5, 3, 7), (1, 2, 1), "SAME"),
    Geometry((1, 4, 1, 1, 1), (1, 1, 1), (4, 1, 1), "SAME"),
    Geometry((1, 1, 7, 5, 2), (1, 1, 2), (1, 4, 5), "SAME"),
    Geometry((1, 5, 4, 5, 1), (1, 2, 2), (3, 4, 5), "SAME"),
    Geometry((1, 5, 5, 7, 1), (2, 1, 2), (3, 3, 3), "VALID"),
    Geometry((2, 2, 3, 2, 1), (3, 3, 2), (1, 1, 1), "VALID"),
    Geometry((0, 2, 3, 2, 2), (2, 2, 2), (1, 1, 1), "VALID"),
    Geometry((1, 2, 3, 2, 0), (2, 2, 2), (1, 1, 1), "SAME"),
    Geometry((1, 7, 6, 8, 1), (7, 6, 8), (1, 1, 1), "VALID"),
]


@dataclass(frozen=True)
class Fractional:
    """An input shape with the attributes of a fractional op."""

    shape: tuple[int, int, int, int]
    ratio: tuple[float, float]
    seeds: tuple[int, int]
    pseudo_random: bool = False
    overlapping: bool = False

    @property
    def id(self) -> str:
        flags = f"{'p' if self.pseudo_random else 'r'}{'o' if self.overlapping else 'd'}"
        shape = "x".join(map(str, self.shape))
        return f"{shape}-{self.ratio[0]:g}-{self.ratio[1]:g}-{flags}-{self.seeds[0]}.{self.seeds[1]}"

    def attributes(self) -> dict[str, Any]:
        return {
            "pooling_ratio": [1.0, *self.ratio, 1.0],
            "pseudo_random": self.pseudo_random,
            "overlapping": self.overlapping,
            "deterministic": True,
            "seed": self.seeds[0],
            "seed2": self.seeds[1],
        }


FRACTIONAL = [
    Fractional((1, 1, 1, 1), (1.0, 1.0), (1, 2)),
    Fractional((1, 4, 4, 1), (2.0, 2.0), (1, 2)),
    Fractional((2, 4, 4, 3), (1.0, 1.0), (3, 0), overlapping=True),
    Fractional((1, 10, 13, 1), (1.5, 1.5), (1, 2)),
    Fractional((1, 10, 13, 1), (1.5, 1.5), (1, 2), pseudo_random=True),
    Fractional((1, 7, 9, 2), (1.44, 1.44), (12345, 0), overlapping=True),
    Fractional((1, 7, 9, 2), (1.44, 1.44), (-1, -1), True, True),
    Fractional((1, 20, 20, 1), (2.3, 2.3), (87654321, 5)),
    Fractional((1, 3, 7, 2), (1.5000000000000004, 3.7), (0, 7), True),
    Fractional((1, 1, 29, 1), (1.0, 28.5), (2**63 - 1, -(2**63)), False, True),
    Fractional((1, 11, 3, 2), (11.0, 1.01), (5, 2**40), True, True),
    Fractional((1, 37, 2, 1), (1.05, 1.9), (2**33 + 1, 0)),
]


def _pick(rng: np.random.Generator, options: Sequence[int], count: int) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.choice(options, count))


def random_geometry(rng: np.random.Generator, rank: int, can_pad: bool) -> Geometry:
    """Sizes from 1 to 11 with windows and strides that may exceed them; never a negative output."""
    sizes = _pick(rng, [1, 2, 3, 4, 5, 7, 8, 11] if rank == 2 else [1, 2, 3, 4, 5, 6], rank)
    window = _pick(rng, [1, 2, 2, 3, 3, 4, 5, 7], rank)
    stride = _pick(rng, [1, 1, 2, 2, 3, 5], rank)
    shape = (*_pick(rng, [1, 1, 2, 3], 1), *sizes, *_pick(rng, [1, 2, 3, 5] if rank == 2 else [1, 2, 3, 9], 1))
    padding = str(rng.choice(["SAME", "VALID", "EXPLICIT"] if can_pad else ["SAME", "VALID"]))
    if padding == "VALID":
        window = tuple(min(k, n) for k, n in zip(window, sizes, strict=True))
    if padding != "EXPLICIT":
        return Geometry(shape, window, stride, padding)
    pads = []
    for n, k in zip(sizes, window, strict=True):
        before = int(rng.integers(0, k))
        pads.append((before, int(rng.integers(min(max(k - n - before, 0), k - 1), k))))
    return Geometry(shape, window, stride, padding, tuple(pads))


def random_fractional(rng: np.random.Generator) -> Fractional:
    batch, channels = _pick(rng, [1, 2, 3], 2)
    height, width = _pick(rng, [2, 3, 5, 7, 8, 11, 13], 2)
    ratio = [float(np.round(rng.uniform(1.0, min(n, 4.0)), 3)) for n in (height, width)]
    seeds = _pick(rng, [1, 2, 3, 17, 2**32, -5, 2**50], 2)
    return Fractional(
        (batch, height, width, channels),
        (ratio[0], ratio[1]),
        (seeds[0], seeds[1]),
        bool(rng.integers(2)),
        bool(rng.integers(2)),
    )
