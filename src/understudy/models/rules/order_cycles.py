"""Circles of orders, as a < b, b < c, c < a, which no row can keep.

Bounds alone would find such a circle one step of the lattice at a time: a million steps
for a column of a million values. As a graph of differences x - y ≤ k the rules are
contradictory exactly if some circle has a negative sum (Bellman and Ford), whatever the
number of values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from understudy.models.rules.conditions import CompoundCondition, Condition
from understudy.models.rules.domains import DomainConflict, DomainStore
from understudy.models.rules.sum_condition import SumCondition
from understudy.schema.predicates.ast import Operator
from understudy.schema.predicates.rules import OPPOSITE_OPERATORS

# Differences beyond this are left to the search: sums of them must fit in 64 bits.
MAX_DIFFERENCE = 2**40

# Differences that are looked at in about the time of another step of the search.
EDGES_PER_STEP = 200

Difference = tuple[int, int, int]
"""Places x and y, and k, where x - y ≤ k."""


def refuse_order_cycles(store: DomainStore, conditions: Sequence[Condition]) -> None:
    """Raise where orders that must all hold form a circle that none can keep.

    Only orders between columns that must have a value count: a missing one breaks none.
    """
    edges = [
        edge
        for condition in conditions
        for edge in _differences(condition)
        if store.must_have_rank(edge[0]) and store.must_have_rank(edge[1])
    ]
    if not edges:
        return
    here, there, most = (np.array(part, np.int64) for part in zip(*edges, strict=True))
    places, dense = np.unique(np.concatenate([here, there]), return_inverse=True)
    here, there = dense[: len(edges)], dense[len(edges) :]
    # Without a negative circle the bounds settle after as many rounds as there are
    # columns, at most.
    bound = np.zeros(places.size, np.int64)
    for _ in range(places.size):
        store.spend(1 + len(edges) // EDGES_PER_STEP)
        before = bound.copy()
        np.minimum.at(bound, here, bound[there] + most)
        if np.array_equal(before, bound):
            return
    raise DomainConflict


def _differences(condition: Condition) -> Iterator[Difference]:
    """What a condition that must be false says of the difference of two columns."""
    match condition:
        case CompoundCondition(every=False):
            for part in condition.parts:
                yield from _differences(part)
        case SumCondition(terms=((factor, x), (other, y))) if factor == -other:
            for weight, limit in _upper_limits(condition):
                most = limit // abs(factor)
                if abs(most) < MAX_DIFFERENCE:
                    yield (x, y, most) if weight > 0 else (y, x, most)


def _upper_limits(condition: SumCondition) -> Iterator[tuple[int, int]]:
    """Weights w and limits c such that w · (x - y) ≤ c where the condition is false."""
    factor, bound = condition.terms[0][0], condition.bound
    match OPPOSITE_OPERATORS[condition.operator]:
        case Operator.AT_MOST:
            yield factor, bound
        case Operator.LESS:
            yield factor, bound - 1
        case Operator.AT_LEAST:
            yield -factor, -bound
        case Operator.MORE:
            yield -factor, -bound - 1
        case Operator.EQUAL:
            yield factor, bound
            yield -factor, -bound
