"""Rows that cannot be: how many of each table break a rule of the schema, by their
values and not by their bins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from understudy.findings import (
    BetterDirection,
    Finding,
    FindingPart,
    Unavailable,
    mean_of_parts,
)
from understudy.schema import DecodedCells, Predicate, Schema, true_rows
from understudy.tables import Records


class ReadableTable(Protocol):
    """The part of a table that is needed here."""

    def records(self, columns: Sequence[str] | None = None) -> Records:
        """The rows as arrays."""


def assess_violations(
    real: ReadableTable, synthetic: ReadableTable, schema: Schema
) -> Finding:
    """Share of the synthetic table's rows that break a rule or are impossible, mean
    over the rules.

    Both tables have to hold such rows as they are, whatever the schema does with them.
    """
    if not schema.named_breaches:
        raise Unavailable("the schema has no rule and lists nothing as impossible")
    parts = [
        _violation_part(real, synthetic, schema, name, predicate)
        for name, predicate in schema.named_breaches
    ]

    def rank(part: FindingPart) -> float:
        # Parts without a number come last; a share is never negative.
        return 1.0 if part.value is None else -part.value

    ranked = tuple(sorted(parts, key=rank))
    value = mean_of_parts(ranked)
    if value is None:
        raise Unavailable("no rule could be checked; each is listed with the reason")
    return Finding(
        name="violations",
        title="Rows that cannot be",
        family="constraints",
        value=value,
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        note="Share of synthetic rows that break a rule, mean over rules.",
        parts=ranked,
    )


def _violation_part(
    real: ReadableTable,
    synthetic: ReadableTable,
    schema: Schema,
    name: str,
    predicate: Predicate,
) -> FindingPart:
    """How often one rule is broken, in either table."""
    columns = tuple(sorted(predicate.columns))
    if not all(column in schema for column in columns):
        reason = "it speaks of a column that is not released"
        return FindingPart(name=name, columns=columns, reason=reason)
    # The real table may break its own rules: the synthetic one should not be blamed.
    here = violation_rate(real.records(columns), predicate)
    there = violation_rate(synthetic.records(columns), predicate)
    if here is None or there is None:
        return FindingPart(name=name, columns=columns, reason="a table is empty")
    return FindingPart(
        name=name,
        columns=columns,
        value=there,
        facts={"real": here, "synthetic": there},
    )


def violation_rate(records: Records, predicate: Predicate) -> float | None:
    """Share of rows for which something impossible holds; None if there is no row."""
    if records.rows == 0:
        return None
    cells = {name: _decode_cells(records, name) for name in predicate.columns}
    return float(true_rows(predicate, records.schema.codecs, cells).mean())


def _decode_cells(records: Records, name: str) -> DecodedCells:
    """What codes say of missing cells and labels, with the values themselves where the
    column has bins.
    """
    said = records.codec(name).decode(records.codes[name], np.random.default_rng(0))
    return (
        replace(said, index=records.places[name].astype(np.int64))
        if name in records.places
        else said
    )
