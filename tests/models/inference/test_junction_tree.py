"""Junction trees: every clique in a node, every column's nodes connected, and the size
known before anything is built.
"""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from understudy.models.inference.junction_tree import (
    JunctionTree,
    add_clique,
    count_added_cells,
    forecast_cells,
)

NAMES = "abcdefghij"
CLIQUES = st.lists(
    st.lists(st.sampled_from(NAMES), min_size=0, max_size=4, unique=True).map(tuple),
    min_size=0,
    max_size=14,
)
SIZES = st.fixed_dictionaries({name: st.integers(1, 9) for name in NAMES})


def check(tree: JunctionTree, cliques: list[tuple[str, ...]]) -> None:
    """Everything a junction tree promises."""
    columns = {name for clique in cliques for name in clique}
    assert set(tree.sizes) == columns
    assert sorted(tree.order) == list(range(len(tree.nodes)))
    assert tree.parents.count(-1) == min(1, len(tree.nodes))
    for clique in cliques:
        assert not clique or tree.home(clique) is not None
    for at, node in enumerate(tree.order):
        parent = tree.parents[node]
        assert parent == -1 if at == 0 else parent in tree.order[:at]
        shared = set(tree.nodes[node]) & set(tree.nodes[parent]) if at else set()
        assert set(tree.separators[node]) == shared
    for name in columns:  # running intersection: the nodes with a column form one piece
        holding = [i for i, node in enumerate(tree.nodes) if name in node]
        assert sum(name not in tree.separators[i] for i in holding) == 1
    for i, node in enumerate(tree.nodes):
        assert not any(
            set(node) <= set(other) for j, other in enumerate(tree.nodes) if i != j
        )


@given(cliques=CLIQUES, sizes=SIZES)
def test_every_tree_keeps_its_promises(cliques, sizes):
    tree = JunctionTree.of(cliques, sizes)
    check(tree, cliques)
    assert (
        forecast_cells(cliques, sizes)
        == tree.cells
        == sum(math.prod(sizes[n] for n in node) for node in tree.nodes)
    )


@given(
    cliques=CLIQUES,
    sizes=SIZES,
    extra=st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True),
)
def test_growing_keeps_them_too(cliques, sizes, extra):
    before = JunctionTree.of(cliques, sizes)
    after = add_clique(before, tuple(extra), sizes)
    check(after, [*cliques, tuple(extra)])
    assert after.cells == before.cells + count_added_cells(before, tuple(extra), sizes)
    assert (after is before) == (before.home(tuple(extra)) is not None)


def test_a_chain_stays_a_chain():
    """Sixty columns in a row: 59 nodes of two columns each."""
    names = [f"x{i}" for i in range(60)]
    tree = JunctionTree.of(list(itertools.pairwise(names)), dict.fromkeys(names, 5))
    assert len(tree.nodes) == 59
    assert tree.cells == 59 * 25


def test_a_ring_is_cut_into_triangles():
    names = [f"x{i}" for i in range(6)]
    tree = JunctionTree.of(
        [(names[i], names[(i + 1) % 6]) for i in range(6)], dict.fromkeys(names, 3)
    )
    assert sorted(map(len, tree.nodes)) == [3, 3, 3, 3]


def test_the_better_of_two_orders_is_taken():
    """Taking the smallest neighbourhood first, column c goes first and ties the two
    large columns together: 10,800 cells.
    """
    sizes = {"a": 5, "b": 20, "c": 2, "d": 5, "e": 20}
    cliques = [tuple(pair) for pair in ("bc", "bd", "ae", "de", "ab", "ce", "ad")]
    assert JunctionTree.of(cliques, sizes).cells == 2000


def test_hanging_a_tree_up_elsewhere_changes_nothing_else():
    cliques = [("a", "b"), ("b", "c", "d"), ("d", "e"), ("f",)]
    tree = JunctionTree.of(cliques, dict.fromkeys("abcdef", 4))
    for node in range(len(tree.nodes)):
        other = tree.reroot_at(node)
        check(other, cliques)
        assert other.root == node
        assert sorted(other.separators) == sorted(tree.separators)


def test_the_largest_node_is_the_root():
    tree = JunctionTree.of(
        [("a", "b"), ("b", "c", "d"), ("e",)], dict.fromkeys("abcde", 4)
    )
    assert set(tree.nodes[tree.root]) == {"b", "c", "d"}


def test_axes_rise_in_size():
    tree = JunctionTree.of([("a", "b", "c")], {"a": 7, "b": 2, "c": 5})
    assert tree.nodes == (("b", "c", "a"),)


def test_a_hundred_columns_have_an_exact_forecast():
    """Sizes are whole numbers of any length: no overflow where a clique set is far too
    large.
    """
    names = [f"x{i}" for i in range(100)]
    sizes = dict.fromkeys(names, 10)
    assert forecast_cells([tuple(names)], sizes) == 10**100


def test_no_column_makes_an_empty_tree():
    tree = JunctionTree.of([()], {})
    assert tree.nodes == ()
    assert tree.cells == 0
    assert tree.root == -1


def test_an_unknown_column_is_named():
    with pytest.raises(KeyError, match="z"):
        JunctionTree.of([("z",)], {"a": 2})
