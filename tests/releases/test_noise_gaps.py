"""Gaps that are noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models import ProductModel
from understudy.releases import Guarantee, Release
from understudy.schema import Boolean, Schema

SCALE = Fraction(10)


def released(gaps: int, **words: object) -> Release:
    """A release of one column with this noisy number of gaps among 1,000 rows."""
    column = Boolean(name="smoker", **{"learned": ("type",), **words})
    schema = Schema(columns=(column,))
    counts = np.array([700, 300 - gaps, gaps])
    cost = Cost(Accounting.GDP, Fraction(1, 100))
    law = Law.ROUNDED_GAUSSIAN
    measured = Measurement(("smoker",), (Identity(3),), counts, law, SCALE, cost)
    model = ProductModel(schema, 1000.0, {"smoker": counts / 1000})
    promise = Guarantee(
        epsilon=Fraction(1),
        delta=Fraction(1, 10**9),
        accounting=Accounting.GDP,
        amount=Fraction(1, 10),
    )
    return Release(
        guarantee=promise,
        schema=schema,
        measurements=Measurements((measured,)),
        model=model,
    )


def count_gaps(release: Release) -> int:
    return sum(
        value is None
        for value in release.sample(1000, seed=1, kind="pyarrow")["smoker"].to_pylist()
    )


def test_gaps_below_their_noise_are_filled_and_others_stay():
    assert count_gaps(released(15)) == 0
    assert count_gaps(released(60)) == 60


def test_a_filled_gap_is_a_value_of_the_column():
    values = released(15).sample(1000, seed=1, kind="pyarrow")["smoker"].to_pylist()
    assert abs(values.count(False) - 710) < 20


def test_a_declared_column_keeps_its_gaps():
    assert count_gaps(released(15, learned=())) == 15
