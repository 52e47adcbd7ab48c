"""Quantiles: scores and sensitivities by brute force over all small datasets, exact
privacy, exact law.
"""

from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.noise.oracle import ALPHA, goodness, rational
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.noise import median, quantile, quantile_sensitivity
from understudy.noise.quantile import score_runs

LO, HI = 0, 3
ALPHAS = [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10), Fraction(0), Fraction(1)]
DATASETS = [
    d for n in range(7) for d in combinations_with_replacement(range(LO, HI + 1), n)
]


def score(data, c, alpha):
    """The definition, point by point."""
    return -abs(
        (1 - alpha) * sum(x < c for x in data) - alpha * sum(x > c for x in data)
    )


@cache
def scores_of(data, alpha):
    """What the module computes, spread over the lattice."""
    runs = score_runs(np.array(data, dtype=np.int64), alpha=alpha, lo=LO, hi=HI)
    spread = np.repeat(runs.scores, runs.lengths)
    assert spread.size == HI - LO + 1
    return tuple(Fraction(int(s), alpha.denominator) for s in spread)


def neighbours_of(data, relation):
    for i in range(len(data)):
        rest = data[:i] + data[i + 1 :]
        if relation is Neighbours.ADD_REMOVE:
            yield rest
        else:
            yield from (tuple(sorted((*rest, x))) for x in range(LO, HI + 1))


@pytest.mark.parametrize("alpha", ALPHAS, ids=str)
def test_runs_are_the_definition(alpha):
    for data in DATASETS:
        assert scores_of(data, alpha) == tuple(
            score(data, c, alpha) for c in range(LO, HI + 1)
        )


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("alpha", ALPHAS, ids=str)
def test_all_small_datasets_move_scores_no_further_than_claimed(alpha, relation):
    worst = max(
        abs(a - b)
        for data in DATASETS
        for other in neighbours_of(data, relation)
        for a, b in zip(scores_of(data, alpha), scores_of(other, alpha), strict=True)
    )
    assert worst == quantile_sensitivity(alpha=alpha, neighbours=relation)


def law(data, alpha, epsilon, sensitivity):
    """Exact output probabilities of the exponential mechanism on these scores."""
    with mpmath.workprec(200):
        weights = [
            mpmath.exp(rational(epsilon * s / (2 * sensitivity)))
            for s in scores_of(data, alpha)
        ]
        return [w / mpmath.fsum(weights) for w in weights]


def worst_loss(alpha, relation, epsilon, sensitivity):
    laws = {data: law(data, alpha, epsilon, sensitivity) for data in DATASETS}
    with mpmath.workprec(200):
        return max(
            abs(mpmath.log(p / q))
            for data in DATASETS
            for other in neighbours_of(data, relation)
            for p, q in zip(laws[data], laws[other], strict=True)
        )


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize("alpha", [Fraction(1, 2), Fraction(1, 4)], ids=str)
def test_all_small_datasets_are_private(alpha, relation):
    epsilon = Fraction(1)
    sensitivity = quantile_sensitivity(alpha=alpha, neighbours=relation)
    assert (
        worst_loss(alpha, relation, epsilon, sensitivity) <= 1 + mpmath.mpf(2) ** -150
    )
    assert worst_loss(alpha, relation, epsilon, sensitivity / 2) > 1, (
        "half the sensitivity must be seen"
    )


CASES = [
    ((0, 0, 1, 3), Fraction(1, 2), Neighbours.ADD_REMOVE, 1),
    ((2, 2, 2), Fraction(1, 4), Neighbours.REPLACE, 1),
    ((), Fraction(1, 2), Neighbours.REPLACE, 1),
    ((0, 1, 1, 3, 3, 3), Fraction(9, 10), Neighbours.ADD_REMOVE, 3),
]


@pytest.mark.parametrize(("data", "alpha", "relation", "max_rows"), CASES)
def test_answers_have_the_exact_law(data, alpha, relation, max_rows):
    epsilon = Fraction(2)
    sensitivity = quantile_sensitivity(
        alpha=alpha, neighbours=relation, max_rows=max_rows
    )
    arguments = {
        "alpha": alpha,
        "lo": LO,
        "hi": HI,
        "epsilon": epsilon,
        "neighbours": relation,
        "max_rows": max_rows,
    }
    seen = np.bincount(
        [quantile(np.array(data, np.int64), **arguments) for _ in range(2500)],
        minlength=4,
    )
    assert (
        goodness(
            seen, np.array([float(p) for p in law(data, alpha, epsilon, sensitivity)])
        )
        > ALPHA
    )
    if data:
        twice = law(data, alpha, 2 * epsilon, sensitivity)
        assert goodness(seen, np.array([float(p) for p in twice])) < ALPHA


@given(
    st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 5)), max_size=30),
    st.integers(0, 20),
)
def test_counted_values_are_repeated_values(pairs, percent):
    """In any order, zeros left out, values outside the lattice moved to its ends."""
    values = np.array([v for v, _ in pairs], dtype=np.int64)
    counts = np.array([c for _, c in pairs], dtype=np.int64)
    arguments = {"alpha": Fraction(percent, 20), "lo": -20, "hi": 30}
    a = score_runs(values, counts=counts, **arguments)
    b = score_runs(np.repeat(values, counts), **arguments)
    for field in ("starts", "lengths", "scores"):
        assert np.array_equal(getattr(a, field), getattr(b, field))
    assert a.lengths.sum() == 51
    clipped = np.clip(np.repeat(values, counts), -20, 30)
    spread = np.repeat(a.scores, a.lengths)
    alpha = arguments["alpha"]
    for c in (-20, -7, 0, 30):
        expected = -abs(
            (1 - alpha) * int((clipped < c).sum()) - alpha * int((clipped > c).sum())
        )
        assert Fraction(int(spread[c + 20]), alpha.denominator) == expected


def test_error_grows_with_the_logarithm_of_the_lattice():
    """Uniform on K values, n = 2000, ε = 0.1: the 95th percentile of the loss stays
    under 2 ln(K/0.05)/ε.
    """
    rng = np.random.default_rng(5)
    for size in (16, 4096):
        data = np.sort(rng.integers(0, size, 2000))
        losses = []
        for _ in range(100):
            c = median(
                data,
                lo=0,
                hi=size - 1,
                epsilon=Fraction(1, 10),
                neighbours=Neighbours.ADD_REMOVE,
            )
            losses.append(abs(int((data < c).sum()) - int((data > c).sum())))
        best = min(
            abs(int((data < c).sum()) - int((data > c).sum())) for c in range(size)
        )
        assert np.percentile(losses, 95) - best <= 2 * np.log(size / 0.05) / 0.1


def test_a_long_lattice_costs_no_time():
    lo, hi = -(2**61), 2**61
    found = median(
        np.array([5] * 1000),
        lo=lo,
        hi=hi,
        epsilon=Fraction(10),
        neighbours=Neighbours.ADD_REMOVE,
    )
    assert found == 5
    nothing = median(
        np.empty(0, np.int64),
        lo=lo,
        hi=hi,
        epsilon=Fraction(10),
        neighbours=Neighbours.ADD_REMOVE,
    )
    assert lo <= nothing <= hi


@pytest.mark.parametrize(
    "changed",
    [
        {"alpha": Fraction(3, 2)},
        {"alpha": 0.5},
        {"lo": 5, "hi": 4},
        {"hi": 2**62},
        {"counts": np.array([1, 2])},
        {"counts": np.array([1, -2, 1])},
        {"counts": np.array([2**62, 1, 1])},
        {"values": np.array([0.5, 1.0, 2.0])},
        {"alpha": Fraction(1, 2**62)},
    ],
)
def test_what_is_no_quantile_is_refused(changed):
    arguments = {
        "values": np.array([1, 2, 3]),
        "alpha": Fraction(1, 2),
        "lo": 0,
        "hi": 9,
    } | changed
    with pytest.raises(Refused, match="Nothing was chosen"):
        quantile(epsilon=Fraction(1), neighbours=Neighbours.REPLACE, **arguments)
