"""Rows that are exchanged so that columns have the shares they should."""

from __future__ import annotations

import numpy as np

from kit.models.build import schema_of
from understudy.models.sampling.to_targets import match_columns

SCHEMA = schema_of(3, 4)


def draw_rows(rows, seed):
    """Two columns of which one decides the other: b is a, or 3."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 3, rows).astype(np.uint8)
    second = np.where(rng.random(rows) < 0.3, 3, first).astype(np.uint8)
    return {"a": first, "b": second}


def test_columns_are_met_by_rows_that_were_drawn():
    codes, fresh = draw_rows(200_000, 1), draw_rows(20_000, 2)
    share = np.array([0.335, 0.33, 0.335])
    shares = {("a",): share, ("b",): np.append(0.7 * share, 0.3)}
    found = match_columns(SCHEMA, codes, fresh, shares, np.random.default_rng(3))
    for (name,), wanted in shares.items():
        counts = np.bincount(found[name], minlength=wanted.size)
        assert np.abs(counts - 200_000 * wanted).max() <= 8
    assert np.all((found["b"] == found["a"]) | (found["b"] == 3))


def test_columns_that_are_met_already_stay_near():
    codes = draw_rows(150_000, 4)
    before = {name: column.copy() for name, column in codes.items()}
    shares = {
        (name,): np.bincount(column) / column.size for name, column in codes.items()
    }
    rng = np.random.default_rng(5)
    found = match_columns(SCHEMA, codes, draw_rows(9_000, 6), shares, rng)
    for name, column in before.items():
        off = np.bincount(found[name]) - np.bincount(column)
        assert np.abs(off).max() <= 8
