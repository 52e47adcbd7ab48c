"""Expected errors against the laws themselves."""

import math
from fractions import Fraction

import mpmath
import pytest

from understudy.accounting.cost import Accounting, Sensitivity
from understudy.accounting.expected_error import (
    expected_noise,
    noise_deviation,
    noise_half_width,
)
from understudy.accounting.law import Law

ONE = Sensitivity(Fraction(1), Fraction(1))
SCALES = ["0.2", "0.7", "1", "2.9", "3.1", "10", "60"]


def probabilities(law, scale):
    """P(k) for k = 0, 1, …, by definition."""
    s, far = mpmath.mpf(scale), int(40 * float(scale)) + 20
    if law is Law.DISCRETE_LAPLACE:
        weights = [mpmath.exp(-k / s) for k in range(far)]
    elif law is Law.DISCRETE_GAUSSIAN:
        weights = [mpmath.exp(-k * k / (2 * s * s)) for k in range(far)]
    else:
        weights = [
            mpmath.ncdf(-(k - mpmath.mpf(1) / 2) / s)
            - mpmath.ncdf(-(k + mpmath.mpf(1) / 2) / s)
            for k in range(far)
        ]
    total = weights[0] + 2 * sum(weights[1:])
    return [w / total for w in weights]


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("scale", SCALES)
def test_deviation_and_half_width_are_those_of_the_law(law, scale):
    p = probabilities(law, scale)
    assert noise_deviation(law, Fraction(scale)) == pytest.approx(
        math.sqrt(2 * sum(k * k * x for k, x in enumerate(p))), rel=1e-9
    )
    k = noise_half_width(law, Fraction(scale), 0.95)
    assert p[0] + 2 * sum(p[1 : k + 1]) >= 0.95
    assert k == 0 or p[0] + 2 * sum(p[1:k]) < 0.95


def test_dividing_a_pure_budget_by_k_multiplies_the_noise_by_k():
    assert expected_noise(Fraction(1), ONE, Accounting.PURE, parts=8).scale == 8
    assert expected_noise(Fraction(1), ONE, Accounting.GDP, parts=16).scale == 4


def test_no_scale_is_no_error():
    for law in Law:
        assert (
            noise_deviation(law, Fraction(0))
            == noise_half_width(law, Fraction(0), 0.95)
            == 0
        )
    assert noise_deviation(Law.DISCRETE_LAPLACE, Fraction(1, 2**20)) == 0
