"""Planted rows count as a table does."""

from __future__ import annotations

import numpy as np

from kit.curator.listed import Listed
from understudy.curator.simulation.canaries import EncodedRows, TableWithCanaries
from understudy.schema import Boolean, Categorical, Schema

SCHEMA = Schema(
    columns=(
        Categorical(name="colour", values=("red", "green", "blue"), nullable=False),
        Boolean(name="smoker", nullable=False),
    )
)
LABELS = [
    ("red", False),
    ("blue", True),
    ("blue", True),
    ("green", False),
    ("blue", False),
]
CLIQUES = [(), ("colour",), ("smoker", "colour")]


def listed(rows):
    return Listed([{"colour": c, "smoker": s} for c, s in rows], SCHEMA)


def encoded(rows):
    colours = SCHEMA.codecs["colour"]
    return EncodedRows(
        SCHEMA,
        {
            "colour": np.array([colours.code(c) for c, _ in rows]),
            "smoker": np.array([int(s) for _, s in rows]),
        },
    )


def same(one, other):
    assert one.rows() == other.rows()
    for a, b in zip(one.counts(CLIQUES), other.counts(CLIQUES), strict=True):
        assert np.array_equal(a, b)
    for a, b in zip(
        one.sparse_counts(("smoker", "colour")),
        other.sparse_counts(("smoker", "colour")),
        strict=True,
    ):
        assert np.array_equal(a, b)


def test_codes_count_as_the_rows_they_stand_for():
    same(encoded(LABELS), listed(LABELS))


def test_joined_rows_count_together():
    same(TableWithCanaries(listed(LABELS[:2]), encoded(LABELS[2:])), listed(LABELS))


def test_counts_can_be_changed_without_changing_the_table():
    table = encoded(LABELS)
    table.counts([("colour",)])[0][:] = 0
    assert table.counts([("colour",)])[0].sum() == len(LABELS)
