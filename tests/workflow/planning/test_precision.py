"""What variances alone say must be what least squares over whole tables says."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import (
    AxisMap,
    Centring,
    Identity,
    Measurement,
    Measurements,
    Partition,
)
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Integer, Schema
from understudy.workflow.planning.precision import known_marginals

SIZES = {"a": 3, "b": 2, "c": 4}
SCHEMA = Schema(
    columns=tuple(
        Integer(name=n, min=0, max=s - 1, nullable=False) for n, s in SIZES.items()
    )
)
CLIQUES = [tuple(c) for k in (1, 2, 3) for c in combinations("cba", k)]


def look(clique: tuple[str, ...], scale: int, centred: bool) -> Measurement:
    maps: tuple[AxisMap, ...] = tuple(
        (Centring if centred else Identity)(SIZES[n]) for n in clique
    )
    values = np.zeros([SIZES[n] for n in clique], np.int64)
    return Measurement(
        clique,
        maps,
        values,
        Law.DISCRETE_GAUSSIAN,
        Fraction(scale),
        Cost(Accounting.GDP, Fraction(1, 100)),
    )


@given(
    st.lists(
        st.tuples(st.sampled_from(CLIQUES), st.integers(3, 30), st.booleans()),
        min_size=1,
        max_size=6,
    )
)
def test_deviations_are_those_of_least_squares(
    looks: list[tuple[tuple[str, ...], int, bool]],
) -> None:
    measured = Measurements(tuple(look(*one) for one in looks))
    pooled = PooledResiduals.of(SCHEMA, measured)
    found = {k.clique: k for k in known_marginals(SCHEMA, measured)}
    for k in (1, 2, 3):
        for clique in combinations(SCHEMA, k):
            inside = k == 1 or any(set(clique) <= set(m.clique) for m in measured)
            if inside and pooled.is_measured(clique):
                assert found[clique].deviation == pytest.approx(
                    math.sqrt(pooled.variance(clique).flat[0])
                )
                assert found[clique].cells == math.prod(SIZES[n] for n in clique)
            else:
                assert clique not in found


def test_a_table_of_many_columns_costs_no_more_than_its_pairs() -> None:
    names = [f"c{i}" for i in range(40)]
    wide = Schema(
        columns=tuple(Integer(name=n, min=0, max=1, nullable=False) for n in names)
    )
    maps = tuple(Identity(2) for _ in names)
    # 2**40 cells are never laid out: only what sums of them would be off by is told.
    whole = Measurement(
        tuple(names),
        maps,
        np.broadcast_to(np.int64(0), (2,) * 40),
        Law.DISCRETE_GAUSSIAN,
        Fraction(1),
        Cost(Accounting.GDP, Fraction(1)),
    )
    found = known_marginals(wide, Measurements((whole,)))
    assert len(found) == 40 + 780
    assert found[0].deviation == pytest.approx(math.sqrt(2.0**39))


def test_coarser_bins_tell_of_the_total_alone() -> None:
    coarse = Measurement(
        ("a",),
        (Partition((0, 0, 1)),),
        np.zeros(2, np.int64),
        Law.DISCRETE_GAUSSIAN,
        Fraction(1),
        Cost(Accounting.GDP, Fraction(1)),
    )
    assert known_marginals(SCHEMA, Measurements((coarse,))) == ()
