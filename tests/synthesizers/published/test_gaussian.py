"""Gaussian: the workload once, by size, and what fits of it."""

from __future__ import annotations

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
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.models.inference.junction_tree import forecast_cells
from understudy.synthesizers import Gaussian, Workload
from understudy.synthesizers.budget_split import (
    TreeGrowth,
    holdable_cliques,
    size_weights,
)
from understudy.synthesizers.shared.held_workload import holdable_workload
from understudy.testing.conformance import CONFORMANCE_CHECKS, check_many_columns


@pytest.mark.usefixtures("shared_trials")
def test_the_equal_split_conforms(open_curator):
    for judge in CONFORMANCE_CHECKS:
        if judge is not check_many_columns:
            judge(Gaussian(size_aware=False), open_curator)


@pytest.mark.parametrize("neighbours", Neighbours)
@pytest.mark.parametrize(("delta", "accounting"), MODES)
def test_the_whole_workload_is_measured_and_paid_for(
    delta, accounting, neighbours, tmp_path
):
    """Triples of five small columns fit: each is measured once, and the model has them."""
    schema, rows = chain((2, 3, 4, 3, 2))
    release, _ = ran(
        tmp_path,
        Gaussian(),
        schema,
        rows,
        epsilon="50",
        delta=delta,
        accounting=accounting,
        neighbours=neighbours,
    )
    triples = list(combinations(schema, 3))
    assert [m.clique for m in release.measurements if m.clique] == triples
    assert not any("Not modelled" in note for note in release.notes)
    prices_add_up(release, neighbours)
    assert max(pair_error(release, rows, triple) for triple in triples) < 0.06


def test_parts_follow_sizes_and_weights(tmp_path):
    """(w·n)^(2/3), up to the rounding to powers of √2."""
    schema, rows = chain((2, 4, 8, 16, 32))
    release, _ = ran(tmp_path, Gaussian(limit=10**6), schema, rows)
    sizes = np.array([np.prod(schema.sizes(m.clique)) for m in release.measurements])
    parts = np.array([float(m.cost.amount) for m in release.measurements])
    ratio = parts / sizes ** (2 / 3)
    assert ratio.max() / ratio.min() < np.sqrt(2) * 1.01


def test_no_split_nearby_is_better_by_more_than_rounding_costs():
    sizes = np.array([4, 60, 900, 33])
    parts = np.array(size_weights(sizes.tolist(), Accounting.GDP))
    best = (sizes ** (2 / 3)) / np.sum(sizes ** (2 / 3))

    def error(part):
        return float(np.sum(sizes / np.sqrt(part / part.sum())))

    assert error(best) <= error(parts) <= 1.005 * error(best)
    assert error(parts) < error(np.ones(4))


def test_a_workload_too_large_becomes_pairs_and_names_what_is_left_out(tmp_path):
    schema, rows = chain((20,) * 6, rows=500)
    release, _ = ran(tmp_path, Gaussian(limit=20_000), schema, rows)
    cliques = [m.clique for m in release.measurements]
    assert all(len(c) == 2 for c in cliques)
    assert forecast_cells(cliques, dict.fromkeys(schema, 20)) <= 20_000
    assert {name for c in cliques for name in c} == set(schema)
    assert (
        sum(
            note.startswith(
                "Not modelled together, for size (more than 20,000 cells): "
            )
            for note in release.notes
        )
        == 1
    )
    prices_add_up(release, Neighbours.ADD_REMOVE)


def test_a_column_that_fits_with_no_other_stands_alone():
    schema, _ = chain((50, 3, 3), rows=1)
    wanted = holdable_workload(schema, Workload.of_order(schema, 2), 100)
    assert set(wanted) == {("c1", "c2"), ("c0",)}


def test_columns_of_one_code_are_dropped_and_equal_cliques_add_up():
    schema, _ = chain((1, 3, 3), rows=1)
    assert holdable_workload(schema, Workload.of_order(schema, 2), 1000) == {
        ("c1",): 1.0,
        ("c2",): 1.0,
        ("c1", "c2"): 1.0,
    }


@pytest.mark.parametrize("seed", range(30))
def test_growth_forecasts_what_a_tree_then_has(seed):
    """One clique after the other: the cells of the tree that grows are those of a tree
    built on its nodes at once.
    """
    rng = np.random.default_rng(seed)
    sizes = {
        name: int(n) for name, n in zip("abcdefgh", rng.integers(2, 9, 8), strict=True)
    }
    growth = TreeGrowth(sizes)
    taken = []
    for _ in range(12):
        clique = tuple(
            rng.choice(list(sizes), int(rng.integers(1, 4)), replace=False).tolist()
        )
        before, new = growth.cells, growth.cost(clique)
        growth.add(clique)
        taken.append(clique)
        assert growth.cells == before + new
        assert all(growth.holds(c) for c in taken)
        nodes = {node for part in growth._parts.values() for node in part}
        assert growth.cells == sum(
            int(np.prod([sizes[n] for n in node])) for node in nodes
        )


@pytest.mark.parametrize("limit", [200, 2_000, 20_000])
def test_what_is_held_stays_within_the_limit(limit):
    schema, _ = chain((5, 9, 2, 7, 12, 3, 4), rows=1)
    wanted = dict.fromkeys(combinations(schema, 2), 1.0)
    kept, left_out = holdable_cliques(schema, wanted, limit)
    assert sorted(kept + left_out) == sorted(wanted)
    sizes = dict(zip(schema, schema.sizes(tuple(schema)), strict=True))
    assert forecast_cells([*kept, *((n,) for n in schema)], sizes) <= limit
    assert kept


def test_weight_decides_what_is_held():
    schema, _ = chain((10, 10, 10), rows=1)
    pairs = dict.fromkeys(combinations(schema, 2), 1.0)
    kept, left_out = holdable_cliques(
        schema, pairs | {("c1", "c2"): 5.0, ("c0", "c2"): 3.0}, 400
    )
    assert (kept, left_out) == ([("c0", "c2"), ("c1", "c2")], [("c0", "c1")])


def test_a_limit_of_nothing_is_refused():
    with pytest.raises(Refused, match="Nothing was spent"):
        Gaussian(limit=0)


def test_the_noise_is_what_was_paid_for(tmp_path):
    audited(tmp_path, Gaussian(), (6, 25, 30))
