"""A made population and noisy counts of its pairs, seeded: what inference tests start
from, without a release.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.special import expit

from understudy.accounting import Accounting, Cost, Law
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


def measure_pairs(people, rng, deviation, pairs=None, schema=SCHEMA):
    """Noisy counts of every pair; seeded, so that a test means the same each time."""
    cost = Cost(Accounting.GDP, Fraction(1))
    measured = []
    for pair in pairs or list(combinations(people, 2)):
        sizes = schema.sizes(pair)
        counts = np.zeros(sizes, np.int64)
        np.add.at(counts, tuple(people[name] for name in pair), 1)
        noisy = counts + np.rint(rng.normal(0, deviation, sizes)).astype(np.int64)
        maps = tuple(Identity(size) for size in sizes)
        law = Law.DISCRETE_GAUSSIAN
        measured.append(Measurement(pair, maps, noisy, law, Fraction(deviation), cost))
    return PooledResiduals.of(schema, Measurements(tuple(measured)))
