"""The public samplers: right law, right shape, exact scales only, refusal rather than
wrap-around.
"""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from kit.noise.oracle import ALPHA, fit, probabilities, rational
from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.noise import (
    NoiseBackend,
    add_noise,
    discrete_gaussian,
    discrete_laplace,
    draw_noise,
    rounded_gaussian,
)
from understudy.noise.cdf_table import MAX_TABLE_SCALE, refine_draw
from understudy.noise.source import OS_SOURCE, UniformReal
from understudy.noise.tails import tails_of_law

SAMPLERS = {
    Law.DISCRETE_LAPLACE: discrete_laplace,
    Law.ROUNDED_GAUSSIAN: rounded_gaussian,
    Law.DISCRETE_GAUSSIAN: discrete_gaussian,
}


@pytest.mark.parametrize("law", Law)
def test_each_function_draws_its_own_law(law):
    """At scale 1, where the rounded and the discrete Gaussian are easy to tell apart."""
    draws = SAMPLERS[law](Fraction(1), 300_000)
    for other in Law:
        fits = fit(draws, probabilities(other, Fraction(1), 30)) > ALPHA
        assert fits is (other is law)


def test_the_geometric_mechanism_of_the_textbook():
    """ε = 1, Δ = 1: P(0) = (1-t)/(1+t), variance 2t/(1-t)² = 1.8413, P(|G| ≥ k) =
    2t^k/(1+t).
    """
    n, t = 1_000_000, float(np.exp(-1))
    noise = discrete_laplace(Fraction(1), n)
    assert abs(np.mean(noise == 0) - (1 - t) / (1 + t)) < 5 * 0.5 / np.sqrt(n)
    assert abs(np.var(noise) - 1.8413) < 0.05
    assert abs(np.mean(np.abs(noise) >= 3) - 2 * t**3 / (1 + t)) < 5 * 0.25 / np.sqrt(n)


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("size", [0, 1, 5, 65_537, (), (0, 3), (2, 3, 4)])
def test_noise_has_the_shape_asked_for(law, size):
    noise = draw_noise(law, Fraction(2), size)
    assert noise.shape == ((size,) if isinstance(size, int) else size)
    assert noise.dtype == np.int64


@pytest.mark.parametrize("law", Law)
def test_chunks_are_independent(law):
    noise = draw_noise(law, Fraction(50), 1 << 18).reshape(4, -1)
    assert abs(np.corrcoef(noise)[np.triu_indices(4, 1)]).max() < 6 / np.sqrt(1 << 16)


@pytest.mark.parametrize(
    "scale",
    [0, -1, Fraction(-1, 2), 1.5, float("nan"), "1", None, True, Fraction(2**51)],
)
@pytest.mark.parametrize("law", Law)
def test_scales_that_are_no_scales_are_refused(law, scale):
    with pytest.raises(Refused, match="scale must be"):
        draw_noise(law, scale, 3)


@pytest.mark.parametrize("law", Law)
def test_a_whole_number_is_a_scale(law):
    assert draw_noise(law, 2, 3).shape == (3,)


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize(
    "scale",
    [
        Fraction(MAX_TABLE_SCALE + 1),
        Fraction(10**6),
        Fraction(2**31, 3),
        Fraction(2**50),
    ],
)
def test_large_scales_keep_the_law(law, scale):
    """Above the tables: noise divided by the scale is all but the continuous law, so
    equal shares fall between its quantiles.
    """
    noise = draw_noise(law, scale, 2000)
    twin = stats.laplace() if law is Law.DISCRETE_LAPLACE else stats.norm()
    seen = np.bincount((twin.cdf(noise / float(scale)) * 20).astype(int), minlength=20)
    assert stats.chisquare(seen).pvalue > ALPHA
    halved = np.bincount(
        (twin.cdf(noise / float(scale) / 2) * 20).astype(int), minlength=20
    )
    assert stats.chisquare(halved).pvalue < ALPHA


class Fixed:
    """128 chosen bits, the highest first, then the operating system's."""

    def __init__(self, prefix):
        self.prefix, self.left = prefix, 128

    def words(self, n):
        return np.array([self.bits(64) for _ in range(n)], np.uint64)

    def bits(self, n):
        if n > self.left:
            return OS_SOURCE.bits(n)
        self.left -= n
        return self.prefix >> self.left & ((1 << n) - 1)


@pytest.mark.parametrize("law", [Law.DISCRETE_LAPLACE, Law.ROUNDED_GAUSSIAN])
@given(
    prefix=st.integers(0, 2**128 - 1)
    | st.integers(1, 2**80)
    | st.integers(2**128 - 2**80, 2**128 - 2)
)
def test_draws_without_a_table_are_exact(law, prefix):
    """F(X - 1) ≤ U < F(X) at a scale no table reaches, by an oracle's arithmetic."""
    scale = Fraction(10**9, 7)
    k = int(draw_noise(law, scale, 1, source=Fixed(prefix))[0])
    with mpmath.workprec(600):
        s, u = rational(scale), mpmath.ldexp(prefix, -128)

        def cdf(k):
            if law is Law.ROUNDED_GAUSSIAN:
                return mpmath.erfc(-(k + mpmath.mpf(1) / 2) / s / mpmath.sqrt(2)) / 2
            t = mpmath.exp(-1 / s)
            return 1 - t ** (k + 1) / (1 + t) if k >= 0 else t**-k / (1 + t)

        step = mpmath.ldexp(1, -128)
        assert cdf(k - 1) < u + step
        assert u < cdf(k)


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("guess", [-300, -1, 0, 4, 1000])
def test_a_bad_guess_costs_time_and_nothing_else(law, guess):
    exact = tails_of_law(law, Fraction(5))
    drawn = {
        refine_draw(exact, UniformReal(OS_SOURCE, prefix=p, count=64), guess)
        for p in (2**63 + 12345,)
    }
    assert drawn == {0}


def test_opendp_has_its_own_randomness_and_no_rounded_gaussian():
    with pytest.raises(Refused, match="own source"):
        draw_noise(
            Law.DISCRETE_LAPLACE,
            Fraction(1),
            3,
            backend=NoiseBackend.OPENDP,
            source=Fixed(0),
        )
    with pytest.raises(Refused, match="no rounded Gaussian"):
        draw_noise(Law.ROUNDED_GAUSSIAN, Fraction(1), 3, backend=NoiseBackend.OPENDP)
    with pytest.raises(Refused, match="round it up"):
        draw_noise(
            Law.DISCRETE_GAUSSIAN, Fraction(1, 3), 3, backend=NoiseBackend.OPENDP
        )
    with pytest.raises(ValueError, match="numpy"):
        draw_noise(Law.DISCRETE_GAUSSIAN, Fraction(1, 3), 3, backend="numpy")


@pytest.mark.parametrize("law", Law)
def test_noise_is_added_in_integers(law):
    counts = np.arange(200_000, dtype=np.int32).reshape(2, -1)
    noisy = add_noise(counts, law, Fraction(2))
    assert noisy.dtype == np.int64
    assert noisy.shape == counts.shape
    assert fit((noisy - counts).ravel(), probabilities(law, Fraction(2), 40)) > ALPHA


def test_empty_cells_are_noised_too():
    assert (
        np.count_nonzero(
            add_noise(np.zeros(1000, np.int64), Law.DISCRETE_GAUSSIAN, Fraction(100))
        )
        > 900
    )


@pytest.mark.parametrize("end", [2**63 - 1, -(2**63)])
def test_a_sum_that_does_not_fit_is_refused(end):
    with pytest.raises(Refused, match="does not fit"):
        add_noise(
            np.full(500, end, dtype=np.int64), Law.DISCRETE_LAPLACE, Fraction(100)
        )
    inside = add_noise(
        np.full(500, end // 2, dtype=np.int64), Law.DISCRETE_LAPLACE, Fraction(100)
    )
    assert np.all(np.abs(inside - end // 2) < 10_000)


@pytest.mark.parametrize("dtype", [np.float64, np.uint64, bool, object])
def test_only_integers_are_noised(dtype):
    with pytest.raises(Refused, match="64-bit integers"):
        add_noise(np.zeros(3, dtype=dtype), Law.DISCRETE_LAPLACE, Fraction(1))
