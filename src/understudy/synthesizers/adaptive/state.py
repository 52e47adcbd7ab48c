"""What a run of `adaptive` is given, what it knows, and what it decided (decisions.py).

Stages (stages.py) are functions from a state to the next one. Nothing here changes in
place; only the curator, which answers and charges, does.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from understudy.decisions import Decision, Verdict
from understudy.measurements import Clique, EstimateDistance, Measurements
from understudy.models.fitting.estimate import TreeEstimate
from understudy.synthesizers.adaptive.candidates import (
    BudgetNoise,
    BudgetShare,
    Candidates,
)
from understudy.synthesizers.adaptive.workload_weights import IndexedWorkload
from understudy.synthesizers.base import CuratorProtocol, Progress


@dataclass(frozen=True, kw_only=True)
class AdaptiveSettings:
    """The options of `adaptive` that its stages use."""

    singles: Fraction
    selection: Fraction
    cells: int
    largest: int
    fit_cells: int


@dataclass(frozen=True, eq=False, kw_only=True)
class AdaptiveRun:
    """What stays the same during a run.

    `sizes` are those of the columns that vary. `weights` has the workload and its
    pairs, `targets` the workload alone as indices, `column_weights` how much of it
    holds each column, and `order` how many columns a marginal of it has in the mean.
    `unit_noise` is the standard deviation that the whole budget would buy for one
    marginal; with a part b it is that times b^−power. `is_jointly_fitted` says whether
    one tree holds the whole workload.
    """

    curator: CuratorProtocol
    progress: Progress
    settings: AdaptiveSettings
    sizes: Mapping[str, int]
    weights: Mapping[Clique, float]
    targets: IndexedWorkload
    column_weights: Mapping[str, float]
    order: float
    unit_noise: float
    power: float
    is_jointly_fitted: bool

    @property
    def remaining_noise(self) -> BudgetNoise:
        """The noise that the budget left would buy for one marginal."""
        return BudgetNoise(self.noise_with(self.curator.share_left), self.power)

    def noise_with(self, share: Fraction | float) -> float:
        """The standard deviation that a share of the budget buys for one marginal."""
        return self.unit_noise * math.pow(share, -self.power)


@dataclass(frozen=True, eq=False)
class AdaptiveState:
    """What a run knows after a stage.

    `estimate` is the model of all `measurements`, `measured` their cliques of several
    columns in order. `distances` are the paid distances, the last one of each marginal.
    `reserved` is the share of the budget kept for the triples `reserved_for`, and
    `left_out` the pairs that are worth measuring but have no room in the tree.
    """

    measurements: Measurements
    estimate: TreeEstimate
    measured: tuple[Clique, ...] = ()
    distances: Mapping[Clique, EstimateDistance] = field(default_factory=dict)
    reserved: Fraction = Fraction(0)
    reserved_for: tuple[Clique, ...] = ()
    left_out: tuple[Clique, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def rows(self) -> float:
        """The estimated number of rows."""
        return self.estimate.model.total

    def with_decisions(
        self,
        stage: str,
        candidates: Candidates,
        shares: Mapping[Clique, BudgetShare],
        verdicts: Mapping[Verdict, Sequence[Clique]],
    ) -> AdaptiveState:
        """The same with a decision for every candidate: INFORMED or NO_GAIN for those
        that no verdict names.
        """
        # A later verdict of the same candidate wins: measured although without room.
        by_clique: dict[Clique, Verdict] = {}
        for verdict, cliques in verdicts.items():
            by_clique |= dict.fromkeys(cliques, verdict)
        decided: list[Decision] = []
        for clique, candidate in candidates.items():
            share = shares.get(clique, BudgetShare())
            decided.append(
                Decision(
                    stage=stage,
                    clique=clique,
                    noisy_distance=candidate.noisy_distance,
                    distance=candidate.distance,
                    prior_variance=candidate.prior_deviation**2,
                    gain=share.gain,
                    part=share.part,
                    verdict=by_clique.get(clique, _verdict_without(share)),
                )
            )
        return replace(self, decisions=(*self.decisions, *decided))


def _verdict_without(share: BudgetShare) -> Verdict:
    """Why a candidate without a verdict of its own was not measured."""
    # Without a part of its own, whatever it gains comes from marginals that hold it;
    # less than a row is not worth saying.
    is_informed = share.part == 0 and round(share.gain) > 0
    return Verdict.INFORMED if is_informed else Verdict.NO_GAIN
