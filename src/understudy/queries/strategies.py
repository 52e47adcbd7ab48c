"""Which sums of atoms are measured for a batch of counts, so that all counts are exact.

The matrix mechanism (Li, Miklau, Hay, McGregor, Rastogi, "The matrix mechanism", 2015):
counts are W·x of the atoms x; the strategy B·x is measured, and the counts are recovered
as W·B⁺ of it. Their total variance is ‖W·B⁺‖² times the squared sensitivity of B. The
strategy here is the fourth root of WᵀW, for which that is (Σ singular values of W)² / k
if all columns are alike (Li, Miklau, "Optimal error of query sets", 2013), with rows
added to columns that have room: they cost nothing.

Entries are whole numbers, so that exact integer noise is added to integers; rounding
them changes what is measured, not what it is proven to cost: the sensitivity is that of
the rounded matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours

MAX_STRATEGY_ATOMS = 400
"""Atoms for which a strategy is computed: a second of linear algebra."""

STRATEGY_UNIT = 100
"""What 1 becomes in a strategy of whole numbers: two digits of each entry are kept."""


@dataclass(frozen=True, eq=False)
class CountStrategy:
    """Sums of atoms that are measured, and how atoms are recovered from them."""

    sums: NDArray[np.int64]
    recovery: NDArray[np.float64]

    def sensitivity(self, neighbours: Neighbours, max_rows: int) -> Sensitivity:
        """How far one unit moves the sums: a row by one column, and a row that is
        replaced by the difference of two, or by one if it was or will be in no atom.

        >>> prefix = CountStrategy(np.tri(2, dtype=np.int64), np.eye(2))
        >>> [prefix.sensitivity(relation, 1).l2_squared for relation in Neighbours]
        [Fraction(2, 1), Fraction(2, 1)]
        """
        gram = self.sums.T @ self.sums
        squares = np.diag(gram)
        reach = int(squares.max())
        tables = 1
        if neighbours is Neighbours.REPLACE:
            tables = 2
            pairs = squares[:, None] + squares[None, :] - 2 * gram
            reach = max(reach, int(pairs.max()))
        largest = int(np.abs(self.sums).sum(axis=0).max())
        entry = int(np.abs(self.sums).max())
        return Sensitivity(
            l1=Fraction(tables * max_rows * largest),
            l2_squared=Fraction(max_rows**2 * reach),
            l0=len(self.sums),
            linf=Fraction(tables * max_rows * entry),
        )

    def find_variances(self, workload: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of counts by this matrix, where what is measured has 1."""
        return np.asarray(((workload @ self.recovery) ** 2).sum(axis=1))

    def measure(self, atoms: list[int]) -> list[int]:
        """The sums of exact counts of atoms, in whole numbers."""
        return [int(value) for value in self.sums @ np.array(atoms, np.int64)]


def find_strategy(workload: NDArray[np.float64]) -> CountStrategy | None:
    """The strategy for counts that are sums of atoms by this matrix; None if measuring
    the atoms themselves is as good, or if there are too many of them.

    >>> find_strategy(np.eye(3)) is None
    True
    >>> deciles = find_strategy(np.tri(9))
    >>> bool(mean_variance(np.tri(9), deciles) < mean_variance(np.tri(9), None))
    True
    """
    atoms = workload.shape[1]
    if not 2 <= atoms <= MAX_STRATEGY_ATOMS:
        return None
    squares, vectors = np.linalg.eigh(workload.T @ workload)
    # Atoms that no count tells apart would divide by 0.
    roots = np.sqrt(np.sqrt(np.maximum(squares, 1e-9)))
    strategy = (vectors * np.sqrt(roots)) @ vectors.T
    room = (strategy**2).sum(axis=0)
    rest = np.sqrt(np.maximum(room.max() - room, 0.0))
    whole = np.vstack([strategy, np.diag(rest)]) / np.sqrt(room.max())
    sums = np.rint(STRATEGY_UNIT * whole).astype(np.int64)
    sums = sums[np.any(sums != 0, axis=1)]
    if np.linalg.matrix_rank(sums.astype(np.float64)) < atoms:
        return None
    found = CountStrategy(sums, np.linalg.pinv(sums.astype(np.float64)))
    is_better = mean_variance(workload, found) < mean_variance(workload, None)
    return found if is_better else None


def mean_variance(
    workload: NDArray[np.float64], strategy: CountStrategy | None
) -> float:
    """The mean variance of all counts, where one count by itself has 1."""
    if strategy is None:
        return float((workload**2).sum(axis=1).mean())
    moved = strategy.sensitivity(Neighbours.ADD_REMOVE, 1).l2_squared
    return float(strategy.find_variances(workload).mean()) * float(moved)
