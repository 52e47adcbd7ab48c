"""Adaptive: where the budget goes, what the workload changes, and what comes of it."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from kit.models.build import schema_of
from kit.synthesizers.chains import chain_of_labels
from kit.synthesizers.watched import run
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.notices import Notice, NoticeKind, collect_notices
from understudy.schema import Categorical, Schema
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.adaptive.adaptive import Adaptive
from understudy.synthesizers.adaptive.first_measurement import FirstMeasurement

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("neighbours", "delta"), [(n, d) for n in Neighbours for d in ("0", "1e-6")]
)
def test_all_is_spent(neighbours, delta, open_curator):
    curator, found = run(
        open_curator, Adaptive(), chain_of_labels(), neighbours=neighbours, delta=delta
    )
    assert 0 <= curator.share_left < Fraction(1, 1000)
    assert {m.clique for m in found if m.clique} == {
        r for cliques, _ in curator.measured for r in cliques if r
    }


@pytest.mark.parametrize("singles", [Fraction(1, 10), Fraction(9, 10)])
def test_a_second_round_asks_for_no_more_than_is_left(
    singles, open_curator, monkeypatch
):
    monkeypatch.setattr(
        "understudy.synthesizers.adaptive.stages.are_pairs_hidden", lambda *_: True
    )
    curator, _ = run(
        open_curator,
        Adaptive(singles=singles),
        chain_of_labels(),
        epsilon=Fraction(1, 50),
    )
    assert 0 <= curator.share_left < Fraction(1, 1000)


def test_it_finds_the_chain(open_curator):
    schema, rows = chain_of_labels()
    _, found = run(open_curator, Adaptive(), (schema, rows), epsilon=10)
    model = Adaptive().estimate(schema, found, RNG)
    for pair in combinations(list(schema)[:4], 2):
        truth = np.zeros((3, 3))
        np.add.at(truth, tuple([int(v[1:]) for v in rows[name]] for name in pair), 1)
        assert np.abs(model.marginal(pair) - truth).sum() < 0.05 * 3000


def test_what_the_workload_weighs_is_measured_more_exactly(open_curator):
    schema, rows = chain_of_labels()
    pairs = tuple(combinations(schema, 2))
    loved = pairs[0]
    scales = {}
    for weight in (1.0, 50.0):
        workload = Workload(
            pairs, tuple(weight if pair == loved else 1.0 for pair in pairs)
        )
        _, found = run(open_curator, Adaptive(), (schema, rows), workload=workload)
        scales[weight] = min(float(m.scale) for m in found if m.clique == loved)
    assert scales[50.0] < 0.7 * scales[1.0]


def test_only_what_the_workload_holds_is_measured(open_curator):
    schema, rows = chain_of_labels()
    label = next(iter(schema))
    workload = Workload(
        tuple((label, name) for name in list(schema)[1:]), (1.0,) * (len(schema) - 1)
    )
    _, found = run(
        open_curator, Adaptive(), (schema, rows), workload=workload, epsilon=5
    )
    assert {m.clique for m in found if len(m.clique) > 1} <= set(workload.cliques)
    assert any(len(m.clique) == 2 for m in found)


def test_a_model_that_may_hold_little_says_what_it_left_out(open_curator):
    schema, rows = chain_of_labels()
    posted: list[Notice] = []
    curator = open_curator(
        schema,
        rows,
        epsilon=Fraction(10),
        delta=Fraction("1e-6"),
        neighbours=Neighbours.ADD_REMOVE,
    )
    with collect_notices(posted.append):
        found = Adaptive(cells=60).measure(
            curator, Workload.of_order(schema), ignore_progress
        )
    assert [notice.kind for notice in posted] == [NoticeKind.TOO_LARGE]
    assert posted[0].text.startswith(
        "Not modelled together, for size (more than 60 cells)"
    )
    assert Adaptive(cells=60).estimate(schema, found, RNG).cells <= 60


@pytest.mark.parametrize(
    ("sizes", "neighbours"),
    [
        ((3,), Neighbours.ADD_REMOVE),
        ((3, 1), Neighbours.REPLACE),
        ((1,), Neighbours.ADD_REMOVE),
    ],
)
def test_one_column_that_varies_or_none(sizes, neighbours, open_curator):
    schema = schema_of(*sizes)
    rows = {
        name: [f"{name}{i % size}" for i in range(60)]
        for name, size in zip(schema, sizes, strict=True)
    }
    curator, found = run(
        open_curator, Adaptive(), (schema, rows), epsilon=5, neighbours=neighbours
    )
    assert curator.share_left < Fraction(1, 1000)
    assert Adaptive().estimate(schema, found, RNG).total == pytest.approx(60, abs=15)


@pytest.mark.parametrize("rows", [0, 1, 20])
def test_hardly_any_rows(rows, open_curator):
    curator, found = run(
        open_curator, Adaptive(), chain_of_labels(4, rows=rows), epsilon=Fraction(1, 2)
    )
    assert curator.share_left < Fraction(1, 1000)
    assert Adaptive().estimate(curator.schema, found, RNG).total >= 0


@pytest.mark.parametrize(
    "options",
    [
        {"singles": Fraction(0)},
        {"singles": Fraction(99, 100)},
        {"selection": 0.1},
        {"largest": 0},
        {"cells": 0},
    ],
)
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(Refused, match="Nothing was spent"):
        Adaptive(**options)


def test_targets_add_up(open_curator):
    """One target more never weighs less: not that for a pair beside triples, nor of
    marginals that are one without a constant column.
    """
    schema, rows = chain_of_labels(columns=3)
    constant = Categorical(name="k", values=("one",), nullable=False)
    schema = Schema(columns=(*schema.columns, constant))
    rows = rows | {"k": ["one"] * len(rows["a"])}
    asked = {("a", "b", "c"): 1.0, ("a", "b"): 5.0, ("a", "b", "k"): 2.0}
    curator = open_curator(
        schema,
        rows,
        epsilon=Fraction(1),
        delta=Fraction("1e-6"),
        neighbours=Neighbours.ADD_REMOVE,
    )
    workload = Workload(tuple(asked), tuple(asked.values()))
    look = FirstMeasurement(curator, workload, Adaptive().settings)
    assert look.targets | look.pair_weights == {
        ("a", "b", "c"): 1.0,
        ("a", "b"): 8.0,
        ("a", "c"): 1.0,
        ("b", "c"): 1.0,
    }
