"""The exponential mechanism over countably many candidates draws its law, and refuses
what has none.
"""

import itertools
from collections import Counter
from fractions import Fraction
from math import exp

import numpy as np
import pytest
from scipy import stats

from understudy.errors import Refused
from understudy.noise import choose_countable
from understudy.noise.choice import exponential_mechanism
from understudy.noise.countable_choice import require_summable

ONE = Fraction(1)


class FixedBits:
    """One uniform number, given by its bits; zeros after them."""

    def __init__(self, bits):
        self._bits = bits

    def bits(self, n):
        taken, self._bits = self._bits[:n].ljust(n, "0"), self._bits[n:]
        return int(taken, 2)


def weigh(score, epsilon, ratio, terms=400):
    """Probabilities of the first candidates, in floats."""
    weights = [float(ratio) ** i * exp(epsilon / 2 * score(i)) for i in range(terms)]
    return np.array(weights) / sum(weights)


@pytest.mark.parametrize(
    ("score", "ratio", "decay"),
    [
        (lambda i: -abs(i - 3), Fraction(1, 2), 0),
        (lambda i: -abs(i - 3), ONE, 0),
        (lambda i: 3 if i == 20 else 0, Fraction(4, 5), 0),
        (lambda i: -i, ONE, 1),
    ],
)
def test_every_uniform_number_gives_the_candidate_of_its_place(score, ratio, decay):
    """The law, exactly: at k/128 the running sums of the probabilities decide."""
    best = 3
    if ratio == 1:  # public: |i − 3| ≥ i − 3
        decay = 1
    law = weigh(score, 1.0, ratio).cumsum()
    for k in range(128):
        drawn = choose_countable(
            score,
            epsilon=ONE,
            sensitivity=ONE,
            best=best,
            ratio=ratio,
            decay=Fraction(decay),
            source=FixedBits(f"{k:07b}" + "01" * 30),
        )
        u = k / 128 + 1 / 128 / 3
        assert drawn == int(np.searchsorted(law, u, side="right"))


def test_it_agrees_with_the_finite_mechanism():
    """On scores that rule out all but a few candidates, both have one law: a chi-square
    test at 1e-6.
    """
    scores, repeats = np.array([0, 2, 1, 4]), 1_500
    base = np.array([8, 4, 2, 1])
    finite = Counter(
        exponential_mechanism(scores, epsilon=ONE, sensitivity=ONE, base=base)
        for _ in range(repeats)
    )
    countable = Counter(
        choose_countable(
            lambda i: int(scores[i]) if i < 4 else -(10**6),
            epsilon=ONE,
            sensitivity=ONE,
            best=4,
            ratio=Fraction(1, 2),
        )
        for _ in range(repeats)
    )
    table = [[drawn[i] for i in range(4)] for drawn in (finite, countable)]
    assert sum(countable.values()) == sum(table[1])
    assert stats.chi2_contingency(table).pvalue > 1e-6
    doubled = np.array(table[1]) * np.array(
        [1, 1, 1, 2]
    )  # a twin that favours the best
    assert stats.chi2_contingency([table[0], doubled]).pvalue < 1e-6


def test_neighbours_move_no_probability_by_more_than_epsilon():
    """Scores −|i − n| of the number of rows: neighbours move each by one."""
    ratio = Fraction(2, 3)
    laws = [weigh(lambda i, n=n: -abs(i - n), 0.7, ratio, terms=200) for n in range(9)]
    for here, there in itertools.pairwise(laws):
        losses = np.abs(np.log(here / there))
        assert 0.3 < losses.max() <= 0.7


def test_a_score_above_its_public_bound_counts_as_the_bound():
    drawn = choose_countable(
        lambda i: 10**9 if i == 50 else 0,
        epsilon=Fraction(100),
        sensitivity=ONE,
        best=0,
        decay=ONE,
        source=FixedBits("01" * 200),
    )
    assert drawn == 0


def test_far_candidates_are_found_at_higher_precision():
    """All likely candidates are at 300, where the base has decayed to 2^-300."""
    drawn = choose_countable(
        lambda i: 0 if i == 300 else -(10**6),
        epsilon=ONE,
        sensitivity=ONE,
        best=0,
        ratio=Fraction(1, 2),
    )
    assert drawn == 300


@pytest.mark.parametrize(
    ("ratio", "decay", "named"),
    [
        (ONE, Fraction(0), "have no sum"),
        (Fraction(3, 2), ONE, "at most 1"),
        (0.5, Fraction(0), "exact Fraction"),
        (Fraction(1, 2), Fraction(-1), "at least 0"),
    ],
)
def test_weights_without_a_sum_are_refused(ratio, decay, named):
    with pytest.raises(Refused, match=named):
        require_summable(ratio, decay)


def test_a_series_too_slow_is_refused_before_a_score_is_asked():
    def score(index):
        raise AssertionError("no score may be computed")

    with pytest.raises(Refused, match="decay too slowly"):
        choose_countable(
            score,
            epsilon=ONE,
            sensitivity=ONE,
            best=0,
            ratio=1 - Fraction(1, 10**6),
        )
