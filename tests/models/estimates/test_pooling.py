"""Pooling: the same as generalised least squares over the whole table."""

from __future__ import annotations

import math

import numpy as np
import pytest

from kit.models.build import listed, measured, schema_of, shown
from understudy.accounting.law import Law
from understudy.measurements import Centring, Identity, Partition
from understudy.models.estimates.noise_moments import noise_variance
from understudy.models.estimates.pooling import (
    likely_total,
    pool_cells,
    pool_column,
    pool_marginal,
    pool_total,
)

RNG = np.random.default_rng(11)
SCHEMA = schema_of(3, 4)
BINS = Partition((0, 1, 1, 0))
MEASUREMENTS = listed(
    measured(("a",), RNG.integers(0, 50, 3), scale=2),
    measured(("a",), RNG.integers(0, 50, 3), scale=5),
    measured(("b",), RNG.integers(0, 50, 4), scale=3, law=Law.ROUNDED_GAUSSIAN),
    measured(("b", "a"), RNG.integers(0, 20, (4, 3)), scale=4),
    measured(("b",), RNG.integers(0, 90, 2), scale=1, maps=(BINS,)),
    measured(("a",), RNG.integers(-90, 90, 3), scale=1, maps=(Centring(3),)),
    measured((), 140, scale=6),
)


def by_least_squares(measurements):
    """The table x of a and b that minimises Σ ‖A x − y‖² / variance, with the least
    norm where it is not unique.
    """
    blocks, answers = [], []
    for m in measurements:
        axes = {
            name: axis.matrix() for name, axis in zip(m.clique, m.maps, strict=True)
        }
        a = axes.get("a", np.ones((1, 3)))
        b = axes.get("b", np.ones((1, 4)))
        sd = math.sqrt(noise_variance(m.law, m.scale))
        blocks.append(np.kron(a, b) / sd)
        values = m.values.T if m.clique == ("b", "a") else m.values
        answers.append(values.ravel() / sd)
    return np.linalg.lstsq(np.vstack(blocks), np.concatenate(answers), rcond=None)[
        0
    ].reshape(3, 4)


def test_the_total_is_that_of_least_squares_over_everything():
    total, variance = pool_total(SCHEMA, MEASUREMENTS)
    assert total == pytest.approx(by_least_squares(MEASUREMENTS).sum())
    weights = [
        1 / (noise_variance(m.law, m.scale) * m.values.size)
        for m in MEASUREMENTS
        if m.scale and m.clique
    ]
    assert variance < 1 / max(weights)


def test_a_declared_number_of_rows_is_the_total():
    assert pool_total(schema_of(3, 4, rows=500), MEASUREMENTS) == (500.0, 0.0)


def test_without_measurements_nothing_is_known_of_the_total():
    assert pool_total(SCHEMA, listed()) == (0.0, math.inf)


def test_a_column_is_that_of_least_squares_over_its_own_measurements():
    alone = listed(*(m for m in MEASUREMENTS if m.clique == ("b",)))
    assert np.allclose(
        pool_column(SCHEMA, "b", alone), by_least_squares(alone).sum(axis=0), rtol=1e-5
    )


def test_coarse_bins_alone_are_spread_evenly():
    only = listed(measured(("b",), [10, 30], maps=(BINS,)))
    assert pool_column(SCHEMA, "b", only) == pytest.approx([5, 15, 15, 5])


def test_larger_cliques_are_summed_with_their_greater_variance():
    both = listed(
        measured(("a",), [10, 20, 30], scale=2),
        measured(("b", "a"), np.full((4, 3), 5), scale=2),
    )
    pooled = pool_marginal(("a",), both)
    one = noise_variance(Law.DISCRETE_LAPLACE, 2)
    assert pooled.values == pytest.approx(
        (np.array([10, 20, 30]) + np.full(3, 20) / 4) / (1 + 1 / 4)
    )
    assert pooled.variance == pytest.approx(one / (1 + 1 / 4))


def test_axes_follow_the_clique_that_is_asked_for():
    values = np.arange(12).reshape(4, 3)
    look = listed(measured(("b", "a"), values))
    assert pool_marginal(("a", "b"), look).values.tolist() == values.T.tolist()
    assert pool_marginal(("b", "a"), look).values.tolist() == values.tolist()


def test_what_was_not_measured_is_not_known():
    assert pool_column(SCHEMA, "b", listed(measured(("a",), [1, 2, 3]))) is None
    mapped = listed(
        measured(("a", "b"), np.ones((3, 4)), maps=(Centring(3), Identity(4)))
    )
    assert pool_marginal(("a", "b"), mapped) is None


def test_sparse_cells_are_pooled_where_they_are_shown():
    looks = listed(
        shown(("b", "a"), [[3, 0], [1, 2]], [40, 10], scale=1),
        shown(("a", "b"), [[0, 3]], [10], scale=2),
        shown(("a",), [[1]], [7]),
    )
    cells, counts = pool_cells(("a", "b"), looks)
    one, two = (1 / noise_variance(Law.DISCRETE_LAPLACE, scale) for scale in (1, 2))
    assert cells.tolist() == [[0, 3], [2, 1]]
    assert counts == pytest.approx([(40 * one + 10 * two) / (one + two), 10])
    nothing = pool_cells(("a", "b"), listed())
    assert [part.shape for part in nothing] == [(0, 2), (0,)]


def test_an_exact_answer_outweighs_every_noisy_one():
    both = listed(measured((), 100, scale=0), measured(("a",), [1000, 0, 0], scale=1))
    assert pool_total(SCHEMA, both)[0] == pytest.approx(100, abs=1e-6)


def test_a_small_table_does_not_come_out_empty_and_a_large_one_is_as_it_was():
    """Two hundred rows under noise of four hundred: the taken number is nearer than the
    noisy one cut at nothing, and never nothing.
    """
    schema, rng = schema_of(2), np.random.default_rng(4)
    noisy = np.rint(rng.normal(200, 400, 2000)).astype(int)
    taken = np.array(
        [
            likely_total(
                schema, listed(measured((), n, scale=400, law=Law.ROUNDED_GAUSSIAN))
            )
            for n in noisy
        ]
    )
    assert taken.min() > 0
    assert np.mean(np.abs(np.log(taken / 200))) < 1
    assert np.all(np.diff(taken[np.argsort(noisy)]) >= 0)
    far = likely_total(
        schema, listed(measured((), -(10**7), scale=1, law=Law.ROUNDED_GAUSSIAN))
    )
    assert 0 <= far < 1
    clear = listed(measured((), 10_000, scale=400, law=Law.ROUNDED_GAUSSIAN))
    assert likely_total(schema, clear) == pool_total(schema, clear)[0]
    assert likely_total(schema_of(2, rows=7), listed()) == 7
    assert likely_total(schema, listed()) == 0
