"""Plain text for reports: columns that line up, in a terminal and in a pipe alike."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from understudy.cli.terminal.printer import write_json, write_line


def draw_bar(share: float, width: int = 24) -> str:
    """A bar that is full at 1.

    >>> draw_bar(0.5, 4), draw_bar(0.0, 4)
    ('██', '')
    """
    # Blocks come in eighths of a character.
    eighths = round(max(0.0, min(1.0, share)) * width * 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def report(lines: Sequence[str]) -> None:
    """What was asked for, on stdout."""
    for line in lines:
        write_line(line)


def report_json(facts: object) -> None:
    """The same for a program: one JSON value on stdout and nothing else."""
    write_json(json.dumps(facts, ensure_ascii=False, indent=2, default=_to_plain_value))


def _to_plain_value(value: object) -> object:
    # Exact in Python and in release files; a reader of JSON expects a number.
    if isinstance(value, Fraction):
        return float(value)
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in a report")
