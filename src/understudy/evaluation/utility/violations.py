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
    parts = []
    for name, predicate in schema.named_breaches:
        columns = tuple(sorted(predicate.columns))
        if not all(column in schema for column in columns):
            parts.append(
                FindingPart(
                    name=name,
                    columns=columns,
                    reason="it speaks of a column that is not released",
                )
            )
            continue
        here, there = (
            violation_rate(table.records(columns), predicate)
            for table in (real, synthetic)
        )
        if here is None or there is None:
            parts.append(
                FindingPart(name=name, columns=columns, reason="a table is empty")
            )
            continue
        parts.append(
            FindingPart(
                name=name,
                columns=columns,
                value=there,
                facts={"real": here, "synthetic": there},
            )
        )
    ranked = tuple(
        sorted(
            parts, key=lambda part: -(part.value if part.value is not None else -1.0)
        )
    )
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


def violation_rate(records: Records, predicate: Predicate) -> float | None:
    """Share of rows for which something impossible holds; None where there is no row."""
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
