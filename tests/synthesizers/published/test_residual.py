"""Residual: the closed form is the optimum, its prices are exact, and its variances
those of the estimate.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from kit.synthesizers.chains import (
    MODES,
    audited,
    chain,
    lost,
    pair_error,
    prices_add_up,
    ran,
)
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import Centring
from understudy.models.estimates.residuals import PooledResiduals
from understudy.synthesizers import Residual
from understudy.synthesizers.shared.residual_plan import ResidualPlan
from understudy.testing.conformance import CONFORMANCE_CHECKS, check_many_columns


@pytest.mark.usefixtures("shared_trials")
@pytest.mark.parametrize(
    "variant",
    [Residual(absolute=False), Residual(largest=0)],
    ids=["variance", "plain"],
)
def test_variants_conform(variant, open_curator):
    for judge in CONFORMANCE_CHECKS:
        if judge is not check_many_columns:
            judge(variant, open_curator)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(("delta", "accounting"), MODES)
def test_every_answer_is_paid_for_and_used(delta, accounting, neighbours, tmp_path):
    schema, rows = chain((2, 3, 2, 3, 2, 2))
    release, _ = ran(
        tmp_path,
        Residual(),
        schema,
        rows,
        epsilon="50",
        delta=delta,
        accounting=accounting,
        neighbours=neighbours,
    )
    prices_add_up(release, neighbours)
    assert (
        max(pair_error(release, rows, triple) for triple in combinations(schema, 3))
        < 0.06
    )


def test_few_valued_columns_are_measured_by_residuals(tmp_path):
    """All residuals of six binary columns up to triples, each once, and the total; as
    integers.
    """
    schema, rows = chain((2,) * 6)
    release, _ = ran(tmp_path, Residual(), schema, rows)
    asked = [m.clique for m in release.measurements]
    assert sorted(asked) == sorted(c for k in range(4) for c in combinations(schema, k))
    assert all(
        isinstance(axis, Centring) for m in release.measurements for axis in m.maps
    )
    pooled = PooledResiduals.of(schema, release.measurements)
    assert pooled.is_measured(("c0", "c1", "c2"))


def test_large_marginals_are_measured_as_they_are(tmp_path):
    schema, rows = chain((2, 2, 30, 30))
    release, _ = ran(tmp_path, Residual(limit=100_000), schema, rows)
    assert all(
        m.plain for m in release.measurements if np.prod(schema.sizes(m.clique)) > 64
    )


def plan(
    sizes,
    centred,
    *,
    neighbours=Neighbours.ADD_REMOVE,
    accounting=Accounting.GDP,
    order=2,
):
    schema, _ = chain(sizes, rows=1)
    wanted = dict.fromkeys(combinations(schema, order), 1.0)
    return ResidualPlan.of(
        schema, wanted, wanted if centred else (), neighbours, accounting
    )


@pytest.mark.parametrize("accounting", Accounting)
@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("absolute", [False, True])
def test_no_other_split_over_residuals_is_better(absolute, neighbours, accounting):
    """The closed form against two hundred splits nearby, on the very function it
    minimises.
    """
    best = plan((2, 3, 5, 4), True, neighbours=neighbours, accounting=accounting)
    best = best.minimise_l1_error(60) if absolute else best
    rng = np.random.default_rng(0)
    for spread in (0.03, 0.3):
        for _ in range(100):
            parts = best.parts * np.exp(rng.normal(0, spread, best.parts.size))
            other = ResidualPlan(
                best.schema,
                best.wanted,
                best.weights,
                best.questions,
                parts / parts.sum(),
                accounting,
            )
            assert other.error(absolute=absolute) >= best.error(absolute=absolute) * (
                1 - 1e-9
            )


@pytest.mark.parametrize(("count", "order", "gain"), [(15, 2, 1.32), (15, 3, 1.45)])
def test_binary_columns_gain_what_the_theory_says(count, order, gain):
    """Against the best split over the marginals themselves, once both are pooled by
    least squares.
    """
    plain, centred = (plan((2,) * count, c, order=order) for c in (False, True))
    assert plain.error() / centred.error() == pytest.approx(gain, abs=0.01)


@pytest.mark.parametrize(
    ("neighbours", "accounting"),
    [(Neighbours.REPLACE, Accounting.GDP), (Neighbours.ADD_REMOVE, Accounting.PURE)],
)
def test_where_residuals_do_not_help_they_are_not_used(
    neighbours, accounting, tmp_path
):
    schema, rows = chain((2,) * 5)
    delta = "0" if accounting is Accounting.PURE else "1e-9"
    release, _ = ran(
        tmp_path, Residual(), schema, rows, delta=delta, neighbours=neighbours
    )
    assert all(m.plain for m in release.measurements)


def test_expected_variances_are_those_of_least_squares(tmp_path):
    """A plan's forecast, scaled to the price that was paid, against the variance that
    pooling the answers reports.
    """
    schema, rows = chain((2, 3, 4))
    release, _ = ran(
        tmp_path, Residual(absolute=False, largest=1_000), schema, rows, epsilon="0.1"
    )
    wanted = {tuple(schema): 1.0}
    made = ResidualPlan.of(
        schema, wanted, wanted, Neighbours.ADD_REMOVE, Accounting.GDP
    )
    spent = float(sum(m.cost.amount for m in release.measurements))
    told = PooledResiduals.of(schema, release.measurements).variance(tuple(schema))
    assert told.max() == pytest.approx(made.variances()[tuple(schema)] / spent, rel=0.1)


@pytest.mark.parametrize("options", [{"largest": -1}, {"limit": 0}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(Refused, match="Nothing was spent"):
        Residual(**options)


def test_the_noise_is_what_was_paid_for(tmp_path):
    audited(tmp_path, Residual(), (6, 25, 30))


def test_the_noise_of_residuals_is_what_was_paid_for(tmp_path):
    """No cell of a centred table is exactly zero for being empty, so only halving
    shows: in 1,200 cells, always; in 180, mostly.
    """
    schema, rows = chain((30, 40), rows=300)
    release, _ = ran(tmp_path, Residual(largest=2_000), schema, rows)
    assert [m.values.size for m in release.measurements if not m.plain] == [
        30,
        40,
        1200,
    ]
    assert not lost(release, rows, Neighbours.ADD_REMOVE)
    assert lost(release, rows, Neighbours.ADD_REMOVE, mutant="halve")
