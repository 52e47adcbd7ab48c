"""Evaluate and report in one step: what `understudy.evaluate` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from understudy.errors import Refused
from understudy.evaluation.risk import Intruder
from understudy.evaluation.risk.intruder import UNINFORMED_INTRUDER
from understudy.findings import Progress, ignore_progress
from understudy.releases import Release
from understudy.releases.release import load_release
from understudy.reports.report import Report
from understudy.schema import Schema
from understudy.workflow.evaluate import evaluate as compare
from understudy.workflow.evaluation import Evaluation
from understudy.workflow.open import TableLike


def evaluate(
    real: TableLike,
    synthetic: TableLike | None = None,
    *,
    others: Sequence[TableLike] = (),
    release: Release | str | Path | None = None,
    schema: Schema | str | Path | None = None,
    holdout: TableLike | None = None,
    copies: Sequence[TableLike] = (),
    targets: Sequence[str] | None = None,
    formulas: Mapping[str, str] | Sequence[str] = (),
    enumeration: float | None = None,
    group: str | None = None,
    intruder: Intruder = UNINFORMED_INTRUDER,
    risk: bool = True,
    ledger: str | Path | None = None,
    seed: int = 0,
    progress: Progress = ignore_progress,
) -> Report:
    """What a synthetic table keeps of the original, and what it risks, as a report.
    Internal, not private: it reads the real rows without noise.

    Give the `synthetic` table, or a `release` to sample one from; with both, the
    release's measurements are attacked too. The columns are described by the release,
    by a `schema`, or by a draft of one from the real table. `holdout` is a table of real
    rows that the release was not made from: many attacks need it as a control. `copies`
    are further copies of the same release, and `others` synthetic tables to compare it
    with. Utility predicts the `targets` and fits the `formulas`; a formula is code to
    statsmodels: take none from a stranger. `enumeration` is the error of the real counts
    themselves, as a share of each. With a `group`, tables and the groups of that column
    are scored as NIST's SDNist does. Risk is that of an `intruder`. With a `ledger` (or
    one beside the file) the comparison is recorded before it is made.

    >>> import duckdb
    >>> real = duckdb.sql("SELECT i % 90 AS age, i % 2 = 0 AS smoker FROM range(500) t(i)")
    >>> report = evaluate(real, real, risk=False)
    >>> report.utility["kmarginal"].value, report.internal
    (1000.0, True)
    """

    def compare_with(
        table: TableLike | None,
        description: Schema | str | Path | None,
        intruder: Intruder,
        *,
        release: Release | str | Path | None = None,
        copies: Sequence[TableLike] = (),
    ) -> Evaluation:
        return compare(
            real,
            table,
            release=release,
            schema=description,
            holdout=holdout,
            copies=copies,
            targets=targets,
            formulas=formulas,
            enumeration=enumeration,
            group=group,
            intruder=intruder,
            risk=risk,
            ledger=ledger,
            seed=seed,
            progress=progress,
        )

    first = compare_with(synthetic, schema, intruder, release=release, copies=copies)
    # The release, its copies and its shadows are about the first table alone. The others
    # are compared by its schema, or distances would be of different columns.
    shadowless = replace(intruder, shadows=0)
    further = []
    for place, other in enumerate(others, start=2):
        name = _file_stem(other) or f"table {place}"
        further.append((name, compare_with(other, first.schema, shadowless)))
    return Report.of(first, others=further, name=_file_stem(synthetic))


def _file_stem(table: object) -> str:
    """What a file is called; nothing else has a name."""
    return Path(table).stem if isinstance(table, str | Path) else ""


def publishable_report(
    release: Release | str | Path | None, *, title: str = "A synthetic table"
) -> Report:
    """The publishable report: from the release alone, no real row read.

    >>> publishable_report(None)
    Traceback (most recent call last):
    understudy.errors.Refused: A report without real rows is about a release: give one...
    """
    if release is None:
        raise Refused(
            "A report without real rows is about a release: give one. Nothing was read."
        )
    loaded = load_release(release) if isinstance(release, str | Path) else release
    return Report.of_release(loaded, title=title)
