"""Two implementations that share no code: their noise must not be told apart."""

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from kit.noise.oracle import ALPHA
from understudy.accounting.law import Law
from understudy.noise import NoiseBackend, draw_noise

BOTH = [Law.DISCRETE_LAPLACE, Law.DISCRETE_GAUSSIAN]


def same(a, b) -> float:
    """Two-sample chi-square p-value; rare values pooled."""
    values, place = np.unique(np.concatenate([a, b]), return_inverse=True)
    seen = np.stack(
        [
            np.bincount(place[: a.size], minlength=values.size),
            np.bincount(place[a.size :], minlength=values.size),
        ]
    )
    rare = seen.sum(axis=0) < 40
    if rare.any():
        seen = np.column_stack([seen[:, ~rare], seen[:, rare].sum(axis=1)])
    return float(stats.chi2_contingency(seen, correction=False).pvalue)


def compare(law, scale, n, off):
    theirs = draw_noise(law, scale, n, backend=NoiseBackend.OPENDP)
    assert same(draw_noise(law, scale, n), theirs) > ALPHA
    assert same(draw_noise(law, scale * off, n), theirs) < ALPHA


@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(15, 2)], ids=str)
def test_same_noise_as_opendp(law, scale):
    compare(law, scale, 60_000, Fraction(6, 5))


@pytest.mark.slow
@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize(
    "scale", [Fraction(1, 2), Fraction(10), Fraction(331_351, 2**20)], ids=str
)
def test_same_noise_as_opendp_at_length(law, scale):
    compare(law, scale, 300_000, Fraction(21, 20))


def test_opendp_is_left_as_it_was_found():
    import opendp.prelude as dp

    before = set(dp.GLOBAL_FEATURES)
    draw_noise(Law.DISCRETE_LAPLACE, Fraction(1), 3, backend=NoiseBackend.OPENDP)
    assert set(dp.GLOBAL_FEATURES) == before


def test_opendp_draws_nothing_for_nothing():
    assert draw_noise(
        Law.DISCRETE_LAPLACE, Fraction(1), (0, 2), backend=NoiseBackend.OPENDP
    ).shape == (0, 2)
