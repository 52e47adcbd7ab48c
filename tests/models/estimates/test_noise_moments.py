"""Variances and mean sizes of the laws, against sums over their probabilities."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest

from kit.models.build import measured
from understudy.accounting.law import Law
from understudy.models.estimates.noise_moments import (
    cell_variance,
    min_noise_size,
    noise_size,
    noise_variance,
)


def by_summing(law: Law, scale: float, power: int = 2) -> float:
    """Σ |k|ᵖ P(k), in 30 digits."""
    with mpmath.workdps(30):
        s = mpmath.mpf(scale)
        reach = int(80 * scale + 40)
        if law is Law.ROUNDED_GAUSSIAN:
            weights = [
                mpmath.ncdf(-(k - 0.5) / s) - mpmath.ncdf(-(k + 0.5) / s)
                for k in range(reach)
            ]
        elif law is Law.DISCRETE_LAPLACE:
            weights = [mpmath.exp(-k / s) for k in range(reach)]
        else:
            weights = [mpmath.exp(-((k / s) ** 2) / 2) for k in range(reach)]
        mass = weights[0] + 2 * mpmath.fsum(weights[1:])
        return float(
            2 * mpmath.fsum(k**power * w for k, w in enumerate(weights)) / mass
        )


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("scale", [0.05, 0.3, 0.7, 1.0, 2.5, 3.0, 4.0, 17.0])
def test_variance_is_the_sum_over_the_law(law, scale):
    assert noise_variance(law, scale) == pytest.approx(
        by_summing(law, scale), rel=1e-12, abs=1e-300
    )


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("scale", [0.05, 0.12, 0.3, 0.7, 1.0, 2.5, 3.0, 4.0, 17.0])
def test_mean_size_is_the_sum_over_the_law(law, scale):
    assert noise_size(law, scale) == pytest.approx(
        by_summing(law, scale, 1), rel=1e-4, abs=1e-300
    )


def test_the_best_look_at_some_columns_is_the_one_whose_cells_add_up_least():
    pair = measured(
        ("a", "b"), np.zeros((2, 3)), law=Law.ROUNDED_GAUSSIAN, scale=Fraction(1, 5)
    )
    one = measured(("a",), np.zeros(2), law=Law.ROUNDED_GAUSSIAN, scale=Fraction(4))
    small = noise_size(Law.ROUNDED_GAUSSIAN, 0.2)
    assert min_noise_size([one, pair], ("b", "a"), 6) == pytest.approx(small)
    assert min_noise_size([one, pair], ("a",), 2) == pytest.approx(3 * small)
    assert min_noise_size([one], ("b",), 3) == float("inf")


def test_geometric_variance_of_the_textbook():
    t = np.exp(-0.5)
    assert noise_variance(Law.DISCRETE_LAPLACE, Fraction(2)) == pytest.approx(
        2 * t / (1 - t) ** 2
    )


@pytest.mark.parametrize("law", list(Law))
def test_no_noise_has_no_variance_but_a_finite_weight(law):
    assert noise_variance(law, Fraction(0)) == 0
    assert cell_variance(measured((), 5, law=law, scale=0)) > 0


@pytest.mark.parametrize("law", list(Law))
def test_huge_scales_stay_finite(law):
    assert noise_variance(law, Fraction(10**9)) == pytest.approx(
        10**18 * (2 if law is Law.DISCRETE_LAPLACE else 1)
    )


def test_a_negative_scale_is_an_error():
    with pytest.raises(ValueError, match="negative"):
        noise_variance(Law.DISCRETE_LAPLACE, -1.0)
