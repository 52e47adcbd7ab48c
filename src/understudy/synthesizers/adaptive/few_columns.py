"""Few columns in a pure run: everything is measured at once.

After a first measurement of the columns several plans are compared: columns alone, all pairs,
all triples, the whole table, and the pairs and triples that gain most (candidates.py).
The error that each plan leaves is predicted with the prior variances that gains are
computed from, and the plan with the least is used. Distances of pairs are asked where
they would inform; elsewhere weak, middling and strong pairs are assumed to be equally
likely.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from understudy.measurements import Clique
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.fitting.marginal_strength import independent_counts
from understudy.synthesizers.adaptive.candidates import (
    BudgetNoise,
    Candidate,
    allocate_budget,
    column_candidates,
    score_marginals,
)
from understudy.synthesizers.adaptive.constants import (
    ASSUMED_HIGHER_DISTANCE,
    ASSUMED_PAIR_DISTANCES,
    FEW_COLUMNS_PRIOR_VARIANCE,
    MAX_CANDIDATES_BEYOND_PAIRS,
    MIN_BUDGET_PART,
    MIN_CELL_SIGNAL_TO_NOISE,
    UNSEEN_PAIRS_PENALTY,
)
from understudy.synthesizers.adaptive.gains import LAPLACE_NOISE_POWER, Array
from understudy.synthesizers.adaptive.laplace_noise import laplace_variance
from understudy.synthesizers.adaptive.workload_weights import mean_order

Parts = dict[Clique, float]


@dataclass(frozen=True, eq=False)
class FewColumnsPlan:
    """A table of few columns after a first measurement, and its workload.

    `single` has each column's counts, `column_errors` their mean L1 errors,
    `column_weights` and `weights` how much of the workload holds each column and each
    larger marginal. `noise` is the standard deviation that the budget left would buy
    for one marginal. `pair_distances` are the distances of pairs from independence, if
    they were asked.
    """

    single: Mapping[str, Array]
    column_errors: Mapping[str, float]
    column_weights: Mapping[str, float]
    weights: Mapping[Clique, float]
    total: float
    noise: float
    largest: int
    pair_distances: Mapping[Clique, float] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of codes of every column."""
        return {name: counts.size for name, counts in self.single.items()}

    def cells(self, clique: Clique) -> int:
        """Cells of a marginal."""
        return math.prod(self.single[name].size for name in clique)

    def best_parts(self) -> Parts:
        """The parts of the budget left with the least predicted error."""
        joint = [
            r for r in self.weights if len(r) > 1 and self.cells(r) <= self.largest
        ]
        expected = {r: independent_counts(r, self.single, self.total) for r in joint}
        levels: tuple[float, ...] = ASSUMED_PAIR_DISTANCES
        if self.pair_distances:
            levels = levels[:1]  # unused: every pair has its own distance
        scenarios = [self._assume_distances(expected, level) for level in levels]
        plans = [plan for plan in self._list_plans(expected, scenarios) if plan]
        return min(
            plans,
            key=lambda plan: self.predict_error(plan, expected, scenarios),
            default={},
        )

    def _assume_distances(
        self, expected: Mapping[Clique, Array], level: float
    ) -> dict[Clique, float]:
        """Distances from what smaller marginals say, if pairs without a distance of
        their own are off by `level` of all rows.
        """
        assumed: dict[Clique, float] = {}
        deviation = MEAN_ABS_NORMAL * math.sqrt(FEW_COLUMNS_PRIOR_VARIANCE)
        for r, table in expected.items():
            share = level if len(r) == 2 else ASSUMED_HIGHER_DISTANCE
            chance = deviation * float(np.sqrt(table).sum())
            assumed[r] = math.hypot(share * self.total, chance)
        known = {r: d for r, d in self.pair_distances.items() if r in assumed}
        return assumed | known

    def _list_plans(
        self,
        expected: Mapping[Clique, Array],
        scenarios: Sequence[Mapping[Clique, float]],
    ) -> Iterator[Parts]:
        """Parts of the budget, one plan after the other."""
        targets = [r for r, weight in self.weights.items() if len(r) > 1 and weight > 0]
        orders = sorted({len(r) for r in targets})
        for order in orders:
            same = [r for r in targets if len(r) == order]
            yield from self._list_size_plans(same, expected)
        # Counted at once, the whole table informs every marginal without overlap.
        table = tuple(self.single)
        if self.cells(table) <= self.largest:
            yield {table: 1.0}
        highest = [1, 2]
        if orders and len(expected) <= MAX_CANDIDATES_BEYOND_PAIRS:
            highest.append(max(orders))
        for distances in scenarios:
            for order in dict.fromkeys(highest):
                yield self._split_by_gain(expected, distances, order)

    def _list_size_plans(
        self, cliques: Sequence[Clique], expected: Mapping[Clique, Array]
    ) -> Iterator[Parts]:
        """The split by size, if the error of every clique can be predicted."""
        if all(r in expected for r in cliques):
            yield self._split_by_size(cliques)

    def _split_by_size(self, cliques: Sequence[Clique]) -> Parts:
        """Parts that minimise the total noise of these marginals."""
        power = 1 / (1 + LAPLACE_NOISE_POWER)
        parts = {r: (self.weights[r] * self.cells(r)) ** power for r in cliques}
        total = sum(parts.values())
        return {r: part / total for r, part in parts.items()}

    def _split_by_gain(
        self,
        expected: Mapping[Clique, Array],
        distances: Mapping[Clique, float],
        order: int,
    ) -> Parts:
        """The parts of columns and marginals of at most `order` columns that gain most."""
        tables = {r: table for r, table in expected.items() if len(r) <= order}
        noise = BudgetNoise(self.noise, LAPLACE_NOISE_POWER)
        joint = score_marginals(tables, distances, self.weights, noise, {})
        columns = column_candidates(
            joint,
            distances,
            self.column_errors,
            self.sizes,
            self.column_weights,
            mean_order(self.weights, self.column_weights),
            noise,
            {},
        )
        candidates: dict[Clique, Candidate] = {**joint, **columns}
        shares = allocate_budget(candidates, LAPLACE_NOISE_POWER)
        parts = {r: s.part for r, s in shares.items() if s.part > MIN_BUDGET_PART}
        # The hull promises gains for small parts that their noise would hide.
        return {
            r: part
            for r, part in parts.items()
            if r not in tables or self._has_signal(tables[r], distances[r], part)
        }

    def _has_signal(self, expected: Array, distance: float, part: float) -> bool:
        """Whether any cell stands out of the noise that a part would buy."""
        signal = float(_prior_variances(expected, distance).max())
        return signal > MIN_CELL_SIGNAL_TO_NOISE * self._noise_variance(part)

    def _noise_variance(self, part: float) -> float:
        """The noise variance that a part of the budget left would buy."""
        if self.noise <= 0:
            return 0.0
        # Laplace noise of scale s has the standard deviation √2·s, and ε = 1/s.
        return laplace_variance(part * math.sqrt(2) / self.noise)

    def predict_error(
        self,
        parts: Parts,
        expected: Mapping[Clique, Array],
        scenarios: Sequence[Mapping[Clique, float]],
    ) -> float:
        """The weighted mean L1 error that measuring these parts would leave, in rows."""
        precisions = {
            q: 1 / max(self._noise_variance(part), 1e-12) for q, part in parts.items()
        }
        columns = sum(
            self.column_weights[name] * self._predict_column(name, error, precisions)
            for name, error in self.column_errors.items()
        )
        joint, any_unseen_pair = 0.0, False
        for r, table in expected.items():
            precision = self._precision_of(r, precisions)
            errors, is_seen = [], False
            for distances in scenarios:
                prior = _prior_variances(table, distances[r])
                signal = prior * precision
                # A fit gains nothing from cells that hardly stand out of the noise.
                signal = np.where(signal < MIN_CELL_SIGNAL_TO_NOISE, 0.0, signal)
                errors.append(float(np.sqrt(prior / (1 + signal)).sum()))
                is_seen |= bool(signal.any())
            joint += self.weights[r] * MEAN_ABS_NORMAL * float(np.mean(errors))
            any_unseen_pair |= len(r) == 2 and not is_seen
        penalty = UNSEEN_PAIRS_PENALTY if any_unseen_pair else 1.0
        return (columns + joint) * penalty

    def _predict_column(
        self, name: str, error: float, precisions: Mapping[Clique, float]
    ) -> float:
        """The mean L1 error left on a column."""
        cells = self.cells((name,))
        # The precision that the first measurement gave each cell, from its mean L1 error.
        before = max(error / (MEAN_ABS_NORMAL * cells), 1e-6) ** -2
        after = before + self._precision_of((name,), precisions)
        return MEAN_ABS_NORMAL * cells / math.sqrt(after)

    def _precision_of(
        self, clique: Clique, precisions: Mapping[Clique, float]
    ) -> float:
        """The precision on a cell of a marginal from everything that holds it."""
        names = set(clique)
        return sum(
            precision * self.cells(clique) / self.cells(q)
            for q, precision in precisions.items()
            if names <= set(q)
        )


def _prior_variances(expected: Array, distance: float) -> Array:
    """The prior variance τ²e of every cell at this distance from the expected counts."""
    tau = distance / (MEAN_ABS_NORMAL * float(np.sqrt(expected).sum()))
    return np.asarray(tau**2 * expected)
