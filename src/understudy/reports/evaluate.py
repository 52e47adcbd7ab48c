"""Evaluate and report in one step: what `understudy.evaluate` does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from understudy.errors import Refused
from understudy.releases import Release
from understudy.releases.release import load
from understudy.reports.report import Report
from understudy.workflow.evaluate import evaluate as compare

FIRST_TABLE_OPTIONS = ("release", "copies", "shadows")
"""Options that are about the first synthetic table alone."""


def evaluate(
    real: object,
    synthetic: object = None,
    *,
    others: Sequence[object] = (),
    **options: Any,
) -> Report:
    """What a synthetic table keeps of the original, and what it risks, as a report.
    Internal, not private: it reads the real rows without noise.

    Give the `synthetic` table, or a `release=` to sample one from; with both, the
    release's measurements are attacked too. `holdout=` is a table of real rows that the
    release was not made from: many attacks need it as a control. `others` are synthetic
    tables to compare with. All further options are those of
    `understudy.workflow.evaluate.evaluate`.

    >>> import duckdb
    >>> real = duckdb.sql("SELECT i % 90 AS age, i % 2 = 0 AS smoker FROM range(500) t(i)")
    >>> report = evaluate(real, real, risk=False)
    >>> report.utility["kmarginal"].value, report.internal
    (1000.0, True)
    """
    evaluation = compare(real, synthetic, **options)
    # The other tables are compared by the schema of the first, or distances would be of
    # different columns.
    shared = {
        name: value
        for name, value in options.items()
        if name not in FIRST_TABLE_OPTIONS
    } | {"schema": evaluation.schema}
    further = []
    for number, other in enumerate(others, start=2):
        name = _file_stem(other) or f"table {number}"
        further.append((name, compare(real, other, **shared)))
    return Report.of(evaluation, others=further, name=_file_stem(synthetic))


def _file_stem(table: object) -> str:
    """What a file is called; nothing else has a name."""
    return Path(table).stem if isinstance(table, str | Path) else ""


def publishable_report(
    release: Release | str | Path | None, *, title: str = "A synthetic table"
) -> Report:
    """The publishable report: from the release alone, no real row read.

    >>> publishable_report(None)
    Traceback (most recent call last):
    understudy.errors.Refused: A report without real rows is about a release: give one. Nothing was read.
    """
    if release is None:
        raise Refused(
            "A report without real rows is about a release: give one. Nothing was read."
        )
    loaded = load(release) if isinstance(release, str | Path) else release
    return Report.of_release(loaded, title=title)
