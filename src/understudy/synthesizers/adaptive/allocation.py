"""The allocation: which part of the budget each question gets, as one convex programme.

A question i with part p_i of the budget informs components j, each with its own worth:

    precision   s_j = Σ_i worth_ij·p_i            relative to a plain marginal's budget
    error left  L_j = d_j − G_j(s_j)              d the distance now, G the gain (gains.py)
    target      E_k = √(Σ_{j in k} L_j²)          components of a target are orthogonal
    minimise    E = Σ_k w_k·E_k                   over p ≥ 0 with Σ p = 1

G is concave, so every L is convex and not negative, every E_k is the norm of such
functions, and E is convex. Two kinds of problems are solved: marginals that are each
their own target, with what a pair says of its columns and a triple of its pairs
(candidates.py), and targets composed of residuals (joint_allocation.py).

The method moves every part by the square root of its marginal gain g_i = −∂E/∂p_i
relative to the largest one. Its certificate is the duality gap of the simplex,

    max_i g_i − Σ_i p_i·g_i  ≥  E(p) − min E,

zero if and only if all questions with a positive part have the same, largest, marginal
gain. It stops at a gap of MAX_ALLOCATION_GAP·E.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.synthesizers.adaptive.constants import (
    BUDGET_PART_GRID,
    MAX_ALLOCATION_GAP,
    MAX_ALLOCATION_UPDATES,
)
from understudy.synthesizers.adaptive.gains import Array

Indices = NDArray[np.int64]

LOG_FIRST_PART = math.log(BUDGET_PART_GRID[1])
LOG_PART_STEP = math.log(BUDGET_PART_GRID[2] / BUDGET_PART_GRID[1])
TINY_PART = 1e-300
"""No part becomes exactly zero while parts move: it could never grow again."""


@dataclass(frozen=True, eq=False)
class Incidence:
    """A sparse matrix in coordinates, of rows that act on columns."""

    rows: Indices
    columns: Indices
    values: Array

    @classmethod
    def of(cls, entries: list[tuple[int, int, float]]) -> Incidence:
        """From (row, column, value) triples."""
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        return cls(
            np.array(rows, np.int64),
            np.array(columns, np.int64),
            np.array(values, np.float64),
        )

    def apply(self, vector: Array, size: int) -> Array:
        """The vector of rows times this matrix: a vector of `size` columns."""
        weighted = self.values * vector[self.rows]
        return np.bincount(self.columns, weighted, size).astype(np.float64)

    def apply_transposed(self, vector: Array, size: int) -> Array:
        """This matrix times a vector of columns: a vector of `size` rows."""
        weighted = self.values * vector[self.columns]
        return np.bincount(self.rows, weighted, size).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Allocation:
    """The parts of the budget, the error they leave on every component, and the
    certificate: how far the predicted error can be above the least one, relatively.
    """

    parts: Array
    left: Array
    error: float
    gap: float


@dataclass(frozen=True, eq=False)
class AllocationProblem:
    """Questions × components (`informs`), targets × components (`composes`), target
    weights, distances of the components, and their gains at each part of the grid.
    """

    informs: Incidence
    composes: Incidence
    questions: int
    target_weights: Array
    distances: Array
    gains: Array

    def solve(self) -> Allocation:
        """The best parts, each question's at least TINY_PART unless nothing gains."""
        parts = np.full(self.questions, 1 / self.questions)
        if not self.gains.any():
            # Nothing to gain: one question takes all, rather than noise on every one.
            parts = np.eye(1, self.questions)[0]
            return self._certify(parts)
        for _ in range(MAX_ALLOCATION_UPDATES):
            error, marginal_gains = self.evaluate(parts)
            best = float(marginal_gains.max())
            if best - _dot(parts, marginal_gains) <= MAX_ALLOCATION_GAP * error:
                break
            moved = parts * np.sqrt(marginal_gains / max(best, TINY_PART))
            parts = np.maximum(moved, TINY_PART)
            parts /= parts.sum()
        return self._certify(parts)

    def evaluate(self, parts: Array) -> tuple[float, Array]:
        """The predicted error, and by how much more of each part would lower it."""
        left, slopes = self.errors_left(parts)
        errors = self._target_errors(left)
        # ∂E_k/∂L_j = L_j/E_k, and a component may belong to several targets.
        per_target = self.target_weights / np.maximum(errors, 1e-12)
        pull = self.composes.apply(per_target, left.size) * left
        marginal_gains = self.informs.apply_transposed(pull * slopes, parts.size)
        return _dot(self.target_weights, errors), marginal_gains

    def errors_left(self, parts: Array) -> tuple[Array, Array]:
        """The error left on every component, and how fast precision lowers it."""
        precision = self.informs.apply(parts, self.distances.size)
        position = np.clip(
            (np.log(np.maximum(precision, BUDGET_PART_GRID[1])) - LOG_FIRST_PART)
            / LOG_PART_STEP,
            0,
            BUDGET_PART_GRID.size - 2.001 - 1,
        )
        low = position.astype(np.int64)
        over = position - low
        rows = np.arange(self.distances.size)
        # The grid's first part is zero, which has no logarithm: position 0 is its
        # second.
        low_gain = self.gains[rows, low + 1]
        high_gain = self.gains[rows, low + 2]
        gain = low_gain * (1 - over) + high_gain * over
        # The slope between two parts is that in their middle, half a step higher.
        middle = np.minimum(position + 0.5, BUDGET_PART_GRID.size - 2.001)
        below = middle.astype(np.int64)
        beyond = middle - below
        low_slope = self._log_slopes[rows, below]
        high_slope = self._log_slopes[rows, below + 1]
        slope = low_slope * (1 - beyond) + high_slope * beyond
        small = precision < BUDGET_PART_GRID[1]
        gain = np.where(small, gain * precision / BUDGET_PART_GRID[1], gain)
        return np.maximum(self.distances - gain, 1e-12), np.exp(slope)

    @cached_property
    def _log_slopes(self) -> Array:
        slopes = np.diff(self.gains, axis=1) / np.diff(BUDGET_PART_GRID)
        falling = np.minimum.accumulate(np.maximum(slopes, 1e-300), axis=1)
        return np.asarray(np.log(falling))

    def _target_errors(self, left: Array) -> Array:
        squares = self.composes.apply_transposed(left**2, self.target_weights.size)
        return np.asarray(np.sqrt(squares))

    def _certify(self, parts: Array) -> Allocation:
        kept = np.where(parts < BUDGET_PART_GRID[1], 0.0, parts)
        kept /= kept.sum()
        error, marginal_gains = self.evaluate(kept)
        gap = float(marginal_gains.max()) - _dot(kept, marginal_gains)
        left, _ = self.errors_left(kept)
        return Allocation(kept, left, error, gap / max(error, 1e-12))


def _dot(left: Array, right: Array) -> float:
    # Not `@`: from ten thousand numbers on it wakes the threads of the linear algebra
    # library, which takes longer than the product.
    return float((left * right).sum())
