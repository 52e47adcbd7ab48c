"""Rows that cannot be: how many of each table break a rule of the schema, by their values and not by their bins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from understudy.findings import Better, Finding, Part, Unavailable, mean_of
from understudy.schema import Decoded, Predicate, Schema, true_rows
from understudy.tables import Records


class Read(Protocol):
    """The part of a table that is needed here."""

    def records(self, columns: Sequence[str] | None = None) -> Records:
        """The rows as arrays."""


def violations(real: Read, synthetic: Read, schema: Schema) -> Finding:
    """Share of the stand-in's rows that break a rule or are impossible, mean over the rules.

    Both tables have to hold such rows as they are, whatever the schema does with them.
    """
    if not schema.breaches:
        raise Unavailable("the schema has no rule and lists nothing as impossible")
    parts = []
    for name, predicate in schema.breaches:
        columns = tuple(sorted(predicate.columns))
        if not all(column in schema for column in columns):
            parts.append(Part(name=name, columns=columns, reason="it speaks of a column that is not released"))
            continue
        here, there = (broken(table.records(columns), predicate) for table in (real, synthetic))
        if here is None or there is None:
            parts.append(Part(name=name, columns=columns, reason="a table is empty"))
            continue
        parts.append(Part(name=name, columns=columns, value=there, facts={"real": here, "synthetic": there}))
    ranked = tuple(sorted(parts, key=lambda part: -(part.value if part.value is not None else -1.0)))
    value = mean_of(ranked)
    if value is None:
        raise Unavailable("no rule could be checked; each is listed with the reason")
    return Finding(
        name="violations",
        title="Rows that cannot be",
        family="constraints",
        value=value,
        better=Better.LOWER,
        best=0.0,
        worst=1.0,
        note="Share of synthetic rows that break a rule, mean over rules.",
        parts=ranked,
    )


def broken(records: Records, predicate: Predicate) -> float | None:
    """Share of rows for which something impossible holds; None where there is no row."""
    if records.rows == 0:
        return None
    cells = {name: _cells(records, name) for name in predicate.columns}
    return float(true_rows(predicate, records.schema.codecs, cells).mean())


def _cells(records: Records, name: str) -> Decoded:
    """What codes say of missing cells and labels, with the values themselves where the column has bins."""
    said = records.codec(name).decode(records.codes[name], np.random.default_rng(0))
    return replace(said, index=records.places[name].astype(np.int64)) if name in records.places else said
