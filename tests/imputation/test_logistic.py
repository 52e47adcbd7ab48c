"""Labels by logistic regression: finite where labels separate, and rare ones stay rare."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from understudy.imputation.logistic import (
    LOGIT_GRADIENT_TOLERANCE,
    WeighedRows,
    _climb_likelihood,
    fit_logistic,
    list_added_rows,
)
from understudy.inference.matrix_threads import use_one_thread

ROWS, WIDTH = 1500, 40


@pytest.fixture(autouse=True)
def one_thread():
    """As masking does it: on a busy machine threads wait for each other."""
    with use_one_thread():
        yield


@pytest.fixture(scope="module")
def rare():
    """Labels of which one is that of twelve rows, and many predictors of none."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(ROWS, WIDTH))
    y = rng.integers(1, 3, size=ROWS)
    y[rng.choice(ROWS, 12, replace=False)] = 0
    return x, y


def find_share(model, x):
    return float(np.exp(model.log_chances(x))[:, 0].mean())


def test_a_rare_label_stays_rare(rare):
    x, y = rare
    share = 12 / ROWS
    model = fit_logistic(y, x)
    # The rows against separation have every label by its share, so none is added.
    assert find_share(model, x) == pytest.approx(share, rel=0.1)
    rng = np.random.default_rng(5)
    drawn = np.mean([find_share(model.draw_parameters(rng), x) for _ in range(40)])
    # Forty predictors of twelve rows fit each sample too well, which adds a quarter; a
    # normal draw of their coefficients makes the label three times as frequent.
    assert 0.8 * share < drawn < 1.6 * share


def test_rows_with_every_label_alike_make_it_frequent(rare):
    """The broken twin, which is what the literature has."""
    x, y = rare
    rows = WeighedRows.of(x, list_added_rows(x), y, 3)
    alike = replace(rows, shares=np.full(3, 1 / 3))
    factors = rows.find_factors()
    start = np.zeros((2, WIDTH + 1))
    center = _climb_likelihood(alike, start, factors, LOGIT_GRADIENT_TOLERANCE)
    found = replace(fit_logistic(y, x), coefficients=center)
    assert find_share(found, x) > 1.5 * 12 / ROWS


def test_drawn_coefficients_spread_as_the_information_says():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(1000, 2))
    y = (rng.random(1000) < 1 / (1 + np.exp(0.5 - x @ [1.0, -0.5]))).astype(int)
    model = fit_logistic(y, x)
    drawn = np.array([model.draw_parameters(rng).coefficients[0] for _ in range(300)])
    design = np.column_stack([np.ones(1000), x])
    chance = 1 / (1 + np.exp(-design @ model.center[0]))
    information = (design * (chance * (1 - chance))[:, None]).T @ design
    expected = np.sqrt(np.diag(np.linalg.inv(information)))
    # 300 draws: a deviation is known within 4 %; a bootstrap's own is a few more.
    assert drawn.std(axis=0) == pytest.approx(expected, rel=0.25)


def test_the_fit_is_that_of_statsmodels():
    from statsmodels.api import MNLogit, add_constant

    rng = np.random.default_rng(2)
    x = rng.normal(size=(2000, 3))
    odds = np.column_stack([np.zeros(2000), x @ [1, 0, -1], x @ [0.5, 1, 0]])
    y = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    peer = MNLogit(y, add_constant(x)).fit(disp=False)
    ours = fit_logistic(y, x).coefficients
    # The few rows against separation move an estimate by a part of its error.
    miss = np.abs(ours - peer.params.T) / peer.bse.T
    assert miss.max() < 0.3


def test_labels_that_a_predictor_separates_have_a_finite_model():
    x = np.linspace(-1, 1, 100)[:, None]
    model = fit_logistic((x[:, 0] > 0).astype(np.int64), x)
    rng = np.random.default_rng(1)
    for fitted in (model, model.draw_parameters(rng)):
        assert np.isfinite(fitted.coefficients).all()
        assert np.abs(fitted.coefficients).max() < 1000
        drawn = fitted.draw(x, rng)
        assert ((x[:, 0] > 0) == drawn).mean() > 0.7


def test_a_label_that_a_sample_loses_keeps_its_place():
    """One row in three samples is not drawn; the model still knows its label."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 1))
    y = np.zeros(60, np.int64)
    y[0] = 1
    model = fit_logistic(y, x)
    for _ in range(20):
        drawn = model.draw_parameters(rng)
        assert drawn.coefficients.shape == (1, 2)
        assert np.isfinite(drawn.coefficients).all()
