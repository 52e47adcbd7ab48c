"""Distances of marginals against brute force, on real tables."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest

from understudy.evaluation.utility import (
    MarginalComparison,
    MarginalDistance,
    compare_marginals,
    marginals,
)
from understudy.evaluation.utility.marginals import total_variation
from understudy.schema import Categorical, Integer, Schema
from understudy.tables import Table, open_table

SCHEMA = Schema(
    columns=(
        Categorical(name="a", values=("x", "y", "z"), nullable=False),
        Integer(name="b", min=0, max=7),
        Categorical(name="c", values=tuple("pqrst"), other="other"),
    )
)


def rows_of(seed: int, n: int) -> list[tuple[object, ...]]:
    rng = np.random.default_rng(seed)
    a, b, c = (
        rng.choice(["x", "y", "z"], n),
        rng.integers(0, 8, n),
        rng.choice([*"pqrst", "odd"], n),
    )
    return [(str(i), int(j), str(k)) for i, j, k in zip(a, b, c, strict=True)]


def table_of(rows: list[tuple[object, ...]]) -> Table:
    columns = list(zip(*rows, strict=True)) if rows else [[], [], []]
    types = (pa.string(), pa.int64(), pa.string())
    made = {
        name: pa.array(list(cells), kind)
        for name, cells, kind in zip("abc", columns, types, strict=True)
    }
    return Table(open_table(pa.table(made)), SCHEMA)


def brute(
    real: list[tuple[object, ...]],
    synthetic: list[tuple[object, ...]],
    clique: tuple[str, ...],
) -> float:
    """Half the summed differences of shares, cell by cell, with no array in sight."""
    places = ["abc".index(name) for name in clique]
    here, there = (
        Counter(tuple(row[i] for i in places) for row in rows)
        for rows in (real, synthetic)
    )
    cells = set(here) | set(there)
    return (
        sum(
            abs(here[cell] / len(real) - there[cell] / len(synthetic)) for cell in cells
        )
        / 2
    )


@pytest.mark.parametrize("seed", range(3))
def test_every_column_and_pair_against_brute_force(seed: int) -> None:
    real, synthetic = rows_of(seed, 500), rows_of(seed + 100, 311)
    found = compare_marginals(table_of(real), table_of(synthetic), SCHEMA)
    assert {gap.clique for gap in found.columns} == {(name,) for name in "abc"}
    assert {gap.clique for gap in found.pairs} == set(combinations("abc", 2))
    for gap in (*found.columns, *found.pairs):
        assert gap.distance == pytest.approx(
            brute(real, synthetic, gap.clique), abs=1e-12
        )


def test_large_pairs_are_compared_by_the_cells_that_occur(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, synthetic = table_of(rows_of(1, 400)), table_of(rows_of(2, 300))
    dense = compare_marginals(real, synthetic, SCHEMA)
    monkeypatch.setattr(marginals, "MAX_DENSE_MARGINAL_CELLS", 10)
    sparse = compare_marginals(real, synthetic, SCHEMA)
    assert {g.clique: g.distance for g in dense.pairs} == pytest.approx(
        {g.clique: g.distance for g in sparse.pairs}
    )


def test_a_table_is_at_no_distance_from_itself_and_the_farthest_come_first() -> None:
    real = table_of(rows_of(5, 200))
    assert compare_marginals(real, real, SCHEMA).mean_pair == 0
    found = compare_marginals(real, table_of([("x", 0, "p")] * 10), SCHEMA)
    distances = [gap.distance for gap in found.pairs]
    assert distances == sorted(distances, reverse=True)
    assert found.worst_pairs(1) == found.pairs[:1]
    assert found.worst_columns(2) == found.columns[:2]


def test_an_empty_table_has_nothing_in_common_with_a_full_one() -> None:
    full, empty = table_of(rows_of(1, 10)), table_of([])
    assert compare_marginals(full, empty, SCHEMA).mean_column == 1
    assert compare_marginals(empty, empty, SCHEMA).mean_column == 0


def test_distances_are_between_nothing_and_everything() -> None:
    assert total_variation(np.array([5, 0]), np.array([0, 9])) == 1
    assert total_variation(np.array([5, 5]), np.array([3, 3])) == 0


def test_a_result_says_that_it_is_internal() -> None:
    assert "internal, not private" in str(
        MarginalComparison(columns=(MarginalDistance(("a",), 0.5),), pairs=())
    )
    assert str(MarginalDistance(("a", "b"), 0.25)) == "a × b 0.250"
