"""Calibration in logarithms: slower, and at home with any potentials.

Shafer and Shenoy's message passing (1990) without divisions: a message is the
log-sum-exp of a node's potentials and of the messages from all its other neighbours.
Nothing underflows, and minus infinity (a cell that cannot be) needs no special case.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from understudy.measurements import Clique
from understudy.models.arrays import Array, align_axes
from understudy.models.inference.junction_tree import NO_NODE, JunctionTree


def logsumexp_to_clique(values: Array, node: Clique, clique: Clique) -> Array:
    """The log-sum-exp of a node's array over the columns a clique does not have, its
    axes in the clique's order.

    >>> logsumexp_to_clique(
    ...     np.log(np.array([[1.0, 2.0], [3.0, 0.5]])), ("a", "b"), ("b",)
    ... ).round(3).tolist()
    [1.386, 0.916]
    """
    rest = tuple(i for i, name in enumerate(node) if name not in clique)
    kept = [name for name in node if name in clique]
    top = values.max(axis=rest, keepdims=True, initial=-np.inf)
    # Where every cell is impossible, −inf − (−inf) would be NaN.
    top = np.where(np.isfinite(top), top, 0.0)
    # log 0 = −inf is the right value of a cell that cannot be.
    with np.errstate(divide="ignore"):
        result = np.log(np.exp(values - top).sum(axis=rest)) + top.reshape(
            [values.shape[node.index(n)] for n in kept]
        )
    return np.asarray(
        result.transpose([kept.index(name) for name in clique]), np.float64
    )


def log_beliefs(
    tree: JunctionTree, potentials: Sequence[tuple[int, Clique, Array]]
) -> list[Array]:
    """For every node the logarithm of its marginal, up to log Z, which all of them
    share.

    `potentials` names the node each array belongs to.
    """
    own: list[Array] = [
        np.zeros(tuple(map(tree.sizes.__getitem__, node))) for node in tree.nodes
    ]
    for node, clique, values in potentials:
        own[node] = own[node] + align_axes(values, clique, tree.nodes[node])
    up: dict[int, Array] = {}
    down: dict[int, Array] = {}

    def gather_messages(node: int, without: int) -> Array:
        total = own[node]
        for child in tree.children[node]:
            if child != without:
                total = total + align_axes(
                    up[child], tree.separators[child], tree.nodes[node]
                )
        if node in down and without != tree.parents[node]:
            total = total + align_axes(
                down[node], tree.separators[node], tree.nodes[node]
            )
        return total

    # Children before parents, then back: a message needs those that come before it.
    for node in reversed(tree.order):
        if tree.parents[node] != NO_NODE:
            up[node] = logsumexp_to_clique(
                gather_messages(node, tree.parents[node]),
                tree.nodes[node],
                tree.separators[node],
            )
    for node in tree.order:
        for child in tree.children[node]:
            down[child] = logsumexp_to_clique(
                gather_messages(node, child), tree.nodes[node], tree.separators[child]
            )
    return [
        # No neighbour has this number, so every message is counted.
        gather_messages(node, without=NO_NODE - 1)
        for node in range(len(tree.nodes))
    ]


def log_marginals(
    tree: JunctionTree,
    wanted: Mapping[Clique, int],
    potentials: Sequence[tuple[int, Clique, Array]],
) -> tuple[dict[Clique, Array], float]:
    """Marginals of some cliques, each in the node it is said to lie in, and log Z; -inf
    where no cell can be.
    """
    if not tree.nodes:
        log_z = float(sum(float(values) for _, _, values in potentials))
        return {clique: np.ones(()) for clique in wanted}, log_z
    beliefs = log_beliefs(tree, potentials)
    root = tree.nodes[tree.root]
    log_z = float(logsumexp_to_clique(beliefs[tree.root], root, ()))
    found = {}
    for clique, node in wanted.items():
        share = np.exp(
            logsumexp_to_clique(beliefs[node], tree.nodes[node], clique)
            - (log_z if np.isfinite(log_z) else 0.0)
        )
        # Rounding leaves the sum of the exponentials slightly off one.
        mass = share.sum()
        found[clique] = np.asarray(share / mass if mass > 0 else share, np.float64)
    return found, log_z
