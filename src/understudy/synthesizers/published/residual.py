"""Residual: a workload of marginals measured by its independent parts, each with the
noise that makes the whole most exact.

Xiao, He, Zhang, Kifer, "Optimal and scalable matrix mechanism for noisy marginals under
convex privacy constraints", 2023 (ResidualPlanner); in the place of HDMM + Private-PGM
in McKenna, Mullins, Sheldon, Miklau, "AIM", 2022, Table 2.

A marginal is put together from residuals: for every subset τ of its columns what τ says
that no smaller set does. Marginals that overlap share residuals, and noise spent on a
shared one serves them all. Residual τ is measured as ⊗(nᵢI − J)·M_τ, integers, with
noise of scale σ_τ·Πnᵢ, which is σ_τ on the residual itself. With v_τ = Σ w_A·n_A·p_τ·Π
n_j⁻² (over A ⊇ τ; j in A∖τ) and p_τ = Π(nᵢ − 1)/nᵢ the variance of the workload is Σ
v_τ·σ_τ², its price Σ s_τ/σ_τ² with s_τ the squared sensitivity (p_τ under add/remove),
and the best noise at price C is

    σ_τ² = √(s_τ/v_τ) · Σ_κ √(v_κ·s_κ) / C,

so a residual gets a part ∝ √(v_τ·s_τ) of the budget

(∝ (v_τ·ℓ_τ²)^(1/3) for Laplace noise and L1 sensitivity ℓ_τ). That is the least sum of
variances. The mean L1 error, which is what counts for total variation, is Σ
w_A·n_A·deviation_A: it falls when each weight is divided by its marginal's deviation
and the plan made again.

The gain is in columns of few values, in Gaussian runs under add/remove: 1.3 to 1.5
times less noise for all pairs or triples of binary columns, a few hundredths for large
ones, where the integers would grow with Πnᵢ. (Under replace and for Laplace noise a
residual's sensitivity eats it up.) So marginals of more than `largest` cells are
measured as they are, with a part from the same formula (it is (w·n)^(2/3) for them).
The threshold with the smallest expected error is taken; sizes and weights decide it, no
data.

The formula speaks of unbiased estimates. A fit that knows counts are not negative
removes much of the noise in empty cells, which helps marginals measured as they are
more, so the gain after a fit is smaller than the formula's and may vanish.

Why it is private: one request to the curator, priced question by question by the exact
sensitivity of its integer map.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements
from understudy.models.fitting.estimate import estimate_tree
from understudy.models.tree import TreeModel
from understudy.schema import Schema
from understudy.synthesizers.base import (
    About,
    Awareness,
    CuratorProtocol,
    Progress,
    Synthesizer,
    Workload,
    option,
    public_total,
)
from understudy.synthesizers.budget_split import (
    DEFAULT_TREE_CELLS,
    cell_count,
    round_to_sqrt2,
)
from understudy.synthesizers.shared.held_workload import holdable_workload
from understudy.synthesizers.shared.residual_plan import (
    REWEIGHTING_SWEEPS,
    ResidualPlan,
)

MIDDLE_CELL_THRESHOLD = 16
"""Cells of the threshold that is tried between none and the largest."""


@dataclass(frozen=True, kw_only=True)
class Residual(Synthesizer):
    """The workload by its residuals, as much of it as one model of `limit` cells can
    hold.
    """

    name: ClassVar[str] = "residual"
    aware: ClassVar[Awareness] = Awareness(
        workload=True, data=False, budget=False, efficiency=True
    )
    about: ClassVar[About] = About(
        use="as gaussian, with columns of few values",
        avoid="there are many large columns: it becomes gaussian",
        cost="one request, nothing for choosing; time goes into the fit",
        paper=(
            'Xiao, He, Zhang, Kifer, "Optimal and scalable matrix mechanism for noisy'
            ' marginals under convex privacy constraints", NeurIPS 2023'
        ),
    )

    largest: int = option(
        64,
        "cells up to which a marginal may be measured by residuals, where that should"
        " help",
    )
    absolute: bool = option(
        True, "the smallest mean L1 error; false: the smallest sum of variances"
    )
    limit: int = option(
        DEFAULT_TREE_CELLS, "cells of the model; what is left out is said"
    )

    def __post_init__(self) -> None:
        if self.largest < 0:
            raise Refused("residual: `largest` must be at least 0. Nothing was spent")
        if self.limit < 1:
            raise Refused("residual: `limit` must be at least 1. Nothing was spent")

    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """One request for every residual and every marginal of the best plan."""
        schema = curator.schema
        progress("measuring", 0.0)
        if curator.rows is not None and cell_count(schema, tuple(schema)) == 1:
            # One cell and a public number of rows: no two neighbours differ.
            return curator.discovered_measurements + public_total(curator)
        wanted = holdable_workload(schema, workload, self.limit)
        best = self._choose_plan(curator, wanted)
        found = curator.discovered_measurements + public_total(curator)
        questions = [
            q for q, part in zip(best.questions, best.parts, strict=True) if part > 0
        ]
        parts = best.parts[best.parts > 0]
        found += curator.measure(
            [q.clique for q in questions],
            share=1,
            weights=round_to_sqrt2(parts.tolist()),
            maps=[q.maps for q in questions],
        )
        progress("measuring", 1.0)
        return found

    def _choose_plan(
        self, curator: CuratorProtocol, wanted: Mapping[Clique, float]
    ) -> ResidualPlan:
        """The plan with the least error, of three limits for what is centred."""
        schema = curator.schema
        # What is impossible carries no noise in a plain marginal, and a centred one
        # knows nothing of it.
        plain = {clique for clique in wanted if schema.zeros(clique) is not None}
        tops = sorted({0, min(MIDDLE_CELL_THRESHOLD, self.largest), self.largest})
        plans = []
        for top in tops:
            small = {clique for clique in wanted if cell_count(schema, clique) <= top}
            plan = ResidualPlan.of(
                schema, wanted, small - plain, curator.neighbours, curator.accounting
            )
            plans.append(
                plan.minimise_l1_error(REWEIGHTING_SWEEPS) if self.absolute else plan
            )
        # Errors follow from sizes and noise alone, so the choice costs nothing.
        return min(plans, key=lambda p: p.error(absolute=self.absolute))

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> TreeModel:
        """The maximum-entropy model of everything measured."""
        return estimate_tree(schema, measurements, limit_cells=self.limit)
