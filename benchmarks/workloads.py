"""Poolings of real networks, and the rows that are measured for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from benchmarks.problems import Problem, Workload

LAST, FIRST = "channels_last", "channels_first"
FLOAT32 = ("float32",)
TYPES = ("float32", "float16", "bfloat16", "float64")


@dataclass(frozen=True)
class Measured:
    """A workload and the dtypes and layouts it is measured in; dtypes other than float32 in channels-last only."""

    workload: Workload
    dtypes: tuple[str, ...] = FLOAT32
    layouts: tuple[str, ...] = (LAST,)


def _max(name: str, shape: Sequence[int], window: int, stride: int, padding: str = "VALID") -> Workload:
    axes = len(shape) - 2
    return Workload(name, "max", tuple(shape), (window,) * axes, (stride,) * axes, padding)


def _avg(name: str, shape: Sequence[int], window: int, stride: int, padding: str = "VALID") -> Workload:
    axes = len(shape) - 2
    return Workload(name, "avg", tuple(shape), (window,) * axes, (stride,) * axes, padding)


BOTH = (LAST, FIRST)

MEASURED = (
    Measured(_max("resnet50_stem_max", [32, 112, 112, 64], 3, 2, "SAME"), (*TYPES, "uint8"), BOTH),
    Measured(_max("vgg16_block1_max", [16, 224, 224, 64], 2, 2), FLOAT32, BOTH),
    Measured(_avg("densenet_transition_avg", [32, 56, 56, 128], 2, 2), TYPES, BOTH),
    Measured(_avg("inception_mixed_avg", [32, 35, 35, 288], 3, 1, "SAME"), ("float32", "bfloat16"), BOTH),
    Measured(_avg("poolformer_avg", [32, 56, 56, 64], 3, 1, "SAME"), FLOAT32, BOTH),
    Measured(_avg("box7_avg", [32, 56, 56, 64], 7, 1, "SAME"), FLOAT32, BOTH),
    Measured(_avg("global_avg", [64, 7, 7, 2048], 7, 7), FLOAT32, BOTH),
    Measured(_max("spp_max5", [16, 20, 20, 512], 5, 1, "SAME"), FLOAT32, BOTH),
    Measured(_max("spp_max9", [16, 20, 20, 512], 9, 1, "SAME")),
    Measured(_max("spp_max13", [16, 20, 20, 512], 13, 1, "SAME")),
    Measured(_avg("pyramid_rgb_avg", [32, 224, 224, 3], 2, 2), FLOAT32, BOTH),
    Measured(_max("smooth_max", [32, 56, 56, 64], 3, 1, "SAME"), ("float32", "float16"), BOTH),
    Measured(_max("unet3d_max", [2, 128, 128, 128, 32], 2, 2), ("float32", "bfloat16"), BOTH),
    Measured(_max("c3d_max", [4, 16, 56, 56, 128], 2, 2)),
    Measured(_max("i3d_max", [2, 16, 56, 56, 192], 3, 2, "SAME"), FLOAT32, BOTH),
    Measured(_max("i3d_branch_max", [2, 16, 14, 14, 512], 3, 1, "SAME")),
    Measured(Workload("i3d_head_avg", "avg", (4, 8, 7, 7, 1024), (2, 7, 7), (1, 1, 1), "VALID")),
    Measured(_avg("vnet_avg", [1, 128, 128, 128, 32], 2, 2), FLOAT32, BOTH),
    Measured(_avg("smooth_avg", [1, 64, 64, 64, 64], 3, 1, "SAME"), ("float32", "float16"), BOTH),
    Measured(_avg("window9_avg", [1, 192, 192, 192, 1], 9, 1, "SAME"), FLOAT32, BOTH),
    Measured(Workload("fractional_avg", "avg", (32, 64, 64, 64), ratio=1.44)),
    Measured(Workload("fractional_max", "max", (32, 64, 64, 64), ratio=1.44)),
    Measured(Workload("tiny_avg", "avg", (1, 8, 8, 16), (2, 2), (2, 2), tiny=True)),
    Measured(Workload("tiny_max", "max", (1, 8, 8, 16), (2, 2), (2, 2), tiny=True)),
    Measured(Workload("tiny_max3d", "max", (1, 4, 8, 8, 16), (2, 2, 2), (2, 2, 2), tiny=True)),
)


def _directions(workload: Workload, dtype: str) -> Iterator[tuple[str, str]]:
    """Directions of a workload, each with where a max gradient finds its winners."""
    yield "forward", ""
    if workload.pooling == "avg":
        yield "gradient", ""
    else:
        yield "gradient", "input"
        if not workload.ratio:
            yield "gradient", "offsets"
    if dtype != "float32" or workload.ratio or workload.tiny:
        return
    if workload.pooling == "max":
        yield "second", "input"
        yield "second", "offsets"
    elif workload.name in ("densenet_transition_avg", "smooth_avg"):
        yield "second", ""


def all_rows() -> list[Problem]:
    """Every row, those of one workload and direction side by side."""
    rows = []
    for measured in MEASURED:
        forms = [(dtype, LAST) for dtype in measured.dtypes]
        forms[1:1] = [("float32", layout) for layout in measured.layouts if layout != LAST]
        rows += [
            Problem(measured.workload, dtype, layout, direction, kind, results)
            for direction, kind in _directions(measured.workload, "float32")
            for results in ("fresh", "reused")
            for dtype, layout in forms
            if (direction, kind) in _directions(measured.workload, dtype)
        ]
    return rows


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Whether a name holds one of the texts, or fits one with stars; without patterns every name does.

    >>> matches("spp_max5/float32", ["max5"]), matches("spp_max5/float32", ["spp*64"])
    (True, False)
    """
    return not patterns or any(pattern in name or fnmatchcase(name, pattern) for pattern in patterns)


def select(
    rows: Sequence[Problem],
    patterns: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    layouts: Sequence[str] = (),
    directions: Sequence[str] = (),
    results: Sequence[str] = (),
) -> list[Problem]:
    """The rows that fit all of these; an empty choice allows all."""
    return [
        row
        for row in rows
        if matches(row.name, patterns)
        and (not dtypes or row.dtype in dtypes)
        and (not layouts or row.layout in layouts)
        and (not directions or row.direction in directions)
        and (not results or row.results in results)
    ]
