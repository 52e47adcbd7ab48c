"""Propensity scores: their ends, their law under chance, and both models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from kit.people import made, table
from understudy.evaluation.utility.propensity import (
    assess_propensity,
    cart_propensity,
    logistic_propensity,
    logistic_scores,
    propensity_mean_square,
)
from understudy.findings import Unavailable


def test_u_p_by_hand() -> None:
    apart = np.array([False, True])
    assert propensity_mean_square(np.array([0.5, 0.5]), apart) == 0
    assert propensity_mean_square(np.array([0.25, 0.75]), apart) == pytest.approx(
        1 / 16
    )


def test_a_saturated_logistic_model_fits_the_shares() -> None:
    # x = 0: 3 of 4 rows synthetic; x = 1: 1 of 4. The fit is those shares, so U_p =
    # 1/16.
    matrix = np.repeat([[0.0], [1.0]], 4, axis=0)
    synthetic = np.array([1, 1, 1, 0, 1, 0, 0, 0], bool)
    scores, parameters = logistic_scores(matrix, synthetic)
    assert parameters == 2
    assert scores == pytest.approx([0.75] * 4 + [0.25] * 4, abs=1e-8)
    assert logistic_propensity(matrix, synthetic).pmse == pytest.approx(1 / 16)


def test_it_agrees_with_statsmodels() -> None:
    import statsmodels.api as sm

    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(400, 5))
    synthetic = rng.random(400) < 1 / (1 + np.exp(-matrix[:, 0]))
    reference = (
        sm.Logit(synthetic.astype(float), sm.add_constant(matrix)).fit(disp=0).predict()
    )
    assert logistic_scores(matrix, synthetic)[0] == pytest.approx(reference, abs=1e-6)


def test_collinear_columns_count_once() -> None:
    rng = np.random.default_rng(2)
    column = rng.normal(size=(100, 1))
    assert (
        logistic_scores(
            np.hstack([column, 2 * column, column + 1]), rng.random(100) < 0.5
        )[1]
        == 2
    )


@pytest.mark.parametrize("method", ["logistic", "cart"])
def test_tables_with_nothing_in_common_reach_the_end_of_the_scale(method: str) -> None:
    first = [(10, "F", "none", 5.0, False)] * 100
    second = [(90, "M", "high", 900.0, True)] * 100
    found = assess_propensity(
        table(first).records(),
        table(second).records(),
        method,
        rng=np.random.default_rng(1),
    )
    assert found.value == pytest.approx(0.25, abs=1e-6)
    assert found.worst == 0.25


def test_under_chance_the_standardised_score_has_the_law_the_formula_says() -> None:
    """Rows drawn from the real table have mean 1, a second sample has mean 2, and a
    shifted table is far outside.
    """
    rng = np.random.default_rng(3)
    runs, columns, rows = 150, 8, 500
    labels = np.repeat([False, True], rows)
    drawn, second = [], []
    for _ in range(runs):
        real = rng.normal(size=(rows, columns))
        drawn.append(
            logistic_propensity(
                np.vstack([real, real[rng.integers(0, rows, rows)]]), labels
            ).ratio
        )
        second.append(
            logistic_propensity(
                np.vstack([real, rng.normal(size=(rows, columns))]), labels
            ).ratio
        )
    limit = norm.isf(0.5e-6)
    # pMSE / E is chi-square over its degrees of freedom: variance 2/8. The formula
    # itself is of first order in 1/N: 3 % is left to it.
    spread = np.sqrt(2 / columns / runs)
    assert abs(np.mean(drawn) - 1) < limit * spread + 0.03
    assert abs(np.mean(second) - 2) < 2 * (limit * spread + 0.03)
    # The broken twin: each column shifted by a third of its spread.
    shifted = np.vstack(
        [rng.normal(size=(rows, columns)), rng.normal(size=(rows, columns)) + 0.3]
    )
    assert logistic_propensity(shifted, labels).z > limit


def test_a_tree_sees_what_a_linear_model_cannot() -> None:
    rng = np.random.default_rng(4)
    real = rng.normal(size=(600, 2))
    real[:, 1] = np.abs(real[:, 0]) + rng.normal(0, 0.1, 600)  # V-shaped
    fake = np.column_stack(
        [rng.normal(size=600), np.abs(rng.normal(size=600)) + rng.normal(0, 0.1, 600)]
    )
    matrix, labels = np.vstack([real, fake]), np.repeat([False, True], 600)
    assert abs(logistic_propensity(matrix, labels).z) < 5
    assert cart_propensity(matrix, labels, rng=rng, shuffles=20).ratio > 3


def test_a_sample_of_the_same_people_is_not_told_apart_and_shuffled_columns_are() -> (
    None
):
    here = table(made(1500, 1)).records()
    rng = np.random.default_rng(5)
    same = assess_propensity(
        here, table(made(1500, 2)).records(), "cart", rng=rng, shuffles=20
    )
    other = assess_propensity(
        here,
        table(made(1500, 3, related=False)).records(),
        "cart",
        rng=rng,
        shuffles=20,
    )
    assert same.facts["standardised"] < 1.5
    assert other.facts["standardised"] > 3


def test_too_little_to_tell() -> None:
    few, many = table(made(5, 1)).records(), table(made(50, 1)).records()
    with pytest.raises(Unavailable, match="ten rows"):
        assess_propensity(few, many, "logistic", rng=np.random.default_rng(0))
    same = table([(5, "F", "low", 3.0, True)] * 20).records()
    for method in ("logistic", "cart"):
        with pytest.raises(Unavailable, match="varies"):
            assess_propensity(same, same, method, rng=np.random.default_rng(0))
