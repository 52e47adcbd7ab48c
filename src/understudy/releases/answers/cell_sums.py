"""Sums of cells in two ways, by least squares and by the release's own marginal, for
counts and for shares.

A share differs from a count in two places. The noise of the total cancels in part, so
its deviation is that of the weights less the share. And the release's own table is
scaled to the estimated number of rows, which the interval is stated in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting
from understudy.measurements import Clique
from understudy.models.uncertainty.intervals import (
    deviation_of_sum,
    deviations_at_tail,
)
from understudy.releases.answers.question import QuestionKind
from understudy.releases.evidence import Evidence

Array = NDArray[np.float64]

_MIN_TABLE_TOTAL = 1e-9
"""Smallest divisor of a share (avoids division by zero in an empty release)."""


@dataclass(frozen=True)
class CellSum:
    """A sum of cells, in rows, and its standard deviation: infinite if something that
    it needs was not measured.
    """

    rows: float
    deviation: float

    @property
    def is_measured(self) -> bool:
        """Whether everything it needs was measured."""
        return math.isfinite(self.deviation)


@dataclass(frozen=True)
class CellSums:
    """The sums that a question of one kind needs of what is known from a release."""

    evidence: Evidence
    kind: QuestionKind

    def by_least_squares(self, clique: Clique, weights: Array) -> CellSum:
        """A weighted sum of cells by least squares over all measurements."""
        pooled = self.evidence.least_squares
        rows = float((weights * pooled.marginal(clique)).sum())
        if self.kind is QuestionKind.SHARE:
            # With p the share, Σwᵢxᵢ / Σxᵢ deviates to first order as Σ(wᵢ − p)xᵢ does.
            weights = weights - rows / self.evidence.rows
        return CellSum(rows, deviation_of_sum(pooled, clique, weights))

    def by_model(self, table: Array, weights: Array) -> float:
        """A weighted sum of the release's own table, in rows."""
        rows = float((weights * table).sum())
        if self.kind is QuestionKind.COUNT:
            return rows
        return rows * self.evidence.rows / max(float(table.sum()), _MIN_TABLE_TOTAL)

    def tail_deviations(self, tail: float) -> float:
        """The number of standard deviations that the noise of this release exceeds, on
        one side, with at most this probability.
        """
        is_laplace = self.evidence.accounting is Accounting.PURE
        return deviations_at_tail(tail, laplace=is_laplace)
