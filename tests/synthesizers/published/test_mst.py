"""MST: the right tree, the right price, and nothing asked that cannot be answered."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

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
from understudy.measurements import Partition
from understudy.synthesizers import MST, make
from understudy.synthesizers.shared.spanning import components, spanning_forest
from understudy.testing.conformance import CONFORMANCE_CHECKS, check_many_columns

LINKS = [(f"c{i}", f"c{i + 1}") for i in range(4)]


def pairs(release):
    return [m.clique for m in release.measurements if len(m.clique) == 2]


@pytest.mark.usefixtures("shared_trials")
@pytest.mark.parametrize(
    "variant",
    [
        MST(select="errors"),
        MST(compress=True),
        MST(size_aware=False, singles=Fraction(1, 3), selection=Fraction(1, 3)),
    ],
    ids=["errors", "compress", "paper"],
)
def test_variants_conform(variant, open_curator):
    for judge in CONFORMANCE_CHECKS:
        if (
            judge is not check_many_columns
        ):  # the default is checked on those, and variants differ in nothing there
            judge(variant, open_curator)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(("delta", "accounting"), MODES)
@pytest.mark.parametrize("select", ["choices", "errors"])
def test_the_chain_is_found_and_paid_for(
    select, delta, accounting, neighbours, tmp_path
):
    """A weak link would need thousands of counts of noise to win: at ε = 20 and 2,000
    rows that happens less than once in 10^6.
    """
    schema, rows = chain((2, 3, 4, 3, 2), keep=0.95)
    release, _ = ran(
        tmp_path,
        MST(select=select),
        schema,
        rows,
        epsilon="20",
        delta=delta,
        accounting=accounting,
        neighbours=neighbours,
    )
    assert sorted(pairs(release)) == LINKS
    prices_add_up(release, neighbours)
    assert max(pair_error(release, rows, link) for link in LINKS) < 0.05
    assert pair_error(release, rows, ("c0", "c4")) < 0.1


def test_a_tree_has_one_choice_for_each_edge(tmp_path):
    schema, rows = chain((2, 3, 4, 3, 2))
    release, told = ran(tmp_path, MST(), schema, rows)
    asked = [step.asked for step in release.statement.steps]
    assert asked == ["marginals", "choice", "choice", "choice", "choice", "marginals"]
    assert sum(stage.startswith("selecting") for stage in told) == 4
    assert len(components([f"c{i}" for i in range(5)], pairs(release))) == 1


def test_two_columns_leave_one_candidate(tmp_path):
    schema, rows = chain((3, 4))
    release, _ = ran(tmp_path, MST(), schema, rows)
    assert pairs(release) == [("c0", "c1")]
    prices_add_up(release, Neighbours.ADD_REMOVE)


def test_one_column_gets_everything(tmp_path):
    schema, rows = chain((7,))
    release, _ = ran(tmp_path, MST(), schema, rows)
    assert [m.clique for m in release.measurements] == [("c0",)]
    prices_add_up(release, Neighbours.ADD_REMOVE)


def test_pairs_beyond_the_limit_are_named_and_leave_a_forest(tmp_path):
    """Two large columns go with no other: the two small ones are tied, nothing is
    chosen from an empty list.
    """
    schema, rows = chain((3, 40, 3, 40))
    release, _ = ran(tmp_path, MST(limit=100), schema, rows)
    assert pairs(release) == [("c0", "c2")]
    assert any(
        note.startswith(
            "Not modelled together, for size (more than 100 cells): c0 × c1"
        )
        for note in release.notes
    )
    prices_add_up(release, Neighbours.ADD_REMOVE)


def test_larger_pairs_get_more_and_equal_ones_the_same(tmp_path):
    schema, rows = chain((2, 3, 40, 30, 2))
    aware, _ = ran(tmp_path, MST(), schema, rows)
    cost = {
        m.clique: float(m.cost.amount) for m in aware.measurements if len(m.clique) == 2
    }
    largest, smallest = (
        max(cost, key=lambda c: np.prod(schema.sizes(c))),
        min(cost, key=lambda c: np.prod(schema.sizes(c))),
    )
    ratio = np.prod(schema.sizes(largest)) / np.prod(schema.sizes(smallest))
    assert cost[largest] / cost[smallest] == pytest.approx(ratio ** (2 / 3), rel=0.2)
    equal, _ = ran(tmp_path, MST(size_aware=False), schema, rows)
    assert len({m.scale for m in equal.measurements if len(m.clique) == 2}) == 1


def test_public_cliques_cost_no_choice(tmp_path):
    schema, rows = chain((2, 3, 4, 3, 2))
    public = (("c0", "c1", "c2"), ("c3", "c4"))
    release, _ = ran(tmp_path, MST(public=public), schema, rows)
    assert [step.asked for step in release.statement.steps] == [
        "marginals",
        "marginals",
    ]
    assert [m.clique for m in release.measurements if len(m.clique) > 1] == list(public)
    assert make("mst", **release.options) == MST(public=public)
    prices_add_up(release, Neighbours.ADD_REMOVE)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (MST(public=(("c0", "nobody"),)), "is no column of the schema"),
        (MST(public=(("c0", "c0"),)), "names each column once"),
        (MST(public=(("c0", "c1", "c2", "c3"),), limit=100), "together need"),
    ],
    ids=["unknown", "twice", "large"],
)
def test_public_cliques_that_cannot_be_are_refused(wrong, words):
    schema, _ = chain((5, 5, 5, 5))
    with pytest.raises(Refused, match=words):
        wrong.check(schema, delta=Fraction(0))


@pytest.mark.parametrize(
    "options",
    [
        {"singles": 0},
        {"singles": Fraction(2, 3), "selection": Fraction(1, 3)},
        {"select": "luck"},
        {"limit": 0},
    ],
)
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(Refused, match="Nothing was spent"):
        MST(**options)


def test_rare_values_are_merged_in_pairs_and_stay_apart_in_rows(tmp_path):
    """Of 30 values two occur: the others share a bin in every pair, and each can still
    be sampled.
    """
    schema, rows = chain((2, 2, 30), rows=5_000)
    release, _ = ran(tmp_path, MST(compress=True), schema, rows)
    maps = [
        axis
        for m in release.measurements
        for n, axis in zip(m.clique, m.maps, strict=True)
        if (n, len(m.clique)) == ("c2", 2)
    ]
    assert maps
    assert all(isinstance(axis, Partition) and axis.out < 10 for axis in maps)
    prices_add_up(release, Neighbours.ADD_REMOVE)
    assert release.model.marginal(("c2",)).shape == (30,)
    assert pair_error(release, rows, ("c1", "c2")) < 0.15


def test_what_discovery_counted_is_not_bought_again(tmp_path):
    _, rows = chain((2, 3, 4))
    release, _ = ran(tmp_path, MST(), None, rows, epsilon="20")
    names = list(release.schema)
    counted = [m.clique for m in release.measurements if len(m.clique) == 1 and m.plain]
    assert sorted(set(counted)) == sorted((n,) for n in names)
    assert len(counted) == len(names)


@pytest.mark.parametrize("seed", range(20))
def test_kruskal_is_a_maximum_spanning_tree(seed):
    """Heavier than the path through all columns, and than any single exchange."""
    rng = np.random.default_rng(seed)
    names = list("abcdef")
    weight = {
        (a, b): float(rng.random()) for i, a in enumerate(names) for b in names[i + 1 :]
    }
    tree = list(spanning_forest(sorted(weight, key=lambda e: -weight[e])))
    assert len(tree) == 5
    assert len(components(names, tree)) == 1
    best = sum(weight[e] for e in tree)
    assert best >= sum(weight[e] for e in pairwise(names))
    for out in tree:
        for into in weight:
            other = [e for e in tree if e != out] + [into]
            if len(components(names, other)) == 1:
                assert sum(weight[e] for e in other) <= best + 1e-12


def test_the_noise_is_what_was_paid_for(tmp_path):
    audited(tmp_path, MST(), (25, 30, 25))
