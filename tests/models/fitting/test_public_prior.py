"""A public table in a fit: believed as far as its paid distance allows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from kit.models.build import measured, schema_of
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.law import Law
from understudy.measurements import Distance, EstimateDistance, Measurements
from understudy.models.fitting.estimate import estimate_tree
from understudy.models.fitting.public_prior import prior_terms

SCHEMA = schema_of(2, 2, rows=1000)
GRID = 1024
PUBLIC = np.array([[400.0, 100.0], [100.0, 400.0]])


def gap(
    distance: float,
    *,
    noise: float = 1.0,
    public: bool = True,
    clique: tuple[str, ...] = ("a", "b"),
) -> EstimateDistance:
    cost = Cost(Accounting.GDP, Fraction(1))
    paid = Distance(
        clique,
        round(distance * GRID),
        GRID,
        Law.ROUNDED_GAUSSIAN,
        Fraction(round(noise * GRID)),
        cost,
    )
    table = PUBLIC if len(clique) == 2 else PUBLIC.sum(axis=1)
    return EstimateDistance(paid, np.rint(table * GRID).astype(np.int64), public=public)


def model(*gaps: EstimateDistance) -> np.ndarray:
    """What a fit makes of a noisy look that sees no dependence, and a public table that
    sees much.
    """
    looks = measured(("a", "b"), [[250, 250], [250, 250]], scale=100)
    return estimate_tree(SCHEMA, Measurements((looks,), gaps=gaps)).marginal(("a", "b"))


def test_a_near_public_table_is_believed() -> None:
    assert model(gap(10)) == pytest.approx(PUBLIC, abs=10)


def test_a_far_one_hardly_is() -> None:
    assert np.abs(model(gap(1500)) - 250).max() < 25


def test_a_distance_to_our_own_estimate_is_no_prior() -> None:
    assert model(gap(10, public=False)) == pytest.approx(np.full((2, 2), 250.0), abs=1)


def test_columns_of_a_clique_in_another_order_are_put_right() -> None:
    skew = np.array([[700.0, 100.0], [150.0, 50.0]])
    made = gap(10)
    turned = EstimateDistance(
        Distance(
            ("b", "a"),
            *[
                getattr(made.distance, f)
                for f in ("value", "grid", "law", "scale", "cost")
            ],
        ),
        np.rint(skew.T * GRID).astype(np.int64),
        public=True,
    )
    (term,) = prior_terms(SCHEMA, Measurements(gaps=(turned,)))
    assert term.clique == ("a", "b")
    assert term.values == pytest.approx(skew)


def test_a_distance_is_not_believed_beyond_its_noise() -> None:
    """A noisy distance below zero does not make a public table exact."""
    (term,) = prior_terms(SCHEMA, Measurements(gaps=(gap(-300, noise=100),)))
    assert term.variance == pytest.approx(100**2 / 8, rel=0.01)


def test_noisy_distances_are_drawn_to_their_mean() -> None:
    near, far = prior_terms(
        SCHEMA,
        Measurements(gaps=(gap(100, noise=300), gap(300, noise=300, clique=("a",)))),
    )
    assert near.variance == pytest.approx(212.1**2 / 8, rel=0.01), (
        "the mean, 200, is known to ± 212 only"
    )
    assert far.variance == pytest.approx(212.1**2 / 4, rel=0.01)
