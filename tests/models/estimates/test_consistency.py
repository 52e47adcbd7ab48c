"""Consistency: the textbook's numbers, optimality against independent derivations, and
the price of clamping.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.linalg import null_space

from understudy.models.estimates.consistency import (
    clamp,
    clamp_bias,
    project_simplex,
    reconcile_values,
    round_to_total,
)

VALUES = hnp.arrays(np.float64, st.integers(1, 12), elements=st.floats(-1e6, 1e6))


def test_a_noisy_total_and_its_parts_are_reconciled():
    """2005 people, 1001 men and 995 women at ε = .5, .2, .25: variances 2/ε² are 8, 50,
    32.
    """
    variances = 2 / np.array([0.5, 0.2, 0.25]) ** 2
    values, left = reconcile_values(
        np.array([2005.0, 1001.0, 995.0]), variances, np.array([[1.0, -1.0, -1.0]])
    )
    assert variances.tolist() == pytest.approx([8, 50, 32])
    assert values.tolist() == pytest.approx([2004.2, 1006.0, 998.2], abs=1e-9)
    assert np.all(left < variances)
    people = round_to_total(values[1:], round(values[0]))
    assert people.tolist() == [1006, 998]
    assert people.sum() == 2004


@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 3))
def test_reconciling_is_least_squares_on_the_constrained_space(seed, size, rules):
    """The same answer from the other side: x = N z over a basis N of the allowed space,
    fitted by weighted least squares.
    """
    rng = np.random.default_rng(seed)
    a = rng.integers(-2, 3, (rules, size)).astype(float)
    y, v = rng.normal(0, 100, size), rng.uniform(0.5, 50, size)
    values, left = reconcile_values(y, v, a)
    basis = null_space(a)
    cov = (
        basis @ np.linalg.inv(basis.T @ (basis / v[:, None])) @ basis.T
        if basis.size
        else np.zeros((size, size))
    )
    assert np.allclose(a @ values, 0, atol=1e-6)
    assert np.allclose(values, cov @ (y / v), atol=1e-6)
    assert np.allclose(left, np.diag(cov), atol=1e-6)


def test_what_is_known_exactly_does_not_move():
    values, left = reconcile_values(
        np.array([10.0, 3.0, 4.0]),
        np.array([0.0, 1.0, 2.0]),
        np.array([[1.0, -1.0, -1.0]]),
    )
    assert values.tolist() == pytest.approx([10, 4, 6])
    assert left[0] == 0


def test_a_constraint_said_twice_is_said_once():
    once = reconcile_values(
        np.array([10.0, 3.0, 4.0]), np.ones(3), np.array([[1.0, -1.0, -1.0]])
    )
    twice = reconcile_values(
        np.array([10.0, 3.0, 4.0]),
        np.ones(3),
        np.array([[1.0, -1.0, -1.0], [2.0, -2.0, -2.0]]),
    )
    assert np.allclose(once, twice)


@pytest.mark.parametrize(
    ("values", "variances", "constraints"),
    [
        ([1.0, 2.0], [1.0], [[1.0, 1.0]]),
        ([1.0, 2.0], [1.0, -1.0], [[1.0, 1.0]]),
        ([1.0, 2.0], [1.0, 1.0], [[1.0]]),
    ],
)
def test_numbers_that_do_not_fit_cannot_be_reconciled(values, variances, constraints):
    with pytest.raises(ValueError, match="varianc"):
        reconcile_values(np.array(values), np.array(variances), np.array(constraints))


@given(VALUES, st.floats(0, 1e6))
def test_projection_is_the_nearest_point_of_the_simplex(values, total):
    """The conditions that single it out: one constant is taken off every positive cell,
    and more than is there off every other.
    """
    x = project_simplex(values, total)
    assert np.all(x >= 0)
    assert x.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
    scale = 1e-9 * (np.abs(values).max() + total + 1)
    positive = x > scale
    if positive.any():
        off = (values - x)[positive]
        assert np.ptp(off) <= scale
        assert np.all(values[~positive] <= off.max() + 2 * scale)


@given(VALUES.filter(lambda v: v.size > 1), st.floats(0.1, 1e3), st.integers(0, 2**32))
def test_no_random_point_of_the_simplex_is_nearer(values, total, seed):
    x = project_simplex(values, total)
    others = np.random.default_rng(seed).dirichlet(np.ones(values.size), 20) * total
    assert np.all(
        np.linalg.norm(others - values, axis=1) >= np.linalg.norm(x - values) - 1e-6
    )


def test_cells_that_are_not_allowed_stay_empty():
    allowed = np.array([[True, False], [True, True]])
    x = project_simplex(np.array([[1.0, 100.0], [2.0, -5.0]]), 5.0, allowed=allowed)
    assert x.tolist() == [[2.0, 0.0], [3.0, 0.0]]
    with pytest.raises(ValueError, match="no cell"):
        project_simplex(np.ones(2), 1.0, allowed=np.zeros(2, bool))
    assert project_simplex(np.ones(2), 0.0, allowed=np.zeros(2, bool)).tolist() == [
        0,
        0,
    ]


@pytest.mark.parametrize("total", [-1.0, np.nan, np.inf])
def test_a_total_is_a_number_of_rows(total):
    with pytest.raises(ValueError, match="total"):
        project_simplex(np.ones(2), total)


@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0, 30.0])
def test_clamping_invents_rows_in_empty_cells(scale):
    """E max(G, 0) = t/(1 - t²), summed over the law itself."""
    t = np.exp(-1 / scale)
    k = np.arange(-4000, 4001).astype(float)
    law = (1 - t) / (1 + t) * t ** np.abs(k)
    assert clamp_bias(scale) == pytest.approx(float(np.sum(clamp(k) * law)), rel=1e-9)
    assert clamp_bias(scale) == pytest.approx(t / (1 - t * t))


@given(hnp.arrays(np.float64, st.integers(1, 20), elements=st.floats(0, 1e6)))
def test_whole_counts_keep_the_sum_and_stay_within_one(values):
    counts = round_to_total(values)
    assert counts.sum() == round(float(values.sum()))
    assert np.all(np.abs(counts - values) <= 1)


def test_counts_must_sum_to_about_the_total():
    with pytest.raises(ValueError, match="scale them first"):
        round_to_total(np.array([1.0, 2.0]), 10)
    with pytest.raises(ValueError, match="not negative"):
        round_to_total(np.array([1.0, -2.0]))
