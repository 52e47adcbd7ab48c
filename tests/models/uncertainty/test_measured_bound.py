"""The bound of what was measured holds as often as it says, whatever a release does
with the answers, and is no larger than it must be.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import binom

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.fitting.estimate import estimate_tree
from understudy.models.uncertainty.intervals import supported_bound
from understudy.models.uncertainty.measured_bound import (
    LEVEL_SLICES,
    _slice_heights,
    measured_bound,
)
from understudy.schema import Integer, Schema

COST = Cost(Accounting.GDP, Fraction(1))
SIZES = {"a": 3, "b": 4, "c": 6}
SCHEMA = Schema(
    columns=tuple(
        Integer(name=n, min=0, max=k - 1, nullable=False) for n, k in SIZES.items()
    )
)
Table = np.ndarray
Release = Callable[[Measurements, PooledResiduals, Table], Table]
"""What is released of b and c, from the answers and, for a release that knows more than
any can, from the truth.
"""


def truth(rng: np.random.Generator, alike: float) -> Table:
    """Counts with many empty cells where `alike` is small, as real tables have."""
    return rng.multinomial(2000, rng.dirichlet(np.full(72, alike))).reshape(3, 4, 6)


def looks(table: Table, rng: np.random.Generator, louder: float) -> Measurements:
    found = []
    for clique in (("a", "b"), ("b", "c"), ("c",)):
        counts = table.sum(
            axis=tuple(i for i, n in enumerate("abc") if n not in clique)
        )
        noisy = counts + np.rint(8 * louder * rng.standard_normal(counts.shape)).astype(
            np.int64
        )
        maps = tuple(Identity(n) for n in counts.shape)
        found.append(
            Measurement(clique, maps, noisy, Law.ROUNDED_GAUSSIAN, Fraction(8), COST)
        )
    return Measurements(tuple(found))


def nearest(found: Measurements, pooled: PooledResiduals, true: Table) -> Table:
    return project_simplex(pooled.marginal(("b", "c")), max(pooled.total, 1.0))


def fitted(found: Measurements, pooled: PooledResiduals, true: Table) -> Table:
    return estimate_tree(SCHEMA, found).marginal(("b", "c"))


def perverse(found: Measurements, pooled: PooledResiduals, true: Table) -> Table:
    """Where noise added rows, still more of them: the cells this release is far off in
    are those that it is far off the answers in.
    """
    looked = pooled.marginal(("b", "c"))
    return np.maximum(looked, 0.0) + np.maximum(looked - true, 0.0)


def misses(
    trials: int, release: Release, *, alike: float = 0.2, louder: float = 1.0
) -> int:
    rng, missed = np.random.default_rng(5), 0
    for _ in range(trials):
        table = truth(rng, alike)
        found = looks(table, rng, louder)
        pooled = PooledResiduals.of(SCHEMA, found)
        true = table.sum(axis=0)
        released = release(found, pooled, true)
        missed += (
            np.abs(released - true).sum()
            > measured_bound(pooled, ("b", "c"), released).rows
        )
    return missed


def most(trials: int) -> int:
    """More misses than this happen once in a million where each has probability 5 %."""
    return int(binom.isf(1e-6, trials, 0.05))


@pytest.mark.parametrize("alike", [0.05, 0.2, 5.0])
@pytest.mark.parametrize("release", [nearest, perverse])
def test_it_holds_19_times_in_20(release: Release, alike: float):
    assert misses(150, release, alike=alike) <= most(150)


def test_it_holds_for_the_maximum_entropy_model_too():
    assert misses(60, fitted) <= most(60)


def test_for_a_release_that_knows_its_noise_it_is_as_small_as_can_be():
    """Where every cell has rows to spare there is no slack: a quarter more noise than
    the bound was told is found out.
    """
    assert misses(150, perverse, alike=5.0, louder=1.25) > most(150)


def test_a_column_that_is_released_as_measured_is_bounded_by_its_noise_alone():
    """‖z‖₁ itself is simulated then: it holds, and three quarters of it would not."""
    rng, trials = np.random.default_rng(8), 600
    shares = []
    for _ in range(trials):
        table = truth(rng, 5.0)
        pooled = PooledResiduals.of(SCHEMA, looks(table, rng, 1.0))
        column = pooled.marginal(("b",))
        bound = measured_bound(pooled, ("b",), column).rows
        shares.append(np.abs(column - table.sum(axis=(0, 2))).sum() / bound)
    assert sum(share > 1 for share in shares) <= most(trials)
    assert sum(share > 0.75 for share in shares) > most(trials)


def test_it_is_smaller_than_with_noise_in_cells_and_total_bounded_apart():
    rng, ratios = np.random.default_rng(9), []
    for _ in range(20):
        found = looks(truth(rng, 0.2), rng, 1.0)
        pooled = PooledResiduals.of(SCHEMA, found)
        for released in (
            nearest(found, pooled, np.zeros(())),
            fitted(found, pooled, np.zeros(())),
        ):
            ratios.append(
                measured_bound(pooled, ("b", "c"), released).rows
                / supported_bound(pooled, ("b", "c"), released).rows
            )
    assert np.median(ratios) < 0.9
    assert max(ratios) < 1


def test_no_way_of_placing_the_noise_takes_more_than_the_integral():
    rng = np.random.default_rng(10)
    for _ in range(50):
        size = int(rng.integers(1, 30))
        counts, away = (
            rng.exponential(3, size) * rng.integers(0, 2, size),
            rng.normal(0, 3, size),
        )
        noise = np.maximum(rng.normal(0, 3, size), 0)
        known = np.clip(away, 0, counts)
        bottom = np.maximum(-away, 0)
        taken = (
            np.minimum(counts[:, None], np.maximum(away[:, None] + noise, 0))
            - known[:, None]
        )
        worst = float(taken[linear_sum_assignment(-taken)].sum())
        highest = max(float(noise.max()), 1e-9)
        room = _slice_heights(
            (bottom + counts - known)[None], highest
        ) - _slice_heights(bottom[None], highest)
        bound = float(np.minimum(_slice_heights(noise[None], highest), room).sum())
        assert worst <= bound + 1e-9
        # Without cells that the table fell short in, the largest noise where there is
        # most room is the worst, up to slices' thickness.
        ordered = float(np.minimum(np.sort(noise), np.sort(counts)).sum())
        even = float(
            np.minimum(
                _slice_heights(noise[None], highest),
                _slice_heights(counts[None], highest),
            ).sum()
        )
        assert ordered - 1e-9 <= even <= ordered + size * highest / LEVEL_SLICES


def test_a_large_table_has_a_bound_from_few_draws():
    schema = Schema(
        columns=tuple(
            Integer(name=n, min=0, max=299, nullable=False, bins=tuple(range(301)))
            for n in ("a", "b")
        )
    )
    counts = np.zeros((300, 300), np.int64)
    counts[0, :100] = 1000
    rng = np.random.default_rng(11)
    noisy = counts + np.rint(20 * rng.standard_normal(counts.shape)).astype(np.int64)
    look = Measurement(
        ("a", "b"),
        (Identity(300),) * 2,
        noisy,
        Law.ROUNDED_GAUSSIAN,
        Fraction(20),
        COST,
    )
    pooled = PooledResiduals.of(schema, Measurements((look,)))
    released = np.where(counts > 0, np.maximum(pooled.marginal(("a", "b")), 0.0), 0.0)
    off, bound = (
        np.abs(released - counts).sum(),
        measured_bound(pooled, ("a", "b"), released).rows,
    )
    # The total, of 90,000 noisy cells, is what is least known of it.
    assert off <= bound <= 100 * 20 * 4 + 3 * 20 * 300
