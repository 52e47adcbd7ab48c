"""Few columns in a pure run: everything measured at once, and where that is the more
exact run.

What k marginals with equal parts of a budget have of Laplace noise grows with k, of
Gaussian noise with √k. But one marginal has less of it by Laplace noise: with ε = 1 and
δ = 1e-9 a deviation of 1.4 rows, not of 5.5. So a table of few columns, which has few
marginals, is known better by a pure run, and so is one of few cells, which are counted
all at once and tell of every marginal. At a large ε integer noise of that kind is
mostly nothing at all. `prefers_laplace` says so, from sizes, ε and δ alone; a plan
tells it, and what it costs: a Gaussian run hides a person better on all but the rarest
days, so that nobody but the owner can choose.

After a first look at columns, some plans are held side by side: columns alone, all
pairs, all triples, the whole table, and the pairs and triples that gain most
(synthesizers/adaptive/candidates.py). The error that each plan leaves is foretold by
the formula that gains are told by, and the plan with the least is taken. How far pairs
are from independent is asked where the answers would tell; elsewhere weak, middling and
strong ones are taken to be as likely as each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from understudy.accounting.law import Law
from understudy.measurements import Clique
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL, noise_variance
from understudy.models.fitting.marginal_strength import independent_counts
from understudy.synthesizers.adaptive.allocation import Array
from understudy.synthesizers.adaptive.candidates import (
    MIN_BUDGET_PART,
    Candidates,
    add_column_candidates,
)
from understudy.synthesizers.adaptive.workload_weights import mean_order

MAX_FEW_COLUMNS, MAX_WHOLE_TABLE_COLUMNS = 6, 12
"""Columns that are few, whatever their sizes, and those of a table that is counted
whole: it is told apart by all subsets of them.
"""

MAX_LAPLACE_RATIO_PAIRS, MAX_LAPLACE_RATIO_TABLE = 0.45, 0.3
"""How much variance Laplace noise may have, in parts of that which Gaussian noise has
on all pairs at once: on all pairs, and on their sums from the whole table. Less than
one, since a Gaussian run leaves out the pairs that gain nothing.
"""

ASSUMED_PAIR_DISTANCES = (0.1, 0.3, 0.6)
"""The shares of all rows by which pairs are assumed to be off what independent columns
say, one as likely as the other.
"""

ASSUMED_HIGHER_DISTANCE, FEW_COLUMNS_PRIOR_VARIANCE = 0.05, 1.5
"""The share of all rows by which larger marginals are assumed to be off what their
pairs say, beside a little more than chance.
"""

MIN_CELL_SIGNAL_TO_NOISE = 0.5
"""The least that cells may differ by, in parts of the variance of their noise, for a
fit to gain anything from them.
"""

UNSEEN_PAIRS_PENALTY = 1.1
"""How many times the error of a plan counts that tells nothing of some pairs: they may
be the strong ones.
"""

MAX_CANDIDATES_BEYOND_PAIRS = 40
"""Marginals among which those that gain most are looked for; of more than that, only
pairs.
"""

LAPLACE_NOISE_POWER = 1.0
"""How Laplace noise falls with the part of a budget."""


def has_few_columns(sizes: Iterable[int], largest: int) -> bool:
    """Whether a table of such columns has few of them, or can be counted whole.

    >>> (has_few_columns([50] * 6, 100_000), has_few_columns([2] * 12, 100_000),
    ...     has_few_columns([50] * 7, 100_000), has_few_columns([2] * 13, 100_000))
    (True, True, False, False)
    """
    listed = list(sizes)
    return len(listed) <= MAX_FEW_COLUMNS or (
        len(listed) <= MAX_WHOLE_TABLE_COLUMNS and math.prod(listed) <= largest
    )


def prefers_laplace(
    sizes: Sequence[int], epsilon: float, gaussian: float, largest: int
) -> bool:
    """Whether Laplace noise serves these columns better than Gaussian noise.

    `epsilon` is what the whole budget is worth for one row, `gaussian` the variance of
    the noise that it buys for one marginal.

    >>> [prefers_laplace([5] * many, 1.0, 30.2, 100_000) for many in (2, 4, 5)], prefers_laplace([2] * 8, 1.0, 30.2, 100_000)
    ([True, True, False], True)
    """
    if not has_few_columns(sizes, largest):
        return False
    pairs = [a * b for a, b in combinations(sizes, 2)] or [math.prod(sizes)]
    noise = len(pairs) * gaussian
    whole = math.prod(sizes)
    summed = whole / (sum(pairs) / len(pairs))
    return laplace_variance(
        epsilon / len(pairs)
    ) <= MAX_LAPLACE_RATIO_PAIRS * noise or (
        whole <= largest
        and laplace_variance(epsilon) * summed <= MAX_LAPLACE_RATIO_TABLE * noise
    )


def laplace_variance(epsilon: float) -> float:
    """The variance of whole-numbered Laplace noise, P(k) ∝ exp(-ε |k|).

    >>> round(laplace_variance(0.1), 1), round(laplace_variance(10), 6)
    (199.8, 9.1e-05)
    """
    return (
        noise_variance(Law.DISCRETE_LAPLACE, 1 / epsilon) if epsilon > 0 else math.inf
    )


@dataclass(frozen=True, eq=False)
class FewColumnsPlan:
    """What a first look says of a table, and what is wished for.

    `single` has each column's counts, `off` how far they are off, `columns` and
    `weights` how much of the workload holds each column and each larger marginal;
    `noise` is the deviation that all that is left would buy for one marginal. `far`
    says how far pairs are from independent; it is empty where that is not known.
    """

    single: Mapping[str, Array]
    off: Mapping[str, float]
    columns: Mapping[str, float]
    weights: Mapping[Clique, float]
    total: float
    noise: float
    largest: int
    far: Mapping[Clique, float] = field(default_factory=dict)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of codes of every column."""
        return {name: counts.size for name, counts in self.single.items()}

    def cells(self, clique: Clique) -> int:
        """Cells of a marginal."""
        return math.prod(self.single[name].size for name in clique)

    def best_parts(self) -> dict[Clique, float]:
        """The parts of the budget that leave the least error in the mean of what is
        assumed.
        """
        looks = [
            r for r in self.weights if len(r) > 1 and self.cells(r) <= self.largest
        ]
        expected = {r: independent_counts(r, self.single, self.total) for r in looks}
        scenes = [
            self._far(expected, level)
            for level in (
                ASSUMED_PAIR_DISTANCES if not self.far else ASSUMED_PAIR_DISTANCES[:1]
            )
        ]
        plans = [parts for parts in self._candidate_plans(expected, scenes) if parts]
        return min(
            plans, key=lambda parts: self._left(parts, expected, scenes), default={}
        )

    def _far(
        self, expected: Mapping[Clique, Array], level: float
    ) -> dict[Clique, float]:
        """How far marginals are assumed to be off what smaller ones say, if pairs are
        off by this share of all rows.
        """
        assumed = {
            r: math.hypot(
                (level if len(r) == 2 else ASSUMED_HIGHER_DISTANCE) * self.total,
                MEAN_ABS_NORMAL
                * math.sqrt(FEW_COLUMNS_PRIOR_VARIANCE)
                * float(np.sqrt(table).sum()),
            )
            for r, table in expected.items()
        }
        return assumed | {r: far for r, far in self.far.items() if r in assumed}

    def _candidate_plans(
        self, expected: Mapping[Clique, Array], scenes: Sequence[Mapping[Clique, float]]
    ) -> Iterator[dict[Clique, float]]:
        """Parts of the budget, one plan after the other."""
        wished = [r for r, weight in self.weights.items() if len(r) > 1 and weight > 0]
        orders = sorted({len(r) for r in wished})
        for order in orders:
            every = [r for r in wished if len(r) == order]
            if all(r in expected for r in every):
                parts = {
                    r: (
                        (self.weights[r] * self.cells(r))
                        ** (1 / (1 + LAPLACE_NOISE_POWER))
                    )
                    for r in every
                }
                yield {r: part / sum(parts.values()) for r, part in parts.items()}
        whole = tuple(self.single)
        if self.cells(whole) <= self.largest:
            yield {whole: 1.0}
        larger = (
            [max(orders)]
            if orders and len(expected) <= MAX_CANDIDATES_BEYOND_PAIRS
            else []
        )
        held = mean_order(self.weights, self.columns)
        for far in scenes:
            prospects = Candidates.of(
                expected, far, self.weights, self.noise, LAPLACE_NOISE_POWER, {}
            )
            for most in dict.fromkeys([1, 2, *larger]):
                some = prospects.only([r for r in expected if len(r) <= most])
                best = add_column_candidates(
                    some,
                    self.off,
                    self.sizes,
                    self.columns,
                    held,
                    self.noise,
                    LAPLACE_NOISE_POWER,
                    {},
                ).best()
                yield {
                    r: part
                    for r, (part, _) in best.items()
                    if part > MIN_BUDGET_PART and self._seen(r, part, far, expected)
                }

    def _seen(
        self,
        clique: Clique,
        part: float,
        far: Mapping[Clique, float],
        expected: Mapping[Clique, Array],
    ) -> bool:
        """Whether noise with this part of the budget leaves anything to see: gains of
        small parts are but those of their hull.
        """
        return clique not in expected or bool(
            _prior_variances(expected[clique], far[clique]).max()
            > MIN_CELL_SIGNAL_TO_NOISE * self._noise_variance(part)
        )

    def _noise_variance(self, part: float) -> float:
        """That of the noise which a part of what is left would buy."""
        return (
            laplace_variance(part * math.sqrt(2) / self.noise)
            if self.noise > 0
            else 0.0
        )

    def _left(
        self,
        parts: Mapping[Clique, float],
        expected: Mapping[Clique, Array],
        scenes: Sequence[Mapping[Clique, float]],
    ) -> float:
        """The weighted mean error that is left, in rows, if these parts are measured."""
        noise = {q: self._noise_variance(part) for q, part in parts.items()}
        sets = {q: set(q) for q in parts}

        def precision(r: Clique) -> float:
            return sum(
                self.cells(r) / self.cells(q) / max(noise[q], 1e-12)
                for q in parts
                if sets[q].issuperset(r)
            )

        left, out = 0.0, False
        for name, error in self.off.items():
            cells = self.cells((name,))
            before = max(error / (MEAN_ABS_NORMAL * cells), 1e-6) ** -2
            left += (
                self.columns[name]
                * MEAN_ABS_NORMAL
                * cells
                / math.sqrt(before + precision((name,)))
            )
        for r, table in expected.items():
            known, hidden = precision(r), True
            for far in scenes:
                spread = _prior_variances(table, far[r])
                seen = np.where(
                    spread * known < MIN_CELL_SIGNAL_TO_NOISE, 0.0, spread * known
                )
                left += (
                    self.weights[r]
                    * MEAN_ABS_NORMAL
                    * float(np.sqrt(spread / (1 + seen)).sum())
                    / len(scenes)
                )
                hidden &= not seen.any()
            out |= len(r) == 2 and hidden
        return left * (UNSEEN_PAIRS_PENALTY if out else 1)


def _prior_variances(expected: Array, far: float) -> Array:
    """The variance of counts around what is expected of them, if together they are so
    far off.
    """
    return np.asarray(
        (far / (MEAN_ABS_NORMAL * float(np.sqrt(expected).sum()))) ** 2 * expected
    )
