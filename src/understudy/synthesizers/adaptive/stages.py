"""The stages of an adaptive run: distances, gains, and what is measured next
(synthesizers/adaptive/adaptive.py tells the whole).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import (
    Clique,
    EstimateDistance,
    Identity,
    Measurements,
    distances_with_estimates,
)
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.fitting.estimate import fit_measurements
from understudy.models.fitting.marginal_strength import independent_counts
from understudy.models.fitting.off_tree_targets import (
    add_target_marginals,
    expected_counts,
)
from understudy.models.tree import TreeModel
from understudy.synthesizers.adaptive.allocation import BUDGET_PART_GRID, Array
from understudy.synthesizers.adaptive.candidates import (
    MAX_TRIPLE_TREE_CELLS,
    MIN_BUDGET_PART,
    Candidates,
    add_column_candidates,
    admit_cliques,
    cliques_in_tree,
    column_errors,
    fits_one_tree,
    floor_at_chance,
    is_hidden_by_noise,
    shrink_distances,
    signal_share,
    subtract_inner_errors,
)
from understudy.synthesizers.adaptive.contrasts import AxisMaps, contrast_maps
from understudy.synthesizers.adaptive.few_columns import (
    LAPLACE_NOISE_POWER,
    FewColumnsPlan,
)
from understudy.synthesizers.adaptive.hierarchies import (
    apply_maps,
    cliques_better_coarse,
    coarse_maps,
)
from understudy.synthesizers.adaptive.joint_allocation import (
    MarginalQuery,
    allocate_jointly,
)
from understudy.synthesizers.adaptive.no_selection import (
    MAX_UNSELECTED_NOISE_SHARE,
    MIN_SIGNAL_SHARE,
    binary_pair_parts,
)
from understudy.synthesizers.adaptive.workload_weights import (
    mean_order,
    strongest_triples,
)
from understudy.synthesizers.base import CuratorProtocol, Progress
from understudy.synthesizers.budget_split import TreeGrowth, round_to_sqrt2
from understudy.synthesizers.shared.spanning import spanning_forest

if TYPE_CHECKING:
    from understudy.synthesizers.adaptive.adaptive import Adaptive

STAGE_FIT_TOLERANCE = 0.25
"""How far a fit goes between rounds: its gap as a share of the loss that noise alone
leaves.
"""

TRIPLE_PRIOR_VARIANCE = 1.5
"""The strength that triples are assumed to have before their distances are known: a
little more than chance.
"""

MIN_TRIPLES_PART = Fraction(1, 50)
"""The part of what is left below which triples are not asked about."""

DISTANCE_TARGET, SECOND_DISTANCE_TARGET = (
    (0.02, Fraction(3, 100)),
    (0.1, Fraction(12, 100)),
)
"""The share of all rows to within which distances are to be known, and the largest part
of the budget that a round of them gets for it; and the same for a second look at pairs
that noise hides.
"""

FEW_COLUMNS_DISTANCE_TARGET = (0.1, Fraction(3, 100))
"""The same where columns are few: pairs are few too, and all of them may be worth it.
"""

MAX_COLUMN_ERROR_SHARE, MAX_COLUMN_REPEAT_PART = 0.1, Fraction(1, 4)
"""The share of all rows that columns may be off by at that second look, and the largest
part of the budget that they get for it.
"""

MAX_FOREST_PART = Fraction(9, 10)
"""The largest part of what is left that the forest gets."""

MAX_UNSPENT_PART = Fraction(1, 1000)
"""What rounding of prices may leave of a budget."""

MAX_TRIPLE_DISTANCES = 600
"""Triples that are asked about at most: each one more makes the distances of all of
them noisier.
"""

MAX_DISTANCE_NOISE_SHARE = 0.1
"""The share of all rows below which the noise of a triple's distance must be for it to
be asked.
"""


@dataclass(eq=False)
class AdaptiveRun:
    """A run under way: what was found so far, and the model of it."""

    curator: CuratorProtocol
    how: Adaptive
    sizes: Mapping[str, int]
    weights: Mapping[Clique, float]
    columns: Mapping[str, float]
    found: Measurements
    unit: float
    power: float
    progress: Progress
    held: list[Clique] = field(default_factory=list)
    kept_back: Fraction = Fraction(0)
    later: list[Clique] = field(default_factory=list)
    gaps: dict[Clique, EstimateDistance] = field(default_factory=dict)
    maps: dict[Clique, AxisMaps] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = fit_measurements(
            self.curator.schema,
            self.found,
            empirical=True,
            tolerance=STAGE_FIT_TOLERANCE,
        )
        self.order = mean_order(self.weights, self.columns)
        # Whether one tree has room for all there is to ask. Then nothing is too weak to
        # be worth asking for if noise is small enough.
        self.whole = fits_one_tree(
            [r for r in self.weights if len(r) > 1], self.sizes, self.how.cells
        )

    def measure_few_columns(self) -> None:
        """Everything that few columns are worth, after a look at pairs where that tells
        which they are.
        """
        pairs = [
            r
            for r in self.weights
            if len(r) == 2 and _clique_cells(r, self.sizes) <= self.how.largest
        ]
        share = (
            self._distance_share(len(pairs), *FEW_COLUMNS_DISTANCE_TARGET)
            if pairs
            else Fraction(1)
        )
        noise = self.unit * (float(share) / max(len(pairs), 1)) ** -self.power
        far = (
            dict(self._score_candidates(pairs, FEW_COLUMNS_DISTANCE_TARGET).far)
            if len(pairs) > 1
            and noise < MAX_DISTANCE_NOISE_SHARE * self.state.model.total
            else {}
        )
        model = self.state.model
        table = FewColumnsPlan(
            single={name: np.asarray(model.marginal((name,))) for name in self.sizes},
            off=self._column_errors,
            columns=self.columns,
            weights=self.weights,
            total=max(model.total, 1e-9),
            noise=self._remaining_noise()[0],
            largest=self.how.largest,
            far=far,
        )
        parts = table.best_parts()
        if parts:
            self._measure_parts(parts, self.curator.share_left)

    def forest(
        self, pairs: Sequence[Clique], singles: Sequence[Clique], split: Sequence[float]
    ) -> None:
        """The strongest pairs that form a forest, each with the part it would get if
        all pairs were measured now.
        """
        prospects = self._score_candidates(pairs)
        if self._measure_without_selection(pairs):
            return
        if is_hidden_by_noise(
            [gap.distance for gap in self.gaps.values()],
            prospects.far,
            SECOND_DISTANCE_TARGET[0] * self.state.model.total,
        ):
            self._sharpen_columns(singles, split)
            prospects = self._score_candidates(pairs, SECOND_DISTANCE_TARGET)
        kept, _ = admit_cliques(prospects, TreeGrowth(self.sizes), self.how.cells)
        best = self._add_column_candidates(prospects.only(kept)).best()
        order = sorted(
            (r for r in kept if best[r][0] > MIN_BUDGET_PART),
            key=lambda r: -best[r][1] * self.weights[r],
        )
        edges = list(spanning_forest(order))
        if len(edges) < len(
            order
        ):  # else the tree is all there is to measure, and the next stage does it
            parts = {r: best[r][0] for r in edges}
            self._measure_parts(
                parts,
                min(_exact_part(sum(parts.values())), MAX_FOREST_PART)
                * self.curator.share_left,
            )

    def tree(self, pairs: Sequence[Clique]) -> list[Clique]:
        """The pairs that gain most, and single columns; the pairs worth it that the
        tree has no room for are returned.
        """
        prospects = self._score_candidates(pairs)
        growth = TreeGrowth(self.sizes, self.held)
        kept, left_out = admit_cliques(prospects, growth, self.how.cells)
        # Groups of labels are of use in the tree alone.
        chosen = self._add_column_candidates(
            prospects.only([*kept, *(r for r in left_out if r not in self.maps)])
        )
        later = self._triple_candidates(prospects)
        if self._measure_jointly(prospects, later):
            return []
        best = (chosen | later).best()
        back = sum(best[r][0] for r in later.curves)
        back = back if back >= MIN_TRIPLES_PART else 0.0
        self.later = [r for r in later.curves if best.get(r, (0.0, 0.0))[0] > 0]
        if (
            _tree_cells(
                self.sizes,
                [*self.held, *(r for r in kept if best[r][0] > MIN_BUDGET_PART)],
            )
            > MAX_TRIPLE_TREE_CELLS
        ):
            # Triples will be aims of rows there, which meet only so many of them: the
            # pairs are measured by themselves.
            back = min(back, 0.5)
            best = chosen.best()
        elif not back:
            best = chosen.best()
        self.kept_back = _exact_part(back) * self.curator.share_left
        parts = {r: best[r][0] for r in chosen.curves if best[r][0] > MIN_BUDGET_PART}
        if parts:
            self._measure_parts(parts, self.curator.share_left - self.kept_back)
        return left_out

    def _measure_jointly(self, pairs: Candidates, triples: Candidates) -> bool:
        """Where one tree has room for everything: what is left goes to columns, pairs
        and triples at once.
        """
        gaussian = (
            self.power != LAPLACE_NOISE_POWER
            and self.curator.neighbours is Neighbours.ADD_REMOVE
        )
        if (
            not (
                self.whole and gaussian and self._distances_inform(len(triples.curves))
            )
            or self.maps
        ):
            return False
        every = self._add_column_candidates(pairs) | triples
        # A triple holds three pairs: by a third of what holds them, pairs weigh as much
        # in all as triples do.
        weights = {
            r: self.weights[r] / (3 if len(r) == 2 else 1)
            for r in every.curves
            if len(r) > 1
        }
        self._ask(
            allocate_jointly(
                every, weights, self.curator.schema, self._contrast_maps(every.curves)
            ),
            self.curator.share_left,
        )
        return True

    def measure_triples(self) -> None:
        """The triples that gain most, with what was kept back for them."""
        if not self.kept_back or self.curator.share_left <= self.how.selection:
            return
        self.maps = {}
        prospects = self._score_candidates(self.later)
        best = prospects.best()
        order = sorted(
            (r for r in best if best[r][0] > MIN_BUDGET_PART),
            key=lambda r: -best[r][1] * self.weights[r],
        )
        if order:
            self._measure_parts({r: best[r][0] for r in order}, self.curator.share_left)

    def remeasure_columns(
        self, singles: Sequence[Clique], split: Sequence[float], share: Fraction
    ) -> None:
        """Measure columns once more: their total is known from the first look."""
        self._measure_parts(dict(zip(singles, split, strict=True)), share)

    def _measure_without_selection(self, pairs: Sequence[Clique]) -> bool:
        """Where pairs are one number each and distances do not tell which matter:
        measure all of them, with all that is left.
        """
        noise = self.unit * (float(DISTANCE_TARGET[1]) / len(pairs)) ** -self.power
        if (
            noise > MAX_UNSELECTED_NOISE_SHARE * self.state.model.total
            or signal_share([gap.distance for gap in self.gaps.values()])
            > MIN_SIGNAL_SHARE
        ):
            return False
        parts = binary_pair_parts(
            self.curator,
            {p: self.weights[p] for p in pairs},
            self._contrast_maps(pairs),
            self.how.singles,
        )
        if not parts:
            return False
        self._measure_parts(parts, self.curator.share_left)
        return True

    def _sharpen_columns(
        self, singles: Sequence[Clique], split: Sequence[float]
    ) -> None:
        """Columns that are far off hide what pairs have in common: measure them again."""
        rough = float(np.mean([*self._column_errors.values(), 0.0])) / (
            MAX_COLUMN_ERROR_SHARE * max(self.state.model.total, 1.0)
        )
        wanted = float(self.how.singles) * (rough ** (1 / self.power) - 1)
        if wanted > float(MAX_UNSPENT_PART):
            self.remeasure_columns(
                singles,
                split,
                min(
                    _exact_part(wanted),
                    MAX_COLUMN_REPEAT_PART,
                    self.curator.share_left / 2,
                ),
            )

    def _remaining_noise(self) -> tuple[float, float]:
        """The deviation that all that is left would buy for one marginal, and how noise
        falls with the part.
        """
        return self.unit * float(self.curator.share_left) ** -self.power, self.power

    def _score_candidates(
        self, cliques: Sequence[Clique], look: tuple[float, Fraction] | None = None
    ) -> Candidates:
        """Ask how far these marginals are from the model."""
        model = add_target_marginals(self.state.model, self.found)
        expected = expected_counts(
            model,
            [r for r in cliques if _clique_cells(r, self.sizes) <= self.how.largest],
        )
        distances = self.curator.errors(
            expected,
            share=self._distance_share(len(expected), *(look or DISTANCE_TARGET)),
        )
        self.gaps |= {
            gap.distance.clique: gap
            for gap in distances_with_estimates(distances, expected)
        }  # a later look replaces an earlier one
        self.progress("selecting", float(1 - self.curator.share_left))
        far = self._floor_at_chance(
            subtract_inner_errors(shrink_distances(distances), self._column_errors),
            expected,
        )
        fine = Candidates.of(
            expected,
            far,
            self.weights,
            *self._remaining_noise(),
            self._contrast_maps(expected),
        )
        return self._add_coarse_candidates(fine, cliques)

    @property
    def _column_errors(self) -> dict[str, float]:
        return column_errors(self.curator.schema, self.found, self.sizes)

    def _add_column_candidates(self, prospects: Candidates) -> Candidates:
        looks = self._contrast_maps([(name,) for name in self.sizes])
        return add_column_candidates(
            prospects,
            self._column_errors,
            self.sizes,
            self.columns,
            self.order,
            *self._remaining_noise(),
            looks,
        )

    def _distance_share(self, many: int, clear: float, most: Fraction) -> Fraction:
        """The part of the budget for so many distances: as much as tells them to within
        this share of all rows, in its bounds.
        """
        noise = self.unit / (clear * max(self.state.model.total, 1.0))
        needed = Fraction(noise ** (1 / self.power) * many).limit_denominator(1000)
        return min(
            max(self.how.selection, min(needed, most)), self.curator.share_left / 4
        )

    def _add_coarse_candidates(
        self, fine: Candidates, cliques: Sequence[Clique]
    ) -> Candidates:
        """The same with marginals looked at through the levels of their columns, where
        that gains more.
        """
        self.maps = coarse_maps(self.curator.schema, cliques)
        if not self.maps:
            return fine
        expected = {
            r: apply_maps(self.maps[r], table)
            for r, table in _expected_marginals(
                self.state.model, list(self.maps)
            ).items()
        }
        share = min(self.how.selection, self.curator.share_left / 4)
        distances = self.curator.errors(
            expected, share=share, maps={r: self.maps[r] for r in expected}
        )
        coarse = Candidates.of(
            expected,
            shrink_distances(distances),
            self.weights,
            *self._remaining_noise(),
            {},
        )
        part = int(np.searchsorted(BUDGET_PART_GRID, 1 / len(cliques)))
        chosen = cliques_better_coarse(fine.curves, coarse.curves, part)
        self.maps = {r: self.maps[r] for r in chosen}
        kept = coarse.only(chosen)
        return fine | kept

    def _triple_candidates(self, pairs: Candidates) -> Candidates:
        """Triples of the workload, how far they are beyond their pairs: asked where
        answers would tell, else as chance takes them.
        """
        single = {name: self.state.model.marginal((name,)) for name in self.sizes}
        total = max(self.state.model.total, 1e-9)
        # Of very many, those whose pairs are farthest from the model.
        some = strongest_triples(
            self.weights, pairs.far, self.sizes, self.how.largest, MAX_TRIPLE_DISTANCES
        )
        if self._distances_inform(len(some)):
            expected = expected_counts(self.state.model, some)
            distances = self.curator.errors(
                expected, share=min(self.how.selection, self.curator.share_left / 4)
            )
            far = self._floor_at_chance(
                subtract_inner_errors(
                    shrink_distances(distances), self._column_errors, pairs.far
                ),
                expected,
            )
        else:
            expected = {r: independent_counts(r, single, total) for r in some}
            far = {
                r: (
                    MEAN_ABS_NORMAL
                    * math.sqrt(TRIPLE_PRIOR_VARIANCE)
                    * float(np.sqrt(table).sum())
                )
                for r, table in expected.items()
            }
        return Candidates.of(
            expected,
            far,
            self.weights,
            *self._remaining_noise(),
            self._contrast_maps(expected),
        )

    def _floor_at_chance(
        self, far: dict[Clique, float], expected: Mapping[Clique, Array]
    ) -> dict[Clique, float]:
        """What nobody has measured yet is off by chance at least, where all of that can
        be heard.
        """
        known = {m.clique for m in self.found}
        return (
            floor_at_chance(far, {r: t for r, t in expected.items() if r not in known})
            if self.whole
            else far
        )

    def _distances_inform(self, many: int) -> bool:
        """Whether so many distances of triples would say something, and there are any."""
        noise = self.unit * (float(self.how.selection) / max(many, 1)) ** -self.power
        return many > 0 and noise < MAX_DISTANCE_NOISE_SHARE * max(
            self.state.model.total, 1e-9
        )

    def _contrast_maps(self, cliques: Iterable[Clique]) -> dict[Clique, AxisMaps]:
        return contrast_maps(
            self.curator.schema,
            cliques,
            self.curator.neighbours,
            self.curator.accounting,
        )

    def _measure_parts(self, parts: Mapping[Clique, float], share: Fraction) -> None:
        """Measure these, each as a marginal of its kind is asked for."""
        looks = self._contrast_maps(parts) | self.maps
        sizes = self.curator.schema.sizes
        self._ask(
            [
                MarginalQuery(r, looks.get(r) or tuple(map(Identity, sizes(r))), part)
                for r, part in parts.items()
            ],
            share,
        )

    def _ask(self, asks: Sequence[MarginalQuery], share: Fraction) -> None:
        """Ask these questions, and fit the model again if anything is left to be asked."""
        self.found += self.curator.measure(
            [ask.clique for ask in asks],
            share=share,
            weights=round_to_sqrt2([ask.part for ask in asks]),
            maps=[ask.maps for ask in asks],
        )
        self.held = list(
            dict.fromkeys(
                [*self.held, *(ask.clique for ask in asks if len(ask.clique) > 1)]
            )
        )
        self.progress("measuring", float(1 - self.curator.share_left))
        if self.curator.share_left > MAX_UNSPENT_PART:
            self.state = fit_measurements(
                self.curator.schema,
                self.found,
                empirical=True,
                cliques=cliques_in_tree(
                    self.found, self.curator.schema, self.how.cells
                ),
                warm=self.state,
                tolerance=STAGE_FIT_TOLERANCE,
                limit_cells=self.how.limit,
            )


def _exact_part(part: float) -> Fraction:
    return Fraction(part).limit_denominator(10_000)


def _clique_cells(clique: Clique, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[name] for name in clique)


def _tree_cells(sizes: Mapping[str, int], cliques: Sequence[Clique]) -> int:
    """Cells of a tree that holds these."""
    growth = TreeGrowth(sizes, cliques)
    return growth.cells


def _expected_marginals(
    model: TreeModel, cliques: Sequence[Clique]
) -> dict[Clique, Array]:
    """The model's marginals; pairs too far apart in a wide tree to be brought together
    are left out.
    """
    try:
        return model.marginals(cliques)
    except Refused:
        tree = model.beliefs.tree
        return model.marginals([r for r in cliques if tree.home(r) is not None])
