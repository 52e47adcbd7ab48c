"""Bounds on weighted sums over cells from what was released: Σ w·n for unknown true
counts n, with the weights of a cell known to lie between two.

Least squares over the measurements gives any weighted sum with its exact deviation. If
a clique was not measured as a whole, its parts were: counts are not negative, so Σ w·n is
at most the same sum over fewer columns with the largest weight along the others (and
at least that with the smallest). Which parts were measured does not depend on what was
measured, so the doubt is divided among them. Every sum is also bounded by the number of
rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations, islice

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.models.uncertainty.intervals import (
    deviation_of_sum,
    deviations_at_tail,
)
from understudy.releases.evidence import Evidence

Weights = NDArray[np.float64]

MAX_LINEAR_PARTS = 20
"""Parts of a clique that are tried as bounds."""

_TOTAL_PART = 1 / 10
"""Part of the doubt for the number of rows."""


@dataclass(frozen=True, eq=False)
class LinearBounds:
    """Bounds on sums over the cells of one clique."""

    evidence: Evidence
    clique: Clique

    def bound_sum(
        self, least: Weights, most: Weights, doubt: float
    ) -> tuple[float, float]:
        """Ends that hold together except with probability `doubt`: of the sum whose
        weights lie between `least` and `most`.
        """
        tail = doubt / 2
        return -self._upper(-least, tail), self._upper(most, tail)

    def _upper(self, weights: Weights, tail: float) -> float:
        """What a sum does not exceed, except with this probability."""
        own = tail * (1 - _TOTAL_PART)
        places = self._measured_places
        ends = [self._part_end(axes, weights, own / len(places)) for axes in places]
        largest = max(float(weights.max(initial=0.0)), 0.0)
        ends.append(largest * self._most_rows(tail * _TOTAL_PART))
        return min(ends)

    def _part_end(self, axes: tuple[int, ...], weights: Weights, tail: float) -> float:
        others = tuple(i for i in range(weights.ndim) if i not in axes)
        part = tuple(self.clique[i] for i in axes)
        wide = np.asarray(weights.max(axis=others)) if others else weights
        pooled = self.evidence.least_squares
        deviation = deviation_of_sum(pooled, part, wide)
        # Constant weights need the total alone, which is always known.
        if not math.isfinite(deviation):
            return math.inf
        total = float((wide * pooled.marginal(part)).sum())
        return total + self._tail_deviations(tail) * deviation

    @cached_property
    def _measured_places(self) -> list[tuple[int, ...]]:
        """The axes of the largest measured parts: the whole clique, or those of its
        parts that were measured and lie in no other.
        """
        pooled = self.evidence.least_squares
        found: list[tuple[int, ...]] = []
        for axes in islice(self._iterate_subsets(), 10 * MAX_LINEAR_PARTS):
            is_covered = any(set(axes) <= set(larger) for larger in found)
            part = tuple(self.clique[i] for i in axes)
            if not is_covered and pooled.is_measured(part):
                found.append(axes)
        return found[:MAX_LINEAR_PARTS] or [()]

    def _iterate_subsets(self) -> Iterator[tuple[int, ...]]:
        places = range(len(self.clique))
        sizes = range(len(self.clique), 0, -1)
        return chain.from_iterable(combinations(places, size) for size in sizes)

    def _most_rows(self, tail: float) -> float:
        pooled = self.evidence.least_squares
        reach = self._tail_deviations(tail) * math.sqrt(pooled.total_variance)
        return max(pooled.total + reach, 0.0)

    def _tail_deviations(self, tail: float) -> float:
        return deviations_at_tail(tail, laplace=not self.evidence.is_gaussian)
