"""PrivBayes: useful tables, the paper's noise, the right parents, a budget that is
used, and noise on every cell.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from kit.curator.contexts import UnchargedRun
from kit.curator.listed import Listed
from kit.models.build import schema_of, surprising
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator import Curator, CuratorView, MechanismContext, Payments
from understudy.curator.mechanisms.scores import CHOICE_SCORES, score_dependence
from understudy.curator.mechanisms.scores import (
    dependence_sensitivity as SENSITIVITY_OF_R,
)
from understudy.errors import Refused
from understudy.models import NetworkModel, TreeModel
from understudy.noise import draw_noise
from understudy.schema import Boolean, Schema, Unit
from understudy.schema.columns.discrete import Identifier
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.published import privbayes_network as module
from understudy.synthesizers.published.privbayes import PrivBayes
from understudy.synthesizers.published.privbayes_network import largest_sets
from understudy.testing import conformance

RNG = np.random.default_rng(0)

VARIANTS = {
    "default": PrivBayes(),
    "pgm": PrivBayes(pgm=True),
    "l1": PrivBayes(score="l1", theta=1.0),
    "no parents": PrivBayes(k=0),
    "one parent": PrivBayes(k=1, clip=True),
    "half": PrivBayes(beta=Fraction(1, 2), theta=0.5),
}

FAST = [
    judge
    for judge in conformance.CONFORMANCE_CHECKS
    if judge is not conformance.check_many_columns
]


@pytest.mark.usefixtures("shared_trials")
@pytest.mark.parametrize("variant", [name for name in VARIANTS if name != "default"])
def test_conforms(variant, open_curator):
    """The default is judged with all others, in tests/testing/test_conformance.py."""
    for judge in FAST:
        judge(VARIANTS[variant], open_curator)


class Counted:
    """A curator of a list of rows, its questions written down."""

    def __init__(
        self,
        schema: Schema,
        rows: Sequence[Mapping[str, object]],
        *,
        epsilon: object = 1,
        delta: object = 0,
        neighbours: Neighbours = Neighbours.REPLACE,
        accounting: Accounting | None = None,
        noise: object = draw_noise,
    ) -> None:
        budget = Budget.of(epsilon, delta)
        filter = Filter.of(budget, accounting=accounting, threshold_delta=Fraction(0))
        context = MechanismContext(
            table=Listed(rows, schema),
            payments=Payments(UnchargedRun(), filter),
            neighbours=neighbours,
            accounting=filter.accounting,
            epsilon=budget.epsilon,
            max_rows=schema.unit.max_rows,
            draw=noise,
        )
        self.curator = Curator(context, schema)
        self.curator.hand_over()
        self.choices: list[tuple[str, list[tuple[str, ...]]]] = []

    def __getattr__(self, name: str) -> object:
        return getattr(self.curator, name)

    def choose(self, estimates, **options):
        self.choices.append((options["score"], list(estimates)))
        return CuratorView(self.curator).choose(estimates, **options)

    def run(self, synthesizer: PrivBayes):
        return synthesizer.measure(
            self, Workload.of_order(self.curator.schema), ignore_progress
        )


def coins(count: int) -> Schema:
    return Schema(
        columns=tuple(Boolean(name=name, nullable=False) for name in "abcdefgh"[:count])
    )


def chain(schema: Schema, rows: int, seed: int = 1) -> list[dict[str, bool]]:
    """Each column repeats the one before it, nine times out of ten."""
    rng = np.random.default_rng(seed)
    columns = [rng.random(rows) < 0.5]
    for _ in list(schema)[1:]:
        columns.append(columns[-1] ^ (rng.random(rows) < 0.1))
    return [
        {n: bool(c[i]) for n, c in zip(schema, columns, strict=True)}
        for i in range(rows)
    ]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_tables_and_noise_are_the_papers(k):
    """d − k tables of k + 1 columns, discrete Laplace noise of scale 2(d − k)/ε₂ on
    each.
    """
    schema = coins(5)
    curator = Counted(schema, chain(schema, 50), epsilon=2)
    found = [m for m in curator.run(PrivBayes(k=k)) if m.clique]
    assert len(found) == 5 - k
    for m in found:
        assert len(m.clique) == k + 1
        assert m.law is Law.DISCRETE_LAPLACE
        assert 0 <= m.scale - 2 * (5 - k) / Fraction(14, 10) < Fraction(1, 2**18)
    assert [score for score, _ in curator.choices] == ["R"] * len(curator.choices)


@pytest.mark.parametrize(
    ("rows", "epsilon"), [(20, 1), (200, 1), (1000, 1), (1000, 8), (4000, 1)]
)
def test_the_number_of_parents_is_the_largest_useful_one(rows, epsilon):
    """For two-valued columns: the largest k with n·ε₂/((d − k)·2^(k+2)) ≥ θ, ε₂ being
    what is left after the first column.
    """
    d = 6
    schema = coins(d)
    curator = Counted(schema, chain(schema, rows), epsilon=epsilon)
    found = curator.run(PrivBayes())
    left = epsilon * 0.7 * (d - 1) / d
    useful = [k for k in range(1, d) if rows * left / ((d - k) * 2 ** (k + 2)) >= 4]
    assert max(len(m.clique) for m in found) == 1 + max(useful, default=0)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_average_cells_stand_out_from_their_noise(neighbours, delta):
    """θ-usefulness in a table of mixed sizes, told from the scales that were really
    used; and it is not needlessly shy.
    """
    schema = schema_of(2, 3, 4, 5, 30)
    rng = np.random.default_rng(2)
    rows = [
        {n: f"{n}{rng.integers(schema.codecs[n].size)}" for n in schema}
        for _ in range(1500)
    ]
    curator = Counted(schema, rows, epsilon=4, delta=delta, neighbours=neighbours)
    found = [m for m in curator.run(PrivBayes(theta=3.0)) if len(m.clique) > 1]
    assert found
    mean = 1 if delta == 0 else math.sqrt(2 / math.pi)
    useful = [1500 / m.values.size / (mean * float(m.scale)) for m in found]
    assert (
        min(useful) > 3 * 0.8
    )  # fewer or more tables than forecast, and a number of rows that is itself an estimate
    assert max(m.values.size for m in found) >= 12


@pytest.mark.parametrize("score", ["R", "I", "F", "l1"])
def test_every_score_finds_the_chain(score):
    schema = coins(5)
    curator = Counted(schema, chain(schema, 4000), epsilon=50)
    model = PrivBayes(k=1, score=score).estimate(
        schema, curator.run(PrivBayes(k=1, score=score)), RNG
    )
    links = {frozenset((n.column, *n.parents)) for n in model.nodes if n.parents}
    assert links == {frozenset(pair) for pair in ("ab", "bc", "cd", "de")}


def test_dependence_inside_the_parents_is_no_dependence_on_them():
    """b copies a; c depends on d alone. Against single columns (c; a, b) would look
    best; against the network so far it does not.
    """
    schema = coins(4)
    rng = np.random.default_rng(3)
    a, d = rng.random(4000) < 0.5, rng.random(4000) < 0.5
    c = d ^ (rng.random(4000) < 0.3)
    rows = [
        {"a": bool(x), "b": bool(x), "c": bool(y), "d": bool(z)}
        for x, y, z in zip(a, c, d, strict=True)
    ]
    curator = Counted(schema, rows, epsilon=50, neighbours=Neighbours.ADD_REMOVE)
    found = curator.run(PrivBayes(k=2))
    last = found[-1].clique
    assert {"c", "d"} <= set(last)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(
    ("accounting", "delta"),
    [(Accounting.PURE, 0), (Accounting.GDP, "1e-6"), (Accounting.ZCDP, "1e-6")],
)
@pytest.mark.parametrize("options", [{}, {"k": 2}, {"theta": 100.0}], ids=str)
def test_the_budget_is_used_and_not_exceeded(neighbours, accounting, delta, options):
    schema = coins(4)
    curator = Counted(
        schema,
        chain(schema, 300),
        delta=delta,
        neighbours=neighbours,
        accounting=accounting,
    )
    found = curator.run(PrivBayes(**options))
    assert 0 <= curator.share_left <= Fraction(1, 100)
    laws = {
        Accounting.PURE: Law.DISCRETE_LAPLACE,
        Accounting.GDP: Law.ROUNDED_GAUSSIAN,
        Accounting.ZCDP: Law.DISCRETE_GAUSSIAN,
    }
    assert {m.law for m in found if m.clique} == {laws[accounting]}
    spent = sum(cost.amount for _, cost in curator.charges)
    tables = sum(m.cost.amount for m in found)
    choices = sum(cost.amount for what, cost in curator.charges if "choice" in what)
    assert spent == tables + choices
    assert choices <= (spent / (1 - curator.share_left)) * Fraction(3, 10)


@pytest.mark.parametrize("neighbours", Neighbours)
def test_every_cell_is_noised(neighbours):
    """Noise that is always 7 shows in every cell of every table, the empty ones too;
    sevenfold on none and missing on none.
    """
    schema = schema_of(2, 3, 4)
    rows = [{"a": "a0", "b": f"b{i % 2}", "c": "c1"} for i in range(400)]
    seven = Counted(
        schema,
        rows,
        epsilon=4,
        neighbours=neighbours,
        noise=lambda law, scale, shape: np.full(shape, 7),
    )
    for m in seven.run(PrivBayes()):
        (exact,) = Listed(rows, schema).counts([m.clique])
        if m.clique:
            assert np.all(m.values - exact == 7)
            assert m.scale > 0
        else:
            assert neighbours is Neighbours.REPLACE


@pytest.mark.parametrize("score", ["R", "I", "F"])
def test_scores_of_shares_are_refused_where_the_number_of_rows_is_private(score):
    schema = coins(3)
    curator = Counted(schema, chain(schema, 20), neighbours=Neighbours.ADD_REMOVE)
    with pytest.raises(Refused, match=f"score {score} needs a public number of rows"):
        curator.run(PrivBayes(score=score))
    assert curator.share_left == 1
    with pytest.raises(
        Refused, match=f"score {score} needs a public number of rows.*Nothing was spent"
    ):
        PrivBayes(score=score).check_neighbours(Neighbours.ADD_REMOVE)
    PrivBayes(score=score).check_neighbours(Neighbours.REPLACE)
    PrivBayes().check_neighbours(Neighbours.ADD_REMOVE)
    units = Schema(
        columns=(*schema.columns, Identifier(name="who")),
        unit=Unit(id="who", max_rows=2),
    )
    several = Counted(
        units, [{**row, "who": i} for i, row in enumerate(chain(schema, 20))]
    )
    with pytest.raises(Refused, match="public number of rows"):
        several.run(PrivBayes(score=score))
    assert several.share_left == 1
    with pytest.raises(
        Refused, match=r"public number of rows.*Use score l1. Nothing was spent"
    ):
        PrivBayes(score=score).check(units, delta=Fraction(0))
    PrivBayes().check(units, delta=Fraction(0))


def test_units_of_several_rows_are_served_by_l1():
    schema = coins(3)
    units = Schema(
        columns=(*schema.columns, Identifier(name="who")),
        unit=Unit(id="who", max_rows=2),
    )
    curator = Counted(
        units,
        [{**row, "who": i} for i, row in enumerate(chain(schema, 300))],
        epsilon=10,
    )
    curator.run(PrivBayes(k=1))
    assert {score for score, _ in curator.choices} == {"l1"}


def test_determination_is_refused_for_columns_that_are_no_coins():
    with pytest.raises(Refused, match=r"b: score F needs .*Nothing was spent"):
        PrivBayes(score="F").check(schema_of(2, 3), delta=Fraction(0))
    PrivBayes(score="F").check(coins(2), delta=Fraction(0))
    curator = Counted(schema_of(2, 3), [{"a": "a0", "b": "b0"}])
    with pytest.raises(Refused, match="two codes each"):
        curator.run(PrivBayes(score="F"))
    assert curator.share_left == 1


@pytest.mark.parametrize(
    "options",
    [
        {"k": -1},
        {"theta": 0.0},
        {"theta": math.nan},
        {"beta": Fraction(1)},
        {"score": "gini"},
    ],
    ids=str,
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(Refused, match="Nothing was spent"):
        PrivBayes(**options)


def test_one_column_and_no_choice():
    """One column is a histogram; two columns leave nothing to choose, and what a choice
    would have cost goes to the table.
    """
    single = Counted(coins(1), chain(coins(1), 30))
    found = [m for m in single.run(PrivBayes()) if m.clique]
    assert [m.clique for m in found] == [("a",)]
    assert found[0].scale == 2
    pair = Counted(coins(2), chain(coins(2), 400))
    tables = [m for m in pair.run(PrivBayes(k=1)) if m.clique]
    assert (pair.choices, [m.clique for m in tables]) == ([], [("b", "a")])
    assert tables[0].scale == 2


def test_the_switch_fits_one_distribution_to_all_tables():
    schema = coins(4)
    found = Counted(schema, chain(schema, 500), epsilon=5).run(PrivBayes(k=1))
    apart, together = (
        PrivBayes().estimate(schema, found, RNG),
        PrivBayes(pgm=True).estimate(schema, found, RNG),
    )
    assert (type(apart), type(together)) == (NetworkModel, TreeModel)
    for pair in combinations(schema, 2):
        assert np.abs(apart.marginal(pair) - together.marginal(pair)).sum() < 25


def test_largest_sets_are_all_of_them():
    """Against every subset, one by one."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        names = list("abcdef")
        sizes = {n: int(rng.integers(2, 6)) for n in names}
        room, most = int(rng.integers(0, 60)), int(rng.integers(0, 5))
        fitting = [
            set(c)
            for r in range(most + 1)
            for c in combinations(names, r)
            if math.prod(sizes[n] for n in c) <= max(room, 1)
        ]
        largest = {frozenset(s) for s in fitting if not any(s < t for t in fitting)}
        found = list(largest_sets(names, sizes, room, most))
        assert len(found) == len({frozenset(s) for s in found})
        assert {frozenset(s) for s in found} == largest


def test_too_many_candidates_are_avoided(monkeypatch):
    """Fewer parents, then smaller tables, until a choice is made from a list that can
    be counted.
    """
    schema = coins(8)
    monkeypatch.setattr(module, "MAX_PAIR_CANDIDATES", 30)
    curator = Counted(schema, chain(schema, 100), epsilon=20)
    found = curator.run(PrivBayes(k=4))
    assert max(len(candidates) for _, candidates in curator.choices) <= 30
    assert max(len(m.clique) for m in found) >= 2
    monkeypatch.setattr(module, "MAX_CHOICE_CELLS", 10)
    tight = Counted(schema, chain(schema, 100), epsilon=20)
    tight.run(PrivBayes(k=4))
    assert 0 <= tight.share_left <= Fraction(1, 100)


# An audit of whole runs: noise is what was returned minus the exact counts, choices are
# what was measured first.

AUDIT_SCHEMA = coins(3)
AUDIT_ROWS = [
    {"a": i % 2 == 0, "b": i % 2 == 0 or i % 9 == 1, "c": i % 3 == 0} for i in range(60)
]
AUDIT_EPSILON = Fraction(2)
RUNS = 120


def flawed(noise=draw_noise, score=None, monkeypatch=None) -> list[str]:
    """What an auditor finds wrong with RUNS runs of k = 1 under replace and pure ε,
    each test at 1e-6 over three.
    """
    if score is not None:
        monkeypatch.setitem(CHOICE_SCORES, "R", score)
    table = Listed(AUDIT_ROWS, AUDIT_SCHEMA)
    chosen, noises = 0, []
    for _ in range(RUNS):
        curator = Counted(AUDIT_SCHEMA, AUDIT_ROWS, epsilon=AUDIT_EPSILON, noise=noise)
        tables = [m for m in curator.run(PrivBayes(k=1)) if m.clique]
        chosen += tables[0].clique == ("b", "a")
        for m in tables:
            (exact,) = table.counts([m.clique])
            noises.append((m.values - exact).ravel())
    # Two tables share 1.4 of ε, and a replaced row moves two cells: scale 4/1.4 on
    # each.
    cells, t = np.concatenate(noises), math.exp(-1.4 / 4)
    mean, square = 2 * t / (1 - t * t), 2 * t / (1 - t) ** 2
    found = []
    if abs(np.abs(cells).mean() - mean) > 5.5 * math.sqrt(
        (square - mean * mean) / cells.size
    ):
        found.append("scale")
    if surprising(int(np.sum(cells == 0)), cells.size, (1 - t) / (1 + t), tests=3):
        found.append("cells without noise")
    claim = SENSITIVITY_OF_R(len(AUDIT_ROWS), (2, 2))
    scores = [
        score_dependence(counts) for counts in table.counts([("b", "a"), ("c", "a")])
    ]
    weight = [math.exp(float(AUDIT_EPSILON) * 0.15 * s / (2 * claim)) for s in scores]
    if surprising(chosen, RUNS, weight[0] / sum(weight), tests=3):
        found.append("odds")
    return found


def test_the_audit_finds_nothing():
    assert flawed() == []


def test_the_audit_finds_half_of_the_noise():
    assert "scale" in flawed(
        lambda law, scale, shape: draw_noise(law, scale / 2, shape)
    )


def test_the_audit_finds_cells_without_noise():
    def sparing(law, scale, shape):
        noise = draw_noise(law, scale, shape)
        noise[..., 0] = 0
        return noise

    assert "cells without noise" in flawed(sparing)


def test_the_audit_finds_a_wrong_sensitivity(monkeypatch):
    small = replace(
        CHOICE_SCORES["R"], replace=lambda n, shape: SENSITIVITY_OF_R(n, shape) // 6
    )
    assert "odds" in flawed(score=small, monkeypatch=monkeypatch)
