"""Where one tree has room for everything, columns, pairs and triples share the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest

from kit.models.build import schema_of
from kit.synthesizers.watched import run
from understudy.accounting import Accounting, Cost, Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.sensitivity import marginal_sensitivity
from understudy.measurements import (
    AxisMap,
    Centring,
    Clique,
    Identity,
    Measurement,
    Measurements,
)
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Integer, Schema, parse_predicate
from understudy.synthesizers.adaptive.adaptive import Adaptive
from understudy.synthesizers.adaptive.candidates import Candidates
from understudy.synthesizers.adaptive.contrasts import AxisMaps, contrast_maps
from understudy.synthesizers.adaptive.joint_allocation import (
    MarginalQuery,
    _JointAllocation,
    _precision_share,
    allocate_jointly,
)

SIZES = {"a": 3, "b": 4, "c": 2}
SCHEMA = Schema(
    columns=tuple(
        Integer(name=n, min=0, max=s - 1, nullable=False) for n, s in SIZES.items()
    )
)
EVERY = [clique for k in (1, 2, 3) for clique in combinations(SIZES, k)]
KINDS = [
    (Identity(3), Identity(4), Identity(2)),
    (Identity(3), Identity(4), Centring(2)),
    (Centring(3), Identity(4), Centring(2)),
    (Centring(3), Centring(4), Centring(2)),
]


def tables(
    schema: Schema, noise: float, maps: Mapping[Clique, AxisMaps] | None = None
) -> tuple[Candidates, dict[tuple[str, ...], float]]:
    """Columns, pairs and triples, all even and all as far off; and what pairs and
    triples weigh.
    """
    every = [clique for k in (1, 2, 3) for clique in combinations(schema, k)]
    expected = {
        r: np.full(schema.sizes(r), 10_000 / np.prod(schema.sizes(r))) for r in every
    }
    weights = dict.fromkeys(every, 1.0)
    prospects = Candidates.of(
        expected, dict.fromkeys(every, 300.0), weights, noise, 0.5, maps or {}
    )
    return prospects, {r: 1.0 for r in every if len(r) > 1}


def looked(
    clique: tuple[str, ...], maps: tuple[AxisMap, ...], scale: Fraction
) -> Measurement:
    shape = tuple(m.size for m in maps)
    cost = Cost(Accounting.GDP, Fraction(1))
    return Measurement(
        clique, maps, np.zeros(shape, np.int64), Law.DISCRETE_GAUSSIAN, scale, cost
    )


@pytest.mark.parametrize("maps", KINDS)
def test_what_an_answer_tells_of_a_residual_is_its_exact_variance(maps):
    """Held against the pooled estimate of models/estimates/residuals.py, where every
    smaller residual is known without noise to speak of.
    """
    ask = MarginalQuery(("a", "b", "c"), maps, 0.25)
    moved = float(marginal_sensitivity(maps, Neighbours.ADD_REMOVE).l2_squared)
    look = looked(
        ask.clique,
        maps,
        Fraction(100 * (moved / ask.part) ** 0.5).limit_denominator(10**6),
    )
    centred = {
        n for n, m in zip(ask.clique, maps, strict=True) if isinstance(m, Centring)
    }
    tested = [tau for tau in EVERY if centred <= set(tau)]
    assert tested
    for tau in tested:
        inner = [r for k in range(len(tau)) for r in combinations(tau, k)]
        exact = [
            looked(r, tuple(Identity(SIZES[n]) for n in r), Fraction(1, 1000))
            for r in inner
        ]
        variance = PooledResiduals.of(SCHEMA, Measurements((look, *exact))).variance(
            tau
        )
        assert float(np.mean(variance)) == pytest.approx(
            100**2 / ask.part / _precision_share(ask, tau), rel=1e-3
        )


def test_the_parts_are_the_best_ones():
    """No exchange of a tenth of one question's part for another's leaves less error;
    even parts leave more.
    """
    prospects, weights = tables(SCHEMA, noise=5.0)
    balance = _JointAllocation.of(
        [MarginalQuery(r, tuple(Identity(SIZES[n]) for n in r)) for r in EVERY],
        prospects,
        weights,
        {},
    )
    best = balance.parts
    assert best.sum() == pytest.approx(1)
    least = balance.error(best)
    assert balance.error(np.full(best.size, 1 / best.size)) > 1.02 * least
    for one, other in permutations(np.flatnonzero(best > 0.02), 2):
        moved = best.copy()
        moved[one] -= best[one] / 10
        moved[other] += best[one] / 10
        assert balance.error(moved) > 0.999 * least


@pytest.mark.parametrize(("columns", "residuals"), [(3, False), (12, True)])
def test_what_leaves_less_error_is_asked(columns, residuals):
    """Of three columns one triple tells everything; of many, each pair is told by many
    triples, and residuals say nothing twice.
    """
    schema = schema_of(*[3] * columns)
    prospects, weights = tables(schema, noise=2.0)
    asks = allocate_jointly(prospects, weights, schema, {})
    assert sum(ask.part for ask in asks) == pytest.approx(1)
    assert {
        all(isinstance(m, Centring) for m in ask.maps)
        for ask in asks
        if len(ask.clique) == 3
    } == {residuals}


def test_what_contrasts_save_is_counted_once():
    """Gains of columns with two values are told for differences: the same is foretold
    as from gains that were told for counts.
    """
    schema = schema_of(2, 2, 2, 3, 3)
    maps = contrast_maps(
        schema, tables(schema, 2.0)[0].curves, Neighbours.ADD_REMOVE, Accounting.GDP
    )
    asks = [
        MarginalQuery(r, maps.get(r) or tuple(map(Identity, schema.sizes(r))))
        for r in tables(schema, 2.0)[0].curves
    ]
    counts, once, twice = (
        _JointAllocation.of(asks, *tables(schema, 2.0, told), saved)
        for told, saved in (({}, {}), (maps, maps), (maps, {}))
    )
    assert once.parts == pytest.approx(counts.parts, abs=2e-3)
    assert once.error(once.parts) == pytest.approx(counts.error(counts.parts), rel=0.01)
    assert twice.error(twice.parts) < 0.9 * once.error(once.parts)


def test_what_is_impossible_is_asked_for_as_it_is():
    schema = replace(
        schema_of(*[3] * 8), impossible=(parse_predicate("a = 'a0' and b = 'b1'"),)
    )
    assert schema.zeros(("a", "b")) is not None
    asks = allocate_jointly(*tables(schema, noise=2.0), schema, {})
    ruled, free = (
        [ask for ask in asks if ({"a", "b"} <= set(ask.clique)) is told]
        for told in (True, False)
    )
    assert ruled
    assert all(isinstance(m, Identity) for ask in ruled for m in ask.maps)
    assert any(isinstance(m, Centring) for ask in free for m in ask.maps)


def parity() -> tuple[Schema, dict[str, list[str]]]:
    """Any two of three columns tell the third, and none tells another; a fourth is by
    itself.
    """
    a, b, d = np.random.default_rng(3).integers(0, 3, (3, 20_000))
    schema = schema_of(3, 3, 3, 3)
    return schema, {
        n: [f"{n}{code}" for code in c]
        for n, c in zip(schema, (a, b, (a + b) % 3, d), strict=True)
    }


@pytest.mark.parametrize(
    ("neighbours", "delta", "residuals"),
    [
        (Neighbours.ADD_REMOVE, "1e-6", True),
        (Neighbours.REPLACE, "1e-6", False),
        (Neighbours.ADD_REMOVE, "0", False),
    ],
)
def test_triples_of_few_values_are_asked_by_residuals_where_that_saves(
    neighbours, delta, residuals, open_curator
):
    curator, found = run(
        open_curator,
        Adaptive(),
        parity(),
        epsilon="20",
        neighbours=neighbours,
        delta=delta,
    )
    assert any(set("abc") <= set(m.clique) for m in found)
    assert (
        any(
            all(isinstance(x, Centring) for x in m.maps)
            for m in found
            if len(m.clique) == 3
        )
        is residuals
    )
    assert 0 <= curator.share_left < Fraction(1, 500)


def test_beyond_the_whole_budget_a_bit_more_gains_what_it_takes_off_the_error():
    """Residuals of columns with two values are heard several times as well as their
    part says; the slope is told by small steps.
    """
    schema = Schema(
        columns=tuple(Integer(name=n, min=0, max=1, nullable=False) for n in "abc")
    )
    prospects, weights = tables(schema, noise=5.0)
    asks = [MarginalQuery(r, tuple(Centring(2) for _ in r)) for r in prospects.curves]
    balance, parts, bit = (
        _JointAllocation.of(asks, prospects, weights, {}),
        np.full(len(asks), 0.9),
        1e-5,
    )
    reached = np.bincount(balance.taker, balance.worth * parts[balance.giver])
    assert np.all(reached > 1.1)
    more, less = (balance._left(parts * (1 + way))[0] for way in (bit, -bit))
    assert balance._left(parts)[1] == pytest.approx(
        (less - more) / (2 * bit * reached), rel=1e-5
    )
