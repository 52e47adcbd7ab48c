"""Noise without a table: the law itself at small scales, where its probabilities are
known, and no need of OpenDP at any scale.
"""

import sys
from fractions import Fraction
from math import floor

import mpmath
import numpy as np
import pytest

from kit.noise.oracle import ALPHA, fit, probabilities, rational
from understudy.accounting.law import Law
from understudy.errors import Refused
from understudy.noise import draw_noise
from understudy.noise.cdf_table import MAX_TABLE_SCALE, refine_draw
from understudy.noise.large_scales import _accept_with_exp, draw_without_table
from understudy.noise.source import OS_SOURCE, UniformReal
from understudy.noise.tails import RoundedGaussianTails


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10, 3)])
def test_small_scales_have_the_law_to_the_cell(law, scale):
    """False alarms at 10⁻⁶; the same draws do not fit a scale a quarter off."""
    draws = draw_without_table(law, scale, 6_000, OS_SOURCE)
    assert fit(draws, probabilities(law, scale, 60)) > ALPHA
    assert fit(draws, probabilities(law, scale * Fraction(5, 4), 60)) < ALPHA


class ChosenBits:
    """The words of a test, and ones and zeros in turn for every refinement."""

    def __init__(self, words):
        self.chosen = words

    def words(self, n):
        """The chosen words."""
        assert n == len(self.chosen)
        return np.array(self.chosen, np.uint64)

    def bits(self, n):
        """1010…"""
        return int("10" * n, 2) >> n


@pytest.mark.parametrize(
    "scale", [Fraction(1, 3), Fraction(31), Fraction(10**6, 7), 2 * Fraction(2) ** 49]
)
def test_gaussians_of_one_batch_are_those_of_exact_comparisons(scale):
    """Also for words next to a tail, where 58 bits cannot decide, and for both ends."""
    tails = RoundedGaussianTails(scale)
    words = [0, 1, 2**63 - 1, 2**63, 2**64 - 2, 2**64 - 1]
    words += OS_SOURCE.words(40).tolist()
    for size in (0, 1, int(scale), 3 * int(scale)):
        edge = tails.tail(size, 64)[0]
        near = [max(edge + off, 0) for off in (-600, -64, -1, 0, 1, 64, 600)]
        words += [*near, *(2**64 - 1 - word for word in near)]
    exact = [
        refine_draw(tails, UniformReal(ChosenBits([]), prefix=word, count=64), 0)
        for word in words
    ]
    drawn = draw_without_table(
        Law.ROUNDED_GAUSSIAN, scale, len(words), ChosenBits(words)
    )
    assert drawn.tolist() == exact


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(7, 2), Fraction(10**9, 7)])
def test_proposal_times_acceptance_is_the_discrete_gaussian(scale):
    """exp(-|y|/t) · exp(-(|y| - σ²/t)²/(2σ²)) over exp(-y²/(2σ²)) is one number."""
    t = floor(scale) + 1
    with mpmath.workprec(300):
        s = rational(scale)
        values = [
            mpmath.exp(-mpmath.mpf(y) / t)
            * mpmath.exp(-((y - s**2 / t) ** 2) / (2 * s**2))
            / mpmath.exp(-(mpmath.mpf(y) ** 2) / (2 * s**2))
            for y in (0, 1, t, 5 * t)
        ]
        assert max(values) - min(values) < mpmath.mpf(10) ** -60 * max(values)


@pytest.mark.parametrize(
    ("exponent", "chance"), [(Fraction(0), 1.0), (Fraction(1, 2), 0.60653)]
)
def test_acceptance_has_its_probability(exponent, chance):
    kept = sum(_accept_with_exp(exponent, OS_SOURCE) for _ in range(20_000)) / 20_000
    assert abs(kept - chance) < 5 * (chance * (1 - chance) / 20_000) ** 0.5 + 1e-12


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("scale", [Fraction(2), MAX_TABLE_SCALE + Fraction(1, 3)])
def test_no_scale_needs_opendp(monkeypatch, law, scale):
    """A run is charged before it draws: a missing extra must not stop it then."""
    monkeypatch.setitem(sys.modules, "opendp", None)
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    assert draw_noise(law, scale, 3).shape == (3,)
    if law is not Law.ROUNDED_GAUSSIAN:
        with pytest.raises(Refused, match=r"understudy-dp\[opendp\].*No noise"):
            draw_noise(law, Fraction(2), 3, backend="opendp")
