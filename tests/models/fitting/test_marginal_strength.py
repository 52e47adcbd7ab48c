"""How strong an interaction is, told from noisy counts, and what a fit makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from understudy.measurements import Centring, Identity
from understudy.models.estimates.loss_terms import Term
from understudy.models.fitting.constants import (
    COLUMN_PRIOR_VARIANCE,
    MAX_PRIOR_NOISE_DEVIATIONS,
    MIN_PRIOR_VARIANCE,
)
from understudy.models.fitting.marginal_strength import (
    fold_cells,
    max_prior_variance,
    prior_variances,
    shrink_terms_to_columns,
)


def strength(noisy: np.ndarray, expected: np.ndarray, variance: float) -> float:
    """Of one marginal, judged by itself."""
    maps = tuple(Identity(size) for size in expected.shape)
    return float(
        prior_variances([(Term(("a", "b"), maps, noisy, variance), expected)])[0]
    )


@pytest.mark.parametrize("tau", [1.0, 9.0, 100.0])
@pytest.mark.parametrize("variance", [1.0, 400.0])
def test_the_strength_that_made_the_counts_is_found(tau, variance):
    draw = np.random.default_rng(1)
    expected = draw.gamma(0.5, 200.0, (60, 50))
    noisy = draw.normal(expected, np.sqrt(tau * expected + variance))
    assert strength(noisy, expected, variance) == pytest.approx(
        tau, rel=0.15, abs=variance / 400
    )


def test_noise_alone_has_hardly_any_strength():
    draw = np.random.default_rng(2)
    expected = np.full((20, 20), 30.0)
    assert (
        MIN_PRIOR_VARIANCE
        <= strength(draw.normal(expected, 50.0), expected, 3000.0)
        < 2
    )
    # It has teeth: the same counts with less noise are a strong interaction.
    assert strength(draw.normal(expected, 50.0), expected, 100.0) > 40


def test_what_is_hidden_is_judged_by_the_others():
    """Among many weak marginals one that noise hides is taken for weak, among many
    strong ones for strong.
    """
    draw = np.random.default_rng(4)
    expected = np.full((10, 14), 144.0)
    maps = (Identity(10), Identity(14))

    def look(tau: float, deviation: float) -> tuple[Term, np.ndarray]:
        counts = draw.normal(expected, np.sqrt(tau * expected))
        return Term(
            ("a", "b"), maps, draw.normal(counts, deviation), deviation**2
        ), expected

    for tau in (1.0, 400.0):
        clear = [look(tau, 10.0) for _ in range(20)]
        hidden = [prior_variances([*clear, look(tau, 1600.0)])[-1] for _ in range(20)]
        assert np.all(np.array(hidden) < 5 * tau)
        assert np.median(hidden) > tau / 5


@pytest.mark.parametrize("tau", [2.0, 30.0])
def test_the_strength_of_differences_is_that_of_the_counts(tau):
    draw = np.random.default_rng(5)
    columns = {
        "a": np.array([7000.0, 3000.0]),
        "b": draw.dirichlet(np.ones(400)) * 10_000,
    }
    expected = np.multiply.outer(columns["a"], columns["b"]) / 10_000
    counts = draw.normal(expected, np.sqrt(tau * expected))
    maps = (Centring(2), Identity(400))
    differences = Term(("a", "b"), maps, np.zeros((2, 400)), 25.0).answer(counts)
    made, _ = shrink_terms_to_columns(
        [Term(("a", "b"), maps, draw.normal(differences, 5.0), 25.0)], columns, 10_000.0
    )
    assert 25.0 / made[0].variance == pytest.approx(
        min(tau, MAX_PRIOR_NOISE_DEVIATIONS * 2.5), rel=0.25
    )


def test_folding_keeps_cells_and_their_roots():
    expected = np.random.default_rng(3).gamma(0.3, 100.0, (30, 30))
    sizes, many = fold_cells(expected)
    assert many.sum() == 900
    assert (many * np.sqrt(sizes)).sum() == pytest.approx(
        np.sqrt(np.maximum(expected, 1e-9)).sum()
    )
    assert len(sizes) <= 40


def test_a_weak_marginal_is_believed_less_than_a_strong_one():
    columns = {name: np.full(4, 250.0) for name in "abc"}
    even, own = np.full((4, 4), 62.5), (Identity(4), Identity(4))
    strong = Term(("a", "b"), own, np.diag(np.full(4, 250.0)), 100.0)
    weak = Term(
        ("a", "c"), own, even + np.random.default_rng(0).normal(0, 10, (4, 4)), 100.0
    )
    single = Term(("a",), (Identity(4),), np.full(4, 250.0), 100.0)
    made, loss = shrink_terms_to_columns([strong, weak, single], columns, 1000.0)
    factors = [100.0 / term.variance for term in made]
    assert factors[0] == MAX_PRIOR_NOISE_DEVIATIONS * 10  # as strong as a fit goes
    assert factors[1] < 2
    assert factors[2] == COLUMN_PRIOR_VARIANCE
    # By the column's noise, what is left to hear of pairs would be nothing.
    assert loss == pytest.approx(16 * factors[0] + 16 * factors[1])
    assert (
        shrink_terms_to_columns([single], columns, 1000.0)[1]
        == 4 * COLUMN_PRIOR_VARIANCE
    )


def test_centred_answers_are_believed_for_what_they_are_worth():
    """One number for a whole pair: large beside its noise it is believed, small it is
    not.
    """
    columns = {"a": np.full(2, 50.0), "b": np.full(2, 50.0)}
    factors = []
    for far in (80.0, 3.0):
        term = Term(
            ("a", "b"),
            (Centring(2), Centring(2)),
            far * np.array([[1.0, -1.0], [-1.0, 1.0]]),
            16.0,
        )
        made, _ = shrink_terms_to_columns([term], columns, 100.0)
        factors.append(16.0 / made[0].variance)
    assert (
        factors[0] == MAX_PRIOR_NOISE_DEVIATIONS * 1.0
    )  # four counts of noise 4 are one row each
    assert factors[1] < 1


def test_no_strength_is_beyond_what_the_rows_can_be_off_by():
    """Noise of a million rows on a thousand: by chance alone the likeliest strength is
    large, and none such is possible.
    """
    expected = np.full((8, 8), 1000 / 64)
    rng = np.random.default_rng(3)
    shape = (Identity(8), Identity(8))
    noisy = [
        Term((f"a{i}", "b"), shape, expected + rng.normal(0, 1e6, (8, 8)), 0.7e12)
        for i in range(3)
    ]
    assert (
        prior_variances([(term, expected) for term in noisy]).max()
        <= max_prior_variance(expected)
        < 200
    )


@pytest.mark.parametrize("shape", [(2, 2), (8, 8), (2, 50), (4, 4, 4)])
def test_the_largest_strength_leaves_room_for_columns_that_follow_one(shape):
    """All columns are functions of the one with most values: no table is further from
    independence.
    """
    rows, most = 10_000, max(shape)
    values = np.arange(rows) % most
    codes = [values * size // most for size in shape]
    counts = np.zeros(shape)
    np.add.at(counts, tuple(codes), 1)
    expected = np.full(shape, rows / counts.size)
    assert ((counts - expected) ** 2 / expected).mean() <= max_prior_variance(
        expected
    ) * (1 + 1e-9)
