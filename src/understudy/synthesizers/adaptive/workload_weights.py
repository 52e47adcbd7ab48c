"""How much of a workload holds each column and each pair, and its triples by how far
their pairs are off.

All triples of 200 columns are 1.3 million, so that columns become numbers first and
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
    """How much of a workload holds each pair of columns; pairs that none of it holds
    are left out.

    >>> pair_weights({("a", "b", "c"): 1.0, ("b", "c"): 2.0}, ["a", "b", "c"])
    {('a', 'b'): 1.0, ('a', 'c'): 1.0, ('b', 'c'): 3.0}
    """
    many = len(names)
    found = np.zeros(many * many)
    for places, weights in _index_cliques(workload, names):
        for i, j in combinations(range(places.shape[1]), 2):
            one, other = places[:, i], places[:, j]
            known = one >= 0  # rows ascend, and what has no place comes first
            found += np.bincount(
                one[known] * many + other[known], weights[known], many * many
            )
    return {
        (names[at // many], names[at % many]): float(found[at])
        for at in np.flatnonzero(found > 0).tolist()
    }


def column_weights(
    workload: Mapping[Clique, float], names: Sequence[str]
) -> dict[str, float]:
    """How much of a workload holds each column.

    >>> column_weights({("a", "b", "c"): 1.0, ("b", "c"): 2.0}, ["a", "b", "c", "d"])
    {'a': 1.0, 'b': 3.0, 'c': 3.0, 'd': 0.0}
    """
    found = np.zeros(len(names))
    for places, weights in _index_cliques(workload, names):
        known = places >= 0
        found += np.bincount(
            places[known],
            np.repeat(weights, places.shape[1])[known.ravel()],
            len(names),
        )
    return dict(zip(names, found.tolist(), strict=True))


def mean_order(weights: Mapping[Clique, float], columns: Mapping[str, float]) -> float:
    """How many columns what is asked for holds, in the mean: told from how much of it
    holds each pair and each column.

    >>> workload = {("a", "b", "c"): 1.0, ("b", "c", "d"): 2.0}
    >>> mean_order(pair_weights(workload, "abcd"), column_weights(workload, "abcd"))
    3.0
    """
    pairs = sum(weight for clique, weight in weights.items() if len(clique) == 2)
    return 1 + 2 * pairs / max(sum(columns.values()), 1e-300)


def strongest_triples(
    weights: Mapping[Clique, float],
    far: Mapping[Clique, float],
    sizes: Mapping[str, int],
    largest: int,
    many: int,
) -> list[Clique]:
    """So many triples of at most `largest` cells, those first whose pairs are `far` off
    and that weigh most.

    >>> weights = dict.fromkeys([("a", "b", "c"), ("a", "b", "d"), ("b", "c", "d")], 1.0)
    >>> strongest_triples(weights, {("a", "d"): 5.0, ("c", "d"): 6.0}, dict.fromkeys("abcd", 2), 8, 2)
    [('b', 'c', 'd'), ('a', 'b', 'd')]
    """
    names = list(sizes)
    triples: dict[Clique, float] = {
        r: weight for r, weight in weights.items() if len(r) == 3
    }
    if not triples:
        return []
    ((places, parts),) = _index_cliques(triples, names)
    place = {name: i for i, name in enumerate(names)}
    off = np.zeros((len(names), len(names)))
    for pair, distance in far.items():
        if len(pair) == 2:
            one, other = sorted(place[name] for name in pair)
            off[one, other] = distance
    a, b, c = places.T
    strong = (off[a, b] + off[a, c] + off[b, c]) * parts
    cells = np.array(list(sizes.values()), np.float64)[places].prod(axis=1)
    fits = np.flatnonzero(cells <= largest)
    listed = list(triples)
    return [listed[i] for i in fits[np.argsort(-strong[fits], kind="stable")[:many]]]


def _index_cliques(
    workload: Mapping[Clique, float], names: Sequence[str]
) -> Iterator[tuple[ColumnIndices, Array]]:
    """Cliques of one length after the other: the numbers of their columns, ascending in
    each row, and their weights; -1 is no number.
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
