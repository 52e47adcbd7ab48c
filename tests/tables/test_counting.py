"""Counting: exactly what one loop over the rows would count."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import TableError
from understudy.tables import counting
from understudy.tables.clique_cover import count_cells, cover_cliques
from understudy.tables.counting import Tally, count_sparse


def coded(sizes: dict[str, int], rows: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        name: rng.integers(0, size, rows).astype(np.min_scalar_type(max(size - 1, 0)))
        for name, size in sizes.items()
    }


def brute(clique, sizes, columns) -> np.ndarray:
    table = np.zeros([sizes[name] for name in clique], np.int64)
    for row in zip(*(columns[name].tolist() for name in clique), strict=True):
        table[row] += 1
    return table


@st.composite
def questions(draw):
    names = "abcdef"[: draw(st.integers(1, 6))]
    sizes = {name: draw(st.sampled_from([1, 2, 3, 7, 40, 300])) for name in names}
    subsets = [c for k in range(4) for c in combinations(names, k)]
    cliques = draw(
        st.lists(
            st.sampled_from(subsets).flatmap(lambda c: st.permutations(c).map(tuple)),
            max_size=12,
        )
    )
    cliques = [c for c in cliques if count_cells(c, sizes) <= 200_000]
    return cliques, sizes, draw(st.integers(0, 300)), draw(st.integers(0, 2**32 - 1))


@settings(max_examples=60, deadline=None)
@given(questions(), st.integers(1, 3))
def test_every_clique_is_counted_exactly(question, batches):
    cliques, sizes, rows, seed = question
    columns = coded(sizes, rows, seed)
    tally = Tally(cliques, sizes)
    cuts = np.linspace(0, rows, batches + 1).astype(int)
    for start, stop in pairwise(cuts):
        tally.add({name: column[start:stop] for name, column in columns.items()})
    for clique, table in zip(cliques, tally.counts(), strict=True):
        assert table.shape == tuple(sizes[name] for name in clique)
        assert table.dtype == np.int64
        assert table.flags.c_contiguous
        np.testing.assert_array_equal(
            table, brute(clique, sizes, columns) if clique else rows
        )


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_blocks_and_threads_do_not_matter(threads, monkeypatch):
    monkeypatch.setattr(counting, "COUNT_BLOCK_ROWS", 1000)
    sizes = {name: 5 + i for i, name in enumerate("abcdefgh")}
    columns = coded(sizes, 12_345, 0)
    pairs = list(combinations(sizes, 2))
    tally = Tally(pairs, sizes, threads=threads)
    tally.add(columns)
    for (a, b), table in zip(pairs, tally.counts(), strict=True):
        flat = np.bincount(
            columns[a].astype(np.int64) * sizes[b] + columns[b],
            minlength=sizes[a] * sizes[b],
        )
        np.testing.assert_array_equal(table, flat.reshape(sizes[a], sizes[b]))


def test_a_large_table_is_counted_without_a_second_one():
    sizes = {"a": 3000, "b": 3000}
    columns = coded(sizes, 500, 1)
    tally = Tally([("b", "a")], sizes)
    tally.add(columns)
    (table,) = tally.counts()
    assert table.sum() == 500
    np.testing.assert_array_equal(
        np.argwhere(table), np.unique(np.stack([columns["b"], columns["a"]], 1), axis=0)
    )


@given(
    st.lists(
        st.frozensets(st.sampled_from("abcdefghij"), min_size=1, max_size=4),
        max_size=30,
    )
)
def test_every_clique_lies_within_its_cover(cliques):
    sizes = {name: 2 + i for i, name in enumerate("abcdefghij")}
    chosen = cover_cliques([tuple(sorted(c)) for c in cliques], sizes, limit=500)
    for clique in cliques:
        assert any(clique <= set(c) for c in chosen)
    for clique in chosen:
        assert count_cells(clique, sizes) <= 500 or frozenset(clique) in cliques


def test_pairs_are_covered_by_far_fewer():
    sizes = {f"c{i}": 33 for i in range(15)}
    assert len(cover_cliques(list(combinations(sizes, 2)), sizes)) <= 40


@pytest.mark.parametrize(
    ("clique", "says"),
    [
        (("a", "a"), '"a" twice'),
        (("z",), '"z" is not counted'),
        (("wide", "wider"), "sparse counts"),
    ],
)
def test_what_cannot_be_counted_is_refused(clique, says):
    with pytest.raises(TableError, match=says):
        Tally([clique], {"a": 2, "wide": 2**20, "wider": 2**20})


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 12),
    st.integers(0, 200),
    st.integers(1, 3),
    st.integers(0, 2**32 - 1),
    st.sampled_from([3, 60_000, 2**32]),
)
def test_sparse_counts_are_exact_in_any_domain(width, rows, batches, seed, size):
    """Twelve columns of 2³² codes make 2³⁸⁴ cells."""
    sizes = {f"c{i}": size for i in range(width)}
    columns = coded(sizes, rows, seed)
    doubled = {
        name: np.concatenate([column, column[: rows // 2]])
        for name, column in columns.items()
    }
    total = rows + rows // 2
    cuts = np.linspace(0, total, batches + 1).astype(int)
    parts = ({name: c[a:b] for name, c in doubled.items()} for a, b in pairwise(cuts))
    codes, counts = count_sparse(tuple(sizes), sizes, parts)
    rows_seen = Counter(zip(*(c.tolist() for c in doubled.values()), strict=True))
    assert [tuple(row) for row in codes.tolist()] == sorted(rows_seen)
    assert counts.tolist() == [rows_seen[row] for row in sorted(rows_seen)]


def test_sparse_counts_merge_as_they_go(monkeypatch):
    monkeypatch.setattr(counting, "SPARSE_BLOCK_ROWS", 50)
    columns = coded({"a": 7, "b": 9}, 5_000, 3)
    codes, counts = count_sparse(("a", "b"), {"a": 7, "b": 9}, [columns])
    table = np.zeros((7, 9), np.int64)
    table[tuple(codes.T)] = counts
    np.testing.assert_array_equal(table, brute(("a", "b"), {"a": 7, "b": 9}, columns))
