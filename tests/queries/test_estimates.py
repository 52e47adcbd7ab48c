"""Intervals hold the truth 95 times in 100, for every aggregate, law and size of group,
also where nothing but noise is left, and for answers that pool several measurements.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from understudy.accounting.law import Law
from understudy.noise import draw_noise
from understudy.queries import (
    Query,
    correlation,
    count,
    count_distinct,
    covariance,
    mean,
    share,
    stddev,
    total,
    variance,
)
from understudy.queries.estimates import NoisyStatistic, estimate_aggregate
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.plan import plan_query
from understudy.queries.precision import NoisyValues, pool_values
from understudy.queries.statistics import Statistic
from understudy.schema import Schema

SCHEMA = Schema.parse(
    """
columns:
  x: {type: integer, min: 0, max: 40, nullable: false}
  y: {type: integer, min: -10, max: 10, nullable: false}
"""
)
TRIALS = 300
LEAST_HELD = 255
"""With coverage 95 % fewer than 255 of 300 hold once in 10^10: 8 deviations."""

QUERIES = (
    count(),
    total("x"),
    mean("x"),
    share("x > 20"),
    variance("x"),
    stddev("y"),
    covariance("x", "y"),
    correlation("x", "y"),
)


def make_rows(rows: int) -> np.ndarray:
    rng = np.random.default_rng(rows)
    x = rng.integers(0, 41, rows)
    y = np.clip(x // 4 - 5 + rng.integers(-4, 5, rows), -10, 10)
    return np.stack([x, y], axis=1)


def exact_value(statistic: Statistic, rows: np.ndarray) -> int:
    chosen = rows if statistic.condition is None else rows[rows[:, 0] > 20]
    product = np.ones(len(chosen), np.int64)
    for factor in statistic.factors:
        values = chosen[:, 0 if factor.column == "x" else 1]
        product *= (values - factor.origin) ** factor.power
    return int(product.sum())


def true_number(query: Query, rows: np.ndarray) -> float | None:
    x, y = rows[:, 0].astype(float), rows[:, 1].astype(float)
    if len(rows) < 3:
        return {"count": float(len(rows)), "sum_x": x.sum()}.get(
            query.aggregates[0].title
        )
    return {
        "count": float(len(rows)),
        "sum_x": x.sum(),
        "mean_x": x.mean(),
        "share": (x > 20).mean(),
        "variance_x": x.var(ddof=1),
        "stddev_y": y.std(ddof=1),
        "covariance_x_y": np.cov(x, y)[0, 1],
        "correlation_x_y": np.corrcoef(x, y)[0, 1],
    }[query.aggregates[0].title]


def count_held(
    query: Query,
    rows: np.ndarray,
    law: Law,
    *,
    claimed: Fraction = Fraction(1),
    draws: int = 1,
) -> int:
    """How many intervals hold the truth; `claimed` is the scale that is said to be
    that of the noise, in units of the true one.
    """
    plan = plan_query(query, SCHEMA)
    truth = true_number(query, rows)
    exact = [exact_value(s, rows) for s in plan.statistics]
    # Each statistic has noise in proportion to what one row adds.
    scales = [Fraction(max(6, 6 * abs(plan_reach(s)))) for s in plan.statistics]
    noise = [
        [draw_noise(law, scale, (TRIALS,)) for _ in range(draws)] for scale in scales
    ]
    held = 0
    for trial in range(TRIALS):
        parts = []
        for place, statistic in enumerate(plan.statistics):
            measured = [
                NoisyValues(
                    (exact[place] + int(z[trial]),), law, scales[place] * claimed
                )
                for z in noise[place]
            ]
            (value,), pooled = pool_values(measured)
            parts.append(NoisyStatistic(statistic, value, pooled))
        number = estimate_aggregate(query.aggregates[0], parts, [1.0, 1.0])
        assert np.isfinite([number.value, number.low, number.high]).all()
        assert number.low <= number.value <= number.high
        held += truth is None or number.low - 1e-9 <= truth <= number.high + 1e-9
    return held


def plan_reach(statistic: Statistic) -> int:
    reach = 1
    for factor in statistic.factors:
        reach *= (
            max(factor.high - factor.origin, factor.origin - factor.low) ** factor.power
        )
    return reach


@pytest.mark.parametrize(
    "law", [Law.ROUNDED_GAUSSIAN, Law.DISCRETE_GAUSSIAN, Law.DISCRETE_LAPLACE]
)
@pytest.mark.parametrize("rows", [0, 4, 60, 2000])
@pytest.mark.parametrize("query", QUERIES, ids=str)
def test_intervals_hold(query: Query, rows: int, law: Law) -> None:
    assert count_held(query, make_rows(rows), law) >= LEAST_HELD


@pytest.mark.parametrize("query", QUERIES[:4], ids=str)
def test_pooled_intervals_hold(query: Query) -> None:
    held = count_held(query, make_rows(60), Law.ROUNDED_GAUSSIAN, draws=3)
    assert held >= LEAST_HELD


@pytest.mark.parametrize(
    "query", [count(), total("x"), mean("x"), share("x > 20")], ids=str
)
def test_intervals_for_half_of_the_noise_do_not_hold(query: Query) -> None:
    """Coverage is 67 % then: 255 of 300 hold with probability below 1e-10."""
    rows = make_rows(2000)
    half = count_held(query, rows, Law.ROUNDED_GAUSSIAN, claimed=Fraction(1, 2))
    assert half < LEAST_HELD


def test_there_are_no_more_different_values_than_the_schema_allows() -> None:
    """A column of ten values, all of which occur: with noise of 20 the sum is beyond
    ten about half of the time.
    """
    schema = Schema.parse("columns: {x: {type: integer, min: 0, max: 9}}")
    plan = plan_query(count_distinct("x"), schema)
    (statistic,) = plan.statistics
    noise = NoiseScale(Law.ROUNDED_GAUSSIAN, Fraction(20))
    for value in (-30.0, 4.0, 90.0):
        part = NoisyStatistic(statistic, value, noise)
        found = estimate_aggregate(plan.query.aggregates[0], [part], [1.0])
        assert 0 <= found.low <= found.value <= found.high <= 10
