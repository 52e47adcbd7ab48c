"""Bounds hold as often as they say, and stop holding when the noise is larger than they
were told.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import (
    Centring,
    Distance,
    EstimateDistance,
    Identity,
    Measurement,
    Measurements,
    Partition,
)
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.fitting.estimate import estimate_tree
from understudy.models.uncertainty.intervals import (
    deviation_of_sum,
    distance_bound,
    draw_noise_tables,
    supported_bound,
)
from understudy.schema import Integer, Schema

COST = Cost(Accounting.GDP, Fraction(1))
SIGMA = 8.0
SCHEMA = Schema(
    columns=tuple(
        Integer(name=n, min=0, max=k - 1, nullable=False)
        for n, k in (("a", 3), ("b", 4), ("c", 6))
    )
)
SIZES = {"a": 3, "b": 4, "c": 6}


def truth(rng: np.random.Generator) -> np.ndarray:
    """A table with many empty cells, as real ones have."""
    shares = rng.dirichlet(np.full(72, 0.2)).reshape(3, 4, 6)
    return rng.multinomial(2000, shares.ravel()).reshape(3, 4, 6)


def over(table: np.ndarray, clique: tuple[str, ...]) -> np.ndarray:
    drop = tuple(i for i, n in enumerate("abc") if n not in clique)
    return table.sum(axis=drop)


def look(
    table: np.ndarray,
    clique: tuple[str, ...],
    rng: np.random.Generator,
    *,
    louder: float = 1.0,
) -> Measurement:
    counts = over(table, clique)
    noisy = counts + np.rint(louder * SIGMA * rng.standard_normal(counts.shape)).astype(
        np.int64
    )
    return Measurement(
        clique,
        tuple(Identity(n) for n in counts.shape),
        noisy,
        Law.ROUNDED_GAUSSIAN,
        Fraction(8),
        COST,
    )


def misses(trials: int, *, louder: float = 1.0, fit: bool = False) -> int:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(trials):
        table = truth(rng)
        found = Measurements(
            tuple(
                look(table, c, rng, louder=louder)
                for c in (("a", "b"), ("b", "c"), ("c",))
            )
        )
        pooled = PooledResiduals.of(SCHEMA, found)
        released = (
            estimate_tree(SCHEMA, found).marginal(("b", "c"))
            if fit
            else project_simplex(pooled.marginal(("b", "c")), max(pooled.total, 1.0))
        )
        bound = supported_bound(pooled, ("b", "c"), released)
        missed += np.abs(released - over(table, ("b", "c"))).sum() > bound.rows
    return missed


def most(trials: int) -> int:
    """More misses than this happen once in a million where each has probability 5 %."""
    return int(binom.isf(1e-6, trials, 0.05))


def test_a_bound_for_a_measured_marginal_holds_19_times_in_20():
    assert misses(400) <= most(400)


def test_it_holds_for_the_maximum_entropy_model_too():
    assert misses(60, fit=True) <= most(60)


def test_a_bound_told_too_small_a_noise_is_found_out():
    assert misses(400, louder=4.0) > most(400)


def gap_misses(trials: int, *, louder: float = 1.0) -> int:
    rng, missed = np.random.default_rng(6), 0
    for _ in range(trials):
        table = over(truth(rng), ("a", "c"))
        estimate = np.multiply.outer(table.sum(1), table.sum(0)) / table.sum()
        away = int(np.abs(table * 1024 - np.rint(estimate * 1024)).sum())
        value = away + round(louder * 8 * 1024 * rng.standard_normal())
        gap = EstimateDistance.of(
            Distance(
                ("a", "c"), value, 1024, Law.ROUNDED_GAUSSIAN, Fraction(8 * 1024), COST
            ),
            estimate,
        )
        # The worst release for this bound: the very estimate the distance was measured
        # from.
        missed += np.abs(table - estimate).sum() > distance_bound(gap, estimate).rows
    return missed


def test_a_bound_from_a_distance_holds_19_times_in_20():
    assert gap_misses(2000) <= most(2000)
    assert gap_misses(2000, louder=2.0) > most(2000)


def test_simulated_noise_has_the_variances_of_least_squares():
    rng = np.random.default_rng(1)
    table = truth(rng)
    halves = Partition((0, 0, 0, 1, 1, 1))
    coarse = Measurement(
        ("c",),
        (halves,),
        np.array([900, 1100]),
        Law.ROUNDED_GAUSSIAN,
        Fraction(2),
        COST,
    )
    centred = Measurement(
        ("a",),
        (Centring(3),),
        np.array([3, -1, -2]),
        Law.ROUNDED_GAUSSIAN,
        Fraction(6),
        COST,
    )
    pooled = PooledResiduals.of(
        SCHEMA,
        Measurements(
            (
                look(table, ("b", "c"), rng),
                look(table, ("a", "c"), rng),
                coarse,
                centred,
            )
        ),
    )
    for clique in (("b", "c"), ("c",), ("a", "c"), ("a",)):
        noise = draw_noise_tables(pooled, clique, 20_000, rng)
        expected = pooled.variance(clique)
        # Each variance of 20,000 draws is off by 1 % or so; 6 % is six deviations.
        np.testing.assert_allclose(noise.var(axis=0), expected, rtol=0.06)
        for weights in (
            np.ones(noise.shape[1:]),
            rng.integers(0, 2, noise.shape[1:]).astype(float),
        ):
            spread = (noise * weights).reshape(len(noise), -1).sum(axis=1).std()
            assert deviation_of_sum(pooled, clique, weights) == pytest.approx(
                spread, rel=0.04, abs=1e-6
            )


def test_one_cell_has_the_deviation_that_its_variance_says():
    rng = np.random.default_rng(2)
    pooled = PooledResiduals.of(
        SCHEMA, Measurements((look(truth(rng), ("a", "b"), rng),))
    )
    weights = np.zeros((3, 4))
    weights[1, 2] = 1
    assert deviation_of_sum(pooled, ("a", "b"), weights) ** 2 == pytest.approx(
        pooled.variance(("a", "b"))[1, 2]
    )
    assert deviation_of_sum(pooled, ("a", "c"), np.ones((3, 6))) < np.inf, (
        "the total is known although c is not"
    )
    assert deviation_of_sum(pooled, ("a", "c"), np.eye(3, 6)) == np.inf
