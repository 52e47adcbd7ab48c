"""How much of a workload holds each column and each pair, and its strongest triples.

All triples of 200 columns are 1.3 million, so columns become indices first, once, and
everything is one pass over arrays of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique

Array = NDArray[np.float64]
ColumnIndices = NDArray[np.intp]
Places = defaultdict[str, int]


@dataclass(frozen=True, eq=False)
class IndexedCliques:
    """Cliques of one length: the indices of their columns, −1 for unknown ones, and
    their weights.
    """

    cliques: Sequence[Clique]
    indices: ColumnIndices
    weights: Array

    @classmethod
    def of(
        cls, cliques: Sequence[Clique], weights: Sequence[float], places: Places
    ) -> IndexedCliques:
        """These cliques, all of the same length."""
        # A generator with a function call for each of four million names takes seconds.
        flat = np.fromiter(
            map(places.__getitem__, chain.from_iterable(cliques)), np.intp
        )
        indices = flat.reshape(len(cliques), len(cliques[0]))
        return cls(cliques, indices, np.array(weights, np.float64))

    @property
    def is_ordered(self) -> bool:
        """Whether every column is known, and each clique has its own in order."""
        ascends = self.indices[:, :-1] < self.indices[:, 1:]
        return bool(np.all(ascends) and np.all(self.indices >= 0))

    def sort_columns(self) -> IndexedCliques:
        """The same with the indices of each clique in order."""
        if self.is_ordered:
            return self
        ordered = np.sort(self.indices, axis=1)
        return IndexedCliques(self.cliques, ordered, self.weights)


@dataclass(frozen=True, eq=False)
class IndexedWorkload:
    """A workload by the lengths of its cliques, with the names that indices stand for."""

    names: Sequence[str]
    groups: Sequence[IndexedCliques]

    @classmethod
    def of(
        cls, workload: Mapping[Clique, float], names: Sequence[str]
    ) -> IndexedWorkload:
        """The weights of cliques, with the columns of each in order."""
        places = Places(lambda: -1, {name: i for i, name in enumerate(names)})
        groups: list[IndexedCliques] = []
        for length in sorted(set(map(len, workload))):
            cliques = [clique for clique in workload if len(clique) == length]
            weights = [workload[clique] for clique in cliques]
            groups.append(IndexedCliques.of(cliques, weights, places))
        return cls(names, groups)

    @property
    def is_ordered(self) -> bool:
        """Whether every column is known, and each clique has its own in order."""
        return all(group.is_ordered for group in self.groups)

    def sort_columns(self) -> IndexedWorkload:
        """The same with the indices of each clique in order: an unknown column of a
        clique can then only stand first.
        """
        return IndexedWorkload(
            self.names, [group.sort_columns() for group in self.groups]
        )


def pair_weights(workload: IndexedWorkload) -> dict[Clique, float]:
    """How much of a workload holds each pair of columns; pairs that none of it holds are
    left out.

    >>> targets = {("a", "b", "c"): 1.0, ("b", "c"): 2.0}
    >>> pair_weights(IndexedWorkload.of(targets, ["a", "b", "c"]))
    {('a', 'b'): 1.0, ('a', 'c'): 1.0, ('b', 'c'): 3.0}
    """
    names = workload.names
    count = len(names)
    totals = np.zeros(count * count)
    for group in workload.sort_columns().groups:
        indices, weights = group.indices, group.weights
        for i, j in combinations(range(indices.shape[1]), 2):
            one, other = indices[:, i], indices[:, j]
            # Rows ascend, so an unknown column (−1) can only stand first.
            known = one >= 0
            flat = one[known] * count + other[known]
            totals += np.bincount(flat, weights[known], count * count)
    return {
        (names[at // count], names[at % count]): float(totals[at])
        for at in np.flatnonzero(totals > 0).tolist()
    }


def column_weights(workload: IndexedWorkload) -> dict[str, float]:
    """How much of a workload holds each column.

    >>> targets = {("a", "b", "c"): 1.0, ("b", "c"): 2.0}
    >>> column_weights(IndexedWorkload.of(targets, ["a", "b", "c", "d"]))
    {'a': 1.0, 'b': 3.0, 'c': 3.0, 'd': 0.0}
    """
    names = workload.names
    totals = np.zeros(len(names))
    for group in workload.groups:
        known = group.indices >= 0
        repeated = np.repeat(group.weights, group.indices.shape[1])[known.ravel()]
        totals += np.bincount(group.indices[known], repeated, len(names))
    return dict(zip(names, totals.tolist(), strict=True))


def mean_order(weights: Mapping[Clique, float], columns: Mapping[str, float]) -> float:
    """The mean number of columns k of a workload's marginals: each holds k columns and
    k(k − 1)/2 pairs, so it follows from the total weights of both.

    >>> targets = {("a", "b", "c"): 1.0, ("b", "c", "d"): 2.0}
    >>> workload = IndexedWorkload.of(targets, "abcd")
    >>> mean_order(pair_weights(workload), column_weights(workload))
    3.0
    """
    pairs = sum(weight for clique, weight in weights.items() if len(clique) == 2)
    return 1 + 2 * pairs / max(sum(columns.values()), 1e-300)


def strongest_triples(
    workload: IndexedWorkload,
    distances: Mapping[Clique, float],
    sizes: Mapping[str, int],
    largest: int,
    count: int,
) -> list[Clique]:
    """At most `count` triples of at most `largest` cells, those first whose pairs are
    far from the model and that weigh most.

    >>> weights = dict.fromkeys([("a", "b", "c"), ("a", "b", "d"), ("b", "c", "d")], 1.0)
    >>> far, sizes = {("a", "d"): 5.0, ("c", "d"): 6.0}, dict.fromkeys("abcd", 2)
    >>> strongest_triples(IndexedWorkload.of(weights, "abcd"), far, sizes, 8, 2)
    [('b', 'c', 'd'), ('a', 'b', 'd')]
    """
    names = workload.names
    groups = workload.sort_columns().groups
    triples = next((g for g in groups if g.indices.shape[1] == 3), None)
    if triples is None:
        return []
    place = {name: i for i, name in enumerate(names)}
    pair_distances = np.zeros((len(names), len(names)))
    for pair, distance in distances.items():
        if len(pair) == 2:
            one, other = sorted(place[name] for name in pair)
            pair_distances[one, other] = distance
    a, b, c = triples.indices.T
    inside = pair_distances[a, b] + pair_distances[a, c] + pair_distances[b, c]
    strength = inside * triples.weights
    cells = np.array([sizes[name] for name in names], np.float64)
    small = np.flatnonzero(cells[a] * cells[b] * cells[c] <= largest)
    strongest = _find_largest(strength[small], count)
    return [triples.cliques[i] for i in small[strongest]]


def _find_largest(values: Array, count: int) -> NDArray[np.intp]:
    """Where the `count` largest values stand, the largest first; of equal ones those
    that stand first.
    """
    kept = np.arange(values.size)
    if values.size > count > 0:
        # A sort of 1.3 million values takes twenty times as long as this selection.
        least = np.partition(values, values.size - count)[values.size - count]
        kept = np.flatnonzero(values >= least)
    # Stable, so that equal triples keep the order of the workload.
    return kept[np.argsort(-values[kept], kind="stable")[:count]]
