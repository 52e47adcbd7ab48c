from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.noise.oracle import rational
from understudy.noise.enclosure import (
    enclose_exp_neg,
    enclose_inverse_root_two_pi,
    enclose_normal_tail,
    enclose_pi,
)

positive = st.builds(
    Fraction, st.integers(0, 10**9), st.integers(1, 10**9)
) | st.builds(Fraction, st.integers(0, 2000), st.integers(1, 7))


@settings(max_examples=400, deadline=None)
@given(x=positive, bits=st.integers(8, 300))
def test_exp_lies_in_its_enclosure(x, bits):
    lo, hi = enclose_exp_neg(x, bits)
    with mpmath.workprec(bits + 3000):
        assert lo <= mpmath.ldexp(mpmath.exp(-rational(x)), bits) <= hi
    assert hi - lo <= 2


@settings(max_examples=80, deadline=None)
@given(
    x=st.builds(Fraction, st.integers(0, 30_000), st.integers(1, 1000)),
    bits=st.integers(8, 300),
)
def test_normal_tail_lies_in_its_enclosure(x, bits):
    lo, hi = enclose_normal_tail(x, bits)
    with mpmath.workprec(2 * bits + 3000):
        assert (
            lo
            <= mpmath.ldexp(mpmath.erfc(rational(x) / mpmath.sqrt(2)) / 2, bits)
            <= hi
        )
    assert hi - lo <= 2


@pytest.mark.parametrize("bits", [8, 64, 160, 333, 1000])
def test_constants_lie_in_their_enclosures(bits):
    with mpmath.workprec(bits + 100):
        for (lo, hi), value in (
            (enclose_pi(bits), mpmath.pi),
            (enclose_inverse_root_two_pi(bits), 1 / mpmath.sqrt(2 * mpmath.pi)),
        ):
            assert lo <= mpmath.ldexp(value, bits) <= hi
            assert hi - lo <= 2
