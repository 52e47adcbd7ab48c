"""Answers that add up: least squares, and no variance grows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import Refused
from understudy.models.estimates.projection import project_answers

SUM = np.array([[1.0, -1.0, -1.0]])


def test_a_known_example():
    """2005 in all, 1001 and 995 in its parts, with noise of ε = 0.5, 0.2 and 0.25."""
    variances = np.array([2 / 0.5**2, 2 / 0.2**2, 2 / 0.25**2])
    found = project_answers(np.array([2005.0, 1001.0, 995.0]), np.diag(variances), SUM)
    assert found.values.round(1).tolist() == [2004.2, 1006.0, 998.2]
    assert (found.deviations < np.sqrt(variances)).all()


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=60)
def test_it_is_the_nearest_point_of_the_equations(seed):
    """No other point that satisfies them is nearer in the metric of the noise; variances
    do not grow; what is consistent already stays.
    """
    chance = np.random.default_rng(seed)
    count, equations = 5, int(chance.integers(1, 4))
    rows = chance.integers(-2, 3, (equations, count)).astype(float)
    rows[:, 0] = 1.0
    root = chance.normal(size=(count, count))
    covariance = root @ root.T + np.eye(count)
    y, solution = chance.normal(size=(2, count)) * 100
    totals = rows @ solution
    found = project_answers(y, covariance, rows, totals)
    assert np.allclose(rows @ found.values, totals, atol=1e-6)
    precision = np.linalg.inv(covariance)

    def distance(x):
        return float((x - y) @ precision @ (x - y))

    null = np.linalg.svd(rows)[2][np.linalg.matrix_rank(rows) :]
    for direction in null:
        for step in (-0.1, 0.1):
            assert distance(found.values) <= distance(found.values + step * direction)
    assert (np.diag(found.covariance) <= np.diag(covariance) + 1e-9).all()
    again = project_answers(found.values, covariance, rows, totals)
    assert np.allclose(again.values, found.values, atol=1e-6)


def test_its_covariance_is_that_of_its_errors():
    """By simulation: 40,000 draws, each entry within five standard errors."""
    chance = np.random.default_rng(5)
    truth, deviations = np.array([100.0, 60.0, 40.0]), np.array([1.0, 5.0, 3.0])
    stated = project_answers(truth, np.diag(deviations**2), SUM).covariance
    gain = np.diag(deviations**2) @ SUM.T / (deviations**2).sum()
    errors = chance.normal(size=(40_000, 3)) * deviations
    errors -= errors @ SUM.T @ gain.T
    seen = errors.T @ errors / len(errors)
    variances = np.diag(stated)
    margins = 5 * np.sqrt((np.outer(variances, variances) + stated**2) / len(errors))
    assert (np.abs(seen - stated) <= margins).all()
    assert (np.abs(seen - np.diag(deviations**2)) > margins).any()  # the noise before


def test_exact_answers_stay_and_repeated_equations_do_no_harm():
    variances = np.diag([0.0, 4.0, 4.0])
    found = project_answers(
        np.array([10.0, 3.0, 5.0]), variances, np.vstack([SUM, 2 * SUM])
    )
    assert np.allclose(found.values, [10.0, 4.0, 6.0])
    assert found.deviations[0] == 0


def test_what_cannot_hold_is_refused():
    y, noise = np.array([10.0, 3.0, 5.0]), np.eye(3)
    two = np.vstack([SUM, SUM])
    with pytest.raises(Refused, match="contradict each other"):
        project_answers(y, noise, two, np.array([0.0, 1.0]))
    with pytest.raises(Refused, match="contradict each other"):
        project_answers(y, np.zeros((3, 3)), SUM)
    with pytest.raises(Refused, match="of one size"):
        project_answers(y, np.eye(2), SUM)
    with pytest.raises(Refused, match="finite"):
        project_answers(np.array([np.nan, 1, 2]), noise, SUM)
    with pytest.raises(Refused, match="no variance is negative"):
        project_answers(y, np.diag([1.0, -1.0, 1.0]), SUM)
    with pytest.raises(Refused, match="names no answer"):
        project_answers(y, noise, np.zeros((1, 3)))
