"""Which marginals one tree holds, and what a triple outside still says of its pairs."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import Centring, Identity, Measurement, Measurements
from understudy.models.estimates.noise_moments import noise_variance
from understudy.synthesizers.adaptive.candidates import (
    BudgetNoise,
    Candidate,
    allocate_budget,
)
from understudy.synthesizers.adaptive.tree_admission import (
    admit_cliques,
    rank_by_gain,
    reduce_triples_to_pairs,
)
from understudy.synthesizers.budget_split import TreeGrowth


def measured(
    clique: tuple[str, ...], values: np.ndarray, scale: int = 30
) -> Measurement:
    maps = tuple(Identity(size) for size in values.shape)
    return Measurement(
        clique,
        maps,
        values.astype(np.int64),
        Law.ROUNDED_GAUSSIAN,
        Fraction(scale),
        Cost(Accounting.GDP, Fraction(1)),
    )


def test_a_triple_beyond_the_tree_gives_way_to_its_sums():
    values = np.arange(24).reshape(2, 3, 4)
    pair, triple = (
        measured(("a", "b"), values.sum(axis=2)),
        measured(("a", "b", "c"), values),
    )
    found = reduce_triples_to_pairs(
        Measurements((pair, triple)), [("a", "b"), ("b", "c")]
    )
    assert [m.clique for m in found] == [("a", "b"), ("a", "b"), ("a", "c"), ("b", "c")]
    for one, gone in zip(found[1:], (2, 1, 0), strict=True):
        assert np.array_equal(one.values, values.sum(axis=gone))
        told, added = (
            noise_variance(one.law, one.scale),
            values.shape[gone] * noise_variance(pair.law, pair.scale),
        )
        assert abs(told / added - 1) < 0.01


def test_differences_tell_of_the_pairs_that_hold_their_column():
    values = np.arange(24).reshape(2, 3, 4) * np.array([1, -1]).reshape(2, 1, 1)
    triple = replace(
        measured(("a", "b", "c"), values), maps=(Centring(2), Identity(3), Identity(4))
    )
    found = reduce_triples_to_pairs(Measurements((triple,)), [])
    assert [m.clique for m in found] == [("a", "b"), ("a", "c")]
    assert found[0].maps == (Centring(2), Identity(3))
    assert np.array_equal(found[0].values, values.sum(axis=2))


def test_a_triple_of_the_tree_stays_as_it_is():
    triple = measured(("a", "b", "c"), np.ones((2, 3, 4)))
    assert list(
        reduce_triples_to_pairs(Measurements((triple,)), [("c", "a", "b")])
    ) == [triple]


def test_the_largest_weighted_gains_come_first_and_the_tree_stays_small():
    noise = BudgetNoise(8.0, 0.5)
    table = np.full((5, 5), 40.0)
    pairs = [("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]
    candidates = {
        pair: Candidate.of(table, distance, 1.0, noise)
        for pair, distance in zip(pairs, (500.0, 900.0, 700.0, 5.0), strict=True)
    }
    ranked = rank_by_gain(candidates, allocate_budget(candidates, noise.power))
    assert ranked == [("b", "c"), ("a", "c"), ("a", "b")], "the weak pair gains nothing"
    sizes = dict.fromkeys("abcd", 5)
    kept, left_out = admit_cliques(ranked, TreeGrowth(sizes), 100)
    assert (kept, left_out) == ([("b", "c"), ("a", "c")], [("a", "b")])
    kept, left_out = admit_cliques(ranked, TreeGrowth(sizes), 1000)
    assert (kept, left_out) == (ranked, [])
