"""Spanning forests of columns, by Kruskal's algorithm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from understudy.measurements import Clique


def components(names: Sequence[str], edges: Sequence[Clique]) -> list[set[str]]:
    """Columns that edges tie together.

    >>> [sorted(c) for c in components("abcd", [("a", "b"), ("b", "c")])]
    [['a', 'b', 'c'], ['d']]
    """
    found = {name: {name} for name in names}
    for a, b in edges:
        if found[a] is not found[b]:
            joined = found[a] | found[b]
            for name in joined:
                found[name] = joined
    return list({id(part): part for part in found.values()}.values())


def spanning_forest(order: Sequence[Clique]) -> Iterator[Clique]:
    """Kruskal: of edges in this order, those that tie two components together.

    >>> list(spanning_forest([("a", "b"), ("b", "c"), ("a", "c"), ("c", "d")]))
    [('a', 'b'), ('b', 'c'), ('c', 'd')]
    """
    # Labels of components, relabelled at each union: with at most some hundred columns
    # that is as fast as a union-find, and shorter.
    part = {name: name for edge in order for name in edge}
    for a, b in order:
        here, there = part[a], part[b]
        if here != there:
            part = {
                name: here if label == there else label for name, label in part.items()
            }
            yield a, b
