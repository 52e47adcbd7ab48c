"""Adaptive: the budget goes where the expected gain is largest.

  1. Measure every column with a tenth of the budget; fit a model of independent columns.
  2. Ask a noisy L1 distance from the model for every pair of the workload. It gives the
     prior variance of the pair, and so what measuring it would gain (gains.py). One
     convex programme allocates the budget left (allocation.py).
  3. Forest: measure the strongest pairs that form a forest, and refit.
  4. Tree: distances and allocation again, against the better model and together with
     columns and triples. Measure pairs and columns; reserve a share for triples. If one
     junction tree holds everything, columns, pairs and triples are measured at once
     (joint_allocation.py).
  5. Triples: distances against the model, allocation, measurement.
  6. Fit the maximum-entropy model on a junction tree of at most `cells` cells with
     empirical-Bayes shrinkage (models/fitting/staged.py). Measured marginals that it
     does not hold become targets of sampled rows (models/refined_tree.py).

Special cases, each in its own module: two columns, and binary pairs that noise hides
(no_selection.py); few columns in a pure run (few_columns.py); columns of two values
(contrasts.py); label groups (hierarchies.py). Stages are in stages.py, what they know in
state.py, every constant in constants.py. The method, with its notation and what each
part is worth, is on the page docs/synthesizers/adaptive.md.

It builds on pair scores against paid one-ways and rows updated towards marginals that no
model holds (Zhang et al., "PrivSyn", 2021), maximum entropy on a junction tree (McKenna,
Sheldon, Miklau, "Graphical-model based estimation", 2019), selection by what the model
serves worst, and workload weights (McKenna et al., "AIM", 2022), and empirical Bayes
(Efron, Morris 1973).

Privacy: one-ways, distances and marginals are questions to the curator, each charged
before it is answered. Which are asked, and with which noise, is computed from answers
already paid for and from sizes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

from numpy.random import Generator

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.decisions import post_decisions
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.fitting.constants import MAX_FIT_CELLS
from understudy.models.fitting.estimate import fit_measurements
from understudy.models.fitting.off_tree_targets import add_target_marginals
from understudy.models.refined_tree import RefinedTreeModel
from understudy.models.tree import TreeModel
from understudy.notices import post_notice
from understudy.schema import Schema
from understudy.synthesizers.adaptive.constants import (
    FINAL_FIT_TOLERANCE,
    MAX_UNSPENT_PART,
    MIN_NOISE_COMPARISON_EPSILON,
)
from understudy.synthesizers.adaptive.first_measurement import FirstMeasurement
from understudy.synthesizers.adaptive.hierarchies import coarse_maps
from understudy.synthesizers.adaptive.laplace_noise import (
    has_few_columns,
    prefers_laplace,
)
from understudy.synthesizers.adaptive.stages import (
    measure_few_columns,
    measure_forest,
    measure_tree,
    measure_triples,
    remeasure_columns,
)
from understudy.synthesizers.adaptive.state import (
    AdaptiveSettings,
    AdaptiveState,
)
from understudy.synthesizers.adaptive.tree_admission import (
    cliques_in_tree,
    reduce_triples_to_pairs,
)
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
from understudy.synthesizers.budget_split import round_to_sqrt2, too_large_notice


@dataclass(frozen=True, kw_only=True)
class Adaptive(Synthesizer):
    """The budget goes where the expected gain is largest."""

    name: ClassVar[str] = "adaptive"
    aware: ClassVar[Awareness] = Awareness(
        workload=True, data=True, budget=True, efficiency=True
    )
    about: ClassVar[About] = About(
        use="the first choice for most tables, at any ε",
        avoid="single columns are all that matters",
        cost=(
            "a noisy distance for each pair, and as many marginals as are worth their"
            " noise"
        ),
    )

    singles: Fraction = option(
        Fraction(1, 10),
        "part of the budget for the first measurement of single columns",
    )
    selection: Fraction = option(
        Fraction(1, 100), "part of the budget for each round of noisy distances"
    )
    cells: int = option(1_000_000, "cells of the largest tree")
    largest: int = option(100_000, "cells of the largest marginal")

    def __post_init__(self) -> None:
        parts = (self.singles, self.selection)
        if (
            not all(isinstance(part, Fraction) and part > 0 for part in parts)
            or self.singles + 3 * self.selection >= 1
        ):
            raise Refused(
                "adaptive: `singles` and `selection` are exact fractions above 0 that"
                " leave something. Nothing was spent"
            )
        if min(self.cells, self.largest) < 1:
            raise Refused(
                "adaptive: `cells` and `largest` must be at least 1. Nothing was spent"
            )

    @property
    def settings(self) -> AdaptiveSettings:
        """The options as the stages use them."""
        return AdaptiveSettings(
            singles=self.singles,
            selection=self.selection,
            cells=self.cells,
            largest=self.largest,
            fit_cells=max(MAX_FIT_CELLS, 4 * self.cells),
        )

    def smallest_noise(
        self, schema: Schema, budget: Budget, neighbours: Neighbours
    ) -> Accounting:
        """Pure ε for a table of few columns or few cells, where Laplace noise is the
        smaller one.
        """
        if budget.accounting is Accounting.PURE or not schema.is_closed:
            return budget.accounting
        sizes = {name: size for name, size in schema.column_sizes.items() if size > 1}
        if (
            not sizes
            or not has_few_columns(sizes.values(), self.largest)
            or coarse_maps(schema, list(combinations(sizes, 2)))
        ):
            return budget.accounting
        # One row replaced by another changes two counts.
        changed = 2 if neighbours is Neighbours.REPLACE else 1
        rows = schema.unit.max_rows
        epsilon = float(budget.epsilon) / (changed * rows)
        total = float(Filter.of(budget).total)
        if epsilon < MIN_NOISE_COMPARISON_EPSILON or total <= 0:
            return budget.accounting
        gaussian = changed * rows**2 / total
        if prefers_laplace(list(sizes.values()), epsilon, gaussian, self.largest):
            return Accounting.PURE
        return budget.accounting

    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """One-ways, distances, and what gains most, stage by stage."""
        state = self.run_stages(curator, workload, progress)
        if isinstance(state, Measurements):
            return state
        post_decisions(state.decisions)
        if state.left_out:
            # Sampled rows match these; rows completed from given codes do not.
            besides = (
                "; rows keep to what was measured of them, but for those sampled with"
                " `given`"
            )
            notice = too_large_notice(self.cells, state.left_out, besides=besides)
            post_notice(notice)
        return state.measurements + Measurements(gaps=tuple(state.distances.values()))

    def run_stages(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> AdaptiveState | Measurements:
        """The state after the last stage, with a decision for every candidate of every
        stage; plain measurements if there was nothing to decide.
        """
        plan = FirstMeasurement(curator, workload, self.settings)
        progress("measuring", 0.0)
        known = curator.discovered_measurements + public_total(curator)
        if not plan.pairs:
            parts = plan.last_columns
            weights = round_to_sqrt2(list(parts.values()))
            return known + curator.measure(list(parts), share=1, weights=weights)
        # One pair is the whole workload: a distance would cost budget and decide nothing.
        if plan.is_single_pair_enough:
            return known + curator.measure(plan.pairs, share=1)
        columns = curator.measure(
            plan.singles, share=self.singles, weights=list(plan.first_parts.values())
        )
        run, state = plan.start(known, columns, progress)
        if plan.is_pure_with_few_columns:
            state = measure_few_columns(run, state)
        else:
            state = measure_forest(run, state, plan.pairs)
            if curator.share_left > MAX_UNSPENT_PART:
                state = measure_tree(run, state, plan.pairs)
            state = measure_triples(run, state)
        # What no pair or triple was worth still lowers the error of every marginal when
        # it goes to the columns.
        if curator.share_left > MAX_UNSPENT_PART:
            state = remeasure_columns(run, state, plan.last_columns, curator.share_left)
        return state

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,
    ) -> TreeModel | RefinedTreeModel:
        """The maximum-entropy model of what one tree holds, with what was measured
        beyond it as targets of sampled rows.
        """
        # Decided from the measurements alone, so that a stored release is estimated again
        # in the same way.
        held = cliques_in_tree(measurements, schema, self.cells)
        reduced = reduce_triples_to_pairs(measurements, held)
        tree = fit_measurements(
            schema,
            reduced,
            cliques=held,
            empirical=True,
            tolerance=FINAL_FIT_TOLERANCE,
            limit_cells=self.settings.fit_cells,
        )
        larger = tuple(
            m for m in measurements if len(m.clique) > 2 and m not in reduced.items
        )
        targets = replace(reduced, items=(*reduced.items, *larger))
        return add_target_marginals(tree.model, targets, held)
