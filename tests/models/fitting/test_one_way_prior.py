"""How rows are spread over the values of single columns, told from noisy counts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import gamma, norm

from understudy.measurements import Identity
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.loss_terms import Term
from understudy.models.fitting import one_way_prior
from understudy.models.fitting.constants import FAR_ANSWER_DEVIATIONS, GAMMA_SHAPES
from understudy.models.fitting.one_way_prior import _NoisyColumn, denoise_one_ways

ROWS = 2_000.0


def seen(
    counts: np.ndarray, deviation: float, rng: np.random.Generator
) -> tuple[Term, np.ndarray]:
    """Noisy counts that add up as the true ones do, and even ones."""
    noise = rng.normal(0, deviation, counts.size)
    variance = deviation**2 * (1 - 1 / counts.size)
    term = Term(
        ("a",), (Identity(counts.size),), counts + noise - noise.mean(), variance
    )
    return term, np.full(counts.size, counts.sum() / counts.size)


@pytest.mark.parametrize(
    ("deviation", "most"), [(10.0, 0.97), (60.0, 0.9), (300.0, 0.8)]
)
def test_counts_are_nearer_than_the_nearest_ones(deviation, most):
    """Columns of twenty values, from nearly all rows in one of them to nearly even,
    each kind by itself.
    """
    rng = np.random.default_rng(8)
    ratios = []
    for shape in (0.05, 0.5, 5.0):
        true = [ROWS * rng.dirichlet(np.full(20, shape)) for _ in range(40)]
        looks = [seen(counts, deviation, rng) for counts in true]
        found, cut = (
            [term.values for term in denoise_one_ways(looks)],
            [project_simplex(term.values, ROWS) for term, _ in looks],
        )
        ratios.append(
            np.abs(np.array(found) - true).sum() / np.abs(np.array(cut) - true).sum()
        )
    assert np.mean(ratios) < most
    assert max(ratios) < 1.15


def test_what_other_columns_are_like_helps_where_noise_hides_a_column():
    """Eight values, one of which holds nearly everything, at a noise of a third of all
    rows: beside thirty alike it is told.
    """
    rng = np.random.default_rng(3)
    skewed = [
        seen(np.roll([1965.0, 5, 5, 5, 5, 5, 5, 5], i), 600.0, rng) for i in range(31)
    ]
    together = denoise_one_ways(skewed)
    alone = [denoise_one_ways([look])[0] for look in skewed]
    first, second = (
        np.mean([term.values.max() for term in some]) for some in (together, alone)
    )
    assert first > second + 100


@given(
    st.lists(st.floats(-500, 3_000), min_size=1, max_size=12),
    st.floats(0.01, 1_000),
    st.floats(0.01, 5_000),
    st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_counts_are_never_negative_and_add_up(values, deviation, total, allowed):
    possible = np.array(allowed[: len(values)])
    possible[0] = True
    even = np.where(possible, total / possible.sum(), 0.0)
    (term,) = denoise_one_ways(
        [(Term(("a",), (Identity(len(values)),), np.array(values), deviation**2), even)]
    )
    assert np.all(term.values >= 0)
    assert np.all(term.values[~possible] == 0)
    assert term.values.sum() == pytest.approx(total)


@pytest.mark.parametrize(
    "answer",
    [-2.0, 0.3, 4.0, FAR_ANSWER_DEVIATIONS - 0.01, FAR_ANSWER_DEVIATIONS + 0.01, 40.0],
)
@pytest.mark.parametrize("mean", [0.5, 5.0])
def test_how_likely_answers_are_is_the_integral(answer, mean):
    """Of two answers in deviations of their noise, but for a factor that is the same
    for all shapes and answers.
    """
    look = _NoisyColumn(
        Term(("a",), (Identity(2),), np.array([answer, 1.0]), 1.0), np.full(2, mean)
    )
    some = [at for at, shape in enumerate(GAMMA_SHAPES) if 0.3 < shape < 10][::3]

    def integral(shape: float, y: float) -> float:
        points = sorted({1e-6, max(y - 4, 1e-5), max(y, 1e-4), max(y, 0) + 8})
        pieces = zip([0.0, *points], [*points, points[-1] + 40], strict=True)
        return sum(
            quad(
                lambda x: gamma.pdf(x, shape, scale=mean / shape) * norm.pdf(y - x),
                *ends,
            )[0]
            for ends in pieces
        )

    exact = np.array(
        [
            np.log(integral(GAMMA_SHAPES[at], answer))
            + np.log(integral(GAMMA_SHAPES[at], 1.0))
            for at in some
        ]
    )
    assert np.allclose(look.log_likelihoods[some], exact + np.log(2 * np.pi), atol=0.25)


def test_nothing_is_nothing():
    assert denoise_one_ways([]) == []


def test_a_table_declared_empty_has_empty_columns():
    with np.errstate(all="raise"):
        (found,) = denoise_one_ways(
            [
                (
                    Term(("a",), (Identity(3),), np.array([4.0, -2.0, 1.0]), 9.0),
                    np.zeros(3),
                )
            ]
        )
    assert found.values.tolist() == [0, 0, 0]


def test_very_many_values_are_denoised_on_a_grid_as_exactly(monkeypatch):
    """The same column with and without the grid of answers."""
    rng = np.random.default_rng(5)
    true = rng.gamma(0.3, 10.0, 400)
    even = np.full(400, true.sum() / 400)
    term = Term(("a",), (Identity(400),), true + rng.normal(0, 2, 400), 4.0)
    exact = denoise_one_ways([(term, even)])[0].values
    monkeypatch.setattr(one_way_prior, "MAX_EXACT_ANSWERS", 100)
    on_grid = denoise_one_ways([(term, even)])[0].values
    assert np.abs(on_grid - exact).max() < 1e-3
