"""Which sums of atoms are measured for a batch of counts or sums, so that all of them
are exact.

The matrix mechanism (Li, Miklau, Hay, McGregor, Rastogi, "The matrix mechanism", 2015):
answers are W·x of the atoms x; the strategy B·x is measured, and the answers are
recovered from it. Among all strategies with columns of length 1 the least total variance
is that of BᵀB = Wᵀ(WΛWᵀ)^(−1/2)W for weights λ of the atoms that are a fixed point of
λᵢ ← λᵢ·(BᵀB)ᵢᵢ (Denisov, McMahan, Rush, Smith, Guha Thakurta, "Improved differential
privacy for SGD via optimal private linear operators", 2022). (tr (WΛWᵀ)^(1/2))² of any λ
is below the least total variance, so the steps end where both are close.

Entries are whole numbers, so that exact integer noise is added to integers: B = K·W is
rounded in K, which keeps every answer recoverable. Rounding changes what is measured,
not what it is proven to cost: the sensitivity is that of the rounded matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.queries.statistics import GroupReach

MAX_STRATEGY_ATOMS = 2_500
"""Atoms for which a strategy is computed: pairs of them are compared in 50 MB."""

MAX_STRATEGY_ANSWERS = 400
"""Counts or sums for which a strategy is computed: a second of linear algebra."""

STRATEGY_UNIT = 1_000
"""What 1 becomes in a strategy of whole numbers: three digits are kept."""

_MOST_STEPS = 100
_WIDEST_GAP = 0.01
"""The total variance is at most 1 % above the least: 0.5 % of noise."""

_SMALLEST_SHARE = 1e-9
"""Of the largest eigenvalue: below it lies what no answer needs."""

_WIDEST_SUM = 2**62


@dataclass(frozen=True, eq=False)
class AtomStrategy:
    """The sums of atoms that are measured, and a matrix that recovers from them what the
    answers need of the atoms.
    """

    sums: NDArray[np.int64]
    recovery: NDArray[np.float64]

    def sensitivity(
        self, reach: GroupReach, neighbours: Neighbours, max_rows: int
    ) -> Sensitivity:
        """How far one unit moves the sums, where a row adds to one atom what `reach`
        says: by that times one column; and a replaced row by the difference of two.

        >>> one = np.array([1, 1], object)
        >>> rows = GroupReach(one, one, may_be_absent=False)
        >>> prefix = AtomStrategy(np.tri(2, dtype=np.int64), np.eye(2))
        >>> [prefix.sensitivity(rows, each, 1).l2_squared for each in Neighbours]
        [Fraction(2, 1), Fraction(2, 1)]
        """
        largest = np.maximum(np.abs(reach.least), np.abs(reach.most))
        squares = (self.sums**2).sum(axis=0).astype(object)
        l2_squared = int((squares * largest**2).max())
        l1 = int((np.abs(self.sums).sum(axis=0).astype(object) * largest).max())
        entry = int((np.abs(self.sums).max(axis=0).astype(object) * largest).max())
        tables = 1
        if neighbours is Neighbours.REPLACE:
            tables = 2
            l2_squared = max(l2_squared, self._square_of_replacement(reach, largest))
        return Sensitivity(
            l1=Fraction(tables * max_rows * l1),
            l2_squared=Fraction(max_rows**2 * l2_squared),
            l0=len(self.sums),
            linf=Fraction(tables * max_rows * entry),
        )

    def _square_of_replacement(
        self, reach: GroupReach, largest: NDArray[np.object_]
    ) -> int:
        """The square of |x·bᵢ − y·bⱼ| at most, for contributions x and y to atoms i and
        j: with both as large as any, and of one sign if no row adds less than nothing.
        """
        columns = np.unique(self.sums, axis=1)
        gram = columns.T @ columns
        squares = np.diag(gram)
        is_count = bool(np.all((reach.least == 1) & (reach.most == 1)))
        crossed = -gram if is_count else np.abs(gram)
        pairs = squares[:, None] + squares[None, :] + 2 * crossed
        return int(pairs.max()) * int(max(largest)) ** 2

    def measure(self, atoms: list[int]) -> list[int]:
        """The sums of exact counts or sums of atoms, in whole numbers."""
        most = max((abs(value) for value in atoms), default=0)
        widest = int(np.abs(self.sums).sum(axis=1).max())
        # Products beyond 64 bits would wrap around in silence.
        is_small = most * widest < _WIDEST_SUM
        kind = np.dtype(np.int64 if is_small else object)
        added = self.sums.astype(kind) @ np.array(atoms, kind)
        return [int(value) for value in added]

    def find_weights(self, members: NDArray[np.float64]) -> NDArray[np.float64]:
        """The weight of each measured sum in answers that are these sums of atoms."""
        return np.asarray(members @ self.recovery)


def find_strategy(
    workload: NDArray[np.float64], weights: NDArray[np.float64] | None = None
) -> AtomStrategy | None:
    """The strategy for answers that are sums of atoms by this matrix, so that their
    variances, weighed, add up to the least; None if measuring the atoms themselves is
    as good, or if there are too many of them.

    >>> find_strategy(np.eye(3)) is None
    True
    >>> deciles = find_strategy(np.tri(9))
    >>> total_variance(np.tri(9), deciles) < 0.8 * total_variance(np.tri(9), None)
    True
    """
    answers, atoms = workload.shape
    is_large = answers > MAX_STRATEGY_ANSWERS or atoms > MAX_STRATEGY_ATOMS
    if is_large or answers < 2 or atoms < 2:
        return None
    own = np.ones(answers) if weights is None else weights
    shapes, places = np.unique(workload, axis=1, return_inverse=True)
    mixture = np.sqrt(own)[:, None] * shapes
    squares, vectors = _find_fixed_point(mixture)
    mixing = (vectors / np.sqrt(np.sqrt(squares))).T * np.sqrt(own)
    longest = np.sqrt(((mixing @ shapes) ** 2).sum(axis=0).max())
    whole = np.rint(STRATEGY_UNIT * mixing / longest)
    sums = (whole @ shapes).astype(np.int64)[:, places.ravel()]
    sums = sums[np.any(sums != 0, axis=1)]
    found = AtomStrategy(sums, np.linalg.pinv(sums.astype(np.float64)))
    # Rounding may have lost what an answer needs.
    if np.abs(workload @ found.recovery @ sums - workload).max() > 1e-6:
        return None
    alone = total_variance(workload, None, own)
    return found if total_variance(workload, found, own) < alone else None


def _find_fixed_point(
    mixture: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The eigenvalues above 0 of WΛWᵀ, and their vectors, for the best weights λ."""
    atoms = mixture.shape[1]
    weights = np.full(atoms, 1 / atoms)
    for _ in range(_MOST_STEPS):
        squares, vectors = np.linalg.eigh((mixture * weights) @ mixture.T)
        is_needed = squares > _SMALLEST_SHARE * squares[-1]
        squares, vectors = squares[is_needed], vectors[:, is_needed]
        roots = np.sqrt(squares)
        lengths = ((vectors.T @ mixture) ** 2 / roots[:, None]).sum(axis=0)
        # The total variance is Σ√ times the longest column; Σ√ squared is below it.
        if lengths.max() <= (1 + _WIDEST_GAP) * roots.sum():
            break
        weights = weights * lengths
        weights = weights / weights.sum()
    return squares, vectors


def total_variance(
    workload: NDArray[np.float64],
    strategy: AtomStrategy | None,
    weights: NDArray[np.float64] | None = None,
) -> float:
    """The variances of all answers, weighed, where one count by itself has 1."""
    own = np.ones(len(workload)) if weights is None else weights
    if strategy is None:
        return float(own @ (workload**2).sum(axis=1))
    longest = float((strategy.sums**2).sum(axis=0).max())
    variances = (strategy.find_weights(workload) ** 2).sum(axis=1)
    return float(own @ variances) * longest
