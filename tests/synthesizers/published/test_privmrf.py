"""PrivMRF: the graph it draws, the marginals it finds useful, and how the budget is
spent.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from kit.models.build import schema_of
from kit.synthesizers.chains import chain_of_labels
from kit.synthesizers.watched import Watched
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.models.inference.junction_tree import JunctionTree, forecast_cells
from understudy.synthesizers import Workload, ignore_progress
from understudy.synthesizers.published.privmrf import (
    PrivMRF,
    cover_pairs,
    dependency_graph,
    subsets_of_nodes,
)

RNG = np.random.default_rng(0)


def run(
    open_curator,
    synthesizer,
    table,
    *,
    epsilon=1,
    delta="1e-6",
    neighbours=Neighbours.ADD_REMOVE,
):
    schema, rows = table
    curator = Watched(
        open_curator(
            schema,
            rows,
            epsilon=Fraction(epsilon),
            delta=Fraction(delta),
            neighbours=neighbours,
        )
    )
    return curator, synthesizer.measure(
        curator, Workload.of_order(schema), ignore_progress
    )


def test_the_graph_keeps_its_limit_and_the_strongest_pairs():
    names = "abcdefgh"
    sizes = dict.fromkeys(names, 5)
    draw = np.random.default_rng(0)
    scores = {pair: float(draw.random()) for pair in combinations(names, 2)}
    scores["a", "h"] = 5.0
    nodes = dependency_graph(scores, sizes, noise=0.0, cells=400)
    assert sum(math.prod(sizes[n] for n in node) for node in nodes) <= 400
    assert any({"a", "h"} <= set(node) for node in nodes)
    assert {name for node in nodes for name in node} == set(names)
    # It is triangulated: its own cliques need no more cells than they have.
    assert (
        forecast_cells(nodes, sizes)
        == JunctionTree.of(nodes, sizes).cells
        == sum(5 ** len(node) for node in nodes)
    )


def test_a_toll_can_buy_a_better_graph():
    """One large pair would fill the limit; three small ones hold more dependence
    together.
    """
    sizes = {"a": 10, "b": 10, "c": 3, "d": 3, "e": 3}
    scores = {("a", "b"): 4.0, ("a", "c"): 3.0, ("b", "d"): 3.0, ("d", "e"): 3.0}
    nodes = dependency_graph(scores, sizes, noise=0.02, cells=105)
    assert [set(node) for node in nodes if len(node) > 1] == [
        {"a", "c"},
        {"b", "d"},
        {"d", "e"},
    ]


def test_pairs_without_dependence_are_no_edges():
    nodes = dependency_graph(
        {("a", "b"): -3.0, ("b", "c"): 2.0},
        {"a": 2, "b": 2, "c": 2},
        noise=0.1,
        cells=100,
    )
    assert nodes == (("a",), ("b", "c"))


def test_useful_marginals_lie_inside_a_clique_and_are_small():
    sizes = {"a": 2, "b": 3, "c": 4, "d": 5, "e": 6}
    nodes = [("a", "b", "c", "d", "e"), ("a", "e")]
    found = subsets_of_nodes(nodes, sizes, largest=40)
    assert found == sorted(set(found), key=lambda r: (len(r), r))
    wanted = {
        r
        for k in (2, 3, 4)
        for r in combinations(sizes, k)
        if math.prod(sizes[n] for n in r) <= 40
    }
    assert set(found) == wanted


def test_what_is_measured_first_holds_every_pair_worth_its_noise():
    sizes = dict.fromkeys("abcd", 3)
    scores = {
        ("a", "b"): 50.0,
        ("b", "c"): 40.0,
        ("a", "c"): 45.0,
        ("c", "d"): 30.0,
        ("a", "d"): 1.0,
    }
    chosen = cover_pairs(
        subsets_of_nodes([("a", "b", "c"), ("c", "d")], sizes, largest=100),
        scores,
        sizes,
        noise=1.0,
    )
    held = {pair for r in chosen for pair in combinations(r, 2)}
    assert {("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")} <= held
    assert chosen[0] == ("a", "b", "c")


@pytest.mark.parametrize(
    ("neighbours", "delta"), [(n, d) for n in Neighbours for d in ("0", "1e-6")]
)
def test_all_is_spent(neighbours, delta, open_curator):
    curator, found = run(
        open_curator, PrivMRF(), chain_of_labels(), neighbours=neighbours, delta=delta
    )
    assert 0 <= curator.share_left < Fraction(1, 1000)
    assert {m.clique for m in found if m.clique} == {
        r for cliques, _ in curator.measured for r in cliques if r
    }


def test_every_marginal_is_useful(open_curator):
    """θ: an average cell of the first marginals expects θ times its mean noise, by the
    split the limit was told for.
    """
    curator, found = run(open_curator, PrivMRF(theta=6.0), chain_of_labels(), epsilon=2)
    first = next(
        cliques for cliques, share in curator.measured if share == PrivMRF().first
    )
    noise = {m.clique: math.sqrt(2 / math.pi) * float(m.scale) for m in found}
    even = (
        np.mean([noise[r] ** -2 for r in first]) ** -0.5
    )  # the noise had the share been split evenly
    for r in first:
        assert 3000 / 3 ** len(r) >= 6 * even * math.sqrt(6 / len(first)) * 0.95
    assert all(len(r) < 4 for r in first)


def test_it_finds_the_chain(open_curator):
    schema, rows = chain_of_labels()
    _, found = run(open_curator, PrivMRF(), (schema, rows), epsilon=10)
    model = PrivMRF().estimate(schema, found, RNG)
    for pair in [("a", "b"), ("c", "d"), ("a", "c")]:
        truth = np.zeros((3, 3))
        np.add.at(truth, tuple([int(v[1:]) for v in rows[name]] for name in pair), 1)
        assert np.abs(model.marginal(pair) - truth).sum() < 0.05 * 3000


def test_where_nothing_is_useful_the_columns_are_sharpened(open_curator):
    schema, rows = chain_of_labels(4, rows=20)
    curator, found = run(
        open_curator, PrivMRF(), (schema, rows), epsilon=Fraction(1, 2)
    )
    assert curator.share_left < Fraction(1, 1000)
    assert {len(m.clique) for m in found} == {1}


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
        open_curator, PrivMRF(), (schema, rows), epsilon=5, neighbours=neighbours
    )
    assert curator.share_left < Fraction(1, 1000)
    assert PrivMRF().estimate(schema, found, RNG).total == pytest.approx(60, abs=15)


@pytest.mark.parametrize(
    "options",
    [
        {"singles": Fraction(0)},
        {"first": Fraction(9, 10)},
        {"selection": 0.1},
        {"theta": 0},
        {"cells": 0},
    ],
)
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(Refused, match="Nothing was spent"):
        PrivMRF(**options)
