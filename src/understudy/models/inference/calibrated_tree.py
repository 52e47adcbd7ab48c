"""A junction tree with the marginal of every node: all that is needed to sum, condition
and sample exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.axis_sums import sum_over_axis
from understudy.models.inference.junction_tree import NO_NODE, JunctionTree


def sum_to_clique(values: Array, node: Clique, clique: Clique) -> Array:
    """A node's array summed over the columns a clique does not have, its axes in the
    clique's order.

    >>> sum_to_clique(np.array([[1.0, 2.0], [3.0, 4.0]]), ("a", "b"), ("b",)).tolist()
    [4.0, 6.0]
    """
    rest = tuple(i for i, name in enumerate(node) if name not in clique)
    kept = [name for name in node if name in clique]
    left = np.asarray(values.sum(axis=rest), np.float64) if rest else values
    return left.transpose([kept.index(name) for name in clique])


def divide_or_zero(values: Array, by: Array) -> Array:
    """A quotient where nothing by nothing is nothing.

    >>> divide_or_zero(np.array([1.0, 0.0]), np.array([4.0, 0.0])).tolist()
    [0.25, 0.0]
    """
    # Where the divisor is 0, numpy leaves what `out` holds.
    return np.divide(
        values,
        by,
        out=np.zeros(np.broadcast_shapes(values.shape, by.shape)),
        where=by > 0,
    )


@dataclass(frozen=True, eq=False)
class Beliefs:
    """`tables[i]` is the marginal of node i, its axes in the node's order; tables of
    neighbours agree on what they share.
    """

    tree: JunctionTree
    tables: tuple[Array, ...]
    _summed: dict[int, dict[Clique, Array]] = field(default_factory=dict, repr=False)

    def reroot_at(self, root: int) -> Beliefs:
        """The same, seen from another node."""
        return (
            self
            if root == self.tree.root
            else Beliefs(self.tree.reroot_at(root), self.tables, self._summed)
        )

    def inside(self, node: int, clique: Clique) -> Array:
        """The marginal of a clique that lies in a node; not to be written to.

        Large nodes are summed one column at a time, the largest first, and what comes
        out on the way is kept: the next clique starts from the smallest table that
        holds it.
        """
        names, sizes = self.tree.nodes[node], self.tree.sizes
        known = self._summed.setdefault(node, {names: self.tables[node]})
        wanted = set(clique)
        here = min(
            (kept for kept in known if wanted <= set(kept)),
            key=lambda kept: known[kept].size,
        )
        for name in sorted(
            (name for name in here if name not in wanted), key=lambda n: -sizes[n]
        ):
            before = math.prod(sizes[n] for n in here[: here.index(name)])
            table = sum_over_axis(known[here], before, sizes[name])
            here = tuple(n for n in here if n != name)
            known[here] = table.reshape([sizes[n] for n in here])
        return known[here].transpose([here.index(name) for name in clique])

    def new_columns(self, node: int) -> Clique:
        """The node's columns that its parent does not have."""
        return tuple(
            name
            for name in self.tree.nodes[node]
            if name not in self.tree.separators[node]
        )

    def conditional(self, node: int, clique: Clique) -> Array:
        """The distribution of some of a node's columns given those it shares with its
        parent: axes separator, then clique.

        At the root that is the marginal itself. Where the separator has no mass it is
        zero throughout.
        """
        separator = self.tree.separators[node]
        joint = self.inside(node, (*separator, *clique))
        if self.tree.parents[node] == NO_NODE:
            return joint
        shape = [self.tree.sizes[name] for name in separator]
        # Sums of the same table, so that every conditional sums to one up to rounding.
        sums = joint.reshape(math.prod(shape), -1).sum(axis=1)
        return divide_or_zero(joint, sums.reshape(shape + [1] * len(clique)))
