"""Bins in SQL: the same whether edges are compared or computed."""

from __future__ import annotations

from fractions import Fraction

import duckdb
import numpy as np
import pytest

from understudy.schema.columns.code_layout import equal_bins
from understudy.tables.reading import grid
from understudy.tables.reading.grid import DoubleGrid, NumberGrid, WholeGrid

GRIDS = (
    WholeGrid(Fraction(1), nearest=True),
    WholeGrid(Fraction(1, 3), nearest=True),
    WholeGrid(Fraction(7, 2), nearest=False),
    DoubleGrid(Fraction(1)),
    DoubleGrid(Fraction(1, 20)),
)


@pytest.mark.parametrize("source", GRIDS, ids=str)
@pytest.mark.parametrize(
    ("low", "high", "bins"), [(0, 999, 7), (-50, 90, 141), (-9, 888, 300)]
)
def test_computed_bins_are_those_of_compared_edges(
    monkeypatch: pytest.MonkeyPatch, source: NumberGrid, low: int, high: int, bins: int
) -> None:
    edges = equal_bins(low, high, bins)
    compared = source.bin_sql("x", edges)
    monkeypatch.setattr(grid, "MAX_COMPARED_EDGES", 2)
    computed = source.bin_sql("x", edges)
    span = np.arange(-2 * (high - low), 3 * (high - low))
    kind, values = (
        ("DOUBLE", span / 7) if isinstance(source, DoubleGrid) else ("BIGINT", span)
    )
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE t (x {kind})")
        database.execute("INSERT INTO t SELECT unnest(?)", [values.tolist()])
        query = (
            f"SELECT count(*) FROM t WHERE ({compared}) IS DISTINCT FROM ({computed})"
        )
        assert database.execute(query).fetchall() == [(0,)]
