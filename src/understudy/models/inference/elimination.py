"""Marginals that no node of a junction tree holds: columns brought together along the
tree's paths.

P(a, x) for two far columns is a chain of small matrix products, P(a, s₁) P(s₂ | s₁) …
P(x | sₖ), over the separators between them. Any other clique is collected the same way
from the branches of the tree that hold its columns; every column that is not asked for
is summed out as soon as its branch is left. Sizes are known before anything is
multiplied.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.calibrated_tree import Beliefs, sum_to_clique

# Cells of the largest table that is made on the way to a marginal.
MAX_MARGINAL_CELLS = 1 << 25

# P(fresh columns | separator), by node, separator and fresh columns.
ConditionalTables = dict[tuple[int, Clique, Clique], Array]


def multiply_and_sum(
    left: Array,
    left_names: Clique,
    right: Array,
    right_names: Clique,
    keep: Collection[str],
) -> tuple[Array, Clique]:
    """The product of two tables, summed over every column that is not kept.

    >>> table, names = multiply_and_sum(
    ...     np.eye(2), ("a", "s"), np.array([[0.25, 0.75], [0.5, 0.5]]), ("s", "x"), ("a", "x")
    ... )
    >>> table.tolist(), names
    ([[0.25, 0.75], [0.5, 0.5]], ('a', 'x'))
    """
    # One batched matrix product: shared columns that are kept are the batch, those that
    # are summed out the inner axis, the others of each table its rows or columns.
    shared = [name for name in left_names if name in right_names]
    batch = tuple(name for name in shared if name in keep)
    inner = tuple(name for name in shared if name not in keep)
    rows = _keep_own(left_names, shared, keep)
    columns = _keep_own(right_names, shared, keep)
    a = sum_to_clique(left, left_names, (*batch, *rows, *inner))
    b = sum_to_clique(right, right_names, (*batch, *inner, *columns))
    lengths = dict(zip((*batch, *rows, *inner), a.shape, strict=True)) | dict(
        zip((*batch, *inner, *columns), b.shape, strict=True)
    )
    parts = (batch, rows, inner, columns)
    sizes = [math.prod(map(lengths.__getitem__, part)) for part in parts]
    names = (*batch, *rows, *columns)
    product = a.reshape(sizes[0], sizes[1], sizes[2]) @ b.reshape(
        sizes[0], sizes[2], sizes[3]
    )
    return product.reshape([lengths[n] for n in names]), names


def _keep_own(names: Clique, shared: Collection[str], keep: Collection[str]) -> Clique:
    """The columns of one table alone that are kept; the others are summed out first."""
    return tuple(name for name in names if name in keep and name not in shared)


def eliminate_to_clique(beliefs: Beliefs, clique: Clique) -> Array:
    """The marginal of any columns of the tree, axes in the order asked for; refused
    where a table on the way would be too large.
    """
    tree = beliefs.tree
    if not clique or not tree.nodes:
        return np.ones(())
    home = tree.home(clique)
    if home is not None:
        return beliefs.inside(home, clique)
    _refuse_large_table(clique, tree.sizes, clique)
    wanted = set(clique)
    # Rooted where most of the columns are, the tables that travel stay small.
    beliefs = beliefs.reroot_at(
        max(range(len(tree.nodes)), key=lambda i: len(wanted & set(tree.nodes[i])))
    )
    tree = beliefs.tree
    gathered: dict[int, tuple[Array, Clique]] = {}
    for node in reversed(tree.order):
        separator = tree.separators[node]
        mine = tuple(name for name in beliefs.new_columns(node) if name in wanted)
        branches = [
            gathered.pop(child) for child in tree.children[node] if child in gathered
        ]
        if not mine and not branches:
            continue
        asked = _list_asked({*separator, *mine}, branches)
        start = tuple(name for name in beliefs.new_columns(node) if name in asked[0])
        table, names = beliefs.conditional(node, start), (*separator, *start)
        for at, (branch, branch_names) in enumerate(branches):
            keep = asked[at + 1] | (wanted & {*names, *branch_names})
            _refuse_large_table(clique, tree.sizes, keep & {*names, *branch_names})
            table, names = multiply_and_sum(table, names, branch, branch_names, keep)
        gathered[node] = table, names
    table, names = gathered[tree.root]
    return sum_to_clique(table, names, clique)


def _list_asked(
    last: set[str], branches: Sequence[tuple[Array, Clique]]
) -> list[set[str]]:
    """What is still asked for before each branch is multiplied in, and `last` of all."""
    asked = [last]
    for _, branch_columns in reversed(branches):
        asked.insert(0, asked[0] | set(branch_columns))
    return asked


def pair_marginals(beliefs: Beliefs, pairs: Iterable[Clique]) -> dict[Clique, Array]:
    """The marginals of many pairs: for each first column one walk through the tree
    serves all its partners.
    """
    tree = beliefs.tree
    partners: dict[str, list[Clique]] = {}
    for pair in pairs:
        partners.setdefault(pair[0], []).append(pair)
    conditionals: ConditionalTables = {}
    found: dict[Clique, Array] = {}
    for first, asked in partners.items():
        home = tree.home((first,))
        assert home is not None
        rooted = beliefs.reroot_at(home)
        found |= _pairs_with_first(rooted, first, asked, conditionals)
    return found


def _pairs_with_first(
    beliefs: Beliefs,
    first: str,
    pairs: Iterable[Clique],
    conditionals: ConditionalTables,
) -> dict[Clique, Array]:
    """The marginals of pairs with the same first column, in one walk from its node."""
    tree = beliefs.tree
    rest = {pair[1]: pair for pair in pairs}
    found: dict[Clique, Array] = {}
    # P(first, separator) for the nodes that do not hold the first column.
    arriving: dict[int, Array] = {}

    def joint_with_first(node: int, target: Clique) -> Array:
        """P(first, target) for columns of a node."""
        if first in tree.nodes[node]:
            return beliefs.inside(node, (first, *target))
        return _extend_to_target(
            beliefs, node, arriving[node], first, target, conditionals
        )

    for node in tree.order:
        new = [n for n in beliefs.new_columns(node) if n in rest and n != first]
        for name in new:
            found[rest.pop(name)] = joint_with_first(node, (name,))
        if not rest:
            break
        for child in tree.children[node]:
            shared = tree.separators[child]
            if first in shared:
                continue
            _refuse_large_table((first, *shared), tree.sizes, {first, *shared})
            arriving[child] = joint_with_first(node, shared)
    return found


def _extend_to_target(
    beliefs: Beliefs,
    node: int,
    arriving: Array,
    first: str,
    target: Clique,
    conditionals: ConditionalTables,
) -> Array:
    """P(first, target) from P(first, separator), for columns of a node."""
    separator = beliefs.tree.separators[node]
    fresh = tuple(name for name in target if name not in separator)
    key = (node, separator, fresh)
    if key not in conditionals:
        conditionals[key] = beliefs.conditional(node, fresh)
    table, names = multiply_and_sum(
        arriving,
        (first, *separator),
        conditionals[key],
        (*separator, *fresh),
        {first, *target},
    )
    return sum_to_clique(table, names, (first, *target))


def _refuse_large_table(
    clique: Clique, sizes: Mapping[str, int], names: Collection[str]
) -> None:
    cells = math.prod(sizes[name] for name in names)
    if cells > MAX_MARGINAL_CELLS:
        raise Refused(
            f"{', '.join(clique)}: their marginal needs a table of {cells:,} cells on"
            f" the way, more than {MAX_MARGINAL_CELLS:,}. Ask for fewer columns, or"
            " count rows of a sample"
        )
