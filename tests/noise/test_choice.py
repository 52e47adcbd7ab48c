"""The exponential mechanism and permute-and-flip: exact weights, exact steps, and a fit
that rejects wrong ones.
"""

from fractions import Fraction
from functools import cache
from itertools import permutations, product

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from kit.noise.oracle import ALPHA, goodness, rational
from kit.noise.scripted import Scripted
from understudy.errors import Refused
from understudy.noise import exponential_mechanism, noisy_max
from understudy.noise.choice import (
    MAX_PROPOSAL_LEVEL,
    _accept_proposal,
    _locate_candidate,
    _proposal_levels,
    exact_sum,
    exponent_per_step,
)
from understudy.noise.enclosure import enclose_exp_neg

CASES = {
    "close": ([0, -1, -2, -1], {"epsilon": Fraction(1), "sensitivity": Fraction(1)}),
    "grid": (
        [5000, 4096, 3000, 0],
        {
            "epsilon": Fraction(2),
            "sensitivity": Fraction(3, 2),
            "grid": Fraction(1, 1024),
        },
    ),
    "monotone": (
        [3, 1, 0],
        {"epsilon": Fraction(1, 2), "sensitivity": Fraction(1), "monotone": True},
    ),
    "far": ([0, -2, -9, -500], {"epsilon": Fraction(1), "sensitivity": Fraction(1)}),
    "one": ([7], {"epsilon": Fraction(1), "sensitivity": Fraction(1)}),
    "flat": ([2] * 9, {"epsilon": Fraction(3), "sensitivity": Fraction(1)}),
}
BASED = {
    "lengths": (
        [0, -3, -1, 0],
        [1, 1000, 20, 0],
        {"epsilon": Fraction(3), "sensitivity": Fraction(1)},
    ),
    "huge": (
        [0, -80, -84],
        [1, 2**61, 2**62],
        {"epsilon": Fraction(1), "sensitivity": Fraction(1)},
    ),
    "unusable best": (
        [10**9, 0, 1],
        [0, 5, 3],
        {"epsilon": Fraction(1), "sensitivity": Fraction(1)},
    ),
}


def weights_of(scores, options, base=None):
    """Exact law of the exponential mechanism."""
    a = rational(
        exponent_per_step(
            options["epsilon"],
            options["sensitivity"],
            options.get("grid", Fraction(1)),
            options.get("monotone", False),
        )
    )
    w = [
        (b * mpmath.exp(a * s))
        for s, b in zip(scores, base or [1] * len(scores), strict=True)
    ]
    return np.array([float(x / mpmath.fsum(w)) for x in w])


@cache
def flip_law(scores, a):
    """Exact law of permute-and-flip: over all orders, the first head."""
    p = [mpmath.exp(a * (s - max(scores))) for s in scores]
    law = [mpmath.mpf(0)] * len(p)
    orders = list(permutations(range(len(p))))
    for order in orders:
        tails_so_far = mpmath.mpf(1)
        for i in order:
            law[i] += tails_so_far * p[i]
            tails_so_far *= 1 - p[i]
    return [x / len(orders) for x in law]


def tally(draw, size, n=3000):
    return np.bincount([draw() for _ in range(n)], minlength=size)


@pytest.mark.parametrize("case", CASES)
def test_exponential_has_its_law(case):
    scores, options = CASES[case]
    seen = tally(
        lambda: exponential_mechanism(np.array(scores), **options), len(scores)
    )
    assert goodness(seen, weights_of(scores, options)) > ALPHA


@pytest.mark.parametrize("case", BASED)
def test_exponential_with_a_base_measure_has_its_law(case):
    """P ∝ length · exp(ε q / 2Δ)."""
    scores, base, options = BASED[case]
    seen = tally(
        lambda: exponential_mechanism(np.array(scores), base=np.array(base), **options),
        len(scores),
    )
    assert goodness(seen, weights_of(scores, options, base)) > ALPHA
    assert all(n == 0 for n, b in zip(seen, base, strict=True) if b == 0)


def test_the_fit_rejects_wrong_choices():
    """The factor 2 forgotten, the base measure forgotten, the grid forgotten."""
    scores, options = CASES["close"]
    seen = tally(
        lambda: exponential_mechanism(np.array(scores), monotone=True, **options), 4
    )
    assert goodness(seen, weights_of(scores, options)) < ALPHA
    scores, base, options = BASED["lengths"]
    seen = tally(lambda: exponential_mechanism(np.array(scores), **options), 4)[:3]
    assert goodness(seen, weights_of(scores, options, base)[:3]) < ALPHA
    scores, options = CASES["grid"]
    seen = tally(
        lambda: exponential_mechanism(
            np.array(scores), **{**options, "grid": Fraction(1)}
        ),
        4,
    )
    assert goodness(seen, weights_of(scores, options)) < ALPHA


@pytest.mark.parametrize("case", ["close", "grid", "monotone", "far", "one"])
def test_noisy_max_has_the_law_of_permute_and_flip(case):
    scores, options = CASES[case]
    a = rational(
        exponent_per_step(
            options["epsilon"],
            options["sensitivity"],
            options.get("grid", Fraction(1)),
            options.get("monotone", False),
        )
    )
    seen = tally(lambda: noisy_max(np.array(scores), **options), len(scores))
    law = np.array([float(p) for p in flip_law(tuple(scores), a)])
    assert goodness(seen, law) > ALPHA


def test_permute_and_flip_errs_less_than_the_exponential_mechanism():
    """Two candidates four steps apart, ε = 1: the worse is taken with e^-2/2, not
    e^-2/(1 + e^-2).
    """
    options = {"epsilon": Fraction(1), "sensitivity": Fraction(1)}
    seen = tally(lambda: noisy_max(np.array([0, -4]), **options), 2, n=8000)
    worse = np.exp(-2) / 2
    assert goodness(seen, np.array([1 - worse, worse])) > ALPHA
    assert goodness(seen, weights_of([0, -4], options)) < ALPHA


@settings(max_examples=300, deadline=None)
@given(
    a=st.builds(Fraction, st.integers(1, 10**12), st.integers(1, 10**12)),
    gap=st.integers(0, 2**62 - 1) | st.integers(0, 3000),
)
def test_levels_never_fall_below_the_weight(a, gap):
    """2^-m ≥ exp(-a·gap): the condition the proof of exactness needs; and within a
    factor 2.01 unless capped.
    """
    m = int(_proposal_levels(np.array([gap]), a)[0])
    assert 0 <= m <= MAX_PROPOSAL_LEVEL
    lo, hi = enclose_exp_neg(a * gap, 400)
    assert hi <= 1 << (400 - m)
    if m < MAX_PROPOSAL_LEVEL:
        assert lo * 2.01 >= 1 << (400 - m)


@pytest.mark.parametrize(
    ("x", "m"),
    [
        (Fraction(1), 0),
        (Fraction(1), 1),
        (Fraction(99, 2), 71),
        (Fraction(1, 10**9), 0),
    ],
)
def test_keeping_is_decided_exactly_at_the_edge(x, m):
    """The bits of exp(-x)·2^m itself, then one less and one more."""
    with mpmath.workprec(400):
        bits = int(mpmath.floor(mpmath.ldexp(mpmath.exp(-rational(x)), 192 + m)))
    for step, kept in ((-1, True), (1, False)):
        words = [bits + step >> shift & (2**64 - 1) for shift in (128, 64, 0)]
        source = Scripted(*words)
        assert _accept_proposal(x, m, source) is kept
        assert source.used == 3


def test_the_best_is_always_kept_without_a_bit():
    assert _accept_proposal(Fraction(0), 0, Scripted())


@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=30), st.data())
def test_positions_belong_to_candidates_by_weight(weights, data):
    assume(sum(weights) > 0)
    at = data.draw(st.integers(0, sum(weights) - 1))
    w = np.array(weights)
    assert exact_sum(w) == sum(weights)
    i = _locate_candidate(w, at)
    assert sum(weights[:i]) <= at < sum(weights[: i + 1])


def neighbours_of(scores, monotone):
    steps = (0, 1) if monotone else (-1, 0, 1)
    return (
        tuple(s + d for s, d in zip(scores, change, strict=True))
        for change in product(steps, repeat=len(scores))
    )


@pytest.mark.parametrize("monotone", [False, True])
def test_exact_laws_are_private(monotone):
    """All score vectors on {0..2}^3, all neighbours that move each score by at most
    one: no probability ratio above e^ε.
    """
    epsilon, worst = Fraction(1), {"exponential": 0.0, "flip": 0.0}
    a = rational(exponent_per_step(epsilon, Fraction(1), Fraction(1), monotone))
    too_much = rational(
        exponent_per_step(2 * epsilon, Fraction(1), Fraction(1), monotone)
    )
    options = {"epsilon": epsilon, "sensitivity": Fraction(1), "monotone": monotone}
    broken = 0.0
    for scores in product(range(3), repeat=3):
        here, flips, wrong = (
            weights_of(scores, options),
            flip_law(scores, a),
            flip_law(scores, too_much),
        )
        for other in neighbours_of(scores, monotone):
            there, other_flips, other_wrong = (
                weights_of(other, options),
                flip_law(other, a),
                flip_law(other, too_much),
            )
            for i in range(3):
                worst["exponential"] = max(
                    worst["exponential"], abs(np.log(here[i] / there[i]))
                )
                worst["flip"] = max(
                    worst["flip"], abs(float(mpmath.log(flips[i] / other_flips[i])))
                )
                broken = max(broken, abs(float(mpmath.log(wrong[i] / other_wrong[i]))))
    assert worst["exponential"] <= 1 + 1e-12
    assert worst["flip"] <= 1 + 1e-12
    assert broken > 1.05, "the check must see a budget that is twice too large"


def test_a_hundred_thousand_candidates_are_chosen_from_exactly():
    """Candidate 0 alone weighs as much as all others together."""
    n = 100_000
    scores = np.full(n, -(2**20) * 10)
    scores[0] = 0
    epsilon = Fraction(
        round(np.log(n - 1) * 2**40), 2**40
    )  # exp(-ε·10·grid/2) ≈ 1/(n-1), with grid 1/(5·2^20)
    picks = [
        exponential_mechanism(
            scores,
            epsilon=epsilon,
            sensitivity=Fraction(1),
            grid=Fraction(1, 5 * 2**20),
        )
        for _ in range(30)
    ]
    first = sum(p == 0 for p in picks)
    assert 1 < first < 29
    flips = [
        noisy_max(
            scores,
            epsilon=epsilon,
            sensitivity=Fraction(1),
            grid=Fraction(1, 5 * 2**20),
        )
        for _ in range(30)
    ]
    assert 1 < sum(p == 0 for p in flips) < 30


@pytest.mark.parametrize("choose", [exponential_mechanism, noisy_max])
@pytest.mark.parametrize(
    ("scores", "options"),
    [
        ([], {}),
        ([0.5, 1.0], {}),
        ([[1, 2]], {}),
        ([-(2**62), 2**62], {}),
        ([1, 2], {"epsilon": 0}),
        ([1, 2], {"epsilon": 0.5}),
        ([1, 2], {"sensitivity": Fraction(0)}),
        ([1, 2], {"grid": -1}),
    ],
)
def test_what_is_no_choice_is_refused(choose, scores, options):
    arguments = {"epsilon": Fraction(1), "sensitivity": Fraction(1), **options}
    with pytest.raises(Refused, match="Nothing was chosen"):
        choose(np.array(scores), **arguments)


@pytest.mark.parametrize("base", [[1], [-1, 2], [0.5, 0.5], [0, 0]])
def test_what_is_no_base_measure_is_refused(base):
    with pytest.raises(Refused, match="Nothing was chosen"):
        exponential_mechanism(
            np.array([1, 2]),
            epsilon=Fraction(1),
            sensitivity=Fraction(1),
            base=np.array(base),
        )
