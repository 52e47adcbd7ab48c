"""MWEM: the figure's numbers, its theorem, and its improvements."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.models.build import listed, measured, schema_of
from kit.synthesizers.noise import ADD_REMOVE, honest
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import Identity, Measurement, Measurements, Partition
from understudy.schema import Integer, Schema
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.published.mwem import (
    MWEM,
    MultiplicativeWeights,
    error_bound,
)
from understudy.testing import conformance

SETTINGS = {
    "default": MWEM(),
    "histogram": MWEM(start="histogram"),
    "mean": MWEM(average=True, rounds=6, passes=20),
    "figure": MWEM.figure(),
}
LONGER = {("mean", "check_learns"): MWEM(average=True, rounds=20, passes=20)}
"""A mean over six rounds remembers where it began: that of twenty is within a tenth of
the rows (.085 ± .001).
"""

SLOW_LEARNERS = {("figure", "check_learns")}
"""Ten steps of one cell each: the figure does not learn a table of 400 rows by then,
and does not claim to.
"""


BOUGHT_IN_VAIN = {
    ("figure", "check_answers_are_used"),
    ("mean", "check_answers_are_used"),
}
"""The mean of the distributions that queries were picked against leaves out what the
last answer taught: that is the figure. How much that is has a test of its own.
"""


@pytest.mark.parametrize("setting", ["figure", "mean"])
def test_a_mean_leaves_out_the_last_answer_and_no_other(setting, open_curator):
    schema, rows = conformance.mixed_table(150)
    # With hardly any noise: weights that follow noise alone come to rest in a single
    # cell, where no further answer moves them.
    found = conformance.run_trial(
        SETTINGS[setting], open_curator, schema, rows, epsilon=Fraction(100)
    )
    assert (
        0
        < conformance.unused_cost_part(SETTINGS[setting], found)
        <= Fraction(1, SETTINGS[setting].rounds)
    )


@pytest.mark.usefixtures("shared_trials")
@pytest.mark.parametrize(
    "judge", conformance.CONFORMANCE_CHECKS, ids=lambda judge: judge.__name__
)
@pytest.mark.parametrize("setting", [name for name in SETTINGS if name != "default"])
def test_conforms(setting, judge, open_curator):
    """The default is judged with all others, in tests/testing/test_conformance.py."""
    if (setting, judge.__name__) not in SLOW_LEARNERS | BOUGHT_IN_VAIN:
        judge(LONGER.get((setting, judge.__name__), SETTINGS[setting]), open_curator)


def all_orders(schema):
    """Every marginal of every order."""
    names = list(schema)
    cliques = [
        tuple(n for i, n in enumerate(names) if bits >> i & 1)
        for bits in range(1, 1 << len(names))
    ]
    return Workload(tuple(cliques), (1.0,) * len(cliques))


def opened(
    open_curator,
    sizes,
    rows,
    *,
    epsilon,
    delta=0,
    known=True,
    neighbours=Neighbours.ADD_REMOVE,
):
    """A curator on rows that count upwards, and the schema, which declares their number
    unless told otherwise.
    """
    schema = schema_of(*sizes, rows=rows if known else None)
    cells = {
        name: [f"{name}{i % size}" for i in range(rows)]
        for name, size in zip(schema, sizes, strict=True)
    }
    return schema, open_curator(
        schema,
        cells,
        epsilon=Fraction(epsilon),
        delta=Fraction(delta),
        neighbours=neighbours,
    )


@pytest.mark.parametrize(("rounds", "epsilon"), [(1, "1"), (10, "1"), (8, "0.25")])
def test_the_figures_prices(rounds, epsilon, open_curator):
    """ε/2T for each choice and noise of scale 2T/ε on each answer."""
    schema, curator = opened(open_curator, [2, 3], 30, epsilon=epsilon)
    found = MWEM.figure(rounds).measure(curator, all_orders(schema), ignore_progress)
    assert curator.share_left == 0
    assert len(found) == rounds
    for m in found:
        assert m.law is Law.DISCRETE_LAPLACE
        assert m.scale == 2 * rounds / Fraction(epsilon)
        assert m.cost.amount == Fraction(epsilon) / (2 * rounds)


def test_a_private_number_of_rows_is_bought_first(open_curator):
    schema, curator = opened(open_curator, [2, 3], 30, epsilon=1, known=False)
    found = MWEM.figure(5).measure(curator, all_orders(schema), ignore_progress)
    assert found[0].clique == ()
    assert found[0].cost.amount == Fraction(1, 20)
    assert curator.share_left < Fraction(1, 1000)


def by_the_book(shares, steps, total):
    """The figure's loop, cell by cell."""
    shares, kept = shares.copy(), []
    for inside, answer in steps:
        kept.append(shares.copy())
        held = total * sum(shares[x] for x in np.ndindex(shares.shape) if inside[x])
        for x in np.ndindex(shares.shape):
            shares[x] *= np.exp(inside[x] * (answer - held) / (2 * total))
        shares /= shares.sum()
    return shares, np.mean(kept, axis=0)


def test_updates_and_mean_are_the_figures():
    schema = schema_of(2, 3, rows=40)
    cells = [
        (("a",), (1,), 31),
        (("a", "b"), (0, 2), 3),
        (("b",), (0,), -4),
        (("b", "a"), (1, 1), 22),
    ]
    looks, steps = [], []
    for clique, codes, answer in cells:
        maps = tuple(
            Partition(tuple(int(c == code) for c in range(schema.sizes((n,))[0])))
            for n, code in zip(clique, codes, strict=True)
        )
        values = np.zeros(tuple(m.out for m in maps), int)
        values[(1,) * len(clique)] = answer
        looks.append(measured(clique, values, maps=maps))
        inside = np.zeros((2, 3))
        inside[
            tuple(
                dict(zip(clique, codes, strict=True)).get(n, slice(None))
                for n in schema
            )
        ] = 1
        steps.append((inside, answer))
    last, mean = by_the_book(np.full((2, 3), 1 / 6), steps, 40)
    found = MWEM.figure(4).estimate(schema, listed(*looks), np.random.default_rng(0))
    assert found.shares == pytest.approx(mean)
    latest = MWEM(rounds=4, passes=0).estimate(
        schema, listed(*looks), np.random.default_rng(0)
    )
    assert latest.shares == pytest.approx(last)


def test_a_whole_marginal_moves_all_its_cells_at_once():
    weights = MultiplicativeWeights(("a", "b"), np.full((2, 2), 0.25), 100.0)
    weights.update_weights(measured(("b", "a"), [[70, 0], [0, 30]]), passes=0)
    factors = np.exp(np.array([[45, -25], [-25, 5]]) / 200)
    assert weights.shares == pytest.approx(factors / factors.sum())
    weights.update_weights(measured(("b", "a"), [[70, 0], [0, 30]]), passes=2_000)
    assert weights.marginal(("a", "b")) == pytest.approx(
        np.array([[70, 0], [0, 30]]), abs=1
    )


def test_no_answer_however_far_off_breaks_the_weights():
    weights = MultiplicativeWeights(("a",), np.array([0.5, 0.5, 0.0]), 1.0)
    weights.update_weights(measured(("a",), [10**9, -(10**9), 0]), passes=3)
    assert weights.shares.tolist() == [1, 0, 0]


# Theorem 2.2, where its failure probability is 1e-6

ROWS, ROUNDS, EPSILON = 2_000, 40, 50


def largest_error(open_curator, method):
    """Of any cell of any marginal, on rows that are all alike: as far from uniform as
    rows can be.
    """
    schema = schema_of(2, 2, 2, rows=ROWS)
    cells = {name: [f"{name}1"] * ROWS for name in schema}
    curator = open_curator(
        schema,
        cells,
        epsilon=Fraction(EPSILON),
        delta=Fraction(0),
        neighbours=Neighbours.ADD_REMOVE,
    )
    workload = all_orders(schema)
    model = method.estimate(
        schema,
        method.measure(curator, workload, ignore_progress),
        np.random.default_rng(0),
    )
    worst = 0.0
    for clique in workload.cliques:
        truth = np.zeros((2,) * len(clique))
        truth[(1,) * len(clique)] = ROWS
        worst = max(worst, float(np.abs(model.marginal(clique) - truth).max()))
    return worst


BOUND = error_bound(
    rows=ROWS, cells=8, queries=26, rounds=ROUNDS, epsilon=EPSILON, failure=1e-6
)


def test_the_theorems_bound_holds(open_curator):
    assert BOUND < 0.55 * ROWS  # it says something
    assert largest_error(open_curator, MWEM.figure(ROUNDS)) <= BOUND


class Backwards(MWEM):
    """Updates with the wrong sign."""

    def estimate(self, schema, measurements, rng):
        def turned(m):
            values = m.values.copy()
            values[(-1,) * values.ndim] *= -1
            return measured(m.clique, values, maps=m.maps)

        return super().estimate(schema, listed(*map(turned, measurements)), rng)


def test_the_bound_has_teeth(open_curator):
    twin = Backwards(rounds=ROUNDS, whole=False, passes=0, average=True)
    assert largest_error(open_curator, twin) > BOUND


def test_the_bound_is_the_theorems_at_its_own_failure_probability():
    told = error_bound(rows=100, cells=8, queries=26, rounds=4, epsilon=2.0)
    assert told == pytest.approx(
        2 * 100 * np.sqrt(np.log(8) / 4) + 10 * 4 * np.log(26) / 2
    )


def test_improvements_improve(open_curator):
    assert largest_error(open_curator, MWEM(rounds=ROUNDS)) < 0.2 * largest_error(
        open_curator, MWEM.figure(ROUNDS)
    )


@pytest.mark.parametrize(
    "method",
    [MWEM(rounds=3), MWEM(rounds=3, start="histogram")],
    ids=["rounds", "start"],
)
def test_every_cell_is_noised_the_empty_ones_too(method, open_curator):
    schema = schema_of(40, 40)
    rows = {name: [f"{name}0"] * 50 for name in schema}
    curator = open_curator(
        schema, rows, epsilon=Fraction(1), delta=Fraction(0), neighbours=ADD_REMOVE
    )
    found = method.measure(curator, Workload((("a", "b"),), (1.0,)), ignore_progress)
    assert Fraction(0) <= curator.share_left <= Fraction(1, 100)
    assert honest(schema, rows, found)
    assert not honest(schema, rows, found, mutant="spare")
    assert not honest(schema, rows, found, mutant="halve")


def test_a_large_domain_is_refused_before_anything_is_spent():
    with pytest.raises(
        Refused,
        match=r"10,000,000 cells, more than 1,000,000.*privsyn.*Nothing was spent",
    ):
        MWEM().check(schema_of(*[10] * 7), delta=Fraction(0))
    MWEM(limit=10**7).check(schema_of(*[10] * 7), delta=Fraction(0))


@pytest.mark.parametrize(
    "options",
    [
        {"rounds": 0},
        {"limit": 0},
        {"passes": -1},
        {"start": "guess"},
        {"total_share": 0},
        {"start_share": Fraction(1)},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(Refused, match="mwem"):
        MWEM(**options)


def test_a_column_that_discovery_has_counted_starts_as_it_was_found():
    schema = Schema(
        columns=(
            Integer(name="a", min=0, max=2, nullable=False),
            Integer(name="b", min=0, max=1, nullable=False),
        )
    )
    cost = Cost(Accounting.GDP, Fraction(1))
    counted = Measurement(
        ("a",),
        (Identity(3),),
        np.array([90, 10, -2]),
        Law.ROUNDED_GAUSSIAN,
        Fraction(1),
        cost,
    )
    begun = MWEM()._initial_weights(schema, Measurements((counted,))).shares
    assert begun.sum(axis=1)[0] > 0.8
    assert np.allclose(begun[:, 0], begun[:, 1])
    assert np.allclose(MWEM()._initial_weights(schema, Measurements()).shares, 1 / 6)
