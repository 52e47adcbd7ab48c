"""Bounds on a tree for one pair more: never below the best tree there is, and never
more than taking a column through the whole tree.
"""

from __future__ import annotations

import itertools
import math

from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.models.inference.growth_bounds import bound_pair_growth
from understudy.models.inference.junction_tree import JunctionTree, forecast_cells

NAMES = "abcdef"
CLIQUES = st.lists(
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True).map(tuple),
    min_size=1,
    max_size=6,
)
SIZES = st.fixed_dictionaries({name: st.integers(2, 9) for name in NAMES})


def smallest(cliques: list[tuple[str, ...]], sizes: dict[str, int]) -> int:
    """The cells of the best tree, by trying every order of elimination."""
    columns = sorted({name for clique in cliques for name in clique})
    best = math.inf
    for order in itertools.permutations(columns):
        near = {
            name: {other for clique in cliques if name in clique for other in clique}
            for name in columns
        }
        nodes: list[set[str]] = []
        for gone in order:
            node = near.pop(gone)
            if not any(node <= other for other in nodes):
                nodes.append(node)
            for name in node - {gone}:
                near[name] = (near[name] | node) - {gone}
        best = min(best, sum(math.prod(sizes[name] for name in node) for node in nodes))
    return int(best)


@settings(max_examples=25)
@given(cliques=CLIQUES, sizes=SIZES)
def test_no_bound_is_below_the_best_tree(cliques, sizes):
    tree = JunctionTree.of(cliques, sizes)
    bounds = bound_pair_growth(tree)
    apart = {
        frozenset(p)
        for p in itertools.combinations(tree.sizes, 2)
        if tree.home(p) is None
    }
    assert set(bounds) == apart
    for pair, more in bounds.items():
        assert smallest([*tree.nodes, tuple(pair)], sizes) <= tree.cells + more
        assert (
            0
            < more
            <= tree.cells * min(sizes[name] for name in pair)
            + math.prod(sizes[name] for name in pair)
        )


def test_the_bound_is_what_a_chain_costs():
    """Six columns in a row, the ends tied together: the first one comes along all the
    way.
    """
    sizes = dict(zip(NAMES, (2, 3, 4, 5, 6, 7), strict=True))
    chain = list(itertools.pairwise(NAMES))
    tree = JunctionTree.of(chain, sizes)
    closed = 2 * (3 * 4 + 4 * 5 + 5 * 6 + 6 * 7)
    assert forecast_cells([*chain, ("a", "f")], sizes) == closed
    # Of a node that is all separators only the wider one remains; the bound counts
    # both.
    assert bound_pair_growth(tree)[frozenset("af")] == closed


def test_columns_of_two_parts_cost_their_own_cells():
    tree = JunctionTree.of([("a", "b"), ("c", "d")], dict.fromkeys("abcd", 10))
    assert bound_pair_growth(tree)[frozenset("ad")] == 100


def test_no_tree_has_no_bounds():
    assert bound_pair_growth(JunctionTree.of([], {})) == {}
