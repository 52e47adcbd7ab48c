"""What is asked for next and with which part of the budget: the marginals that gain most, within one junction tree.

A stage has prospects: marginals, each with what the model expects of it, its noisy distance from that and its weight in the workload. From
these come gains (synthesizers/adaptive_gain.py), and the best parts of the budget. Noisy distances of many marginals are drawn to their
mean first, as far as their noise suggests; the largest of many would else be large by chance.

Single columns are prospects too. How far a column is off is known from its noise. A marginal of several columns is off by their errors and
by its own, at right angles to each other, so less of a column's gain counts where the pairs that hold it are far off anyway.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.measurements import Clique, Distance, Measurements
from understudy.models.variance import cell_variance, noise_variance
from understudy.schema import Schema
from understudy.synthesizers.adaptive_gain import MEAN, Array, best_parts, gain_curve
from understudy.synthesizers.sizes import Growth, column_sizes

LEAST = 1e-4
"""A marginal with a smaller part of the budget than this is not measured: what it gains is nothing, and the others can use it."""

FULL = 60
"""So many marginals refused one after the other, and the tree is taken to be full."""


FORECASTS = 300
"""Marginals whose place in the tree is looked for; after that many, only what it holds already is taken."""


@dataclass(frozen=True, eq=False)
class Prospects:
    """What measuring each marginal would gain, by its part of a budget; what it weighs, and how far it is off now."""

    curves: Mapping[Clique, Array]
    weights: Mapping[Clique, float]
    far: Mapping[Clique, float]

    @classmethod
    def of(
        cls,
        expected: Mapping[Clique, Array],
        far: Mapping[Clique, float],
        weights: Mapping[Clique, float],
        noise: float,
        power: float,
    ) -> Prospects:
        """From what the model expects and how far that is off; `noise` is the deviation that the whole budget would buy."""
        curves = {r: gain_curve(expected[r], far[r], noise, power) for r in expected}
        return cls(curves, {r: weights[r] for r in curves}, {r: far[r] for r in curves})

    def __or__(self, other: Prospects) -> Prospects:
        return Prospects({**self.curves, **other.curves}, {**self.weights, **other.weights}, {**self.far, **other.far})

    def only(self, cliques: Sequence[Clique]) -> Prospects:
        """Those of these marginals."""
        return Prospects({r: self.curves[r] for r in cliques}, self.weights, self.far)

    def best(self) -> dict[Clique, tuple[float, float]]:
        """Every marginal's best part of the budget, and what it gains by it, not weighted."""
        names = list(self.curves)
        if not names or not any(self.weights[r] > 0 for r in names):
            return {}
        parts, gains = best_parts([self.curves[r] for r in names], [self.weights[r] for r in names])
        return {
            r: (float(part), float(gain) / self.weights[r] if self.weights[r] > 0 else 0.0)
            for r, part, gain in zip(names, parts, gains, strict=True)
        }


def fitting(prospects: Prospects, growth: Growth, cells: int) -> tuple[list[Clique], list[Clique]]:
    """Those worth measuring that one tree of so many cells can hold, the most worth first, and those it cannot."""
    best = prospects.best()
    wanted = [r for r in best if best[r][0] > LEAST]
    kept: list[Clique] = []
    left: list[Clique] = []
    refused, looked = 0, 0
    for r in sorted(wanted, key=lambda r: -best[r][1] * prospects.weights[r]):
        held = growth.holds(r)
        looked += not held
        fits = held or (refused < FULL and looked <= FORECASTS and growth.cells + growth.cost(r) <= cells)
        refused = 0 if fits else refused + 1
        (kept if fits else left).append(r)
        if fits:
            growth.add(r)
    return kept, left


def within(measurements: Measurements, schema: Schema, cells: int) -> list[Clique]:
    """The measured cliques, in the order they were measured, that one tree of so many cells holds."""
    growth = Growth(column_sizes(schema))
    kept: list[Clique] = []
    refused = 0
    for clique in dict.fromkeys(tuple(n for n in schema if n in m.clique) for m in measurements if len(m.clique) > 1):
        fits = growth.holds(clique) or (refused < FULL and growth.cells + growth.cost(clique) <= cells)
        refused = 0 if fits else refused + 1
        if fits:
            growth.add(clique)
            kept.append(clique)
    return kept


def with_columns(
    prospects: Prospects,
    found: Measurements,
    sizes: Mapping[str, int],
    columns: Mapping[str, float],
    noise: float,
    power: float,
) -> Prospects:
    """The same with every single column that was counted; `columns` says how much of the workload holds each.

    What a column's error costs is told after the gains of the others are taken off.
    """
    precision: dict[Clique, float] = {}
    for m in found:
        if m.plain and len(m.clique) == 1 and m.clique[0] in sizes:
            precision[m.clique] = precision.get(m.clique, 0.0) + 1 / cell_variance(m)
    best = prospects.best()
    after = {r: max(far - best.get(r, (0.0, 0.0))[1], 0.0) for r, far in prospects.far.items() if len(r) == 2}
    curves, weights, far = {}, {}, {}
    for single, precise in precision.items():
        (name,) = single
        error = MEAN * sizes[name] / math.sqrt(precise)
        ratios = [error / math.hypot(error, rest) for r, rest in after.items() if name in r]
        curves[single] = gain_curve(np.ones(sizes[name]), error, noise, power)
        weights[single], far[single] = columns[name] * float(np.mean(ratios)) if ratios else 0.0, error
    return prospects | Prospects(curves, weights, far)


def settled(distances: Mapping[Clique, Distance]) -> dict[Clique, float]:
    """Noisy distances drawn to their mean as far as their noise suggests, none of them negative.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost, Currency, Law
    >>> def far(name, value): return Distance((name,), value, 1, Law.ROUNDED_GAUSSIAN, Fraction(30), Cost(Currency.GDP, Fraction(1)))
    >>> {r[0]: round(d) for r, d in settled({("a",): far("a", 100), ("b",): far("b", 160), ("c",): far("c", -80)}).items()}
    {'a': 97, 'b': 151, 'c': 0}
    """
    if not distances:
        return {}
    values = np.array([float(d) for d in distances.values()])
    some = next(iter(distances.values()))
    noise = noise_variance(some.law, some.scale) / some.grid**2
    spread = max(float(values.var()) - noise, 0.0)
    belief = spread / (spread + noise) if noise > 0 else 1.0
    drawn = values.mean() + belief * (values - values.mean())
    return {r: max(float(d), 0.0) for r, d in zip(distances, drawn, strict=True)}
