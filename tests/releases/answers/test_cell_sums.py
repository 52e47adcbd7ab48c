"""Sums of cells: a count has the deviation of its cells, a share that of what it leaves
of the total's noise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from understudy.accounting import Accounting, Cost, Law
from understudy.measurements import Identity, Measurement, Measurements
from understudy.models import ProductModel
from understudy.models.estimates.noise_moments import noise_variance
from understudy.releases import Evidence, QuestionKind
from understudy.releases.answers.cell_sums import CellSums
from understudy.schema import Integer, Schema

SCHEMA = Schema(
    columns=tuple(Integer(name=name, min=0, max=3, nullable=False) for name in "ab")
)
LAW, SCALE = Law.DISCRETE_GAUSSIAN, Fraction(20)


def evidence(values: list[int], accounting: Accounting = Accounting.GDP) -> Evidence:
    cost = Cost(accounting, Fraction(1, 1000))
    counts = Measurement(("a",), (Identity(4),), np.array(values), LAW, SCALE, cost)
    measurements = Measurements((counts,))
    return Evidence(
        schema=SCHEMA,
        measurements=measurements,
        model=ProductModel.from_measurements(SCHEMA, measurements),
        accounting=accounting,
    )


def test_a_count_has_the_deviation_of_its_cells() -> None:
    sums = CellSums(evidence([400, 300, 200, 100]), QuestionKind.COUNT)
    found = sums.by_least_squares(("a",), np.array([1.0, 0, 1.0, 0]))
    assert found.rows == pytest.approx(600)
    variance = noise_variance(LAW, SCALE)
    assert found.deviation == pytest.approx(math.sqrt(2 * variance))


def test_the_noise_of_the_total_cancels_in_a_share() -> None:
    """p̂ = Σwx / Σx with independent noise: Var ≈ Σ(w − p)² σ² / n², here in rows."""
    weights = np.array([1.0, 0, 1.0, 0])
    sums = CellSums(evidence([400, 300, 200, 100]), QuestionKind.SHARE)
    found = sums.by_least_squares(("a",), weights)
    share = 0.6
    exact = math.sqrt(((weights - share) ** 2).sum() * noise_variance(LAW, SCALE))
    assert found.rows == pytest.approx(600)
    assert found.deviation == pytest.approx(exact)
    everything = sums.by_least_squares(("a",), np.ones(4))
    assert everything.deviation == pytest.approx(0, abs=1e-6)


def test_what_was_not_measured_has_no_deviation() -> None:
    sums = CellSums(evidence([400, 300, 200, 100]), QuestionKind.COUNT)
    found = sums.by_least_squares(("b",), np.array([1.0, 0, 0, 0]))
    assert not found.is_measured
    assert math.isinf(found.deviation)


def test_a_share_of_the_models_table_is_stated_for_the_estimated_rows() -> None:
    known = evidence([400, 300, 200, 100])
    table, weights = np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, 0, 0, 0])
    assert CellSums(known, QuestionKind.COUNT).by_model(table, weights) == 4
    assert CellSums(known, QuestionKind.SHARE).by_model(table, weights) == (
        pytest.approx(0.4 * known.rows)
    )


def test_laplace_noise_needs_more_deviations_than_normal_noise() -> None:
    normal, laplace = (
        CellSums(evidence([4, 3, 2, 1], accounting), QuestionKind.COUNT)
        for accounting in (Accounting.GDP, Accounting.PURE)
    )
    assert laplace.tail_deviations(0.01) > normal.tail_deviations(0.01)
    assert normal.tail_deviations(0.025) == pytest.approx(1.96, rel=1e-3)
