"""What it would cost a junction tree to bring two far columns together, for all pairs
at once.

A column can be taken along the path to another: every separator on the way gets it too,
and the last one both. That is a triangulation, if not always the best one, so its cells
are a bound that a tree for the pair as well need not exceed. One walk from each column
finds the bound for all its partners, at microseconds a pair, where a new triangulation
for each pair takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from understudy.measurements import Clique
from understudy.models.inference.junction_tree import JunctionTree


def bound_pair_growth(tree: JunctionTree) -> dict[frozenset[str], int]:
    """Cells more, at most, for each pair of columns that no node holds together.

    >>> tree = JunctionTree.of([("a", "b"), ("b", "c")], {"a": 2, "b": 3, "c": 4})
    >>> {tuple(sorted(pair)): cells for pair, cells in bound_pair_growth(tree).items()}
    {('a', 'c'): 24}
    """
    links: list[list[tuple[int, Clique]]] = [[] for _ in tree.nodes]
    for node in tree.order[1:]:
        parent, shared = tree.parents[node], tree.separators[node]
        links[node].append((parent, shared))
        links[parent].append((node, shared))
    crossings = _crossing_cells(tree, links)
    holders: dict[str, list[int]] = {}
    for node, names in enumerate(tree.nodes):
        for name in names:
            holders.setdefault(name, []).append(node)
    found: dict[frozenset[str], int] = {}
    for column, homes in holders.items():
        together = {name for home in homes for name in tree.nodes[home]}
        for name, cells in _walk_outwards(
            tree, links, crossings, homes, together
        ).items():
            pair, cost = frozenset((column, name)), cells * tree.sizes[column]
            # Either column can be carried to the other: both are bounds, so the smaller
            # one is.
            found[pair] = min(cost, found.get(pair, cost))
    return found


def _crossing_cells(
    tree: JunctionTree, links: list[list[tuple[int, Clique]]]
) -> Mapping[tuple[int, int, int], int]:
    """For every way through a node, from one neighbour to another: the cells of the two
    separators taken together.
    """
    return {
        (before, node, after): prod(map(tree.sizes.__getitem__, {*entered, *left}))
        for node, near in enumerate(links)
        for before, entered in near
        for after, left in near
        if before != after
    }


def _walk_outwards(
    tree: JunctionTree,
    links: list[list[tuple[int, Clique]]],
    crossings: Mapping[tuple[int, int, int], int],
    homes: list[int],
    together: set[str],
) -> dict[str, int]:
    """For every column outside the homes of one: the cells on the way to it, in
    multiples of that one.
    """
    found: dict[str, int] = {}
    inside = set(homes)
    waiting = [
        (home, after, shared, 0)
        for home in homes
        for after, shared in links[home]
        if after not in inside
    ]
    while waiting:
        before, node, shared, way = waiting.pop()
        # The last separator on the way holds both columns.
        last = prod(tree.sizes[name] for name in shared)
        for name in tree.nodes[node]:
            if name not in together and name not in shared:
                found[name] = way + last * tree.sizes[name]
        waiting += [
            (node, after, left, way + crossings[before, node, after])
            for after, left in links[node]
            if after != before
        ]
    return found
