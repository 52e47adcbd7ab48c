"""Bias of non-negative counts: its sign, its size, and who sees it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from kit.censuses import make_design, make_truth, measure
from understudy.censuses.bias import (
    SIZE_EDGES,
    choose_repeats,
    simulate_bias,
    tabulate_errors,
)
from understudy.censuses.nonnegative_fit import project_simplices
from understudy.censuses.release import CensusRelease, estimate_census


@pytest.fixture(scope="module")
def projected():
    """3,143 counties with noise of deviation 200, made non-negative with their sum."""
    rng = np.random.default_rng(2)
    true = np.rint(rng.lognormal(np.log(700), 2, 3143))
    noisy = true[:, None] + rng.normal(0, 200, (3143, 60))
    moved = project_simplices(noisy, np.full(60, true.sum()))
    return np.repeat(true, 60), moved.ravel()


def test_small_places_gain_and_large_places_pay(projected):
    """Against the closed form of a projection: E[max(0, y − τ)] − c is positive for
    c < σ and about −τ for c ≫ σ. Each tolerance is over five standard errors.
    """
    true, moved = projected
    errors = {row.low: row for row in tabulate_errors(true, moved - true)}
    assert set(errors) == set(SIZE_EDGES)
    assert errors[0].imbalance > 0.99
    assert errors[0].bias == pytest.approx(70, abs=8)
    assert errors[10].bias == pytest.approx(58, abs=8)
    assert errors[100].imbalance == pytest.approx(0.42, abs=0.08)
    # The sign changes between σ and 2σ, and stays at −τ.
    assert errors[100].bias > 5
    assert errors[400].bias < -5
    assert errors[3000].bias == pytest.approx(-15, abs=8)
    assert errors[3000].imbalance == pytest.approx(-0.113, abs=0.06)


def test_a_reader_of_a_small_number_should_believe_another_one(projected):
    """Given the released size the error has the other sign: places that look empty are
    not.
    """
    true, moved = projected
    consumer = {row.low: row for row in tabulate_errors(moved, moved - true)}
    assert consumer[0].bias < 0


def test_a_release_knows_its_bias_without_rows():
    design = make_design({"hierarchy": {"columns": ["state", "county"]}})
    rng = np.random.default_rng(4)
    truth = make_truth(design, rng, mean=0.5)
    measurements = measure(design, truth, rng, 6.0)
    release = CensusRelease(
        design=design,
        guarantee=SimpleNamespace(),
        statement=SimpleNamespace(),
        measurements=measurements,
        exact={},
        estimate=estimate_census(design, measurements, {}),
        method="gls",
    )
    assert choose_repeats(release, 10**6) == 9
    assert choose_repeats(release, 10) == 3
    figures = simulate_bias(release, rng, repeats=20)
    assert figures.repeats == 20
    counties = figures.producer["county"]
    assert sum(row.places for row in counties) == 20 * 12
    assert counties[0].bias > 0
    assert counties[0].size == "0 to 9"
    assert set(figures.consumer) == {"nation", "state", "county"}
