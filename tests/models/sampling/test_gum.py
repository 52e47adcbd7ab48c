"""Rows that are pushed towards marginals."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.models.build import schema_of, surprising
from understudy.models.rules.structural_zeros import impossible_masks, impossible_rows
from understudy.models.sampling import gum
from understudy.models.sampling.gum import GumSchedule, _pick_rows, run_gum
from understudy.schema import Categorical, Schema, parse_predicate


def counted(schema, table, clique):
    sizes = schema.sizes(clique)
    cells = np.ravel_multi_index(
        tuple(table[name].astype(int) for name in clique), sizes
    )
    return np.bincount(cells, minlength=math.prod(sizes)).reshape(sizes)


def chain(sizes, rows, seed):
    """Rows in which every column depends on the one before, and the exact marginals of
    all pairs.
    """
    rng = np.random.default_rng(seed)
    schema = schema_of(*sizes)
    codes, before = {}, rng.integers(0, sizes[0], rows)
    for name, size in zip(schema, sizes, strict=True):
        before = np.where(
            rng.random(rows) < 0.7, before % size, rng.integers(0, size, rows)
        )
        codes[name] = before
    targets = {
        c: counted(schema, codes, c).astype(float) for c in combinations(schema, 2)
    }
    return schema, targets | {
        (n,): np.bincount(codes[n], minlength=s).astype(float)
        for n, s in zip(schema, sizes, strict=True)
    }


def away(schema, table, targets, rows):
    return [
        0.5 * np.abs(counted(schema, table, c) - t).sum() / rows
        for c, t in targets.items()
    ]


def test_exact_marginals_of_all_pairs_are_reached():
    schema, targets = chain([3, 4, 2, 5, 3], 5_000, 0)
    grown = run_gum(schema, targets, 5_000, np.random.default_rng(0))
    assert grown.errors[0] > 0.1
    assert max(away(schema, grown.table, targets, 5_000)) < 0.01


def test_the_best_table_seen_is_kept_and_its_error_is_told():
    schema, targets = chain([3, 4, 2], 2_000, 1)
    pairs = {c: t for c, t in targets.items() if len(c) == 2}
    grown = run_gum(schema, targets, 2_000, np.random.default_rng(3))
    assert np.mean(away(schema, grown.table, pairs, 2_000)) == pytest.approx(
        min(grown.errors)
    )


def test_it_stops_when_the_error_stops_falling():
    """Two targets that cannot both hold: no number of iterations helps, so few are
    made.
    """
    schema = schema_of(2, 2, 2)
    same, other = np.array([[50.0, 0], [0, 50]]), np.array([[0.0, 50], [50, 0]])
    targets = {("a", "b"): same, ("b", "c"): same, ("a", "c"): other}
    grown = run_gum(
        schema, targets, 100, np.random.default_rng(0), GumSchedule(iterations=5_000)
    )
    assert len(grown.errors) < 500
    one = run_gum(
        schema,
        {("a", "b"): same},
        100,
        np.random.default_rng(0),
        GumSchedule(iterations=5_000),
    )
    assert one.errors[-1] == 0
    assert len(one.errors) < 30


def test_a_step_becomes_smaller():
    assert [GumSchedule().step(i) for i in (0, 19, 20)] == [1, 1, 0.84]


def test_replacing_alone_fills_a_cell_that_was_empty():
    schema = schema_of(2, 2)
    targets = {
        ("a",): np.array([10.0, 0.0]),
        ("a", "b"): np.array([[5.0, 0.0], [0.0, 5.0]]),
    }
    grown = run_gum(schema, targets, 10, np.random.default_rng(0))
    assert counted(schema, grown.table, ("a", "b")).tolist() == [[5, 0], [0, 5]]


@given(st.integers(0, 10**6), st.integers(0, 60))
def test_any_targets_give_rows_inside_the_domain(seed, rows):
    rng = np.random.default_rng(seed)
    schema = schema_of(3, 1, 4)
    targets = {
        c: rng.integers(0, 4, schema.sizes(c)).astype(float)
        for c in (("a",), ("a", "c"), ("b", "c"), ("a", "b", "c"))
    }
    grown = run_gum(schema, targets, rows, rng, GumSchedule(iterations=5))
    for name, size in zip(schema, (3, 1, 4), strict=True):
        assert grown.table[name].shape == (rows,)
        assert not rows or grown.table[name].max() < size


def test_no_row_is_ever_impossible():
    """What is impossible is between columns that are never measured together, and the
    targets ask for it all the same.
    """
    plain, targets = chain([3, 4, 3], 3_000, 2)
    schema = replace(plain, impossible=(parse_predicate("a = 'a1' and c = 'c1'"),))
    wanted = {c: t for c, t in targets.items() if c != ("a", "c")}
    grown = run_gum(schema, wanted, 3_000, np.random.default_rng(0))
    masks = impossible_masks(schema)
    assert masks
    assert not impossible_rows(masks, grown.table, 3_000).any()
    assert impossible_rows(
        masks, run_gum(plain, wanted, 3_000, np.random.default_rng(0)).table, 3_000
    ).any()


def test_the_same_generator_gives_the_same_rows():
    schema, targets = chain([3, 4, 2], 500, 1)
    first, second = (
        run_gum(schema, targets, 500, np.random.default_rng(5)).table for _ in range(2)
    )
    assert all(np.array_equal(first[name], second[name]) for name in schema)


def test_every_row_of_a_cell_is_picked_equally_often():
    """Twenty rows of one cell among others, six wanted: each is picked with chance .3
    (a little less where the first cut ran short).
    """
    rng = np.random.default_rng(0)
    cells = np.tile(np.array([0, 1, 1, 2], np.uint32), 20)
    counts, wanted = np.array([20, 40, 20]), np.array([6, 0, 0])
    times = 4_000
    hits = np.zeros(cells.size, int)
    for _ in range(times):
        picked = _pick_rows(cells, counts, wanted, rng)
        assert picked.size <= 6
        hits[picked] += 1
    assert not hits[cells != 0].any()
    chance = hits.sum() / (20 * times)
    assert 0.28 < chance <= 0.3
    assert not any(
        surprising(int(h), times, chance, tests=20) for h in hits[cells == 0]
    )


@pytest.mark.slow
def test_a_wide_table_comes_close(monkeypatch):
    """50,000 rows × 15 columns, 60 of 105 pairs, 100 iterations: with as many copies as
    in the paper and with fewer.

    Fewer copies meet the 60 a little less closely and the 45 others better, which
    nothing aims at and which start at .225.
    """
    rows = 50_000
    schema, targets = chain(
        [2, 16, 9, 32, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2], rows, 4
    )
    pairs = [c for c in targets if len(c) == 2]
    wanted = {c: targets[c] for c in targets if len(c) == 1 or c in pairs[:60]}

    def grown() -> tuple[float, float]:
        made = run_gum(
            schema,
            wanted,
            rows,
            np.random.default_rng(0),
            GumSchedule(iterations=100, patience=100),
        )
        places = {
            (a, b): made.table[a].astype(int) * targets[a, b].shape[1] + made.table[b]
            for a, b in pairs[60:]
        }
        others = [
            np.abs(np.bincount(p, minlength=targets[c].size) - targets[c].ravel())
            for c, p in places.items()
        ]
        return min(made.errors) / made.errors[0], float(
            np.mean([one.sum() / 2 / rows for one in others])
        )

    fewer = grown()
    monkeypatch.setattr(gum, "_held_pair_share", lambda goals, columns: 1.0)
    all_copied = grown()
    assert all_copied[0] < 1 / 4
    assert fewer[0] < 0.28
    assert fewer[1] < 0.9 * all_copied[1]
    assert fewer[1] < 0.19


def test_pairs_that_nothing_aims_at_do_not_drift(monkeypatch):
    """Thirty columns in a row, each equal to the next in two rows of three: pairs far
    apart are independent and stay so.
    """
    names, rows = [f"x{i}" for i in range(30)], 2000
    schema = Schema(
        columns=tuple(
            Categorical(name=n, values=("a", "b", "c"), nullable=False) for n in names
        )
    )
    targets = {pair: rows * (np.eye(3) + 0.5) / 7.5 for pair in pairwise(names)}
    far = [(names[i], names[j]) for i in range(30) for j in range(i + 8, 30)]

    def drift() -> float:
        table = run_gum(
            schema, targets, rows, np.random.default_rng(0), GumSchedule(every=2)
        ).table
        counts = [np.bincount(table[a] * 3 + table[b], minlength=9) for a, b in far]
        return float(np.mean([np.abs(c - rows / 9).sum() / rows for c in counts]))

    now = drift()
    monkeypatch.setattr(gum, "_held_pair_share", lambda goals, columns: 1.0)
    assert now < 0.75 * drift()
