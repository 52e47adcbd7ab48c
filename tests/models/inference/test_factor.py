"""Factors: products and sums against every cell, and sizes that are known beforehand."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.models.inference.factor import (
    Factor,
    eliminate_columns,
    elimination_order,
    multiply_factors,
    sum_factor,
)

SIZES = {"a": 2, "b": 3, "c": 4, "d": 2}


def some_factors(seed: int) -> list[Factor]:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(4):
        scope = tuple(rng.permutation(list(SIZES))[: rng.integers(1, 4)].tolist())
        found.append(Factor(scope, rng.random([SIZES[name] for name in scope])))
    return found


def every_cell(factors: list[Factor]) -> np.ndarray:
    whole = np.ones(tuple(SIZES.values()))
    for cell in np.ndindex(whole.shape):
        at = dict(zip(SIZES, cell, strict=True))
        for factor in factors:
            whole[cell] *= factor.table[tuple(at[name] for name in factor.scope)]
    return whole


@pytest.mark.parametrize("seed", range(8))
def test_products_and_sums_are_those_of_every_cell(seed):
    factors = some_factors(seed)
    whole = every_cell(factors)
    assert multiply_factors(factors, tuple(SIZES), SIZES) == pytest.approx(whole)
    present = set().union(*(f.scope for f in factors))
    for kept in ("a", "b"):
        order, largest = elimination_order([f.scope for f in factors], {kept}, SIZES)
        assert sorted(order) == sorted(present - {kept})
        tables, left = eliminate_columns(factors, order, SIZES)
        assert largest == max((t.table.size for t in tables), default=0)
        axes = tuple(i for i, name in enumerate(SIZES) if name != kept)
        absent = np.prod(
            [SIZES[name] for name in SIZES if name not in present and name != kept]
        )
        assert multiply_factors(left, (kept,), SIZES) * absent == pytest.approx(
            whole.sum(axis=axes)
        )


def test_each_table_has_its_own_column_last_and_only_open_ones_besides():
    order, _ = elimination_order([("a", "b"), ("b", "c"), ("c", "d")], {"d"}, SIZES)
    tables, _ = eliminate_columns(
        [
            Factor(s, np.ones([SIZES[n] for n in s]))
            for s in (("a", "b"), ("b", "c"), ("c", "d"))
        ],
        order,
        SIZES,
    )
    gone: set[str] = set()
    for name, table in zip(order, tables, strict=True):
        assert table.scope[-1] == name
        assert not gone & set(table.scope)
        gone.add(name)


def test_a_star_is_summed_over_its_middle():
    assert elimination_order([("a",), ("a", "b"), ("a", "d")], {"b", "d"}, SIZES) == (
        ["a"],
        12,
    )


def test_margins_come_in_the_order_asked_for():
    table = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(
        sum_factor(Factor(("a", "b", "c"), table), ("c", "a")), table.sum(axis=1).T
    )
