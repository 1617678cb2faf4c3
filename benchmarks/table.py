"""Results as text."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import OURS, Result, Run, means, per_byte


def _milliseconds(row: Result, name: str) -> str:
    if name not in row.times:
        return "-"
    seconds = row.times[name].median
    return f"{seconds * 1e6:.2f}us" if row.tiny else f"{seconds * 1e3:.4g}"


def columns(peers: Sequence[str]) -> list[tuple[str, int]]:
    """Titles and widths."""
    fixed = [("row (times in ms, tiny ones in us)", 62), ("threads", 7), (OURS, 9), ("limit %", 7)]
    return [*fixed, *((peer, 9) for peer in peers), ("best", 8), ("factor", 7)]


def _line(cells: Sequence[str], peers: Sequence[str]) -> str:
    widths = [width for _, width in columns(peers)]
    first = cells[0].ljust(widths[0])
    rest = (cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True))
    return " ".join((first, *rest)).rstrip()


def header(peers: Sequence[str]) -> str:
    """The titles of the table."""
    return _line([title for title, _ in columns(peers)], peers)


def line(row: Result, peers: Sequence[str]) -> str:
    """One row of the table."""
    if row.error:
        return f"{row.name}: FAILED: {row.error}"
    share, factor = row.share(), row.factor()
    cells = [row.name, str(row.threads), _milliseconds(row, OURS), "-" if share is None else f"{100 * share:.0f}"]
    cells += [_milliseconds(row, peer) for peer in peers]
    cells += [row.best_peer() or "-", "-" if factor is None else f"{factor:.2f}"]
    return _line(cells, peers)


def machine_text(run: Run) -> str:
    """The machine, in a few lines."""
    found = run.machine
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    lines = [f"{found['processor']}, {found['cores']} cores, {found['system']}, {found['date']}", versions]
    for threads, rates in found["bandwidths"].items():
        text = ", ".join(f"{kind} {rate / 1e9:.1f}" for kind, rate in rates.items())
        lines.append(f"memory with {threads} threads, GB/s: {text}")
    return "\n".join(lines)


def _listed(title: str, lines: list[str]) -> list[str]:
    return [f"\n{title}: {len(lines)}", *(f"  {text}" for text in lines)]


def _notes(rows: Sequence[Result]) -> list[str]:
    """Each note once, with the rows it is about."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for who, text in row.notes.items():
            found.setdefault(f"{who}: {text}", []).append(f"{row.name} {row.threads}t")
    return [
        f"{note} [{len(names)}: {', '.join(names[:3])}{', ...' * (len(names) > 3)}]" for note, names in found.items()
    ]


def summary(run: Run, shares: Sequence[float] = (50,)) -> str:
    """Means, and the rows to work on."""
    rows = [row for row in run.rows if not row.error]
    lines = ["\nfactor to the best like peer, geometric mean:"]
    lines += [f"  {group}: {mean:.2f} over {count} rows" for group, (mean, count) in means(rows).items()]
    slower = [row for row in rows if (row.factor() or 2) < 1]
    lines += _listed(
        "rows where poolgrad is not the fastest",
        [f"{row.name}, {row.threads} threads: {row.factor():.2f} of {row.best_peer()}" for row in slower],
    )
    for wanted in shares:
        below = [(share, row) for row in rows if (share := row.share()) is not None and 100 * share < wanted]
        below.sort(key=lambda pair: pair[0])
        texts = [f"{row.name}, {row.threads} threads: {100 * share:.0f} %" for share, row in below]
        lines += _listed(f"rows below {wanted:g} % of the limit", texts)
    ratios = per_byte(rows)
    texts = [f"{name}, {threads} threads: {ratio:.2f}" for (name, threads), ratio in ratios.items()]
    lines += _listed("time for a byte relative to float32", texts)
    lines += _listed("notes", _notes(rows))
    lines += _listed("rows that failed", [f"{row.name}: {row.error}" for row in run.rows if row.error])
    return "\n".join(lines)
