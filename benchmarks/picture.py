"""Results as a picture: how much of the memory's limit each contestant reaches."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.results import OURS, Result, Run

COLORS = {
    OURS: "#d9480f",
    "tf": "#f2b134",
    "xla": "#8d6e63",
    "torch": "#7b6bd6",
    "torch_cl": "#4a6fe3",
    "inductor": "#2a9d8f",
    "jax": "#94a3b8",
}
WIDTH = 9.0
BAR = 0.13  # inches


def figure(width: float, height: float) -> tuple[Any, Any]:
    """An empty white figure, drawn without a display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), dpi=150, facecolor="white", layout="constrained")
    FigureCanvasAgg(made)
    return made, made.subplots()


def _bars(row: Result) -> list[tuple[str, float]]:
    return [(name, share) for name in COLORS if (share := row.share(name)) is not None]


def _label(row: Result) -> str:
    what = f"{row.direction} ({row.kind})" if row.kind else row.direction
    if not row.threads:  # on a GPU
        return f"{row.workload}, {row.pooling}\n{row.dtype} {row.data_format}"
    return f"{row.workload}\n{row.dtype} {row.data_format}, {what}, {row.results}, {row.threads}t"


def drawable(rows: Sequence[Result]) -> list[Result]:
    """Rows with a limit."""
    return [row for row in rows if row.share() is not None]


def draw(run: Run, path: Path) -> int:
    """Draw horizontal bars, one group a row, and tell how many groups; rows without a limit are left out."""
    rows = drawable(run.rows)
    if not rows:
        return 0
    bars = [_bars(row) for row in rows]
    slots = sum(max(len(group), 2) + 1 for group in bars)
    made, axes = figure(WIDTH, 1.2 + BAR * slots)
    position, ticks, seen = 0.0, [], set()
    for group in bars:
        start = position
        for name, share in group:
            label = name if name not in seen else None
            seen.add(name)
            axes.barh(position, 100 * share, height=0.9, color=COLORS[name], label=label)
            axes.text(100 * share + 0.6, position, f"{100 * share:.0f}", va="center", fontsize=6, color="#333333")
            position += 1
        ticks.append((start + position - 1) / 2)
        position = max(position, start + 2) + 1
    axes.set_yticks(ticks, [_label(row) for row in rows], fontsize=6.5)
    axes.set_ylim(position - 0.4, -0.8)
    axes.axvline(100, color="#333333", linewidth=0.8)
    axes.set_xlabel("share of the memory's limit, %", fontsize=8)
    axes.tick_params(axis="x", labelsize=7)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    found = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    shown = {name: found[name] for name in COLORS if name in found}
    place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
    axes.legend(shown.values(), shown.keys(), fontsize=7, frameon=False, ncols=len(shown), **place)
    made.savefig(path)
    return len(rows)
