"""What is asked for next: what a triple beyond the tree still tells of its pairs."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import (
    Centring,
    Distance,
    Identity,
    Measurement,
    Measurements,
)
from understudy.models.estimates.noise_moments import noise_variance
from understudy.synthesizers.adaptive.candidates import (
    Candidates,
    add_column_candidates,
    is_hidden_by_noise,
    reduce_triples_to_pairs,
    shrink_distances,
    signal_share,
)


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


def looks(values: list[float], deviation: int) -> list[Distance]:
    cost = Cost(Accounting.GDP, Fraction(1))
    return [
        Distance(
            (str(i),), round(v), 1, Law.ROUNDED_GAUSSIAN, Fraction(deviation), cost
        )
        for i, v in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("values", "noise", "clear", "expected"),
    [
        ([0, 0, 0, 0, 600, 600, 0, 0, 600, 0] * 6, 180, 100, True),
        ([0, 0, 0, 0, 600, 600, 0, 0, 600, 0] * 6, 180, 200, False),  # clear enough
        ([0, 0, 0, 0, 600, 600, 0, 0, 600, 0] * 6, 50, 20, False),  # nothing is hidden
        (
            [90, -60, 30, 80, -70, 20, 10, -40],
            70,
            20,
            True,
        ),  # noise alone would look like this: nobody can tell
        ([90, -60, 30, 80, -70, 20, 10, -40], 70, 100, False),  # and nobody needs to
        (
            [300, 500, 400, 400, 600, 200] * 10,
            110,
            50,
            False,
        ),  # they differ little from each other
        ([0, 100, -100] * 20, 180, 100, False),  # no more than noise does
        ([], 1, 1, False),
    ],
)
def test_pairs_get_a_better_look_where_they_differ_and_noise_hides_how(
    values, noise, clear, expected
) -> None:
    found = looks(values, noise)
    assert (
        is_hidden_by_noise(found, {d.clique: max(float(d), 0.0) for d in found}, clear)
        is expected
    )


def test_no_distance_at_all_tells_nothing():
    """All pairs may be too large to be asked about as they are: then there is nothing
    to read, and nothing to follow.
    """
    assert signal_share([]) == 0.0
    assert shrink_distances({}) == {}


@pytest.mark.parametrize("order", [2, 3, 4])
def test_what_a_column_weighs_is_how_much_its_error_moves_that_of_what_holds_it(order):
    """Columns and pairs as far off as each other of their kind: a bit less of one
    column's error, by brute force.
    """
    names, column, pair = "abcd"[:order], 30.0, 50.0
    pairs = list(combinations(names, 2))
    expected = {p: np.full((2, 2), 25.0) for p in pairs}
    hopeless = Candidates.of(
        expected, dict.fromkeys(pairs, pair), dict.fromkeys(pairs, 1.0), 1e9, 0.5, {}
    )
    off, sizes = dict.fromkeys(names, column), dict.fromkeys(names, 2)
    found = add_column_candidates(
        hopeless, off, sizes, dict.fromkeys(names, 1.0), order, 1.0, 0.5, {}
    )

    def error(one):
        return math.sqrt(one**2 + (order - 1) * column**2 + len(pairs) * pair**2)

    bit = 1e-4
    assert found.weights[("a",)] == pytest.approx(
        (error(column + bit) - error(column - bit)) / (2 * bit), rel=1e-6
    )
