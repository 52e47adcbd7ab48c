"""AIM: what it may choose from, how its rounds spend the budget, and what it learns."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from kit.models.build import listed, measured, schema_of
from kit.synthesizers.chains import chain_of_labels
from kit.synthesizers.watched import Watched
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.models.fitting.estimate import fit_measurements
from understudy.models.inference.junction_tree import forecast_cells
from understudy.notices import Notice, collect_notices
from understudy.schema import Integer, Schema
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.published.aim import AIM
from understudy.synthesizers.shared.candidate_pool import CandidatePool
from understudy.synthesizers.shared.noise_units import unit_noise
from understudy.workflow.synthesize import synthesize

RNG = np.random.default_rng(0)


def run(
    open_curator,
    synthesizer,
    *,
    epsilon=1,
    delta="1e-6",
    neighbours=Neighbours.ADD_REMOVE,
    order=3,
    table=None,
):
    schema, rows = table or chain_of_labels()
    curator = Watched(
        open_curator(
            schema,
            rows,
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
            neighbours=neighbours,
        )
    )
    found = synthesizer.measure(
        curator, Workload.of_order(schema, order), ignore_progress
    )
    return curator, found


def test_the_pool_is_the_downward_closure_with_the_papers_weights():
    schema = schema_of(2, 3, 4, 1)
    workload = Workload((("c", "a"), ("b", "c"), ("a", "b", "d")), (1.0, 2.0, 4.0))
    pool = CandidatePool.of(schema, workload, largest=11)
    small = {(name,) for name in "abc"} | {
        ("a", "b"),
        ("a", "c"),
    }  # b × c has 12 cells, d a single code
    assert set(pool.weights) == small
    for r, weight in pool.weights.items():
        assert weight == sum(
            c * len(set(r) & set(s))
            for s, c in zip(workload.cliques, workload.weights, strict=True)
        )


def test_what_nobody_asked_for_is_no_candidate():
    pool = CandidatePool.of(
        schema_of(2, 2, 2), Workload((("a", "b"), ("c",)), (1.0, 0.0)), largest=100
    )
    assert set(pool.weights) == {("a",), ("b",), ("a", "b")}


@pytest.mark.parametrize(
    ("neighbours", "delta"), [(n, d) for n in Neighbours for d in ("0", "1e-6")]
)
def test_all_is_spent_nine_parts_of_ten_on_marginals(neighbours, delta, open_curator):
    curator, found = run(open_curator, AIM(), neighbours=neighbours, delta=delta)
    assert 0 <= curator.share_left < Fraction(1, 1000)
    choosing = sum((c["paid"] for c in curator.chosen), Fraction(0))
    assert Fraction(1, 20) < choosing <= Fraction(1, 10)
    assert {m.clique for m in found if m.clique} == {
        r for cliques, _ in curator.measured for r in cliques if r
    }


def test_noise_only_falls_and_by_halves(open_curator):
    """Annealing: the scales of rounds are σ₀, σ₀/2, σ₀/4, …; only the last round has
    what is left.
    """
    _, found = run(open_curator, AIM())
    scales = [float(m.scale) for m in found if len(m.clique) >= 1][6:-1]
    ratios = np.log2(scales[0] / np.array(scales))
    assert np.all(np.diff(ratios) > -1e-3)
    assert ratios == pytest.approx(np.round(ratios), abs=1e-3)
    assert ratios[-1] >= 1


def test_it_asks_for_what_the_model_lacks(open_curator):
    """Neighbours in the chain depend on each other most: they are measured, and the
    model knows them.
    """
    schema, rows = chain_of_labels()
    _, found = run(open_curator, AIM(), epsilon=10, order=2)
    names = list(schema)
    assert {tuple(names[i : i + 2]) for i in range(5)} <= {m.clique for m in found}
    model = AIM().estimate(schema, found, RNG)
    for pair in [("a", "b"), ("a", "c"), ("e", "f")]:
        truth = np.zeros((3, 3))
        np.add.at(truth, tuple([int(v[1:]) for v in rows[name]] for name in pair), 1)
        assert np.abs(model.marginal(pair) - truth).sum() < 0.05 * 3000


def test_penalties_are_the_noise_that_then_comes(open_curator):
    """The penalty of a candidate is its size times the mean |noise| of the measurement
    that follows it.
    """
    curator, found = run(open_curator, AIM(picks=1))
    rounds = [m for m in found if m.clique][6:]
    assert len(rounds) == len(curator.chosen)
    for asked, bought in zip(curator.chosen[:-1], rounds, strict=False):
        assert bought.law is not Law.DISCRETE_LAPLACE
        at = list(asked["among"]).index(asked["picked"])
        expected = math.sqrt(2 / math.pi) * float(bought.scale) * bought.values.size
        assert asked["penalties"][at] == pytest.approx(expected, rel=1e-3)


def test_a_marginal_that_noise_would_drown_is_not_asked_about(open_curator):
    schema = schema_of(2, 2, 60, 60)
    draw = np.random.default_rng(0)
    rows = {
        n: [f"{n}{i}" for i in draw.integers(0, s, 500)]
        for n, s in zip(schema, (2, 2, 60, 60), strict=True)
    }
    curator, _ = run(open_curator, AIM(), table=(schema, rows))
    assert curator.chosen
    assert all(("c", "d") not in asked["among"] for asked in curator.chosen[:5])
    assert any(("a", "b") in asked["among"] for asked in curator.chosen)


def test_the_model_stays_within_its_size(open_curator):
    limit = 90  # a tree of all columns has 63 cells, and one triangle more has 27
    schema, rows = chain_of_labels(8)
    curator = open_curator(
        schema,
        rows,
        epsilon=Fraction(20),
        delta=Fraction("1e-6"),
        neighbours=Neighbours.ADD_REMOVE,
    )
    posted: list[Notice] = []
    with collect_notices(posted.append):
        found = AIM(cells=limit, picks=2).measure(
            curator, Workload.of_order(schema), ignore_progress
        )
    sizes = dict.fromkeys(schema, 3)
    assert forecast_cells([m.clique for m in found if m.clique], sizes) <= limit
    assert posted[-1].text.startswith(
        "Not modelled together, for size (more than 90 cells): "
    )
    assert any(len(m.clique) > 1 for m in found)


def test_one_candidate_is_measured_without_choosing(open_curator):
    """Two columns whose workload is one of them, and a limit that leaves nothing else."""
    schema = schema_of(3, 1)
    rows = {"a": ["a0", "a1"] * 30, "b": ["b0"] * 60}
    curator, found = run(open_curator, AIM(), table=(schema, rows))
    assert not curator.chosen
    assert curator.share_left < Fraction(1, 1000)
    assert ("a",) in {m.clique for m in found}


def test_one_column(open_curator):
    schema = schema_of(4)
    curator, found = run(
        open_curator, AIM(), table=(schema, {"a": ["a0", "a1", "a1"] * 40}), epsilon=5
    )
    assert not curator.chosen
    assert curator.share_left < Fraction(1, 1000)
    assert AIM().estimate(schema, found, RNG).marginal(("a",))[1] == pytest.approx(
        80, abs=20
    )


def test_nothing_can_vary_and_all_is_public(open_curator):
    """Columns of one code under replace: nothing to buy, and no endless search for it."""
    schema = schema_of(1, 1)
    curator, found = run(
        open_curator,
        AIM(),
        table=(schema, {"a": ["a0"] * 9, "b": ["b0"] * 9}),
        neighbours=Neighbours.REPLACE,
    )
    assert curator.share_left == 1
    assert AIM().estimate(schema, found, RNG).total == pytest.approx(9)


def test_few_candidates_at_a_time_still_reach_all():
    schema = schema_of(*[2] * 8)
    pool = CandidatePool.of(schema, Workload.of_order(schema, 2), largest=100)
    model = fit_measurements(
        schema, listed(*(measured((name,), [50, 50]) for name in schema))
    ).model
    seen = set()
    for _ in range(8):
        some = pool.candidates(model, room=1e6, noise=0.0, most=5)
        assert len(some) <= 5
        seen |= set(some)
        pool.held.append(("a",))
    assert seen == set(pool.weights)


def test_the_unit_of_noise_is_that_of_the_whole_budget(open_curator):
    for delta, power in (("0", 1.0), ("1e-6", 0.5)):
        schema, rows = chain_of_labels(2)
        ask = {
            "epsilon": Fraction(1),
            "delta": Fraction(delta),
            "neighbours": Neighbours.ADD_REMOVE,
        }
        part = open_curator(schema, rows, **ask).measure(
            [("a",), ("b",)], share=Fraction(1, 8), weights=[1, 3]
        )
        whole = open_curator(schema, rows, **ask).measure([("a",)], share=1)
        mean = float(whole[0].scale) * (1 if power == 1 else math.sqrt(2 / math.pi))
        assert unit_noise(part, Fraction(1, 8), power) == pytest.approx(mean, rel=0.15)


def test_wide_tables_are_no_trouble(open_curator):
    """Forty columns of ten codes, and rows enough that triples would pay: the model
    keeps its limit.
    """
    draw = np.random.default_rng(2)
    schema = Schema(
        columns=tuple(
            Integer(name=f"q{i}", min=0, max=9, nullable=False) for i in range(40)
        )
    )
    base = draw.integers(0, 10, 400)
    rows = {
        name: np.where(draw.random(400) < 0.5, base, draw.integers(0, 10, 400)).tolist()
        for name in schema
    }
    aim = AIM(cells=5_000, rounds=1)
    curator, found = run(open_curator, aim, table=(schema, rows), epsilon=3)
    assert curator.share_left < Fraction(1, 1000)
    assert aim.estimate(schema, found, RNG).cells <= 5_000


@pytest.mark.parametrize("method", ["aim", "privmrf"])
@pytest.mark.parametrize("accounting", ["pure", "gdp", "zcdp"])
def test_whole_runs_in_every_accounting(accounting, method, tmp_path):
    """The release stands for what was asked, nearly all of it spent, and its rows
    follow the chain.
    """
    schema, rows = chain_of_labels(3, rows=2000)
    release = synthesize(
        pa.table(rows),
        schema,
        epsilon=4,
        delta="1e-6",
        synthesizer=method,
        accounting=accounting,
        ledger=tmp_path / "book",
    )
    assert release.guarantee.epsilon == 4
    assert release.synthesizer == method
    pair = release.model.marginal(("a", "b"))
    assert np.trace(pair) > 0.7 * pair.sum()


def test_batches(open_curator):
    """Four choices by the same estimates, then one fit; never a marginal twice in a
    batch.
    """
    curator, _ = run(open_curator, AIM(picks=4), epsilon=4, order=2)
    batches = [curator.chosen[i : i + 4] for i in range(0, len(curator.chosen), 4)]
    assert len(batches) >= 2
    for batch in batches[:-1]:
        assert len({asked["picked"] for asked in batch}) == 4
        assert all(
            batch[0]["among"][r] is asked["among"][r]
            for asked in batch
            for r in asked["among"]
        )


@pytest.mark.parametrize(
    "options",
    [
        {"selection": 0.1},
        {"selection": Fraction(1)},
        {"rounds": 0},
        {"cells": 0},
        {"picks": -1},
    ],
)
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(Refused, match="Nothing was spent"):
        AIM(**options)
