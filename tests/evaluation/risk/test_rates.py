"""Rates: Wilson's interval covers, what the control gets is taken off, and a certain
attack is no error.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from understudy.evaluation.risk.rates import (
    Rate,
    Risk,
    max_true_positive_rate,
    residual_risk,
)


def test_wilson_by_hand_and_at_the_ends() -> None:
    assert Rate(5, 10).interval() == pytest.approx((0.2366, 0.7634), abs=1e-4)
    low, high = Rate(10, 10).interval()
    assert high == 1
    assert 0.6 < low < 1
    assert Rate(0, 10).interval()[0] == 0


@pytest.mark.parametrize("p", [0.02, 0.3, 0.9])
def test_the_interval_covers(p: float) -> None:
    n = 200
    covered = sum(
        binom.pmf(k, n, p)
        for k in range(n + 1)
        if Rate(k, n).interval()[0] <= p <= Rate(k, n).interval()[1]
    )
    assert covered > 0.92


def test_the_interval_of_a_risk_covers_at_least_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    members, control, n = 0.5, 0.3, 300
    true = residual_risk(members, control)
    held = 0
    for _ in range(400):
        low, high = Risk(
            Rate(int(rng.binomial(n, members)), n),
            Rate(int(rng.binomial(n, control)), n),
        ).interval()
        held += low <= true <= high
    # At 95 % a count below 356 of 400 has a chance under 1e-6; the interval is wider
    # than it need be.
    assert held >= 356
    assert binom.cdf(355, 400, 0.95) < 1e-6


def test_what_is_left() -> None:
    assert Risk(Rate(100, 100), Rate(0, 100)).value == 1
    assert Risk(Rate(30, 100), Rate(30, 100)).value == 0
    assert Risk(Rate(100, 100), Rate(100, 100)).value == 0
    assert Risk(Rate(10, 100), Rate(50, 100)).value < 0


def test_the_bound_of_a_guarantee() -> None:
    assert max_true_positive_rate(0.0, 0.0, 0.3) == pytest.approx(0.3)
    assert max_true_positive_rate(1.0, 0.01, 0.0) == pytest.approx(0.01)
    # The other side: false negatives at least e^-ε (1 − δ − FPR).
    assert max_true_positive_rate(1.0, 0.0, 0.5) == pytest.approx(1 - np.exp(-1) * 0.5)
    assert max_true_positive_rate(1e9, 0.0, 0.1) == 1
