"""Simulation: intervals from masked copies hold as often as they say, and da-mi keeps
estimates that a model which does not fit loses.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import understudy as us
from understudy.imputation.linear import fit_norm
from understudy.imputation.mask_strength import MaskStrength
from understudy.inference.combining_rules import (
    CombiningRule,
    CopyKind,
    combine_estimates,
)

REPETITIONS = 300


def make_congenial(rng, rows=500):
    z = np.round(rng.normal(size=rows), 2)
    x = np.round(z + rng.normal(size=rows), 2)
    y = np.round(1 + 0.5 * x - 0.5 * z + rng.normal(size=rows), 2)
    return pd.DataFrame({"x": x, "z": z, "y": y})


@pytest.mark.slow
def test_intervals_of_partial_copies_cover_what_they_say():
    """Congenial `norm`, five copies: .946 by the partial rule; Rubin's rule for imputed
    data, .987, is too wide.
    """
    rng = np.random.default_rng(1)
    covered = {CopyKind.PARTIAL: [], CopyKind.IMPUTED: []}
    truth = np.array([1.0, 0.5, -0.5])
    for seed in range(REPETITIONS):
        masked = us.mask(
            make_congenial(rng), replaced=["x"], method="norm+logit", seed=seed
        )
        fits = us.analyse(masked, "y ~ x + z").fits
        estimates = np.array([fit.estimates for fit in fits])
        variances = np.array([np.diag(fit.covariance) for fit in fits])
        for kind, hits in covered.items():
            low, high = combine_estimates(
                estimates, variances, CombiningRule(kind=kind)
            ).interval()
            hits.append((low < truth) & (truth < high))
    partial = np.mean(covered[CopyKind.PARTIAL])
    imputed = np.mean(covered[CopyKind.IMPUTED])
    # At worst the coefficients hit and miss together: five deviations of 300 draws.
    assert abs(partial - 0.946) < 5 * np.sqrt(0.95 * 0.05 / REPETITIONS)
    assert imputed > partial


TRUTH = np.array([1.0, 0.5, -0.5])
TABLE_REPETITIONS = 1000
MONTE_CARLO_ERROR = np.sqrt(0.95 * 0.05 / TABLE_REPETITIONS)


def fit_line(y, x, z):
    """Least squares of y on x and z: estimates and variances."""
    design = np.column_stack([np.ones(len(y)), x, z])
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ (design.T @ y)
    residual = ((y - design @ beta) ** 2).sum() / (len(y) - 3)
    return beta, residual * np.diag(inverse)


def draw_partial(models, z, y, rng, is_proper):
    model = models["x given all"]
    chosen = model.draw_parameters(rng) if is_proper else model
    return y, chosen.draw(np.column_stack([z, y]), rng), z


def draw_full(models, z, y, rng, is_proper):
    chosen = {
        name: model.draw_parameters(rng) if is_proper else model
        for name, model in models.items()
    }
    new_z = chosen["z"].draw(np.empty((len(z), 0)), rng)
    new_x = chosen["x"].draw(new_z[:, None], rng)
    new_y = chosen["y"].draw(np.column_stack([new_x, new_z]), rng)
    return new_y, new_x, new_z


@pytest.fixture(scope="module")
def fits_of_copies():
    """Estimates and variances of 20 copies of 1,000 tables, for each way to make them:
    one column for each table and coefficient.
    """
    rng = np.random.default_rng(7)
    ways = {
        (draw, is_proper): ([], [])
        for draw in (draw_partial, draw_full)
        for is_proper in (True, False)
    }
    for _ in range(TABLE_REPETITIONS):
        z = rng.normal(size=500)
        x = z + rng.normal(size=500)
        y = 1 + 0.5 * x - 0.5 * z + rng.normal(size=500)
        models = {
            "z": fit_norm(z, np.empty((500, 0))),
            "x": fit_norm(x, z[:, None]),
            "y": fit_norm(y, np.column_stack([x, z])),
            "x given all": fit_norm(x, np.column_stack([z, y])),
        }
        for (draw, is_proper), (estimates, variances) in ways.items():
            fits = [fit_line(*draw(models, z, y, rng, is_proper)) for _ in range(20)]
            estimates.append([beta for beta, _ in fits])
            variances.append([variance for _, variance in fits])
    return {
        way: tuple(np.hstack(np.array(part)) for part in parts)
        for way, parts in ways.items()
    }


def cover(fits, copies, kind, is_proper=True):
    estimates, variances = (part[:copies] for part in fits)
    rule = CombiningRule(kind=kind, proper=is_proper)
    low, high = combine_estimates(estimates, variances, rule).interval()
    truth = np.tile(TRUTH, TABLE_REPETITIONS)
    return np.mean((low < truth) & (truth < high))


@pytest.mark.slow
@pytest.mark.parametrize("is_proper", [True, False])
def test_right_rules_cover_as_often_as_they_say(fits_of_copies, is_proper):
    """A thousand repetitions, any number of copies: .935 to .954 were found before."""
    partial = fits_of_copies[draw_partial, is_proper]
    full = fits_of_copies[draw_full, is_proper]
    for copies in (2, 3, 5, 10, 20):
        found = cover(partial, copies, CopyKind.PARTIAL)
        # Two copies leave the variance between them to one degree of freedom.
        assert abs(found - 0.945) < 5 * MONTE_CARLO_ERROR, copies
    for copies in (1, 2, 3, 5, 10, 20):
        found = cover(full, copies, CopyKind.FULL, is_proper)
        assert abs(found - 0.95) < 5 * MONTE_CARLO_ERROR, copies


@pytest.mark.slow
def test_wrong_rules_do_not(fits_of_copies):
    """Rubin's rule on masked copies is too wide (.987 to .992); a full copy read as the
    sample holds .751 of the time, in theory P(|Z| < 1.96 / √3).
    """
    partial = fits_of_copies[draw_partial, True]
    for copies in (5, 10, 20):
        assert cover(partial, copies, CopyKind.IMPUTED) > 0.965
    full = fits_of_copies[draw_full, True]
    assert cover(full, 20, CopyKind.FULL_BETWEEN) > 0.965
    estimates, variances = (part[0] for part in full)
    miss = np.abs(estimates - np.tile(TRUTH, TABLE_REPETITIONS))
    as_real = np.mean(miss < 1.96 * np.sqrt(variances))
    assert abs(as_real - 0.742) < 5 * np.sqrt(0.742 * 0.258 / TABLE_REPETITIONS)


def make_misspecified(rng, rows=500):
    """The design of Jiang, Raftery, Steele, Wang 2022: x depends on z²."""
    z = rng.uniform(-2, 2, rows)
    a, b = rng.uniform(-0.5, 0.5, (2, rows))
    u = np.where(rng.random(rows) < 0.5, 2 * a, 2 * b)
    x1 = rng.normal(z**2 + 2 * a, 1)
    x2 = rng.random(rows) < expit(z**2 + x1**2 + x1 * z + u)
    o = 0.5 * (z + x1 + x2) + rng.normal(size=rows) > 0
    return pd.DataFrame(
        {
            "x1": np.round(x1, 2),
            "x2": np.where(x2, "b", "a"),
            "z": np.round(z, 2),
            "o": np.where(o, "yes", "no"),
        }
    )


DATA_SETS = 40
"""As many as the published figures rest on, so that both have the same error."""

WAYS = {
    "norm+logit": None,
    "cart": None,
    "da-mi, σ² = 1, α = 5": (1.0, 5.0),
    "da-mi, σ² = 3, α = 3": (3.0, 3.0),
    "da-mi, σ² = 5, α = 1": (5.0, 1.0),
}
"""Ways to mask, with σ² and α of the masks; K = 15."""

PUBLISHED_RMSE = {
    "norm+logit": (0.199, 0.131, 0.260),
    "cart": (0.100, 0.079, 0.246),
    "da-mi, σ² = 1, α = 5": (0.091, 0.060, 0.202),
    "da-mi, σ² = 3, α = 3": (0.093, 0.065, 0.199),
    "da-mi, σ² = 5, α = 1": (0.087, 0.062, 0.220),
}
"""Of z, x1 and x2 at M = 3."""

PUBLISHED_UNIQUES = dict(
    zip(PUBLISHED_RMSE, (0.001, 0.011, 0.021, 0.011, 0.007), strict=True)
)
COEFFICIENTS = ("z", "x1", "x2[T.b]")


def make_strength(table, variance, alpha):
    # Published in units of x1, and here in variances of a column.
    relative = variance / table.x1.var()
    return MaskStrength(copies=15, variance=relative, alpha=alpha)


@pytest.fixture(scope="module")
def figures_of_ways():
    """Squared errors of the coefficients, and the share of people found for certain, one
    row a data set.
    """
    rng = np.random.default_rng(2)
    errors, uniques = {way: [] for way in WAYS}, {way: [] for way in WAYS}
    for seed in range(DATA_SETS):
        table = make_misspecified(rng)
        for way, strength in WAYS.items():
            masked = us.mask(
                table,
                replaced=["x1", "x2"],
                method=way.split(",")[0],
                strength=strength and make_strength(table, *strength),
                copies=3,
                seed=seed,
            )
            fit = us.analyse(masked, "o ~ z + x1 + x2", family="probit")
            places = [fit.names.index(name) for name in COEFFICIENTS]
            errors[way].append((fit.combined.estimate[places] - 0.5) ** 2)
            uniques[way].append(masked.match_copies(radius={"x1": 0.1}).true_rate)
    return {way: (np.array(errors[way]), np.array(uniques[way])) for way in WAYS}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_the_published_figures_come_out(figures_of_ways, way):
    """RMSE and unique matches on the authors' design, to three Monte-Carlo errors of the
    difference between two simulations of forty data sets.
    """
    squares, uniques = figures_of_ways[way]
    rmse = np.sqrt(squares.mean(axis=0))
    error = squares.std(axis=0, ddof=1) / np.sqrt(DATA_SETS) / (2 * rmse)
    assert (np.abs(rmse - PUBLISHED_RMSE[way]) < 3 * np.sqrt(2) * error).all(), rmse
    unique_error = uniques.std(ddof=1) / np.sqrt(DATA_SETS)
    # The published shares have three digits.
    limit = 3 * np.sqrt(2) * unique_error + 0.0005
    assert abs(uniques.mean() - PUBLISHED_UNIQUES[way]) < limit, uniques.mean()


@pytest.mark.slow
def test_masks_keep_what_a_model_that_does_not_fit_loses(figures_of_ways):
    """Plain models that do not fit lose the coefficient of z, masks keep it; and they
    find more people.
    """
    rmse = {
        way: np.sqrt(squares.mean(axis=0)[0])
        for way, (squares, _) in figures_of_ways.items()
    }
    for way in list(WAYS)[2:]:
        assert rmse[way] < 0.75 * rmse["norm+logit"]
        assert figures_of_ways[way][1].mean() > figures_of_ways["norm+logit"][1].mean()
