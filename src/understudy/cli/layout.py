"""Plain text for reports: columns that line up, in a terminal and in a pipe alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import click


def aligned(rows: Sequence[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Rows of cells as lines whose columns line up; the columns in `right` end alike.

    >>> aligned([["age", "9"], ["children", "10"]], right=[1])
    ['age        9', 'children  10']
    """
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return [
        "  ".join(
            cell.rjust(w) if i in right else cell.ljust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def listed(words: Sequence[str]) -> str:
    """Words as a sentence lists them.

    >>> listed(["data"]), listed(["workload", "data", "budget"])
    ('data', 'workload, data and budget')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def bar(share: float, width: int = 24) -> str:
    """A bar that is full at 1.

    >>> bar(0.5, 4), bar(0.0, 4)
    ('██', '')
    """
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def report(lines: Sequence[str]) -> None:
    """What was asked for, on stdout."""
    for line in lines:
        click.echo(line)


def report_json(facts: object) -> None:
    """The same for a program: one JSON value on stdout and nothing else."""
    click.echo(json.dumps(facts, ensure_ascii=False, indent=2, default=_plain))


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in a report")
