"""How much of a workload holds each column and each pair, and its strongest triples.

All triples of 200 columns are 1.3 million, so columns become indices first and
everything is one pass over arrays of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique

Array = NDArray[np.float64]
ColumnIndices = NDArray[np.intp]


def pair_weights(
    workload: Mapping[Clique, float], names: Sequence[str]
) -> dict[Clique, float]:
    """How much of a workload holds each pair of columns; pairs that none of it holds are
    left out.

    >>> pair_weights({("a", "b", "c"): 1.0, ("b", "c"): 2.0}, ["a", "b", "c"])
    {('a', 'b'): 1.0, ('a', 'c'): 1.0, ('b', 'c'): 3.0}
    """
    count = len(names)
    totals = np.zeros(count * count)
    for indices, weights in _index_cliques(workload, names):
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


def column_weights(
    workload: Mapping[Clique, float], names: Sequence[str]
) -> dict[str, float]:
    """How much of a workload holds each column.

    >>> column_weights({("a", "b", "c"): 1.0, ("b", "c"): 2.0}, ["a", "b", "c", "d"])
    {'a': 1.0, 'b': 3.0, 'c': 3.0, 'd': 0.0}
    """
    totals = np.zeros(len(names))
    for indices, weights in _index_cliques(workload, names):
        known = indices >= 0
        repeated = np.repeat(weights, indices.shape[1])[known.ravel()]
        totals += np.bincount(indices[known], repeated, len(names))
    return dict(zip(names, totals.tolist(), strict=True))


def mean_order(weights: Mapping[Clique, float], columns: Mapping[str, float]) -> float:
    """The mean number of columns k of a workload's marginals: each holds k columns and
    k(k − 1)/2 pairs, so it follows from the total weights of both.

    >>> workload = {("a", "b", "c"): 1.0, ("b", "c", "d"): 2.0}
    >>> mean_order(pair_weights(workload, "abcd"), column_weights(workload, "abcd"))
    3.0
    """
    pairs = sum(weight for clique, weight in weights.items() if len(clique) == 2)
    return 1 + 2 * pairs / max(sum(columns.values()), 1e-300)


def strongest_triples(
    weights: Mapping[Clique, float],
    distances: Mapping[Clique, float],
    sizes: Mapping[str, int],
    largest: int,
    count: int,
) -> list[Clique]:
    """At most `count` triples of at most `largest` cells, those first whose pairs are
    far from the model and that weigh most.

    >>> weights = dict.fromkeys([("a", "b", "c"), ("a", "b", "d"), ("b", "c", "d")], 1.0)
    >>> far, sizes = {("a", "d"): 5.0, ("c", "d"): 6.0}, dict.fromkeys("abcd", 2)
    >>> strongest_triples(weights, far, sizes, 8, 2)
    [('b', 'c', 'd'), ('a', 'b', 'd')]
    """
    names = list(sizes)
    triples: dict[Clique, float] = {
        r: weight for r, weight in weights.items() if len(r) == 3
    }
    if not triples:
        return []
    ((indices, triple_weights),) = _index_cliques(triples, names)
    place = {name: i for i, name in enumerate(names)}
    pair_distances = np.zeros((len(names), len(names)))
    for pair, distance in distances.items():
        if len(pair) == 2:
            one, other = sorted(place[name] for name in pair)
            pair_distances[one, other] = distance
    a, b, c = indices.T
    inside = pair_distances[a, b] + pair_distances[a, c] + pair_distances[b, c]
    strength = inside * triple_weights
    cells = np.array(list(sizes.values()), np.float64)[indices].prod(axis=1)
    small = np.flatnonzero(cells <= largest)
    # Stable, so that equal triples keep the order of the workload.
    ranked = small[np.argsort(-strength[small], kind="stable")[:count]]
    listed = list(triples)
    return [listed[i] for i in ranked]


def _index_cliques(
    workload: Mapping[Clique, float], names: Sequence[str]
) -> Iterator[tuple[ColumnIndices, Array]]:
    """Cliques of one length after the other: the indices of their columns, ascending in
    each row and −1 for unknown ones, and their weights.
    """
    place = {name: i for i, name in enumerate(names)}
    lengths: dict[int, list[Clique]] = defaultdict(list)
    for clique in workload:
        lengths[len(clique)].append(clique)
    for length, cliques in lengths.items():
        flat = np.fromiter(
            (place.get(name, -1) for name in chain.from_iterable(cliques)), np.intp
        )
        weights = np.fromiter(
            map(workload.__getitem__, cliques), np.float64, len(cliques)
        )
        yield np.sort(flat.reshape(len(cliques), length), axis=1), weights
