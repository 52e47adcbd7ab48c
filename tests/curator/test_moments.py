"""Moments of a run: they move as far as their price assumes, are charged before they are
drawn, and are those of the rows.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from kit.curator.contexts import context_of, no_noise
from kit.plans import halve_noise, neighbouring_tables
from kit.privacy.audit import gdp
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.curator.moments import measure_moments
from understudy.noise import draw_noise
from understudy.schema import Schema
from understudy.toolbox.moments import plan_moments

SMALL = Schema.parse(
    """
columns:
  x: {type: integer, min: 0, max: 2, nullable: true}
  g: {type: categorical, values: [a, b], nullable: false}
  y: {type: integer, min: -1, max: 3, nullable: false}
"""
)
WIDE = Schema.parse(
    """
columns:
  y: {type: real, min: 0, max: 90000000, step: 0.01}
"""
)
"""Squares of its lattice indices exceed what noise is drawn for, so they are rounded."""


@pytest.mark.parametrize("relation", Neighbours)
@pytest.mark.parametrize(
    ("formula", "schema", "rows"),
    [
        (
            "y ~ x + g",
            SMALL,
            [
                {"x": x, "g": g, "y": y}
                for x, g, y in product((None, 0, 2), "ab", (-1, 0, 3))
            ],
        ),
        (
            "y ~ 1",
            WIDE,
            [{"y": y} for y in (None, 0.0, 45000000.01, 90000000.0)],
        ),
    ],
)
def test_no_neighbour_moves_a_moment_by_more_than_its_price_assumes(
    formula, schema, rows, relation
):
    """ε = Δ/scale in a pure run and the parts are equal, so scale · ε / parts tells which
    Δ the price assumed.
    """
    plan = plan_moments(formula, schema)
    largest = np.zeros(len(plan.plan.statistics))
    measured = {}
    for table in [[], *([row] for row in rows)]:
        context = context_of(
            table,
            schema,
            neighbours=relation,
            accounting=Accounting.PURE,
            delta=0,
            noise=no_noise,
        )
        measured[str(table)] = measure_moments(context, plan, Fraction(1))
    for one, other in neighbouring_tables(rows, relation, most_rows=1):
        here, there = measured[str(one)], measured[str(other)]
        moved = [abs(a - b) for a, b in zip(here.values, there.values, strict=True)]
        largest = np.maximum(largest, moved)
    parts = len(here.values)
    assumed = [float(scale * here.cost.amount / parts) for scale in here.scales]
    assert (largest <= assumed).all()
    # Nothing is paid for that cannot happen, but for rounding to steps.
    assert largest == pytest.approx(assumed, rel=1e-6)


def test_sums_beyond_the_widest_noise_are_exact_to_a_tiny_part_of_it():
    rows = [{"y": y} for y in (12345678.9, 87654321.01, 0.0)]
    plan = plan_moments("y ~ 1", WIDE)
    found = measure_moments(
        context_of(rows, WIDE, noise=no_noise), plan, Fraction(1, 1000)
    )
    filled = plan.fill(found.values)
    scaled = (np.array([row["y"] for row in rows]) - 45000000.0) / 45000000.0
    assert filled[1, 1] == pytest.approx((scaled**2).sum(), rel=1e-6)
    spreads = np.sqrt(plan.fill_variances([float(s) ** 2 for s in found.scales]))
    # In units of the half range every moment has the same noise.
    assert spreads == pytest.approx(np.full((2, 2), spreads[0, 0]), rel=1e-3)


def test_it_is_charged_for_at_most_its_amount_and_named():
    rows = [{"x": 1, "g": "a", "y": 2}]
    context = context_of(rows, SMALL, accounting=Accounting.GDP)
    found = measure_moments(
        context, plan_moments("y ~ x + g", SMALL), Fraction(1, 1000)
    )
    assert context.payments.charges == [("moments", found.cost)]
    assert 0 < found.cost.amount <= Fraction(1, 1000)


def audit_moments(draw, trials=800):
    """The best linear test between a table and one row more, in the corner of the bounds
    where every moment moves at once.

    800 trials put the bound for half of the noise 8 standard deviations above the claim.
    """
    plan = plan_moments("y ~ 1", SMALL)
    corner = {"x": 2, "g": "b", "y": 3}
    tables = [{"x": 0, "g": "a", "y": 0}], [{"x": 0, "g": "a", "y": 0}, corner]
    claim = Fraction(4)
    exact, scores = [], []
    for rows in tables:
        context = context_of(rows, SMALL, epsilon=100, noise=no_noise)
        exact.append(np.array(measure_moments(context, plan, claim).values))
    scales = np.array([float(s) for s in measure_moments(context, plan, claim).scales])
    direction = (exact[1] - exact[0]) / scales**2
    for rows in tables:
        drawn = [
            measure_moments(
                context_of(rows, SMALL, epsilon=100, noise=draw), plan, claim
            )
            for _ in range(trials)
        ]
        scores.append(np.array([np.dot(direction, each.values) for each in drawn]))
    middle = float(direction @ (exact[0] + exact[1])) / 2
    return gdp(*scores, 2.0, at=middle)


def test_an_audit_does_not_refute_the_charge_and_refutes_half_of_the_noise():
    assert not audit_moments(draw_noise).violated
    assert audit_moments(halve_noise).violated
