"""Learned bounds as part of a column: the powers of ten at which values end."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.curator.discovery.bin_pieces import MAX_BOUND_PIECES
from understudy.curator.discovery.bounded_column import with_learned_bounds
from understudy.curator.discovery.magnitudes import MAGNITUDE_EDGES
from understudy.schema import Date, Integer, Real

PERCENT, SHARE = Integer(name="x"), Real(name="x", step=Fraction(1, 10**6))


@pytest.mark.parametrize(
    ("column", "learned", "ends"),
    [
        (PERCENT, (0, 103), (0, 100)),
        (PERCENT, (-103, 103), (-100, 100)),
        (SHARE, (0, 2**20 - 1), (0, 1)),
        (SHARE, (0, 107374), (0, Fraction(1, 10))),
        (Integer(name="x", step=5), (0, 207), (0, 1000)),
        # Small numbers are counted one by one, and other pieces hold no power of ten.
        (PERCENT, (0, 11), (0, 11)),
        (PERCENT, (0, 111), (0, 111)),
        (PERCENT, (1920, 2047), (1920, 2047)),
        (PERCENT, (96, 103), (96, 100)),
        # A power of ten beyond both bounds, or one that no step meets, is none.
        (PERCENT, (102, 103), (102, 103)),
        (Integer(name="x", step=3), (0, 34), (0, 102)),
        (Integer(name="x", max=103), (0, 103), (0, 103)),
    ],
)
def test_learned_bounds_end_at_a_power_of_ten_in_their_last_piece(
    column, learned, ends
):
    bounded = with_learned_bounds(column, *learned)
    assert (bounded.min, bounded.max) == ends


def test_days_have_no_powers_of_ten():
    days = with_learned_bounds(Date(name="x"), 0, 10_239)
    assert (days.high, days.low) == (10_239, 0)


@given(st.integers(1, 2**40), st.integers(0, 6))
def test_less_than_a_piece_is_cut_off(high, decimals):
    """Whatever the bound: the piece that may end in it keeps its beginning, and a bound
    below the power of ten stays.
    """
    column = Real(name="x", step=Fraction(1, 10**decimals))
    bounded = with_learned_bounds(column, 0, high)
    octave = max(edge for edge in MAGNITUDE_EDGES if edge <= high)
    assert high - max(octave // MAX_BOUND_PIECES, 1) < bounded.high <= high
    if bounded.high < high:
        assert set(str(bounded.max.numerator)) <= set("01")
