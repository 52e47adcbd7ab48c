"""What an evaluation found: utility and risk of one synthetic table, and both tables
column by column. Internal, not private.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from understudy.findings import INTERNAL_MARKING, Assessment, Fact
from understudy.releases import Release
from understudy.schema import Schema
from understudy.tables import Table
from understudy.workflow.column_summary import ColumnSummary

CHOICE_WARNING = (
    "Picking the best of several releases by these numbers is a choice the guarantee"
    " does not cover."
)
"""Stands wherever several evaluations can be compared."""


@dataclass(frozen=True, kw_only=True)
class ColumnDistribution:
    """One column in both tables: the label of each code, and how many rows have it."""

    column: str
    type: str
    labels: tuple[str, ...]
    real: tuple[int, ...]
    synthetic: tuple[int, ...]

    def to_dict(self) -> dict[str, Fact]:
        """As JSON holds it."""
        return {
            "column": self.column,
            "type": self.type,
            "labels": list(self.labels),
            "real": list(self.real),
            "synthetic": list(self.synthetic),
        }


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """Utility and risk of one synthetic table, column by column and attack by attack.
    Internal, not private.

    `left_out` lists columns that could not be compared, with the reason; `noted` is the
    ledger that records the comparison, if any.

    >>> import duckdb
    >>> from understudy.workflow.evaluate import evaluate
    >>> real = duckdb.sql("SELECT i % 90 AS age, i % 2 = 0 AS smoker FROM range(500) t(i)")
    >>> found = evaluate(real, real)
    >>> found.utility["kmarginal"].value, found.marking[:21]
    (1000.0, 'internal, not private')
    """

    utility: Assessment
    risk: Assessment | None
    schema: Schema
    distributions: tuple[ColumnDistribution, ...]
    summaries: tuple[ColumnSummary, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    release: Release | None = None
    title: str = "table"
    noted: Path | None = None
    marking: str = INTERNAL_MARKING
    facts: Mapping[str, Fact] = field(default_factory=dict)

    @property
    def not_computed(self) -> tuple[tuple[str, str], ...]:
        """Everything without a number, with the reason: columns, findings, parts of
        them.
        """
        columns = [(f'column "{name}"', reason) for name, reason in self.left_out]
        # An assessment of risk is left out on demand, and is then not missing.
        risk = [] if self.risk is None else self.risk.not_computed
        return (*columns, *self.utility.not_computed, *risk)

    def to_dict(self) -> dict[str, Fact]:
        """The evaluation as JSON holds it."""
        guarantee = None
        if self.release is not None:
            guarantee = self.release.guarantee.sentence()
        left_out: list[Fact] = [
            {"column": name, "reason": reason} for name, reason in self.left_out
        ]
        return {
            "title": self.title,
            "marking": self.marking,
            "choice": CHOICE_WARNING,
            "noted": self.noted is not None,
            "guarantee": guarantee,
            "left_out": left_out,
            "distributions": [each.to_dict() for each in self.distributions],
            "summaries": [each.to_dict() for each in self.summaries],
            "utility": self.utility.to_dict(),
            "risk": None if self.risk is None else self.risk.to_dict(),
            "facts": dict(self.facts),
        }

    def __str__(self) -> str:
        parts = [str(self.utility)]
        if self.risk is not None:
            parts.append(str(self.risk))
        for name, reason in self.left_out:
            parts.append(f'column "{name}" left out: {reason}')
        return "\n".join([*parts, CHOICE_WARNING])


def count_columns(
    real: Table, synthetic: Table, schema: Schema
) -> tuple[ColumnDistribution, ...]:
    """Every column in both tables, counted without noise."""
    cliques = [(name,) for name in schema]
    counts = zip(schema, real.counts(cliques), synthetic.counts(cliques), strict=True)
    return tuple(
        ColumnDistribution(
            column=name,
            type=schema[name].type,
            labels=schema.codecs[name].labels(),
            real=tuple(real_counts.tolist()),
            synthetic=tuple(synthetic_counts.tolist()),
        )
        for name, real_counts, synthetic_counts in counts
    )
