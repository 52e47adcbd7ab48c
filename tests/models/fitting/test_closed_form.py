"""The closed form of trees: which cliques form one, and tables that are consistent,
non-negative and nearest.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.models.brute_force import query
from kit.models.build import listed, measured, schema_of
from understudy.accounting.law import Law
from understudy.measurements import Clique, Identity
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.fitting.closed_form import (
    direct_marginals,
    direct_potentials,
    select_tree_cliques,
)
from understudy.models.inference.log_calibration import align_axes
from understudy.models.tree import TreeModel
from understudy.schema import Categorical, Schema, parse_predicate

NAMES = "abcdef"


def reduced(table: np.ndarray, clique: Clique) -> np.ndarray:
    return table.sum(
        axis=tuple(i for i, name in enumerate(NAMES) if name not in clique)
    )


@given(
    st.lists(
        st.sets(st.sampled_from(NAMES), min_size=1, max_size=3).map(
            lambda s: tuple(sorted(s))
        ),
        max_size=9,
    ),
    st.integers(0, 10**6),
)
def test_marginals_of_branches_determine_a_model_that_has_them(
    cliques: list[Clique], seed: int
) -> None:
    """By brute force over 64 cells: the product over the separators has exactly the
    marginals it was made of.
    """
    truth = np.random.default_rng(seed).gamma(0.5, size=(2,) * 6) + 1e-3
    truth /= truth.sum()
    tree = select_tree_cliques(cliques)
    potentials = direct_potentials({c: reduced(truth, c) for c in tree}, tree)
    logs = np.zeros((2,) * 6)
    for clique, theta in potentials.items():
        logs = logs + align_axes(theta, clique, tuple(NAMES))
    model = np.exp(logs)
    model /= model.sum()
    for clique in tree:
        assert reduced(model, clique) == pytest.approx(reduced(truth, clique), abs=1e-9)


def test_branches_of_pairs_are_a_spanning_tree_in_the_given_order() -> None:
    pairs = list(combinations("abcd", 2))
    assert list(select_tree_cliques(pairs)) == [("a", "b"), ("a", "c"), ("a", "d")]
    assert list(select_tree_cliques(reversed(pairs))) == [
        ("c", "d"),
        ("b", "d"),
        ("a", "d"),
    ]


def test_a_loop_is_cut_where_it_would_close() -> None:
    assert list(
        select_tree_cliques([("a", "b"), ("c", "d"), ("b", "c"), ("a", "d")])
    ) == [
        ("a", "b"),
        ("c", "d"),
        ("b", "c"),
    ]


def chain(seed: int, scale: int) -> tuple[Schema, PooledResiduals, list[Clique]]:
    rng = np.random.default_rng(seed)
    schema = schema_of(2, 3, 2)
    cliques: list[Clique] = [("a", "b"), ("b", "c")]
    looks = [
        measured(
            c,
            np.rint(rng.normal(10, scale, schema.sizes(c))),
            scale=scale,
            law=Law.ROUNDED_GAUSSIAN,
        )
        for c in cliques
    ]
    return schema, PooledResiduals.of(schema, listed(*looks)), cliques


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(5, 60))
def test_tables_agree_and_are_the_nearest_of_all(seed: int, scale: int) -> None:
    """Nearest in squares over their variances, shown without a solver: no cell of the
    whole table is worth moving rows to.

    With half the squared distance and its slope g in every cell of the whole table, Σ
    g·table − total · min g is at least what the distance is above the least one (Frank
    and Wolfe 1956), and twice that at least the squared distance from the nearest
    tables.
    """
    schema, pooled, cliques = chain(seed, scale)
    total = 80.0
    found = direct_marginals(schema, pooled, cliques, total, settled=1e-7)
    assert all(np.all(table >= 0) for table in found.values())
    assert all(table.sum() == pytest.approx(total) for table in found.values())
    assert found["a", "b"].sum(axis=0) == pytest.approx(
        found["b", "c"].sum(axis=1), abs=1e-3 * scale
    )
    assert gap(schema, pooled, found, total) <= 0.01**2 / 2
    moved = {
        c: table + 0.05 * scale * np.eye(*table.shape) for c, table in found.items()
    }
    assert (
        gap(schema, pooled, {c: t * total / t.sum() for c, t in moved.items()}, total)
        > 0.01**2 / 2
    )


def gap(
    schema: Schema,
    pooled: PooledResiduals,
    found: dict[Clique, np.ndarray],
    total: float,
) -> float:
    slopes = {
        c: (table - pooled.marginal(c)) / pooled.variance(c).mean()
        for c, table in found.items()
    }
    whole = sum(
        query(schema, c, tuple(map(Identity, schema.sizes(c)))).T @ slope.ravel()
        for c, slope in slopes.items()
    )
    return float(
        sum((slopes[c] * table).sum() for c, table in found.items())
        - total * np.min(whole)
    )


def test_the_model_of_the_tables_has_them_as_its_marginals() -> None:
    schema, pooled, cliques = chain(3, 6)
    tables = direct_marginals(schema, pooled, cliques, 70.0, settled=1e-9)
    potentials = direct_potentials(tables, select_tree_cliques(cliques))
    model = TreeModel.from_potentials(schema, 70.0, cliques, potentials)
    for clique in cliques:
        assert model.marginal(clique) == pytest.approx(tables[clique], abs=1e-4)


def test_structural_zeros_stay_empty() -> None:
    columns = tuple(
        Categorical(name=n, values=("x", "y"), nullable=False) for n in "ab"
    )
    schema = Schema(
        columns=columns, impossible=(parse_predicate("a = 'x' and b = 'x'"),)
    )
    pooled = PooledResiduals.of(
        schema, listed(measured(("a", "b"), [[0, 5], [6, 7]], scale=3))
    )
    table = direct_marginals(schema, pooled, [("a", "b")], 20.0)["a", "b"]
    assert table[0, 0] == 0
    assert table.sum() == pytest.approx(20)


def test_no_cliques_no_tables() -> None:
    schema = schema_of(2)
    assert direct_marginals(schema, PooledResiduals.of(schema, listed()), [], 5.0) == {}
