"""Tables over some columns, multiplied and summed: columns are summed out one by one,
the one with the smallest table first.

Koller, Friedman, "Probabilistic graphical models", 2009, §9.3. The size of the largest
table is known before any is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.measurements import Clique
from understudy.models.arrays import Array


@dataclass(frozen=True, eq=False)
class Factor:
    """A table over some columns, one axis each."""

    scope: Clique
    table: Array


def elimination_order(
    scopes: Iterable[Clique], kept: set[str] | frozenset[str], sizes: Mapping[str, int]
) -> tuple[list[str], int]:
    """The order in which to sum out all columns but those `kept`, always the one with
    the smallest table; and the largest of these tables.

    >>> elimination_order([("a",), ("a", "b"), ("b", "c")], {"c"}, {"a": 2, "b": 3, "c": 4})
    (['a', 'b'], 12)
    """
    open_scopes = [frozenset(scope) for scope in scopes]
    # Sorted, so that ties are broken alike in every run: sets of texts have no fixed
    # order.
    gone = sorted(frozenset().union(*open_scopes) - kept)
    order: list[str] = []
    largest = 0
    while gone:
        tables: dict[str, frozenset[str]] = {}
        cost: dict[str, int] = {}
        for name in gone:
            touching = [scope for scope in open_scopes if name in scope]
            tables[name] = frozenset().union(*touching)
            cost[name] = math.prod(sizes[other] for other in tables[name])
        # Greedy, because the best order is NP-hard to find (Arnborg, Corneil,
        # Proskurowski 1987).
        first = min(gone, key=cost.__getitem__)
        largest = max(largest, cost[first])
        open_scopes = [s for s in open_scopes if first not in s] + [
            tables[first] - {first}
        ]
        order.append(first)
        gone.remove(first)
    return order, largest


def eliminate_columns(
    factors: Sequence[Factor], order: Iterable[str], sizes: Mapping[str, int]
) -> tuple[list[Factor], list[Factor]]:
    """Sum columns out in an order. The table each was summed out of (its own axis
    last), and the factors that are left.

    >>> kept, left = eliminate_columns(
    ...     [Factor(("a",), np.array([0.5, 0.5])), Factor(("a", "b"), np.eye(2))],
    ...     ["a"],
    ...     {"a": 2, "b": 2},
    ... )
    >>> kept[0].scope, left[0].scope, left[0].table.tolist()
    (('b', 'a'), ('b',), [0.5, 0.5])
    """
    left = list(factors)
    kept = []
    for name in order:
        near = [f for f in left if name in f.scope]
        others = tuple(dict.fromkeys(n for f in near for n in f.scope if n != name))
        # The column's own axis last, where memory is contiguous and a sum is fastest.
        joint = Factor((*others, name), multiply_factors(near, (*others, name), sizes))
        kept.append(joint)
        left = [f for f in left if name not in f.scope] + [
            Factor(others, joint.table.sum(axis=-1))
        ]
    return kept, left


def multiply_factors(
    factors: Iterable[Factor], scope: Clique, sizes: Mapping[str, int]
) -> Array:
    """The product of factors over a scope that holds all of theirs."""
    result = np.ones([sizes[name] for name in scope])
    for factor in factors:
        axes = [factor.scope.index(name) for name in scope if name in factor.scope]
        shape = [sizes[name] if name in factor.scope else 1 for name in scope]
        result *= factor.table.transpose(axes).reshape(shape)
    return result


def sum_factor(factor: Factor, clique: Clique) -> Array:
    """A factor summed over all columns but a clique's, in the clique's order."""
    rest = tuple(i for i, name in enumerate(factor.scope) if name not in clique)
    kept = [name for name in factor.scope if name in clique]
    return np.asarray(
        factor.table.sum(axis=rest).transpose([kept.index(name) for name in clique])
    )
