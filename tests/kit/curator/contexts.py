"""Contexts for tests: real prices and filters, an uncharged run instead of a ledger, and the
noise a test asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from kit.curator.listed import Listed
from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.filter import Filter
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator import MechanismContext, Payments
from understudy.noise import draw_noise
from understudy.schema import Schema

Row = Mapping[str, object]


class UnchargedRun:
    """A run that remembers nothing, so that a mechanism alone can be looked at."""

    def answer(self, step: int, digest: str) -> bytes | None:
        return None

    def is_lost(self, step: int) -> bool:
        return False

    def charge(self, step: int, cost: Cost, digest: str) -> None:
        pass

    def store(self, step: int, digest: str, payload: bytes) -> None:
        pass


def no_noise(law: Law, scale: Fraction, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """Shows what a mechanism computes before noise: the only way to brute-force a
    sensitivity.
    """
    return np.zeros(shape, np.int64)


@cache
def allowance(epsilon: object, delta: object, accounting: Accounting) -> Filter:
    """What a run may spend; half of δ is set aside for thresholds where the accounting
    needs the other half.
    """
    budget = Budget.of(epsilon, delta)
    half = Fraction(0) if accounting is Accounting.PURE else budget.delta / 2
    return Filter.of(budget, accounting=accounting, threshold_delta=half)


def context_of(
    rows: Sequence[Row],
    schema: Schema,
    *,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    accounting: Accounting = Accounting.GDP,
    epsilon: object = 1,
    delta: object = "1e-6",
    noise: object = draw_noise,
) -> MechanismContext:
    """A context around a list of rows."""
    return MechanismContext(
        table=Listed(rows, schema),
        payments=Payments(
            UnchargedRun(), replace(allowance(epsilon, delta, accounting))
        ),
        neighbours=neighbours,
        accounting=accounting,
        epsilon=Budget.of(epsilon, delta).epsilon,
        max_rows=schema.unit.max_rows,
        draw=noise,
    )


def neighbouring(
    universe: Sequence[Row], most: int, neighbours: Neighbours
) -> Iterator[tuple[list[Row], list[Row]]]:
    """Every dataset of at most `most` rows with every neighbour that one row makes."""
    for n in range(most):
        for rows in combinations_with_replacement(range(len(universe)), n):
            dataset = [universe[i] for i in rows]
            if neighbours is Neighbours.ADD_REMOVE:
                for extra in universe:
                    yield dataset, [*dataset, extra]
            else:
                for extra in universe:
                    for other in universe:
                        if extra is not other:
                            yield [*dataset, extra], [*dataset, other]
