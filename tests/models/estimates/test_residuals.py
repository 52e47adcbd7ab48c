"""Residual least squares against dense weighted least squares, and its variances
against brute force.
"""

from __future__ import annotations

import gc
import math
import weakref
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kit.models.brute_force import query
from kit.models.build import listed, measured, schema_of
from understudy.accounting.law import Law
from understudy.measurements import (
    AxisMap,
    Centring,
    Clique,
    Identity,
    Measurement,
    Partition,
)
from understudy.models.estimates.noise_moments import cell_variance
from understudy.models.estimates.pooling import pool_total
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Categorical, Schema, parse_predicate

NAMES = "abcd"


def dense(
    schema: Schema, measurements: list[Measurement], clique: Clique
) -> tuple[NDArray, NDArray, NDArray]:
    """Weighted least squares over the whole table: the clique's marginal, its
    variances, and which cells are determined at all.
    """
    blocks = [
        query(schema, m.clique, m.maps) / math.sqrt(cell_variance(m))
        for m in measurements
    ]
    answers = [m.values.ravel() / math.sqrt(cell_variance(m)) for m in measurements]
    a, y = np.concatenate(blocks), np.concatenate(answers)
    inverse = np.linalg.pinv(a, rcond=1e-11)
    ask = query(schema, clique, tuple(Identity(n) for n in schema.sizes(clique)))
    gain = ask @ inverse
    seen = np.abs(gain @ a - ask).max(axis=1) < 1e-7
    shape = schema.sizes(clique)
    return (
        (gain @ y).reshape(shape),
        (gain**2).sum(axis=1).reshape(shape),
        seen.reshape(shape),
    )


@st.composite
def worlds(draw: st.DrawFn, *, coarse: bool = True) -> tuple[Schema, list[Measurement]]:
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    schema = schema_of(*sizes)
    chosen = []
    for _ in range(draw(st.integers(1, 6))):
        clique = tuple(draw(st.permutations(NAMES[: len(sizes)])))[
            : draw(st.integers(0, 3))
        ]
        maps: list[AxisMap] = []
        for n in schema.sizes(clique):
            kinds = ["plain", "plain", "centred"] if n > 1 else ["plain"]
            kind = draw(
                st.sampled_from(
                    ["bins", *kinds] if coarse and len(clique) == 1 else kinds
                )
            )
            bins = sorted(draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
            ranks = {b: i for i, b in enumerate(sorted(set(bins)))}
            maps.append(
                {
                    "plain": Identity(n),
                    "centred": Centring(n),
                    "bins": Partition(tuple(ranks[b] for b in bins)),
                }[kind]
            )
        shape = tuple(m.out for m in maps)
        values = draw(
            st.lists(
                st.integers(-50, 200),
                min_size=math.prod(shape),
                max_size=math.prod(shape),
            )
        )
        chosen.append(
            measured(
                clique,
                np.reshape(values, shape),
                scale=draw(st.integers(1, 9)),
                law=Law.DISCRETE_GAUSSIAN,
                maps=tuple(maps),
            )
        )
    return schema, chosen


@given(worlds())
def test_every_marginal_and_variance_is_that_of_dense_least_squares(
    world: tuple[Schema, list[Measurement]],
) -> None:
    schema, measurements = world
    pooled = PooledResiduals.of(schema, listed(*measurements))
    for k in range(len(schema) + 1):
        for clique in combinations(reversed(list(schema)), k):
            values, variances, seen = dense(schema, measurements, clique)
            ours = pooled.variance(clique)
            assert np.array_equal(np.isfinite(ours), seen)
            assert np.allclose(
                pooled.marginal(clique)[seen], values[seen], rtol=1e-9, atol=1e-7
            )
            assert np.allclose(ours[seen], variances[seen], rtol=1e-7)
            assert pooled.is_measured(clique) == seen.all()


def test_agreement_with_dense_least_squares_is_to_1e9() -> None:
    """Five overlapping and repeated marginals with noise of different size."""
    rng = np.random.default_rng(5)
    schema = schema_of(3, 4, 2, 5)
    cliques: list[Clique] = [
        ("a", "b"),
        ("c", "b", "d"),
        ("a", "b"),
        ("d",),
        ("d", "a"),
    ]
    looks = [
        measured(
            c,
            rng.integers(0, 500, schema.sizes(c)),
            scale=i + 2,
            law=Law.DISCRETE_GAUSSIAN,
        )
        for i, c in enumerate(cliques)
    ]
    pooled = PooledResiduals.of(schema, listed(*looks))
    for clique in [*cliques, ("b", "d"), ("c",), ()]:
        values, variances, _ = dense(schema, looks, clique)
        assert np.abs(pooled.marginal(clique) - values).max() < 1e-9
        assert np.abs(pooled.variance(clique) / variances - 1).max() < 1e-9


@given(worlds())
def test_marginals_agree_with_each_other(
    world: tuple[Schema, list[Measurement]],
) -> None:
    schema, measurements = world
    pooled = PooledResiduals.of(schema, listed(*measurements))
    whole = pooled.marginal(tuple(schema))
    for i, name in enumerate(schema):
        rest = tuple(j for j in range(len(schema)) if j != i)
        assert np.allclose(
            whole.sum(axis=rest), pooled.marginal((name,)), rtol=1e-9, atol=1e-7
        )
    assert whole.sum() == pytest.approx(pooled.total, abs=1e-7)


@given(worlds(coarse=False))
def test_without_coarser_bins_the_total_is_the_pooled_one(
    world: tuple[Schema, list[Measurement]],
) -> None:
    schema, measurements = world
    pooled = PooledResiduals.of(schema, listed(*measurements))
    total, variance = pool_total(schema, listed(*measurements))
    if math.isfinite(variance):
        assert (pooled.total, pooled.total_variance) == (
            pytest.approx(total),
            pytest.approx(variance),
        )
    else:
        assert pooled.total == 0


def test_a_public_number_of_rows_is_exact() -> None:
    schema = schema_of(2, 3, rows=100)
    pooled = PooledResiduals.of(
        schema, listed(measured(("a", "b"), [[9, 8, 7], [30, 2, 1]], scale=4))
    )
    assert pooled.total == 100
    assert pooled.total_variance == 0
    assert pooled.marginal(("b", "a")).sum() == pytest.approx(100)


def test_nothing_measured_is_even_and_unknown() -> None:
    pooled = PooledResiduals.of(schema_of(2, 3, rows=60), listed())
    assert pooled.marginal(("a", "b")).tolist() == [[10.0] * 3] * 2
    assert np.all(np.isinf(pooled.variance(("a",))))
    assert not pooled.is_measured(("a",))


def test_bins_measured_with_another_column_still_count_towards_that_column() -> None:
    schema = schema_of(3, 2)
    coarse = measured(
        ("a", "b"), [[5, 6], [7, 8]], scale=3, maps=(Partition((0, 0, 1)), Identity(2))
    )
    pooled = PooledResiduals.of(schema, listed(coarse))
    assert pooled.marginal(("b",)).tolist() == [12.0, 14.0]
    assert pooled.variance(("b",)) == pytest.approx(2 * cell_variance(coarse))
    assert not pooled.is_measured(("a",))


def test_one_bin_that_holds_everything_is_a_look_at_the_total() -> None:
    whole = measured(("a",), [30], scale=2, maps=(Partition((0, 0, 0)),))
    pooled = PooledResiduals.of(schema_of(3), listed(whole))
    assert pooled.total == pytest.approx(30)
    assert pooled.total_variance == pytest.approx(cell_variance(whole))
    assert pooled.marginal(("a",)) == pytest.approx([10, 10, 10])
    assert not pooled.is_measured(("a",))


def test_impossible_cells_carry_no_noise_into_the_total() -> None:
    columns = tuple(
        Categorical(name=n, values=("x", "y"), nullable=False) for n in "ab"
    )
    schema = Schema(
        columns=columns, impossible=(parse_predicate("a = 'x' and b = 'x'"),)
    )
    look = measured(("a", "b"), [[0, 5], [6, 7]], scale=3)
    assert PooledResiduals.of(schema, listed(look)).total_variance == pytest.approx(
        3 * cell_variance(look)
    )


def test_the_stated_variance_is_the_spread_of_repeated_estimates() -> None:
    """By brute force: the standard error of a variance from 5,000 draws is 2 %, so 12 %
    is beyond one in a million.
    """
    rng = np.random.default_rng(1)
    schema = schema_of(3, 2, 2)
    shapes: list[Clique] = [("a", "b"), ("b", "c"), ("a",)]
    draws = []
    for _ in range(5_000):
        looks = [
            measured(
                c,
                np.rint(rng.normal(0, 40, schema.sizes(c))),
                scale=40,
                law=Law.ROUNDED_GAUSSIAN,
            )
            for c in shapes
        ]
        pooled = PooledResiduals.of(schema, listed(*looks))
        draws.append(pooled.marginal(("a", "b")))
    assert np.var(draws, axis=0) / pooled.variance(("a", "b")) == pytest.approx(
        np.ones((3, 2)), abs=0.12
    )


def test_the_same_measurements_are_pooled_once_and_forgotten_with_them() -> None:
    schema = schema_of(2)
    name = next(iter(schema))
    looks = listed(measured((name,), np.array([3, 4])))
    pooled = PooledResiduals.of(schema, looks)
    assert PooledResiduals.of(schema, looks) is pooled
    # Another schema may know the number of rows, which changes everything.
    other = schema_of(2, rows=60)
    assert PooledResiduals.of(other, looks).total == 60
    assert PooledResiduals.of(schema, looks).total == pooled.total
    kept = weakref.ref(pooled)
    del pooled, looks
    gc.collect()
    assert kept() is None
