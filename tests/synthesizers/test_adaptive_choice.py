"""What is asked for next: what a triple beyond the tree still tells of its pairs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from understudy.accounting import Cost, Currency, Law
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models.variance import noise_variance
from understudy.synthesizers.adaptive_choice import fitted


def measured(clique: tuple[str, ...], values: np.ndarray, scale: int = 30) -> Measurement:
    maps = tuple(Identity(size) for size in values.shape)
    return Measurement(
        clique, maps, values.astype(np.int64), Law.ROUNDED_GAUSSIAN, Fraction(scale), Cost(Currency.GDP, Fraction(1))
    )


def test_a_triple_beyond_the_tree_gives_way_to_its_sums():
    values = np.arange(24).reshape(2, 3, 4)
    pair, triple = measured(("a", "b"), values.sum(axis=2)), measured(("a", "b", "c"), values)
    found = fitted(Measurements((pair, triple)), [("a", "b"), ("b", "c")])
    assert [m.clique for m in found] == [("a", "b"), ("a", "b"), ("a", "c"), ("b", "c")]
    for one, gone in zip(found[1:], (2, 1, 0), strict=True):
        assert np.array_equal(one.values, values.sum(axis=gone))
        told, added = noise_variance(one.law, one.scale), values.shape[gone] * noise_variance(pair.law, pair.scale)
        assert abs(told / added - 1) < 0.01


def test_a_triple_of_the_tree_stays_as_it_is():
    triple = measured(("a", "b", "c"), np.ones((2, 3, 4)))
    assert list(fitted(Measurements((triple,)), [("c", "a", "b")])) == [triple]
