"""Marginals as commuting averages: the algebra in which every fit of this room is
diagonal.

E(S) averages a table over all columns outside S. All E(S) commute, and the table space
is the orthogonal sum of one residual space for each set A of columns (what A says beyond
its subsets), on which E(S) is the identity if A ⊆ S and zero otherwise. So the
information matrix of any set of measured marginals has one eigenvalue for each A, and
that is the same for all A with the same closure: the intersection of the measured sets
that hold A. The closures are a lattice, few sets however many columns there are, and

    f(W) = Σ over sets S of the lattice of β(S)·E(S),   Σ of β(T) over T ⊇ S = f(λ(S)).

Nothing dense is ever formed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

AxisSet = tuple[int, ...]
"""Axes of the persons' table, in rising order."""

Floats = NDArray[np.float64]


class MarginalLattice:
    """The sets of axes closed under intersection that measured marginals generate,
    smallest first. Tables have their units on axis 0.

    >>> MarginalLattice((2, 3, 4), [(0, 1), (1, 2)]).sets
    ((1,), (0, 1), (1, 2), (0, 1, 2))
    """

    def __init__(self, shape: tuple[int, ...], measured: Iterable[AxisSet]) -> None:
        self.shape = shape
        # The whole table is a member even if it is not measured: its eigenvalue is 0.
        closed = {tuple(range(len(shape))), *map(tuple, measured)}
        while True:
            met = {_intersect(a, b) for a in closed for b in closed}
            if met <= closed:
                break
            closed |= met
        self.sets: tuple[AxisSet, ...] = tuple(
            sorted(closed, key=lambda s: (len(s), s))
        )

    @property
    def cells(self) -> int:
        """Cells of the whole table."""
        return math.prod(self.shape)

    def count_cells(self, axes: AxisSet) -> int:
        """Cells of a marginal."""
        return math.prod(self.shape[axis] for axis in axes)

    def average_table(self, table: Floats, axes: AxisSet) -> Floats:
        """E(S) of tables over all axes, kept broadcastable."""
        gone = tuple(1 + axis for axis in range(len(self.shape)) if axis not in axes)
        return table.mean(axis=gone, keepdims=True) if gone else table

    def weigh_averages(
        self, eigenvalues: Mapping[AxisSet, float]
    ) -> dict[AxisSet, float]:
        """The coefficients β of the operator with these eigenvalues; zeros left out."""
        beta: dict[AxisSet, float] = {}
        for axes in reversed(self.sets):
            above = [beta[other] for other in beta if set(other) > set(axes)]
            beta[axes] = eigenvalues[axes] - sum(above)
        return {axes: value for axes, value in beta.items() if abs(value) > 1e-15}

    def apply_operator(self, beta: Mapping[AxisSet, float], table: Floats) -> Floats:
        """Σ β(S)·E(S) of tables over all axes."""
        result = np.zeros_like(table)
        for axes, value in beta.items():
            result += value * self.average_table(table, axes)
        return result

    @cached_property
    def _residual_weights(self) -> dict[AxisSet, dict[AxisSet, float]]:
        return {
            axes: self.weigh_averages({s: float(s == axes) for s in self.sets})
            for axes in self.sets
        }

    def keep_residual(self, axes: AxisSet, marginal: Floats) -> Floats:
        """The part of a marginal over `axes` that no smaller set of the lattice holds."""
        result = np.zeros_like(marginal)
        for smaller, value in self._residual_weights[axes].items():
            gone = tuple(1 + i for i, axis in enumerate(axes) if axis not in smaller)
            result += value * (
                marginal.mean(axis=gone, keepdims=True) if gone else marginal
            )
        return result

    def expand_marginal(self, axes: AxisSet, marginal: Floats) -> Floats:
        """A marginal over `axes` with length 1 on all other axes of the table."""
        sizes = [self.shape[i] if i in axes else 1 for i in range(len(self.shape))]
        return marginal.reshape(len(marginal), *sizes)

    def rank(self, axes: AxisSet, query: AxisSet) -> int:
        """Dimension of what the component of `axes` contributes to a query."""
        return sum(
            math.prod(self.shape[i] - 1 for i in inside)
            for inside in _subsets(query)
            if self._close(inside) == axes
        )

    def _close(self, inside: AxisSet) -> AxisSet:
        """The smallest set of the lattice that holds these axes."""
        return next(s for s in self.sets if set(inside) <= set(s))


def sum_to_marginal(table: NDArray[Any], have: AxisSet, want: AxisSet) -> NDArray[Any]:
    """Tables over the axes `have`, summed to those over `want`."""
    gone = tuple(1 + i for i, axis in enumerate(have) if axis not in want)
    return table.sum(axis=gone) if gone else table


def number_parts(shape: tuple[int, ...], axes: AxisSet) -> NDArray[np.int64]:
    """For each cell of a table, the number of the marginal's cell that it lies in.

    >>> number_parts((2, 2), (1,)).tolist()
    [0, 1, 0, 1]
    """
    number = np.zeros(shape, np.int64)
    for axis in axes:
        sizes = [shape[axis] if i == axis else 1 for i in range(len(shape))]
        number = number * shape[axis] + np.arange(shape[axis]).reshape(sizes)
    return number.reshape(-1)


def _intersect(a: AxisSet, b: AxisSet) -> AxisSet:
    return tuple(sorted(set(a) & set(b)))


def _subsets(axes: AxisSet) -> Iterable[AxisSet]:
    for size in range(len(axes) + 1):
        yield from combinations(axes, size)
