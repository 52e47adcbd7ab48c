"""MWEM+PGM: rounds that are paid for, models that stay small, and the marginal that is
served worst.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from kit.synthesizers.chains import (
    MODES,
    audited,
    chain,
    pair_error,
    prices_add_up,
    ran,
)
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.models.inference.junction_tree import forecast_cells
from understudy.notices import Notice, NoticeKind, collect_notices
from understudy.synthesizers import MWEMPGM, Workload
from understudy.synthesizers.budget_split import TreeGrowth, mean_noise, scale_at
from understudy.synthesizers.published.mwem_pgm import (
    candidates_within_cap,
    workload_candidates,
)
from understudy.testing.conformance import CONFORMANCE_CHECKS, check_many_columns


@pytest.mark.usefixtures("shared_trials")
@pytest.mark.parametrize(
    "variant", [MWEMPGM(start=False), MWEMPGM(rounds=1)], ids=["paper", "one round"]
)
def test_variants_conform(variant, open_curator):
    for judge in CONFORMANCE_CHECKS:
        if judge is not check_many_columns:
            judge(variant, open_curator)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(("delta", "accounting"), MODES)
def test_rounds_are_paid_for_and_the_model_learns(
    delta, accounting, neighbours, tmp_path
):
    schema, rows = chain((2, 3, 4, 3, 2))
    release, _ = ran(
        tmp_path,
        MWEMPGM(),
        schema,
        rows,
        epsilon="50",
        delta=delta,
        accounting=accounting,
        neighbours=neighbours,
    )
    prices_add_up(release, neighbours)
    asked = Counter(step.asked for step in release.statement.steps if step.cost.amount)
    assert asked == {"choice": 5, "marginals": 6}
    assert (
        max(pair_error(release, rows, pair) for pair in combinations(schema, 2)) < 0.06
    )


def test_what_is_known_already_is_not_chosen(tmp_path):
    """c0, c1, c2 say the same and c3, c4 nothing: one of three rounds buys the triple,
    and it is the first.
    """
    schema, rows = chain((4, 4, 4, 2, 2), keep=1.0)
    release, _ = ran(tmp_path, MWEMPGM(rounds=3), schema, rows, epsilon="30")
    first = next(m.clique for m in release.measurements if len(m.clique) == 3)
    assert first == ("c0", "c1", "c2")


def test_rounds_share_the_budget(tmp_path):
    schema, rows = chain((2, 3, 4, 3))
    release, _ = ran(
        tmp_path, MWEMPGM(rounds=4, selection=Fraction(1, 4)), schema, rows
    )
    shares = [float(step.share) for step in release.statement.steps]
    assert shares[0] == pytest.approx(1 / 5, rel=1e-3)
    assert shares[1:] == pytest.approx([0.05, 0.15] * 4, rel=0.01)


def test_the_model_stays_below_its_cap(tmp_path):
    schema, rows = chain((12,) * 6, rows=500)
    release, _ = ran(tmp_path, MWEMPGM(limit=4_000), schema, rows)
    cliques = [m.clique for m in release.measurements]
    assert forecast_cells(cliques, dict.fromkeys(schema, 12)) <= 4_000
    assert any(len(c) > 1 for c in cliques)
    prices_add_up(release, Neighbours.ADD_REMOVE)


def test_candidates_beyond_any_model_are_named():
    posted: list[Notice] = []
    schema, _ = chain((30, 30, 2, 2), rows=1)
    with collect_notices(posted.append):
        wanted = workload_candidates(schema, Workload.of_order(schema, 2), 200)
    assert ("c0", "c1") not in wanted
    assert ("c2", "c3") in wanted
    (notice,) = posted
    assert notice.kind is NoticeKind.TOO_LARGE
    assert notice.columns == ("c0", "c1")
    assert (
        notice.text == "Not modelled together, for size (more than 200 cells): c0 × c1."
    )


def test_where_nothing_fits_single_columns_get_everything(tmp_path):
    schema, rows = chain((20, 20, 20), rows=300)
    release, _ = ran(tmp_path, MWEMPGM(limit=100), schema, rows)
    assert [m.clique for m in release.measurements] == [("c0",), ("c1",), ("c2",)]
    prices_add_up(release, Neighbours.ADD_REMOVE)


def test_a_large_workload_becomes_pairs():
    schema, _ = chain((2,) * 20, rows=1)
    assert set(workload_candidates(schema, Workload.of_order(schema, 3), 10**6)) == set(
        combinations(schema, 2)
    )


def test_the_cap_gives_way_before_nothing_is_left():
    growth = TreeGrowth({"a": 10, "b": 10, "c": 10})
    assert candidates_within_cap(growth, {("a", "b"): 1.0}, 50, 500) == [("a", "b")]
    growth.add(("a", "b"))
    assert candidates_within_cap(
        growth, {("a", "b"): 1.0, ("b", "c"): 1.0}, 150, 500
    ) == [("a", "b")]


@pytest.mark.parametrize(("delta", "accounting"), MODES)
def test_the_penalty_is_the_noise_that_comes(delta, accounting, tmp_path):
    """The scale foretold from the first answers is that of the later ones, and the mean
    of |noise| follows from it.
    """
    schema, rows = chain((3, 4, 3), rows=300)
    release, _ = ran(
        tmp_path, MWEMPGM(rounds=2), schema, rows, delta=delta, accounting=accounting
    )
    singles = release.measurements[:3]
    later = release.measurements[3]
    run = later.cost.accounting
    foretold = scale_at(run, singles, Fraction(1, 3) * Fraction(9, 10), Fraction(1, 3))
    assert foretold == pytest.approx(float(later.scale), rel=1e-3)
    rng = np.random.default_rng(0)
    drawn = (
        rng.laplace(0, foretold, 10**6)
        if delta == "0"
        else rng.normal(0, foretold, 10**6)
    )
    assert mean_noise(run, foretold) == pytest.approx(
        float(np.abs(drawn).mean()), rel=0.01
    )


@pytest.mark.parametrize(
    "options", [{"rounds": 0}, {"selection": 0}, {"selection": 1}, {"limit": 0}]
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(Refused, match="Nothing was spent"):
        MWEMPGM(**options)


def test_the_noise_is_what_was_paid_for(tmp_path):
    audited(tmp_path, MWEMPGM(rounds=2), (25, 30, 25))
