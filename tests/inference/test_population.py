"""Intervals for a population from noisy marginals: they hold, the naive ones do not, and
what was not measured is refused.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit

from understudy.accounting import Accounting, Cost, Law
from understudy.errors import Refused
from understudy.inference.population import infer_population
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Categorical, Integer, Schema

SCHEMA = Schema(
    columns=(
        Integer(name="age", min=0, max=4, nullable=False),
        Categorical(name="sex", values=("F", "M"), nullable=False),
        Integer(name="ill", min=0, max=1, nullable=False),
    )
)
INTERCEPT, AGE, SEX = -1.5, 0.4, 0.6
"""The coefficients of the population."""


def draw_people(rng, rows):
    age = rng.integers(5, size=rows)
    sex = rng.integers(2, size=rows)
    ill = (rng.random(rows) < expit(INTERCEPT + AGE * age + SEX * sex)).astype(int)
    return {"age": age, "sex": sex, "ill": ill}


def measure_pairs(people, rng, deviation, pairs=None):
    """Noisy counts of every pair; seeded, so that a test means the same each time."""
    cost = Cost(Accounting.GDP, Fraction(1))
    measured = []
    for pair in pairs or list(combinations(people, 2)):
        sizes = SCHEMA.sizes(pair)
        counts = np.zeros(sizes, np.int64)
        np.add.at(counts, tuple(people[name] for name in pair), 1)
        noisy = counts + np.rint(rng.normal(0, deviation, sizes)).astype(np.int64)
        maps = tuple(Identity(size) for size in sizes)
        law = Law.DISCRETE_GAUSSIAN
        measured.append(Measurement(pair, maps, noisy, law, Fraction(deviation), cost))
    return PooledResiduals.of(SCHEMA, Measurements(tuple(measured)))


def test_intervals_hold_where_naive_ones_do_not():
    """120 tables of 1,500 people, three coefficients each: of 360 intervals at 95 % at
    least 318 hold but for one time in a million, were they independent.
    """
    rng = np.random.default_rng(11)
    held = naive = 0
    truth = np.array([INTERCEPT, SEX, AGE])
    for _ in range(120):
        pooled = measure_pairs(draw_people(rng, 1500), rng, 30)
        frame = infer_population(
            pooled, "ill ~ sex + age", family="binomial"
        ).to_frame()
        held += int(((frame.low <= truth) & (truth <= frame.high)).sum())
        naive += int(((frame.naive_low <= truth) & (truth <= frame.naive_high)).sum())
    assert held >= 318
    assert naive < 318


def test_noise_alone_is_what_a_census_adds():
    rng = np.random.default_rng(2)
    pooled = measure_pairs(draw_people(rng, 4000), rng, 10)
    sample = infer_population(pooled, "ill ~ age").error
    census = infer_population(pooled, "ill ~ age", population="census").error
    assert (census < sample).all()


def test_little_noise_gives_the_estimate_of_the_rows():
    import pandas as pd
    import statsmodels.formula.api as smf

    rng = np.random.default_rng(3)
    people = draw_people(rng, 5000)
    rows = smf.logit("ill ~ age", pd.DataFrame(people)).fit(disp=0)
    got = infer_population(
        measure_pairs(people, rng, 1), "ill ~ age", family="binomial"
    )
    assert got.estimates == pytest.approx(rows.params.to_numpy(), abs=0.02)
    assert got.error == pytest.approx(rows.bse.to_numpy(), rel=0.05)


def test_a_pair_that_was_not_measured_is_refused_and_named():
    rng = np.random.default_rng(4)
    pooled = measure_pairs(
        draw_people(rng, 500), rng, 10, [("age", "ill"), ("sex", "ill")]
    )
    assert infer_population(pooled, "ill ~ age").names == ("Intercept", "age")
    with pytest.raises(Refused, match="age × sex"):
        infer_population(pooled, "ill ~ age + sex")


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"formula": "ill"}, "write a formula"),
        ({"formula": "x ~ y"}, "write a formula"),
        ({"family": "gamma"}, "gaussian"),
        ({"population": "all"}, "census"),
        ({"level": 95}, "0.95"),
        ({"formula": "ill ~ age + nothing"}, "cannot be fitted"),
    ],
)
def test_refusals_name_the_remedy(wish, said):
    rng = np.random.default_rng(5)
    pooled = measure_pairs(draw_people(rng, 500), rng, 10)
    facts = {"formula": "ill ~ age", **wish}
    with pytest.raises(Refused, match=said):
        infer_population(pooled, facts.pop("formula"), **facts)


def test_what_is_shown_strikes_the_naive_interval_out():
    rng = np.random.default_rng(6)
    pooled = measure_pairs(draw_people(rng, 500), rng, 10)
    got = infer_population(pooled, "ill ~ age")
    assert "<s>" in got._repr_html_()
    assert "every pair" in str(got)
