"""Statistics of a graph whose edges lie in a table, and how far they move.

A row is an edge: two nodes, out of a public list. Loops, repeated edges and their
directions do not count, so a row adds or removes at most one edge.

| statistic | one edge | one node, with its edges |
|---|---|---|
| number of edges | 1 | up to n − 1; 2·D for twice the flow below |
| sorted degrees | L1 2, L2² 2 | L1 2·D, L2² 2·D² for those of the graph below |
| triangles | the common neighbours of its ends: local, see `TriangleBound` | – |

Edges under node privacy: restricted sensitivity (Blocki, Blum, Datta, Sheffet 2013) by
the extension of Kasiviswanathan, Nissim, Raskhodnikova, Smith ("Analyzing graphs with
node differential privacy", 2013). Let F be the largest flow in which every node sends at
most D units to its neighbours, each at most 1 to each, and receives at most D. A new node
sends D and receives D at most, so F moves by at most 2D; where no node has more than D
edges, every edge carries its two units and F is twice their number. F is an integer.

Degrees under node privacy: those of the graph that takes edges in the order of their
nodes, and keeps each between two nodes that have fewer than D so far (Day, Li, Lyu,
"Publishing graph degree distribution with node differential privacy", 2016). Let Δ be the
difference of the degrees with and without a node v. An edge of v that is kept adds 1 to
the sum of |Δ| over the others, and there are D of them at most. An edge of two others is
kept in one graph alone only where an end is full in the other graph and not in this one:
|Δ| falls by 1 there, and rises by 1 at most at its other end. So the sum over the others
is at most D, and so is |Δ| of v. Sorting brings degrees no further apart.

Triangles: U_k, the most triangles that one edge is in on any graph within k edges of
this one, is max over pairs of nodes of min(a + ⌊(k + min(k, b))/2⌋, n − 2), with a their
common neighbours and b the nodes next to exactly one of them (Nissim, Raskhodnikova,
Smith 2007): a common neighbour more costs one edge for each of b nodes, and two for
others.

Checked on all graphs of up to five nodes in tests/toolbox/test_graphs.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow

MAX_GRAPH_NODES = 100_000
MAX_TRIANGLE_NODES = 3_000
"""Nodes of a graph whose triangles are counted: a few matrices of them fit in memory."""


@dataclass(frozen=True, eq=False)
class SimpleGraph:
    """The edges of a graph on nodes 0, 1, … n − 1, each once, the smaller node first.

    >>> graph = SimpleGraph.of(np.array([[0, 1], [1, 0], [1, 2], [2, 0], [3, 3]]), 4)
    >>> graph.size, graph.degrees().tolist(), graph.count_triangles()
    (3, [0, 2, 2, 2], 1)
    """

    edges: NDArray[np.int64]
    nodes: int

    @classmethod
    def of(cls, pairs: NDArray[np.int64], nodes: int) -> SimpleGraph:
        """The graph of pairs of nodes, without loops, repetitions and directions."""
        ordered = np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1)
        ordered = ordered[ordered[:, 0] < ordered[:, 1]]
        return cls(np.unique(ordered, axis=0), nodes)

    @property
    def size(self) -> int:
        """The number of edges."""
        return len(self.edges)

    def degrees(self) -> NDArray[np.int64]:
        """The number of edges of each node, in rising order."""
        return np.sort(np.bincount(self.edges.ravel(), minlength=self.nodes))

    def adjacency(self) -> NDArray[np.int64]:
        """1 where two nodes have an edge."""
        matrix = np.zeros((self.nodes, self.nodes), np.int64)
        matrix[self.edges[:, 0], self.edges[:, 1]] = 1
        return matrix + matrix.T

    def count_triangles(self) -> int:
        """Three nodes that all have edges."""
        first, second = self.edges.T
        # An edge is in as many triangles as its ends have common neighbours.
        common = _count_common(self.adjacency())
        return int(common[first, second].sum()) // 3

    def bounded_degrees(self, most_edges: int) -> NDArray[np.int64]:
        """In rising order, of the edges that lie between nodes with fewer than
        `most_edges` before them.

        >>> star = SimpleGraph.of(np.array([[0, 1], [0, 2], [0, 3]]), 4)
        >>> star.bounded_degrees(2).tolist()
        [0, 1, 1, 2]
        """
        degrees = [0] * self.nodes
        # The order of the edges is that of their nodes, which is public.
        for first, second in self.edges.tolist():
            if degrees[first] < most_edges and degrees[second] < most_edges:
                degrees[first] += 1
                degrees[second] += 1
        return np.sort(np.array(degrees, np.int64))

    def bounded_flow(self, most_edges: int) -> int:
        """F: twice the number of edges where no node has more than `most_edges`."""
        n = self.nodes
        first, second = self.edges.T
        start, end = 2 * n, 2 * n + 1
        everyone = np.arange(n)
        sources = [np.full(n, start), first, second, n + everyone]
        targets = [everyone, n + second, n + first, np.full(n, end)]
        ones, caps = np.ones(len(first), np.int32), np.full(n, most_edges, np.int32)
        capacity = csr_array(
            (
                np.concatenate([caps, ones, ones, caps]),
                (np.concatenate(sources), np.concatenate(targets)),
            ),
            shape=(2 * n + 2, 2 * n + 2),
        )
        return int(maximum_flow(capacity, start, end).flow_value)


def bound_triangles(graph: SimpleGraph) -> Callable[[int], int]:
    """U_k of the triangles of a graph.

    >>> path = SimpleGraph.of(np.array([[0, 1], [1, 2], [2, 3]]), 4)
    >>> [bound_triangles(path)(k) for k in range(3)]
    [1, 2, 2]
    """
    adjacency = graph.adjacency()
    common = _count_common(adjacency)
    degrees = adjacency.sum(axis=1)
    first, second = np.triu_indices(graph.nodes, k=1)
    shared = common[first, second]
    # Next to exactly one of both, and neither of the two themselves.
    single = (
        degrees[first] + degrees[second] - 2 * shared - 2 * adjacency[first, second]
    )
    most = max(graph.nodes - 2, 0)
    # Only the largest b of each a can be a maximum.
    best = np.full(most + 1, -1)
    np.maximum.at(best, shared, single)
    kinds = np.flatnonzero(best >= 0)

    def bound(k: int) -> int:
        reached = kinds + (k + np.minimum(k, best[kinds])) // 2
        return int(min(reached.max(initial=0), most))

    return bound


def fit_rising_degrees(noisy: NDArray[np.float64], nodes: int) -> NDArray[np.float64]:
    """Noisy sorted degrees made to rise again, by least squares (Hay, Li, Miklau, Jensen
    2009), inside 0 to n − 1.

    >>> fit_rising_degrees(np.array([1.0, 4.0, 2.0, 9.0]), 4).tolist()
    [1.0, 3.0, 3.0, 3.0]
    """
    means: list[float] = []
    sizes: list[int] = []
    for value in noisy:
        means.append(float(value))
        sizes.append(1)
        # Pool neighbours that fall, until none does.
        while len(means) > 1 and means[-2] > means[-1]:
            size = sizes[-2] + sizes[-1]
            mean = (means[-2] * sizes[-2] + means[-1] * sizes[-1]) / size
            means[-2:], sizes[-2:] = [mean], [size]
    rising: NDArray[np.float64] = np.repeat(np.array(means), sizes)
    return np.clip(rising, 0, max(nodes - 1, 0))


def _count_common(adjacency: NDArray[np.int64]) -> NDArray[np.int64]:
    # Exact in floats, which multiply faster: no entry exceeds the number of nodes.
    matrix = adjacency.astype(np.float64)
    return np.rint(matrix @ matrix).astype(np.int64)
