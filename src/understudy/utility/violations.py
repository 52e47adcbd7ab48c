"""Rows that cannot be: how many of each table break a constraint of the schema.

A cell of codes decides it where it can. Where a bin holds both sides of a limit the values themselves decide, each distinct combination
once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from understudy.findings import Better, Finding, Part, Unavailable, mean_of
from understudy.schema import Lattice, Predicate, Schema, holds
from understudy.tables import Records

MOST = 200_000
"""Distinct combinations judged one by one."""


class Read(Protocol):
    """The part of a table that is needed here."""

    def records(self, columns: Sequence[str] | None = None) -> Records:
        """The rows as arrays."""


def violations(real: Read, synthetic: Read, schema: Schema) -> Finding:
    """Share of the stand-in's rows that break a constraint, mean over the constraints."""
    if not schema.impossible:
        raise Unavailable("the schema lists nothing as impossible")
    parts = []
    for predicate in schema.impossible:
        columns, name = tuple(sorted(predicate.columns)), str(predicate)
        if not all(column in schema for column in columns):
            parts.append(Part(name=name, columns=columns, reason="it speaks of a column that is not released"))
            continue
        here, there = (broken(table.records(columns), predicate) for table in (real, synthetic))
        if here is None or there is None:
            parts.append(Part(name=name, columns=columns, reason="a table is empty, or has too many distinct values"))
            continue
        parts.append(Part(name=name, columns=columns, value=there, facts={"real": here, "synthetic": there}))
    ranked = tuple(sorted(parts, key=lambda part: -(part.value if part.value is not None else -1.0)))
    value = mean_of(ranked)
    if value is None:
        raise Unavailable("no constraint could be checked; each is listed with the reason")
    return Finding(
        name="violations",
        title="Rows that cannot be",
        family="constraints",
        value=value,
        better=Better.LOWER,
        best=0.0,
        worst=1.0,
        note="Share of synthetic rows that break a constraint, mean over constraints.",
        parts=ranked,
    )


def broken(records: Records, predicate: Predicate) -> float | None:
    """Share of rows for which something impossible holds; None where there is no row, or too much to judge."""
    if records.rows == 0:
        return None
    names = sorted(predicate.columns)
    keys = np.stack([records.places.get(name, records.codes[name]).astype(np.int64) for name in names], axis=1)
    codes = np.stack([records.codes[name].astype(np.int64) for name in names], axis=1)
    # Codes tell missing spellings apart, places tell values apart: together they are the cell.
    distinct, first, counts = np.unique(np.hstack([codes, keys]), axis=0, return_index=True, return_counts=True)
    if len(distinct) > MOST:
        return None
    hits = [
        bool(holds(predicate, {name: _value(records, name, int(i)) for name in names}, records.schema.codecs))
        for i in first
    ]
    return float(counts[np.array(hits, bool)].sum() / records.rows)


def _value(records: Records, name: str, row: int) -> object:
    column, codec = records.schema[name], records.codec(name)
    code = int(records.codes[name][row])
    if code >= len(codec.bins) + codec.has_other:
        return None
    if isinstance(column, Lattice):
        return column.value_at(int(records.places[name][row]))
    return codec.labels()[code]
