"""Proven bounds against an oracle: at every entry of every table, maximal error 0."""

from fractions import Fraction

import mpmath
import pytest

from kit.noise.oracle import PRECISION, SCALES, tail_list
from understudy.accounting.law import Law
from understudy.noise.normal import FIXED_POINT_BITS, MAX_TAIL_ERROR_UNITS
from understudy.noise.tails import tails_of_law


def test_there_are_forty_scales():
    assert len(set(SCALES)) == 40


SWEPT = [Law.DISCRETE_LAPLACE, Law.DISCRETE_GAUSSIAN]
"""Laws whose tables come from recurrences on big integers; the rounded Gaussian's come
from series around anchors.
"""


@pytest.mark.parametrize("law", SWEPT)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_every_tail_lies_in_its_bounds(law, scale):
    bits = 160
    bounds = tails_of_law(law, scale).run(bits)
    assert bounds[-1][0] < 1 << (bits - 64)
    assert all(lo >= 1 << (bits - 64) for lo, _ in bounds[:-1])
    with mpmath.workprec(PRECISION):
        for (lo, hi), tail in zip(
            bounds, tail_list(law, scale, len(bounds)), strict=True
        ):
            assert lo <= mpmath.ldexp(tail, bits) <= hi
    # Far tighter than a 64-bit word can tell: soft entries are a rarity, not a habit.
    assert max(hi - lo for lo, hi in bounds) < 1 << 52


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_every_word_is_on_its_side(law, scale):
    """Strictly, and not far: half of the error that is allowed for is never used."""
    low, high = tails_of_law(law, scale).words()
    near = MAX_TAIL_ERROR_UNITS << 64 - FIXED_POINT_BITS
    assert low[-1] == 0
    assert all(low[:-1] > 0)
    with mpmath.workprec(PRECISION):
        for under, over, tail in zip(
            low.tolist(), high.tolist(), tail_list(law, scale, len(low)), strict=True
        ):
            word = mpmath.ldexp(tail, 64)
            assert (
                under < word or under == 0
            )  # tails are positive, also where the oracle calls them zero
            assert word < over + 1
            if law in SWEPT:
                assert over <= under + 1
            else:
                assert word - (over - near) <= near / 2
                assert under == 0 or under + near - word <= near / 2


@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize(
    "scale", [Fraction(1, 50), Fraction(1, 3), Fraction(7, 2), Fraction(41)], ids=str
)
@pytest.mark.parametrize("bits", [16, 72, 136, 264])
def test_single_tails_lie_in_their_bounds(law, scale, bits):
    exact = tail_list(law, scale, 600)
    law_tails = tails_of_law(law, scale)
    with mpmath.workprec(PRECISION):
        for k in (0, 1, 2, 3, 10, 47, 599):
            lo, hi = law_tails.tail(k, bits)
            assert lo <= mpmath.ldexp(exact[k], bits) <= hi
            assert hi - lo <= 2


@pytest.mark.slow
@pytest.mark.parametrize("law", Law)
@pytest.mark.parametrize("scale", [Fraction(333), Fraction(2718)], ids=str)
def test_every_tail_of_large_tables_lies_in_its_bounds(law, scale):
    test_every_word_is_on_its_side(law, scale)
    if law in SWEPT:
        test_every_tail_lies_in_its_bounds(law, scale)


@pytest.mark.slow
@pytest.mark.parametrize("law", SWEPT)
def test_the_largest_table_agrees_with_single_tails_at_its_far_end(law):
    """Where the error counts of the sweeps are largest."""
    exact = tails_of_law(law, Fraction(10_000))
    bounds = exact.run(160)
    for k in range(len(bounds) - 1000, len(bounds), 7):
        lo, hi = exact.tail(k, 160)
        assert bounds[k][0] <= hi
        assert lo <= bounds[k][1]


@pytest.mark.parametrize(
    "scale",
    [Fraction(10_000), Fraction(2**40 + 1, 2**27), Fraction(9_999_999, 1_001)],
    ids=str,
)
def test_the_largest_tables_of_the_rounded_gaussian_agree_with_single_tails(scale):
    """From middle to end: where points are counted up furthest, where polynomials are
    steepest, and where tails vanish.
    """
    exact = tails_of_law(Law.ROUNDED_GAUSSIAN, scale)
    low, high = exact.words()
    for k in range(0, len(low), 211):
        lo, hi = exact.tail(k, 96)
        assert int(low[k]) << 32 < lo
        assert hi < int(high[k]) + 1 << 32
