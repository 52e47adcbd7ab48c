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
from understudy.synthesizers.adaptive.candidates import (
    BudgetNoise,
    Candidates,
    score_marginals,
)
from understudy.synthesizers.adaptive.contrasts import AxisMaps, contrast_maps
from understudy.synthesizers.adaptive.joint_allocation import (
    MarginalQuery,
    allocate_jointly,
    precision_ratio,
    residual_problem,
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
    candidates = score_marginals(
        expected,
        dict.fromkeys(every, 300.0),
        weights,
        BudgetNoise(noise, 0.5),
        maps or {},
    )
    return candidates, {r: 1.0 for r in every if len(r) > 1}


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
            100**2 / ask.part / precision_ratio(ask, tau), rel=1e-3
        )


def test_the_parts_are_the_best_ones():
    """No exchange of a tenth of one question's part for another's leaves less error;
    even parts leave more.
    """
    candidates, weights = tables(SCHEMA, noise=5.0)
    queries = [MarginalQuery(r, tuple(Identity(SIZES[n]) for n in r)) for r in EVERY]
    problem = residual_problem(queries, candidates, weights)
    solved = problem.solve()
    best = solved.parts
    assert best.sum() == pytest.approx(1)
    assert solved.gap < 1e-4
    even = np.full(best.size, 1 / best.size)
    assert problem.evaluate(even)[0] > 1.02 * solved.error
    for one, other in permutations(np.flatnonzero(best > 0.02), 2):
        moved = best.copy()
        moved[one] -= best[one] / 10
        moved[other] += best[one] / 10
        assert problem.evaluate(moved)[0] > 0.999 * solved.error


@pytest.mark.parametrize(("columns", "residuals"), [(3, False), (12, True)])
def test_what_leaves_less_error_is_asked(columns, residuals):
    """Of three columns one triple tells everything; of many, each pair is told by many
    triples, and residuals say nothing twice.
    """
    schema = schema_of(*[3] * columns)
    asks = allocate_jointly(*tables(schema, noise=2.0), schema)
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
    plain, weights = tables(schema, 2.0)
    maps = contrast_maps(schema, plain, Neighbours.ADD_REMOVE, Accounting.GDP)
    queries = [
        MarginalQuery(r, maps.get(r) or tuple(map(Identity, schema.sizes(r))))
        for r in plain
    ]
    saved, _ = tables(schema, 2.0, maps)
    forgetful = {r: replace(candidate, maps=()) for r, candidate in saved.items()}
    counts, once, twice = (
        residual_problem(queries, candidates, weights).solve()
        for candidates in (plain, saved, forgetful)
    )
    assert once.parts == pytest.approx(counts.parts, abs=2e-3)
    assert once.error == pytest.approx(counts.error, rel=0.01)
    assert twice.error < 0.9 * once.error


def test_what_is_impossible_is_asked_for_as_it_is():
    schema = replace(
        schema_of(*[3] * 8), impossible=(parse_predicate("a = 'a0' and b = 'b1'"),)
    )
    assert schema.zeros(("a", "b")) is not None
    asks = allocate_jointly(*tables(schema, noise=2.0), schema)
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
