"""What the runs of benchmarks/strangers.py come to: lines, totals beside the goals, and
the table of docs/strangers.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np
from page import circumstances, fill

PAGE = Path(__file__).resolve().parent.parent / "docs" / "strangers.md"

LARGE_ROWS = 2_000
"""Rows from which means are held to the goal."""

SMALL_ROWS = 500
"""Rows up to which a table is small: half usable, or stopped early."""

EARLY_STOP_WORDS = "too small"
"""What a run says that stopped before it spent all on noise."""


@dataclass
class Run:
    """One run: what became of it, what it took, and how the result looks."""

    table: str
    mode: str
    rows: int
    columns: int
    state: str = "ran"
    seconds: float = 0.0
    processor: float = 0.0
    peak: float = 0.0
    scored: int = 0
    usable: int = 0
    wrong_type: int = 0
    wrong_spelling: int = 0
    wrong_grain: int = 0
    all_right: int = 0
    empty: int = 0
    numeric: int = 0
    means_right: int = 0
    mean_error: float = math.nan
    deviation_error: float = math.nan
    one_way: float = math.nan
    two_way: float = math.nan
    impossible_cells: float = 0.0
    impossible_columns: int = 0
    other_cells: float = 0.0
    findings: dict[str, str] = field(default_factory=dict)
    has_card: bool = False
    day: str = ""
    cores: int = 0
    load: float = 0.0

    @property
    def is_stopped_early(self) -> bool:
        """Whether it said that the table is too small, and did not just fail."""
        return EARLY_STOP_WORDS in self.state

    @property
    def is_half_usable(self) -> bool:
        """Whether the card calls half of the columns good or usable."""
        return self.state == "ran" and 2 * self.usable >= self.scored


LINE_HEAD = (
    *("usable", "right", "type", "spell", "grain", "empty", "means", "mean", "sd"),
    *("1-way", "2-way", "never", "other", "s", "MB"),
)
WIDTHS = (8, 7, 5, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 6)


def write_head() -> str:
    """The head of the table."""
    start = f"{'table':<16}{'mode':<17}{'rows':>8}{'cols':>5}"
    return start + "".join(
        f"{name:>{width}}" for name, width in zip(LINE_HEAD, WIDTHS, strict=True)
    )


def _mean(runs: Sequence[Run], value: Callable[[Run], float]) -> float:
    known = [value(run) for run in runs if not math.isnan(value(run))]
    return float(np.mean(known)) if known else math.nan


def _count_written(run: Run) -> int:
    """Columns that were not left empty: only these have a type."""
    return run.scored - run.empty


def _sum(runs: Sequence[Run], value: Callable[[Run], int]) -> int:
    return sum(value(run) for run in runs)


def summarize(runs: Sequence[Run]) -> list[str]:
    """The cells of a line: shares over all runs, means of the rest."""
    ran = [run for run in runs if run.state == "ran"]
    if not ran:
        return [runs[0].state]
    scored = max(_sum(ran, _count_written), 1)
    numeric = max(_sum(ran, lambda run: run.numeric), 1)
    per = 1 / len(ran)
    return [
        f"{_sum(ran, lambda r: r.usable) * per:.3g}/{ran[0].scored}"
        if ran[0].has_card
        else "",
        f"{_sum(ran, lambda r: r.all_right) / scored:.0%}",
        f"{_sum(ran, lambda r: r.wrong_type) * per:.2g}",
        f"{_sum(ran, lambda r: r.wrong_spelling) * per:.2g}",
        f"{_sum(ran, lambda r: r.wrong_grain) * per:.2g}",
        f"{_sum(ran, lambda r: r.empty) * per:.2g}",
        f"{_sum(ran, lambda r: r.means_right) / numeric:.0%}",
        f"{_mean(ran, lambda r: r.mean_error):.3f}",
        f"{_mean(ran, lambda r: r.deviation_error):.3f}",
        f"{_mean(ran, lambda r: r.one_way):.3f}",
        f"{_mean(ran, lambda r: r.two_way):.3f}",
        f"{_mean(ran, lambda r: r.impossible_cells):.2%}",
        f"{_mean(ran, lambda r: r.other_cells):.1%}",
        f"{_mean(ran, lambda r: r.seconds):.1f}",
        f"{max(run.peak for run in ran):.0f}",
    ]


def write_line(runs: Sequence[Run]) -> str:
    """One line of the table."""
    first = runs[0]
    start = f"{first.table:<16}{first.mode:<17}{first.rows:>8,}{first.columns:>5}"
    cells = summarize(runs)
    if len(cells) == 1:
        return f"{start}  {cells[0]}"
    return start + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells, WIDTHS, strict=True)
    )


def judge_goals(runs: Sequence[Run]) -> list[str]:
    """Totals beside the goals, one line each."""
    lines = []
    for mode in dict.fromkeys(run.mode for run in runs):
        some = [run for run in runs if run.mode == mode]
        lines += [f"{mode}: {line}" for line in _judge_mode(some)]
    return lines


def _judge_mode(runs: Sequence[Run]) -> list[str]:
    ran = [run for run in runs if run.state == "ran"]
    scored = _sum(ran, _count_written)
    right = _sum(ran, lambda r: r.all_right)
    never = _sum(ran, lambda r: r.impossible_columns)
    large = [run for run in ran if run.rows >= LARGE_ROWS]
    numeric = _sum(large, lambda r: r.numeric)
    means = _sum(large, lambda r: r.means_right)
    small = [run for run in runs if run.rows <= SMALL_ROWS]
    fine = sum(run.is_stopped_early or run.is_half_usable for run in small)
    early = sum(run.is_stopped_early for run in runs)
    lines = [
        f"{len(ran)} of {len(runs)} runs wrote a table, {early} stopped early",
        f"type, spelling and step right in {_share(right, scored)} of columns (goal 98 %)",
        f"values that cannot occur in over 1 % of the cells of {never} of {scored} columns (goal 0)",
        f"means within 10 % of a standard deviation in {_share(means, numeric)} of"
        f" numeric columns from {LARGE_ROWS:,} rows (goal 95 %)",
    ]
    if any(run.has_card for run in ran) or early:
        lines.append(
            f"{fine} of {len(small)} runs up to {SMALL_ROWS} rows half usable or stopped"
            " early (goal: all with a draft)"
        )
    return lines


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "none"


def print_findings(runs: Sequence[Run]) -> None:
    """What is wrong with which column, and in how many of the runs."""
    every = [finding for run in runs for finding in run.findings.items()]
    keys = [key for key, _ in every]
    for key, detail in dict(every).items():
        print(f"    {key} ({keys.count(key)}/{len(runs)}) {detail}", flush=True)


def keep_runs(runs: Sequence[Run], path: Path) -> list[Run]:
    """Write runs down beside those of other tables and modes that are there already."""
    fresh = {(run.table, run.mode) for run in runs}
    known = read_runs(path) if path.exists() else []
    every = [run for run in known if (run.table, run.mode) not in fresh] + list(runs)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(json.dumps(_round_run(run), ensure_ascii=False) for run in every)
    path.write_text(f"[\n{lines}\n]\n")
    return every


def read_runs(path: Path) -> list[Run]:
    """The runs of a file."""
    return [
        Run(**{key: math.nan if value is None else value for key, value in row.items()})
        for row in json.loads(path.read_text())
    ]


def _round_run(run: Run) -> dict[str, object]:
    row: dict[str, object] = {}
    for key, value in asdict(run).items():
        if isinstance(value, float):
            row[key] = None if math.isnan(value) else round(value, 4)
        elif key != "findings":
            row[key] = value
    return row


PAGE_HEAD = (
    *("table", "rows", "columns", "", "usable", "right", "empty", "means"),
    *("1-way", "2-way", "never", "s", "MB"),
)


def fill_page(runs: Sequence[Run]) -> None:
    """The table of the page, and the totals below it."""
    rows = []
    order = sorted({(-run.rows, run.table) for run in runs})
    for _, table in order:
        for mode in dict.fromkeys(run.mode for run in runs):
            some = [run for run in runs if (run.table, run.mode) == (table, mode)]
            if some:
                rows.append(_page_row(some))
    totals = "\n".join(f"- {line}." for line in judge_goals(runs))
    note = f"{totals}\n\n{circumstances([asdict(run) for run in runs])}"
    fill("strangers", PAGE_HEAD, rows, note, PAGE)


def _page_row(runs: Sequence[Run]) -> list[str]:
    first = runs[0]
    start = [first.table, f"{first.rows:,}", str(first.columns), first.mode]
    cells = summarize(runs)
    if len(cells) == 1:
        words = "stopped early" if first.is_stopped_early else cells[0]
        return [*start, words, *[""] * (len(PAGE_HEAD) - len(start) - 1)]
    shown = dict(zip(LINE_HEAD, cells, strict=True))
    return [*start, *(shown[name] for name in PAGE_HEAD[4:])]
