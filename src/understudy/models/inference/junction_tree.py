"""Junction trees: which columns a set of cliques ties together, and at what size.

Cliques become the nodes of a tree such that every clique lies inside a node and the
nodes that hold a column hang together (the running intersection property). Then sums
over all rows fall apart into sums over one node at a time (Lauritzen, Spiegelhalter
1988). The nodes come from eliminating columns one by one, either always the one whose
neighbourhood is smallest or the one whose going ties the fewest cells together,
whichever ends smaller (Kjærulff 1990 compares such rules); the tree comes from the
elimination for free (a node hangs on the one that holds the rest of it when its column
goes), and it is a maximum-weight spanning tree of the nodes.

Column sets are integers here, a bit for each column, so that asking for the size of a
tree costs microseconds and no arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import prod
from typing import TypeVar

from understudy.measurements import Clique

_ColumnSet = TypeVar("_ColumnSet", int, Clique)  # a set of columns, as bits or by name

# The parent of a node that has none.
NO_NODE = -1


@dataclass(frozen=True, eq=False)
class JunctionTree:
    """Nodes and, for each, its parent (an index, -1 for the root) and the columns it
    shares with it.

    Parts that nothing ties together hang on each other by empty separators: the tree is
    always one tree. `order` lists the nodes so that each stands after its parent; the
    root is a node of the largest size, because it is the one node a pass visits only
    once.

    >>> tree = JunctionTree.of([("a", "b"), ("b", "c")], {"a": 2, "b": 3, "c": 4})
    >>> sorted(tree.nodes), sorted(tree.separators), tree.cells
    ([('a', 'b'), ('b', 'c')], [(), ('b',)], 18)
    """

    nodes: tuple[Clique, ...]
    parents: tuple[int, ...]
    separators: tuple[Clique, ...]
    order: tuple[int, ...]
    sizes: Mapping[str, int]

    @classmethod
    def of(cls, cliques: Iterable[Clique], sizes: Mapping[str, int]) -> JunctionTree:
        """The tree of some cliques over columns of these sizes; columns in no clique
        stay out of it.
        """
        names, weights, masks = _number_columns(cliques, sizes)
        nodes, parents, separators = _triangulate_graph(masks, weights)

        # Axes by rising size: the long ones last, where arithmetic on arrays is
        # fastest.
        def names_of_mask(mask: int) -> Clique:
            return tuple(
                [
                    names[i]
                    for i in sorted(_bit_positions(mask), key=weights.__getitem__)
                ]
            )

        root = max(
            range(len(nodes)),
            key=lambda i: _mask_cells(nodes[i], weights),
            default=NO_NODE,
        )
        order, parents, separators = _hang_at_root(parents, separators, root, 0)
        return cls(
            tuple(map(names_of_mask, nodes)),
            tuple(parents),
            tuple(map(names_of_mask, separators)),
            tuple(order),
            {name: sizes[name] for name in names},
        )

    @property
    def root(self) -> int:
        """The node without a parent; -1 in the tree of no columns."""
        return self.order[0] if self.order else NO_NODE

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of each node."""
        below: list[list[int]] = [[] for _ in self.nodes]
        for node in self.order:
            if self.parents[node] != NO_NODE:
                below[self.parents[node]].append(node)
        return tuple(map(tuple, below))

    @cached_property
    def _node_sets(self) -> tuple[frozenset[str], ...]:
        return tuple(map(frozenset, self.nodes))

    @cached_property
    def _nodes_with(self) -> dict[str, list[int]]:
        """The nodes that hold each column."""
        holding: dict[str, list[int]] = {}
        for i, names in enumerate(self.nodes):
            for name in names:
                holding.setdefault(name, []).append(i)
        return holding

    @cached_property
    def cells(self) -> int:
        """Cells of all nodes together: what a pass over the tree costs."""
        return sum(self.size(node) for node in self.nodes)

    def size(self, clique: Clique) -> int:
        """Cells of one clique."""
        return prod(self.sizes[name] for name in clique)

    def home(self, clique: Iterable[str]) -> int | None:
        """The smallest node that holds a clique; None where no node does.

        >>> JunctionTree.of([("a", "b"), ("b", "c")], {"a": 2, "b": 3, "c": 4}).home(
        ...     ("a", "c")
        ... ) is None
        True
        """
        wanted = set(clique)
        among = min(
            (self._nodes_with.get(n, ()) for n in wanted), key=len, default=None
        )
        near = range(len(self.nodes)) if among is None else among
        holding = [i for i in near if wanted <= self._node_sets[i]]
        return min(holding, key=lambda i: self.size(self.nodes[i]), default=None)

    def reroot_at(self, root: int) -> JunctionTree:
        """The same tree hung up at another node.

        >>> tree = JunctionTree.of([("a", "b"), ("b", "c")], {"a": 2, "b": 3, "c": 4})
        >>> tree.reroot_at(1 - tree.root).root == 1 - tree.root
        True
        """
        order, parents, separators = _hang_at_root(
            self.parents, self.separators, root, ()
        )
        return JunctionTree(
            self.nodes, tuple(parents), tuple(separators), tuple(order), self.sizes
        )


def add_clique(
    tree: JunctionTree, clique: Clique, sizes: Mapping[str, int]
) -> JunctionTree:
    """A tree for one more clique: the same one where a node holds it already, else
    built on the nodes there are.

    >>> sizes = {"a": 2, "b": 3, "c": 4}
    >>> add_clique(JunctionTree.of([("a", "b"), ("b", "c")], sizes), ("a", "c"), sizes).nodes
    (('a', 'b', 'c'),)
    """
    if tree.home(clique) is not None:
        return tree
    return JunctionTree.of([*tree.nodes, clique], sizes)


def count_added_cells(
    tree: JunctionTree, clique: Clique, sizes: Mapping[str, int]
) -> int:
    """Cells that `add_clique` would add, before anything is built: none where a node
    holds the clique already.

    >>> sizes = {"a": 2, "b": 3, "c": 4}
    >>> tree = JunctionTree.of([("a", "b"), ("b", "c")], sizes)
    >>> count_added_cells(tree, ("a", "b"), sizes), count_added_cells(tree, ("a", "c"), sizes)
    (0, 6)
    """
    return (
        0
        if tree.home(clique) is not None
        else forecast_cells([*tree.nodes, clique], sizes) - tree.cells
    )


def forecast_cells(cliques: Iterable[Clique], sizes: Mapping[str, int]) -> int:
    """Cells of the tree these cliques would have, before anything is built.

    >>> forecast_cells([("a", "b"), ("b", "c"), ("c", "a")], {"a": 200, "b": 300, "c": 400})
    24000000
    """
    _, weights, masks = _number_columns(cliques, sizes)
    nodes, _, _ = _triangulate_graph(masks, weights)
    return sum(_mask_cells(node, weights) for node in nodes)


def _number_columns(
    cliques: Iterable[Clique], sizes: Mapping[str, int]
) -> tuple[list[str], list[int], list[int]]:
    """Columns in the order of their first mention, their sizes, and every clique as a
    set of bits.
    """
    number: dict[str, int] = {}
    masks = []
    for clique in cliques:
        mask = 0
        for name in clique:
            mask |= 1 << number.setdefault(name, len(number))
        masks.append(mask)
    return list(number), [sizes[name] for name in number], masks


def _bit_positions(mask: int) -> list[int]:
    if mask < 1 << 16:
        return _word_bits(mask, 0)
    found: list[int] = []
    base = 0
    while mask:
        if mask & 0xFFFF:
            found += _word_bits(mask & 0xFFFF, base)
        mask >>= 16
        base += 16
    return found


@cache
def _word_bits(mask: int, base: int) -> list[int]:
    return [base + i for i in range(16) if mask >> i & 1]


def _mask_cells(mask: int, weights: list[int]) -> int:
    return prod(weights[i] for i in _bit_positions(mask))


def _triangulate_graph(
    masks: list[int], weights: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """Nodes, parents and separators by the better of two orders of elimination; the
    first one where it adds no edge at all.
    """
    near = [1 << i for i in range(len(weights))]
    for mask in set(masks):
        for i in _bit_positions(mask):
            near[i] |= mask
    order, cliques, filled = _eliminate_smallest_first(near.copy(), weights)
    first = _link_nodes(order, cliques)
    # Without an added edge the graph is chordal, and no order of elimination has
    # smaller nodes.
    if not filled:
        return first
    second = _link_nodes(*_eliminate_least_fill_first(near, weights))
    return min(
        first,
        second,
        key=lambda found: sum(_mask_cells(node, weights) for node in found[0]),
    )


def _eliminate_smallest_first(
    near: list[int], weights: list[int]
) -> tuple[list[int], list[int], bool]:
    """Columns in the order they go, each one's neighbourhood (itself included) then,
    and whether edges had to be added.
    """
    cost = {i: _mask_cells(mask, weights) for i, mask in enumerate(near)}
    order, cliques, filled = [], [], False
    while cost:
        gone = min(cost, key=cost.__getitem__)
        del cost[gone]
        clique = near[gone]
        order.append(gone)
        cliques.append(clique)
        rest = clique ^ (1 << gone)
        for i in _bit_positions(rest):
            new = rest & ~near[i]
            near[i] = (near[i] | rest) ^ (1 << gone)
            # Exact: the cost is a product of sizes, and this size is one of them.
            cost[i] //= weights[gone]
            if new:
                filled = True
                cost[i] *= _mask_cells(new, weights)
    return order, cliques, filled


def _eliminate_least_fill_first(
    near: list[int], weights: list[int]
) -> tuple[list[int], list[int]]:
    """The same by another rule: the column whose going adds the lightest edges, an edge
    weighing the product of its ends.
    """
    alike = _group_by_weight(weights)
    fill = {i: _fill_weight(i, near, weights, alike) for i in range(len(near))}
    order, cliques = [], []
    while fill:
        gone = min(fill, key=fill.__getitem__)
        clean = fill.pop(gone) == 0
        clique = near[gone]
        order.append(gone)
        cliques.append(clique)
        rest = clique ^ (1 << gone)
        touched = rest
        for i in _bit_positions(rest):
            near[i] = (near[i] | rest) ^ (1 << gone)
            if not clean:
                touched |= near[i]
        for i in _bit_positions(touched):
            # If no edge was added, neighbourhoods only shrank and a fill of 0 stays 0.
            if fill[i] or not clean:
                fill[i] = _fill_weight(i, near, weights, alike)
    return order, cliques


def _group_by_weight(weights: list[int]) -> list[tuple[int, int]]:
    """Each weight, and the columns that have it as bits."""
    alike: dict[int, int] = {}
    for i, weight in enumerate(weights):
        alike[weight] = alike.get(weight, 0) | 1 << i
    return list(alike.items())


def _fill_weight(
    column: int, near: list[int], weights: list[int], alike: list[tuple[int, int]]
) -> int:
    rest = near[column] ^ (1 << column)
    total = 0
    for i in _bit_positions(rest):
        missing = rest & ~near[i]
        if missing:
            # Columns of one weight are counted, not listed: most of the time of a wide
            # table's tree goes here.
            sums = [weight * (missing & same).bit_count() for weight, same in alike]
            total += weights[i] * sum(sums)
    return total


def _link_nodes(
    order: list[int], cliques: list[int]
) -> tuple[list[int], list[int], list[int]]:
    """The maximal ones among the elimination's cliques, the parent of each, and what
    they share.
    """
    position = {column: at for at, column in enumerate(order)}
    nodes: list[int] = []
    tops: list[
        int
    ] = []  # of each node the latest clique inside it: what hangs it on its parent
    within = [NO_NODE] * len(order)  # the node each elimination clique lies in
    waiting: dict[
        int, int
    ] = {}  # clique → the position of a clique that is this one and one column more
    ahead = [NO_NODE] * len(order)
    for at, (column, clique) in enumerate(zip(order, cliques, strict=True)):
        rest = clique ^ (1 << column)
        before = waiting.pop(clique, None)
        if before is None:
            within[at] = len(nodes)
            nodes.append(clique)
            tops.append(at)
        else:
            within[at] = within[before]
            tops[within[at]] = at
        if rest:
            # If the rest turns up as a clique of its own, it lies in this node and is
            # not maximal.
            waiting.setdefault(rest, at)
            # The neighbour that goes next holds the whole rest: this is where the node
            # hangs.
            ahead[at] = min(position[i] for i in _bit_positions(rest))
    parents, separators = [], []
    loose = NO_NODE  # the last part's root, for the next part to hang on
    for node, top in enumerate(tops):
        if ahead[top] != NO_NODE:
            parents.append(within[ahead[top]])
            separators.append(cliques[top] ^ (1 << order[top]))
        else:
            parents.append(loose)
            separators.append(0)
            loose = node
    return nodes, parents, separators


def _hang_at_root(
    parents: Sequence[int],
    separators: Sequence[_ColumnSet],
    root: int,
    nothing: _ColumnSet,
) -> tuple[list[int], list[int], list[_ColumnSet]]:
    """The same tree hung up at another node, and its nodes from there outwards."""
    links: list[list[tuple[int, _ColumnSet]]] = [[] for _ in parents]
    for node, parent in enumerate(parents):
        if parent != NO_NODE:
            links[node].append((parent, separators[node]))
            links[parent].append((node, separators[node]))
    above, shared = [NO_NODE] * len(parents), [nothing] * len(parents)
    order = [] if root == NO_NODE else [root]
    for node in order:
        for other, separator in links[node]:
            if other != above[node]:
                above[other], shared[other] = node, separator
                order.append(other)
    return order, above, shared
