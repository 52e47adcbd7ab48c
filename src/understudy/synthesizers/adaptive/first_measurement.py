"""The first measurement of a run: what follows from schema, workload and options alone.

Which pairs can be measured, with which parts columns are counted first, and whether one
of the special cases applies. No answer of the curator is needed for any of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from understudy.measurements import AxisMap, Clique, Measurements
from understudy.models.estimates.noise_moments import MEAN_ABS_LAPLACE, MEAN_ABS_NORMAL
from understudy.models.fitting.estimate import fit_measurements
from understudy.synthesizers.adaptive.constants import (
    STAGE_FIT_TOLERANCE,
    UNTARGETED_COLUMN_WEIGHT,
)
from understudy.synthesizers.adaptive.contrasts import AxisMaps
from understudy.synthesizers.adaptive.gains import LAPLACE_NOISE_POWER
from understudy.synthesizers.adaptive.hierarchies import coarse_maps, mapped_cells
from understudy.synthesizers.adaptive.laplace_noise import (
    has_few_columns,
)
from understudy.synthesizers.adaptive.no_selection import pair_covers_columns
from understudy.synthesizers.adaptive.state import (
    AdaptiveRun,
    AdaptiveSettings,
    AdaptiveState,
)
from understudy.synthesizers.adaptive.tree_admission import (
    clique_cells,
    fits_one_tree,
)
from understudy.synthesizers.adaptive.workload_weights import (
    IndexedWorkload,
    column_weights,
    mean_order,
    pair_weights,
)
from understudy.synthesizers.base import (
    CuratorProtocol,
    Progress,
    Workload,
)
from understudy.synthesizers.budget_split import round_to_sqrt2
from understudy.synthesizers.shared.noise_units import noise_power, unit_noise
from understudy.synthesizers.shared.one_ways import one_ways


class FirstMeasurement:
    """What follows from the schema, the workload and the options alone."""

    def __init__(
        self, curator: CuratorProtocol, workload: Workload, settings: AdaptiveSettings
    ) -> None:
        self.curator, self.settings = curator, settings
        schema = curator.schema
        self.power = noise_power(curator.accounting)
        every = schema.column_sizes
        self.sizes = {name: size for name, size in every.items() if size > 1}
        self.targets, self.indexed = _merge_targets(workload, self.sizes)
        self.column_weights = dict.fromkeys(schema, 0.0) | column_weights(self.indexed)
        self.pair_weights = pair_weights(self.indexed)
        self.levels = coarse_maps(schema, list(self.pair_weights))
        # Discovery may have counted some columns already; those are not asked again.
        self.singles = one_ways(curator)
        self.pairs = [r for r in self.pair_weights if self._can_measure(r)]

    def _can_measure(self, clique: Clique) -> bool:
        return can_measure(
            clique_cells(clique, self.sizes), self.levels.get(clique), self.settings
        )

    @cached_property
    def min_column_weight(self) -> float:
        """The weight of a column outside the workload."""
        mean = sum(self.column_weights.values()) / len(self.column_weights)
        return max(UNTARGETED_COLUMN_WEIGHT * mean, 1e-9)

    def column_part(self, name: str) -> float:
        """The part of a column that minimises the weighted noise of all, up to a factor."""
        weight = max(self.column_weights[name], self.min_column_weight)
        # Minimises Σ weight·size·part^−power with Σ part = 1 (Lagrange).
        size = self.curator.schema.sizes((name,))[0]
        return float((weight * size) ** (1 / (1 + self.power)))

    @cached_property
    def first_parts(self) -> dict[Clique, float]:
        """The parts of the budget for the first measurement of each column."""
        parts = round_to_sqrt2([self.column_part(name) for (name,) in self.singles])
        return dict(zip(self.singles, parts, strict=True))

    @cached_property
    def last_columns(self) -> dict[Clique, float]:
        """The columns that get what is left in the end, and their parts: those of the
        workload even if they were counted before the run.
        """
        targeted = [
            (name,)
            for name in self.sizes
            if self.column_weights[name] > self.min_column_weight
        ]
        cliques = dict.fromkeys([*self.singles, *targeted])
        return {(name,): self.column_part(name) for (name,) in cliques}

    @property
    def is_single_pair_enough(self) -> bool:
        """Whether the workload is the pair of the only two columns, and its sums inform
        them as well as a first measurement would.
        """
        if len(self.sizes) != 2 or list(self.targets) != self.pairs:
            return False
        if clique_cells(self.pairs[0], self.sizes) > self.settings.largest:
            return False
        total = sum(self.column_part(name) for name in self.curator.schema)
        share = float(self.settings.singles)
        parts = {name: share * self.column_part(name) / total for name in self.sizes}
        return pair_covers_columns(self.pairs[0], self.sizes, parts, self.power)

    @property
    def is_pure_with_few_columns(self) -> bool:
        """Whether the run is that of few_columns.py."""
        return (
            self.power == LAPLACE_NOISE_POWER
            and has_few_columns(self.sizes.values(), self.settings.largest)
            and not self.levels
        )

    def start(
        self, known: Measurements, columns: Measurements, progress: Progress
    ) -> tuple[AdaptiveRun, AdaptiveState]:
        """The run, and its state after the first measurement of `columns`."""
        # The unit is known as a mean size E|X|; gains need the standard deviation.
        is_laplace = self.power == LAPLACE_NOISE_POWER
        mean_abs = MEAN_ABS_LAPLACE if is_laplace else MEAN_ABS_NORMAL
        weights = self.targets | self.pair_weights
        joint = [r for r in weights if len(r) > 1]
        run = AdaptiveRun(
            curator=self.curator,
            progress=progress,
            settings=self.settings,
            sizes=self.sizes,
            weights=weights,
            targets=self.indexed,
            column_weights=self.column_weights,
            order=mean_order(weights, self.column_weights),
            unit_noise=unit_noise(columns, self.settings.singles, self.power)
            / mean_abs,
            power=self.power,
            is_jointly_fitted=fits_one_tree(joint, self.sizes, self.settings.cells),
        )
        measurements = known + columns
        estimate = fit_measurements(
            self.curator.schema,
            measurements,
            empirical=True,
            tolerance=STAGE_FIT_TOLERANCE,
        )
        return run, AdaptiveState(measurements, estimate)


def can_measure(
    cells: int, maps: AxisMaps | Sequence[AxisMap] | None, settings: AdaptiveSettings
) -> bool:
    """Whether a marginal of `cells` cells can be measured, as it is or through maps to
    groups of its labels.
    """
    if cells <= settings.largest:
        return True
    if maps is None:
        return False
    return mapped_cells(maps) <= settings.largest and cells <= settings.cells


def _merge_targets(
    workload: Workload, sizes: Mapping[str, int]
) -> tuple[dict[Clique, float], IndexedWorkload]:
    """The workload's weights by the columns that vary: several marginals may be one
    without the columns of a single value.
    """
    names = list(sizes)
    targets = dict(zip(workload.cliques, workload.weights, strict=True))
    indexed = IndexedWorkload.of(targets, names)
    # Most need no work: all triples of 200 columns are 1.3 million.
    if len(targets) == len(workload.cliques) and indexed.is_ordered:
        return targets, indexed
    place = {name: i for i, name in enumerate(names)}
    targets = {}
    for clique, weight in zip(workload.cliques, workload.weights, strict=True):
        varying = sorted((n for n in clique if n in place), key=place.__getitem__)
        merged = tuple(varying)
        targets[merged] = targets.get(merged, 0.0) + weight
    return targets, IndexedWorkload.of(targets, names)
