"""Adaptive: what each marginal would gain is asked first, and the budget goes where it
gains most.

  1. One-way marginals (a tenth of the budget), and a model of independent columns.
  2. How far is every pair of the workload from the model? A noisy L1 distance for each,
     all at once. Distance and expected counts say how far counts lie from the model,
     and so what a measurement with a given noise would gain
     (synthesizers/adaptive/allocation.py). The best parts of the budget are those that
     gain most in all; a pair also tells of its columns, a triple of its pairs. Where
     pairs differ and noise hides how, at a very small ε, columns are counted once more
     and the distances are asked again, better. Of a column with two values the
     difference is measured, which costs half (synthesizers/adaptive/contrasts.py).
  3. Of these pairs, those that form a forest, the strongest, are measured with their
     parts, and the model is fitted again: it now explains much of what other pairs have
     in common.
  4. Distances and gains anew, against the better model, and distances of triples where
     their noise leaves something to see. The pairs that gain most are measured, and
     single columns where their own error is what matters. The part that triples would
     gain more by is kept. Where one tree has room for all columns, pairs and triples
     there are, they get what is left at once
     (synthesizers/adaptive/joint_allocation.py).
  5. With that part, the triples that gain most by their distance from the model by
     then.
  6. The model of maximum entropy on a junction tree of at most `cells` cells, leaning
     towards simpler ones where noise is all there is to see
     (models/fitting/marginal_strength.py), in the way that serves the answers best
     (models/fitting/selection.py). What was measured and has no room there becomes aims
     that rows of a sample meet (models/refined_tree.py).

Two columns have nothing to choose, and pairs of two-valued columns that noise hides are
asked for all at once (synthesizers/adaptive/no_selection.py). In a pure run few
columns, or few cells, get all that they are worth at once
(synthesizers/adaptive/few_columns.py). The stages are in
synthesizers/adaptive/stages.py.

The ideas it stands on: pair scores against paid one-ways, the split by size, and a
table of rows updated towards marginals that no model holds (Zhang et al., "PrivSyn",
2021); maximum entropy on a junction tree (McKenna, Sheldon, Miklau, "Graphical-model
based estimation", 2019); choosing by what the model serves worst, and workload weights
(McKenna et al., "AIM", 2022); empirical Bayes (Efron, Morris 1973). One formula, the
expected gain, decides what is measured and how exactly.

Why it is private: one-ways, distances and marginals are questions to the curator, each
priced before it is answered. Which are asked, and with which noise, is computed from
answers already paid for and from sizes. All noise is Gaussian in a GDP run (Laplace in
a pure one), so the account is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

from numpy.random import Generator

from understudy.accounting.budget import Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import AxisMap, Clique, Measurements
from understudy.models.estimates.noise_moments import MEAN_ABS_LAPLACE, MEAN_ABS_NORMAL
from understudy.models.fitting.estimate import MAX_FIT_CELLS, fit_measurements
from understudy.models.fitting.off_tree_targets import add_target_marginals
from understudy.models.refined_tree import RefinedTreeModel
from understudy.models.tree import TreeModel
from understudy.schema import Schema
from understudy.synthesizers.adaptive.candidates import (
    cliques_in_tree,
    reduce_triples_to_pairs,
)
from understudy.synthesizers.adaptive.few_columns import (
    LAPLACE_NOISE_POWER,
    has_few_columns,
    prefers_laplace,
)
from understudy.synthesizers.adaptive.hierarchies import coarse_maps, mapped_cells
from understudy.synthesizers.adaptive.no_selection import pair_covers_columns
from understudy.synthesizers.adaptive.stages import MAX_UNSPENT_PART, AdaptiveRun
from understudy.synthesizers.adaptive.workload_weights import (
    column_weights,
    pair_weights,
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
from understudy.synthesizers.budget_split import (
    round_to_sqrt2,
    too_large_note,
)
from understudy.synthesizers.shared.noise_units import noise_power, unit_noise
from understudy.synthesizers.shared.one_ways import one_ways

FINAL_FIT_TOLERANCE = 0.03
"""How far the last fit goes: its gap as a share of the loss that noise alone leaves."""

MIN_NOISE_COMPARISON_EPSILON = 1e-4
"""The ε for one row below which it is not asked which noise is the smaller one: neither
tells anything.
"""

UNTARGETED_COLUMN_WEIGHT = 0.05
"""What a column that no wish names weighs, in parts of the mean: it is in the release
all the same.
"""


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
        Fraction(1, 10), "part of the budget for the first look at single columns"
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
        changed, rows = (
            (2 if neighbours is Neighbours.REPLACE else 1),
            schema.unit.max_rows,
        )
        epsilon, total = (
            float(budget.epsilon) / (changed * rows),
            float(Filter.of(budget).total),
        )
        if epsilon < MIN_NOISE_COMPARISON_EPSILON or total <= 0:
            return budget.accounting
        gaussian = changed * rows**2 / total
        return (
            Accounting.PURE
            if prefers_laplace(list(sizes.values()), epsilon, gaussian, self.largest)
            else budget.accounting
        )

    def measure(
        self, curator: CuratorProtocol, workload: Workload, progress: Progress
    ) -> Measurements:
        """One-ways, distances, and what gains most, in three stages."""
        schema, power = curator.schema, noise_power(curator.accounting)
        sizes = {name: size for name, size in schema.column_sizes.items() if size > 1}
        place = {name: i for i, name in enumerate(sizes)}
        asked: dict[Clique, float] = {}
        for clique, weight in zip(workload.cliques, workload.weights, strict=True):
            varying = _varying_columns(
                clique, place
            )  # several may be one without the columns of a single value
            asked[varying] = asked.get(varying, 0.0) + weight
        weights = pair_weights(asked, list(sizes))
        levels = coarse_maps(schema, list(weights))
        pairs = [
            pair
            for pair in weights
            if self.holds(math.prod(sizes[n] for n in pair), levels.get(pair))
        ]
        progress("measuring", 0.0)
        found = curator.discovered_measurements + public_total(curator)
        singles = one_ways(curator)
        column = column_weights(asked, list(schema))
        least = max(UNTARGETED_COLUMN_WEIGHT * sum(column.values()) / len(column), 1e-9)
        part = {
            n: (max(column[n], least) * schema.sizes((n,))[0]) ** (1 / (1 + power))
            for n in schema
        }
        split = round_to_sqrt2([part[n] for (n,) in singles])
        # What is left in the end goes to the columns that are wished for too, even if
        # they were counted before.
        last = list(
            dict.fromkeys([*singles, *((n,) for n in sizes if column[n] > least)])
        )
        if not pairs:
            return found + curator.measure(
                last, share=1, weights=round_to_sqrt2([part[n] for (n,) in last])
            )
        looks = {n: float(self.singles) * part[n] / sum(part.values()) for n in sizes}
        alone = (
            len(sizes) == 2
            and list(asked) == pairs
            and math.prod(sizes.values()) <= self.largest
        )
        if alone and pair_covers_columns(pairs[0], sizes, looks, power):
            return found + curator.measure(pairs, share=1)
        bought = curator.measure(singles, share=self.singles, weights=split)
        # The deviation that the whole budget would buy for one marginal.
        unit = unit_noise(bought, self.singles, power) / (
            MEAN_ABS_LAPLACE if power == 1 else MEAN_ABS_NORMAL
        )
        run = AdaptiveRun(
            curator,
            self,
            sizes,
            asked | weights,
            column,
            found + bought,
            unit,
            power,
            progress,
        )
        left_out: list[Clique] = []
        if (
            power == LAPLACE_NOISE_POWER
            and has_few_columns(sizes.values(), self.largest)
            and not levels
        ):
            run.measure_few_columns()
        else:
            run.forest(pairs, singles, split)
            left_out = run.tree(pairs) if curator.share_left > MAX_UNSPENT_PART else []
            run.measure_triples()
        if curator.share_left > MAX_UNSPENT_PART:  # what no triple was worth
            run.remeasure_columns(last, [part[n] for (n,) in last], curator.share_left)
        if left_out:
            # Rows meet these too, but rows completed from given codes do not know of
            # them.
            progress(
                f"{too_large_note(self.cells, left_out)}; rows keep to what was"
                " measured of them, but for those sampled with `given`",
                0.0,
            )
        return run.found + Measurements(gaps=tuple(run.gaps.values()))

    def estimate(
        self,
        schema: Schema,
        measurements: Measurements,
        rng: Generator,  # noqa: ARG002
    ) -> TreeModel | RefinedTreeModel:
        """The maximum-entropy model of what one tree holds, and aims for what was
        measured beyond it.
        """
        held = cliques_in_tree(measurements, schema, self.cells)
        some = reduce_triples_to_pairs(measurements, held)
        tree = fit_measurements(
            schema,
            some,
            cliques=held,
            empirical=True,
            cautious=True,
            tolerance=FINAL_FIT_TOLERANCE,
            limit_cells=self.limit,
        )
        larger = tuple(
            m for m in measurements if len(m.clique) > 2 and m not in some.items
        )
        return add_target_marginals(
            tree.model, replace(some, items=(*some.items, *larger)), held
        )

    def holds(self, fine: int, axes: Sequence[AxisMap] | None) -> bool:
        """Whether a marginal of so many cells can be measured, as it is or by its
        columns' levels.
        """
        return fine <= self.largest or (
            axes is not None
            and mapped_cells(axes) <= self.largest
            and fine <= self.cells
        )

    @property
    def limit(self) -> int:
        """Cells of the largest tree a fit works on."""
        return max(MAX_FIT_CELLS, 4 * self.cells)


def _varying_columns(clique: Clique, place: Mapping[str, int]) -> Clique:
    """The columns of a clique that vary, in the schema's order."""
    at = [place.get(name, -1) for name in clique]
    if (
        at and at[0] >= 0 and at == sorted(at)
    ):  # as most are: all triples of 200 columns are 1.3 million
        return clique
    return tuple(
        sorted((name for name in clique if name in place), key=place.__getitem__)
    )
