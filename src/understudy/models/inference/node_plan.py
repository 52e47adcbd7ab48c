"""What a pass over a junction tree needs to know of one node before any number is
there: which cliques live in it, and in which order it sums what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from understudy.measurements import Clique
from understudy.models.inference.contraction import Contraction
from understudy.models.inference.junction_tree import NO_NODE, JunctionTree


class NodePlan:
    """A node's columns, the cliques that live in it, and the plan for its sums; its
    scopes are cliques, children, parent, in that order.
    """

    def __init__(self, tree: JunctionTree, node: int, cliques: list[Clique]) -> None:
        names = tree.nodes[node]
        position = {name: i for i, name in enumerate(names)}
        self.cliques = cliques
        self.children = tree.children[node]
        shared = [tree.separators[child] for child in self.children]
        above = [] if tree.parents[node] == NO_NODE else [tree.separators[node]]
        self.parent = len(cliques) + len(shared)
        scopes = [_scope_bits(scope, position) for scope in (*cliques, *shared, *above)]
        self.plan = Contraction([tree.sizes[name] for name in names], scopes)
        self._order_axes(position)
        self.own = len(cliques)
        self.above = bool(above)
        # The table whose sums are known after going up: the one with the message to the
        # parent, and at the root the first.
        self.top = self.plan.place[self.parent] if above else 0
        self.upward = (self.plan.rank[self.parent],) if above else ()
        # A marginal that nothing else shares may be written over.
        self.spare = [True] * len(cliques) + [False] * (len(shared) + len(above))
        self.alone = [scopes.count(scope) == 1 for scope in scopes]
        self._list_wanted_sums()

    def _order_axes(self, position: Mapping[str, int]) -> None:
        """Axes of a clique's array in the order of the node, and back; None where they
        are in that order already.
        """
        self.orders: dict[Clique, list[int] | None] = {}
        self.backs: list[list[int] | None] = []
        for clique in self.cliques:
            places = [position[name] for name in clique]
            order = _sorted_places(places)
            in_order = order == sorted(order)
            self.orders[clique] = None if in_order else order
            self.backs.append(None if in_order else _sorted_places(order))

    def _list_wanted_sums(self) -> None:
        """For each table what it must give on the way down, messages first."""
        self.wanted: list[tuple[int, list[int], tuple[int, ...]]] = []
        for table, members in enumerate(self.plan.members):
            below = sorted((m for m in members if m != self.parent), reverse=True)
            if below:
                ranks = tuple([self.plan.rank[member] for member in below])
                self.wanted.append((table, below, ranks))


def _scope_bits(scope: Clique, position: Mapping[str, int]) -> int:
    """The columns of a scope as the bits of a number."""
    return sum(1 << position[name] for name in scope)


def _sorted_places(values: Sequence[int]) -> list[int]:
    """The places of some numbers, in the order of the numbers."""
    return sorted(range(len(values)), key=values.__getitem__)
