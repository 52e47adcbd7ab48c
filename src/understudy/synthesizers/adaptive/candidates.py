"""What is asked for next and with which part of the budget: the marginals that gain
most, within one junction tree.

A stage has prospects: marginals, each with what the model expects of it, its noisy
distance from that and its weight in the workload. From these come gains
(synthesizers/adaptive/allocation.py), and the best parts of the budget. Noisy distances
of many marginals are drawn to their mean first, as far as their noise suggests; the
largest of many would else be large by chance.

Single columns are prospects too. How far a column is off is known from its noise. A
marginal of several columns is off by their errors and by its own, at right angles to
each other, so less of a column's gain counts where the pairs that hold it are far off
anyway.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from understudy.measurements import Clique, Distance, Measurement, Measurements
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL, noise_variance
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Schema
from understudy.synthesizers.adaptive.allocation import Array, best_parts, gain_curve
from understudy.synthesizers.adaptive.contrasts import (
    AxisMaps,
    contrast_columns,
    contrast_noise_ratio,
)
from understudy.synthesizers.budget_split import TreeGrowth

MIN_BUDGET_PART = 1e-4
"""A marginal with a smaller part of the budget than this is not measured: what it gains
is nothing, and the others can use it.
"""

MAX_CONSECUTIVE_REFUSALS = 60
"""So many marginals refused one after the other, and the tree is taken to be full."""


MAX_TRIPLE_TREE_CELLS = 200_000
"""Cells of the largest tree that triples become part of: each makes every pass of a fit
dearer, and rows meet them anyway.
"""

MAX_JOINT_FIT_WORK, MAX_SMALL_MARGINAL_CELLS = (2e7, 2e8), 64
"""Cells of a tree times marginals in it, up to which everything measured is part of
one: a pass of a fit adds each of them up. Where no marginal has more than SMALL cells,
they are asked by residuals that say nothing twice
(synthesizers/adaptive/joint_allocation.py), and fewer do.
"""

MIN_NOISE_TO_SPREAD, MIN_SPREAD_TO_MEAN = 0.8, 0.5
"""Noise hides differences when it is this share of their spread, and marginals differ
when they spread by this share of their mean.
"""

MIN_CHANCE_SHARE = 0.8
"""The part of what chance makes of counts that a marginal nobody has measured is taken
to be off by at least.
"""

MAX_ADMISSION_FORECASTS = 300
"""Marginals whose place in the tree is looked for; after that many, only what it holds
already is taken.
"""


@dataclass(frozen=True, eq=False)
class Candidates:
    """What measuring each marginal would gain, by its part of a budget; what it weighs,
    and how far it is off now.

    A marginal with `fixed` columns tells of those smaller ones alone that hold them all
    (synthesizers/adaptive/contrasts.py).
    """

    curves: Mapping[Clique, Array]
    weights: Mapping[Clique, float]
    far: Mapping[Clique, float]
    cells: Mapping[Clique, int]
    power: float
    fixed: Mapping[Clique, frozenset[str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        expected: Mapping[Clique, Array],
        far: Mapping[Clique, float],
        weights: Mapping[Clique, float],
        noise: float,
        power: float,
        maps: Mapping[Clique, AxisMaps],
    ) -> Candidates:
        """From what the model expects and how far that is off; `noise` is the deviation
        that the whole budget would buy.

        Those with `maps` would be measured by contrasts.
        """
        curves = {
            r: gain_curve(
                expected[r],
                far[r],
                noise * contrast_noise_ratio(maps.get(r, ())),
                power,
            )
            for r in expected
        }
        cells = {r: table.size for r, table in expected.items()}
        fixed = {
            r: contrast_columns(r, maps[r]) if r in maps else frozenset()
            for r in curves
        }
        return cls(
            curves,
            {r: weights[r] for r in curves},
            {r: far[r] for r in curves},
            cells,
            power,
            fixed,
        )

    def __or__(self, other: Candidates) -> Candidates:
        return Candidates(
            {**self.curves, **other.curves},
            {**self.weights, **other.weights},
            {**self.far, **other.far},
            {**self.cells, **other.cells},
            self.power,
            {**self.fixed, **other.fixed},
        )

    def only(self, cliques: Sequence[Clique]) -> Candidates:
        """Those of these marginals."""
        return replace(self, curves={r: self.curves[r] for r in cliques})

    def best(self) -> dict[Clique, tuple[float, float]]:
        """Every marginal's best part of the budget, and what it gains by it, not
        weighted.
        """
        names = list(self.curves)
        if not names or not any(self.weights[r] > 0 for r in names):
            return {}
        place = {r: i for i, r in enumerate(names)}
        # The sums of a marginal are a smaller one with as many times the variance as
        # cells are summed.
        links = [
            (
                i,
                place[inner],
                (self.cells[inner] / self.cells[r]) ** (1 / (2 * self.power)),
            )
            for r, i in place.items()
            for order in range(1, len(r))
            for inner in combinations(r, order)
            if inner in place and self.fixed.get(r, frozenset()) <= set(inner)
        ]
        parts, gains = best_parts(
            [self.curves[r] for r in names], [self.weights[r] for r in names], links
        )
        return {
            r: (
                float(part),
                float(gain) / self.weights[r] if self.weights[r] > 0 else 0.0,
            )
            for r, part, gain in zip(names, parts, gains, strict=True)
        }


def admit_cliques(
    prospects: Candidates, growth: TreeGrowth, cells: int
) -> tuple[list[Clique], list[Clique]]:
    """Those worth measuring that one tree of so many cells can hold, the most worth
    first, and those it cannot.
    """
    best = prospects.best()
    wanted = [r for r in best if best[r][0] > MIN_BUDGET_PART]
    kept: list[Clique] = []
    left: list[Clique] = []
    refused, looked = 0, 0
    for r in sorted(wanted, key=lambda r: -best[r][1] * prospects.weights[r]):
        held = growth.holds(r)
        looked += not held
        fits = held or (
            refused < MAX_CONSECUTIVE_REFUSALS
            and looked <= MAX_ADMISSION_FORECASTS
            and growth.cells + growth.cost(r) <= cells
        )
        refused = 0 if fits else refused + 1
        (kept if fits else left).append(r)
        if fits:
            growth.add(r)
    return kept, left


def cliques_in_tree(
    measurements: Measurements, schema: Schema, cells: int
) -> list[Clique]:
    """The measured cliques, in the order they were measured, that one tree of so many
    cells holds.

    A large one holds pairs alone, unless it has room for everything.
    """
    sizes = schema.column_sizes
    cliques = list(
        dict.fromkeys(
            tuple(n for n in schema if n in m.clique)
            for m in measurements
            if len(m.clique) > 1
        )
    )
    if fits_one_tree(cliques, sizes, cells):
        return cliques
    growth = TreeGrowth(sizes)
    kept: list[Clique] = []
    refused = 0
    for clique in cliques:
        limit = cells if len(clique) < 3 else min(cells, MAX_TRIPLE_TREE_CELLS)
        fits = growth.holds(clique) or (
            refused < MAX_CONSECUTIVE_REFUSALS
            and growth.cells + growth.cost(clique) <= limit
        )
        refused = 0 if fits else refused + 1
        if fits and growth.cells <= limit:
            growth.add(clique)
            kept.append(clique)
    return kept


def fits_one_tree(
    cliques: Sequence[Clique], sizes: Mapping[str, int], cells: int
) -> bool:
    """Whether one tree of so many cells holds all of these, and a fit to it is no long
    work.

    >>> sizes = dict.fromkeys("abcd", 10)
    >>> [fits_one_tree(list(combinations("abcd", 3)), sizes, cells) for cells in (1_000, 10_000)]
    [False, True]
    """
    growth = TreeGrowth(sizes)
    most = min(
        cells,
        MAX_JOINT_FIT_WORK[are_small_marginals(cliques, sizes)] / max(len(cliques), 1),
    )
    for clique in cliques:
        if growth.holds(clique):
            continue
        if growth.cells + growth.cost(clique) > most:
            return False
        growth.add(clique)
    return True


def are_small_marginals(cliques: Iterable[Clique], sizes: Mapping[str, int]) -> bool:
    """Whether none of these marginals has many cells.

    >>> are_small_marginals([("a", "b", "c")], {"a": 3, "b": 4, "c": 5}), are_small_marginals([("a", "b", "c")], {"a": 4, "b": 4, "c": 5})
    (True, False)
    """
    return all(
        math.prod(sizes[name] for name in clique) <= MAX_SMALL_MARGINAL_CELLS
        for clique in cliques
    )


def floor_at_chance(
    far: Mapping[Clique, float], expected: Mapping[Clique, Array]
) -> dict[Clique, float]:
    """Distances of marginals beyond their parts, none less than most of what chance
    makes of counts: rows are never as even as a model.

    >>> far = floor_at_chance({("a", "b"): 0.0, ("b", "c"): 90.0}, {("a", "b"): np.full((2, 2), 25.0)})
    >>> {r: round(d) for r, d in far.items()}
    {('a', 'b'): 6, ('b', 'c'): 90}
    """

    def chance_distance(table: Array) -> float:
        free = math.prod(1 - 1 / n for n in table.shape)
        return (
            MIN_CHANCE_SHARE
            * MEAN_ABS_NORMAL
            * math.sqrt(free)
            * float(np.sqrt(np.maximum(table, 0)).sum())
        )

    return {
        r: max(d, chance_distance(expected[r])) if r in expected else d
        for r, d in far.items()
    }


def reduce_triples_to_pairs(
    measurements: Measurements, held: Sequence[Clique]
) -> Measurements:
    """Triples that are no part of the tree give way to their sums, which tell of the
    pairs.

    Sums of one triple share its noise where they share a column. That is not accounted
    for: single columns are known better from elsewhere.
    """
    sets = {frozenset(clique) for clique in held}
    kept = [m for m in measurements if len(m.clique) < 3 or frozenset(m.clique) in sets]
    outside = [
        m for m in measurements if len(m.clique) > 2 and frozenset(m.clique) not in sets
    ]
    sums = [
        (m, p)
        for m in outside
        for p in combinations(m.clique, 2)
        if contrast_columns(m.clique, m.maps) <= set(p)
    ]
    return replace(measurements, items=(*kept, *(_sum_to_pair(m, p) for m, p in sums)))


def _sum_to_pair(whole: Measurement, pair: Clique) -> Measurement:
    """What a measured marginal says of two of its columns: noise adds up with the cells
    that are summed.
    """
    gone = tuple(i for i, name in enumerate(whole.clique) if name not in pair)
    values = np.asarray(whole.values.sum(axis=gone), np.int64)
    widened = Fraction(math.sqrt(whole.values.size / values.size)).limit_denominator(
        1000
    )
    maps = tuple(m for i, m in enumerate(whole.maps) if i not in gone)
    return replace(
        whole, clique=pair, maps=maps, values=values, scale=whole.scale * widened
    )


def column_errors(
    schema: Schema, found: Measurements, names: Iterable[str]
) -> dict[str, float]:
    """How far the counts of each column are off in the mean, told from the noise of
    everything that was measured of it.
    """
    pooled = PooledResiduals.of(schema, found)
    variance = {name: pooled.variance((name,)) for name in names}
    return {
        name: MEAN_ABS_NORMAL * float(np.sqrt(v).sum())
        for name, v in variance.items()
        if np.all(np.isfinite(v))
    }


def subtract_inner_errors(
    far: Mapping[Clique, float],
    off: Mapping[str, float],
    pairs: Mapping[Clique, float] | None = None,
) -> dict[Clique, float]:
    """Distances of marginals from a model without what their columns, and their pairs,
    are off by: at right angles to the rest.

    >>> {r: round(d) for r, d in subtract_inner_errors({("a", "b"): 50.0}, {"a": 30.0, "b": 0.0}).items()}
    {('a', 'b'): 40}
    """
    inner: dict[Clique, float] = {(name,): error for name, error in off.items()} | dict(
        pairs or {}
    )
    return {
        r: math.sqrt(
            max(
                d**2
                - sum(
                    inner.get(p, 0.0) ** 2
                    for k in range(1, len(r))
                    for p in combinations(r, k)
                ),
                0.0,
            )
        )
        for r, d in far.items()
    }


def add_column_candidates(
    prospects: Candidates,
    off: Mapping[str, float],
    sizes: Mapping[str, int],
    columns: Mapping[str, float],
    order: float,
    noise: float,
    power: float,
    maps: Mapping[Clique, AxisMaps],
) -> Candidates:
    """The same with every single column that was counted and how far it is `off`;
    `columns` says how much of the workload holds each.

    What a column's error costs is told after the gains of the others are taken off: a
    marginal of the workload is off by what its columns, `order` of them, and their
    pairs are, at right angles to each other. Those with `maps` would be measured by
    contrasts.
    """
    best = prospects.best()
    after = {
        r: max(far - best.get(r, (0.0, 0.0))[1], 0.0)
        for r, far in prospects.far.items()
        if len(r) == 2
    }
    others = order * (order - 1) / 2
    curves: dict[Clique, Array] = {}
    weights: dict[Clique, float] = {}
    far: dict[Clique, float] = {}
    for name, error in off.items():
        single: Clique = (name,)
        ratios = [
            error / math.sqrt(order * error**2 + others * rest**2)
            for r, rest in after.items()
            if name in r
        ]
        curves[single] = gain_curve(
            np.ones(sizes[name]),
            error,
            noise * contrast_noise_ratio(maps.get(single, ())),
            power,
        )
        weights[single], far[single] = (
            columns[name] * float(np.mean(ratios)) if ratios else 0.0,
            error,
        )
    return prospects | Candidates(
        curves, weights, far, {single: sizes[single[0]] for single in far}, power
    )


def is_hidden_by_noise(
    distances: Sequence[Distance], far: Mapping[Clique, float], clear: float
) -> bool:
    """Whether marginals may well differ in how far they are from the model, and noise
    above `clear` hides which is how far.

    Where they are about as far as each other, all of them are worth about the same, and
    no better look is needed to tell. Where noise hides even that, a second look is
    cheaper than to take it that nothing is there.
    """
    if not distances:
        return False
    values, noise = _distances_and_variance(distances)
    beyond_noise = float(values.var()) - noise
    doubt = 2 * noise * math.sqrt(2 / values.size)
    spread = math.sqrt(max(beyond_noise, 0.0))
    could = math.sqrt(max(beyond_noise + doubt, 0.0))
    return math.sqrt(noise) > max(
        clear, MIN_NOISE_TO_SPREAD * spread
    ) and could > MIN_SPREAD_TO_MEAN * float(np.mean([*far.values()]))


def signal_share(distances: Sequence[Distance]) -> float:
    """The share of what noisy distances differ by that is not their noise; none of them
    tell nothing.
    """
    if not distances:
        return 0.0
    values, noise = _distances_and_variance(distances)
    spread = max(float(values.var()) - noise, 0.0)
    return spread / (spread + noise) if noise > 0 else 1.0


def _distances_and_variance(distances: Sequence[Distance]) -> tuple[Array, float]:
    """The distances in rows, and the variance of their noise."""
    some = distances[0]
    return (
        np.array([float(d) for d in distances]),
        noise_variance(some.law, some.scale) / some.grid**2,
    )


def shrink_distances(distances: Mapping[Clique, Distance]) -> dict[Clique, float]:
    """Noisy distances drawn to their mean as far as their noise suggests, the mean by
    its own error to nothing, none of them negative.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> def far(name, value): return Distance((name,), value, 1, Law.ROUNDED_GAUSSIAN, Fraction(30), Cost(Accounting.GDP, Fraction(1)))
    >>> {r[0]: round(d) for r, d in shrink_distances({("a",): far("a", 100), ("b",): far("b", 163), ("c",): far("c", -80)}).items()}
    {'a': 79, 'b': 137, 'c': 0}
    """
    if not distances:
        return {}
    values, noise = _distances_and_variance(list(distances.values()))
    mean = float(values.mean())
    # The mean is noisy too: what is surely there of it.
    middle = max(mean - math.sqrt(noise / values.size), 0.0)
    drawn = middle + signal_share(list(distances.values())) * (values - mean)
    return {r: max(float(d), 0.0) for r, d in zip(distances, drawn, strict=True)}
