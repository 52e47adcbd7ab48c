"""Adaptive: what each marginal would gain is asked first, and the budget goes where it gains most.

  1. One-way marginals (a fifth of the budget), and a model of independent columns.
  2. How far is every pair of the workload from the model? A noisy L1 distance for each, all at once (a fiftieth; more for many pairs).
  3. What would measuring gain? Distance and expected counts say how far counts lie from the model, and so what a measurement with a given
     noise would gain (synthesizers/adaptive_gain.py). The budget is shared out so that the sum is largest. Pairs are taken, those that
     gain most first, as long as one junction tree of at most `cells` cells holds them.
  4. They are measured, and the model is fitted again. With several `rounds`, steps 2 and 3 are repeated against the better model; from the
     second on, triples that the tree holds already are candidates too.
  5. The model of maximum entropy, leaning towards independence where noise is all there is to see (models/interactions.py).

The ideas it stands on: pair scores against paid one-ways and the split by size (Zhang et al., "PrivSyn", 2021); maximum entropy on a
junction tree (McKenna, Sheldon, Miklau, "Graphical-model based estimation", 2019); choosing by what the model serves worst, and workload
weights (McKenna et al., "AIM", 2022); empirical Bayes (Efron, Morris 1973). One formula, the expected gain, decides what is measured and
how exactly; there are no thresholds and no fixed split.

Why it is private: one-ways, distances and marginals are questions to the curator, each priced before it is answered. Which are asked, and
with which noise, is computed from answers already paid for and from sizes. All noise is Gaussian in a GDP run (Laplace in a pure one), so
the account is exact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements
from understudy.models.estimation import LIMIT_CELLS, Estimate, estimate
from understudy.models.tree import TreeModel
from understudy.schema import Schema
from understudy.synthesizers.adaptive_gain import MEAN, Array, best_parts, gain_curve, pair_weights
from understudy.synthesizers.aim import noise_power, one_ways, unit_noise
from understudy.synthesizers.base import (
    LEFT_OUT,
    About,
    Awareness,
    Curator,
    Progress,
    Synthesizer,
    Workload,
    option,
    public_total,
)
from understudy.synthesizers.sizes import Growth, column_sizes, rounded, spelled

LEAST = 1e-4
"""A marginal with a smaller part of the budget than this is not measured: what it gains is nothing, and the others can use it."""

LOOSE, TIGHT = 0.1, 0.03
"""How far a fit goes between rounds and at the end: its gap as a share of the loss that noise alone leaves."""

FULL = 60
"""So many marginals refused one after the other, and the tree is taken to be full."""


@dataclass(frozen=True, kw_only=True)
class Adaptive(Synthesizer):
    """The budget goes where the expected gain is largest."""

    name: ClassVar[str] = "adaptive"
    aware: ClassVar[Awareness] = Awareness(workload=True, data=True, budget=True, efficiency=True)
    about: ClassVar[About] = About(
        use="the first choice for most tables, at any ε",
        avoid="single columns are all that matters",
        cost="a noisy distance for each pair, and as many marginals as are worth their noise",
    )

    singles: Fraction = option(Fraction(1, 5), "part of the budget for single columns")
    selection: Fraction = option(Fraction(1, 50), "part of the budget for all noisy distances together")
    rounds: int = option(1, "rounds in which distances are asked for and marginals measured")
    cells: int = option(4_000_000, "cells of the largest model")
    largest: int = option(100_000, "cells of the largest marginal")

    def __post_init__(self) -> None:
        parts = (self.singles, self.selection)
        if not all(isinstance(part, Fraction) and part > 0 for part in parts) or sum(parts) >= 1:
            raise Refused(
                "adaptive: `singles` and `selection` are exact fractions above 0 that leave something. Nothing was spent"
            )
        if min(self.rounds, self.cells, self.largest) < 1:
            raise Refused("adaptive: `rounds`, `cells` and `largest` must be at least 1. Nothing was spent")

    def measure(self, curator: Curator, workload: Workload, progress: Progress) -> Measurements:
        """One-ways, distances, and what gains most."""
        schema, power = curator.schema, noise_power(curator.currency)
        sizes = {name: size for name, size in column_sizes(schema).items() if size > 1}
        asked = dict(zip(workload.cliques, workload.weights, strict=True))
        weights = pair_weights(asked, list(sizes))
        pairs = [pair for pair in weights if _cells(pair, sizes) <= self.largest]
        progress("measuring", 0.0)
        found = curator.known + public_total(curator)
        singles = one_ways(curator)
        column = {name: 1e-9 + sum(w for c, w in asked.items() if name in c) for name in schema}
        exponent = 1 / (1 + power)
        split = rounded([(column[name] * schema.sizes((name,))[0]) ** exponent for (name,) in singles])
        if not pairs:
            return found + curator.measure(singles, share=1, weights=split)
        bought = curator.measure(singles, share=self.singles, weights=split)
        found += bought
        # The deviation that the whole budget would buy for one marginal.
        unit = unit_noise(bought, self.singles, power) / (1 / math.sqrt(2) if power == 1 else MEAN)
        state = estimate(schema, found, empirical=True, tolerance=LOOSE)
        held: list[Clique] = []
        left_out: list[Clique] = []
        for turn in range(self.rounds):
            candidates = pairs + ([] if not held else _inside(state.model, asked, sizes, self.largest))
            expected = _expected(state.model, candidates)
            candidates = list(expected)
            distances = curator.errors(expected, share=self.selection / self.rounds)
            progress("selecting", (turn + 1) / self.rounds)
            share = curator.left / (self.rounds - turn)
            noise = unit * float(share) ** -power
            gains = {r: gain_curve(expected[r], float(distances[r]), noise, power) for r in candidates}
            weigh = {r: weights[r] if len(r) == 2 else asked.get(r, 0.0) for r in candidates}
            chosen, left_out = self._chosen(gains, weigh, sizes, held)
            if not chosen:  # nothing is worth its noise: what is left sharpens the columns
                return found + curator.measure(singles, share=curator.left, weights=split)
            found += curator.measure(list(chosen), share=share, weights=rounded(list(chosen.values())))
            held = list(dict.fromkeys([*held, *chosen]))
            progress("measuring", float(1 - curator.left))
            if turn < self.rounds - 1:
                state = estimate(schema, found, empirical=True, warm=state, tolerance=LOOSE, limit_cells=self._limit)
        if left_out:
            progress(f"{LEFT_OUT}, beyond {self.cells:,} cells: {spelled(left_out)}", 0.0)
        return found

    def estimate(self, schema: Schema, measurements: Measurements, rng: Generator) -> TreeModel:  # noqa: ARG002
        """The maximum-entropy model of everything measured, each marginal believed as far as it deserves."""
        return self._fitted(schema, measurements).model

    def _fitted(self, schema: Schema, measurements: Measurements) -> Estimate:
        return estimate(schema, measurements, empirical=True, tolerance=TIGHT, limit_cells=self._limit)

    @property
    def _limit(self) -> int:
        return max(LIMIT_CELLS, 4 * self.cells)

    def _chosen(
        self,
        gains: Mapping[Clique, Array],
        weights: Mapping[Clique, float],
        sizes: Mapping[str, int],
        held: Sequence[Clique],
    ) -> tuple[dict[Clique, float], list[Clique]]:
        """What is measured with which part of the budget, and what would have been worth it but has no place in the tree."""
        names = list(gains)
        parts, worth = best_parts([gains[r] for r in names], [weights[r] for r in names])
        wanted = [names[i] for i in np.argsort(-worth) if parts[i] > LEAST]
        growth = Growth(sizes, held)
        kept: list[Clique] = []
        left: list[Clique] = []
        refused = 0
        for r in wanted:
            fits = growth.holds(r) or (refused < FULL and growth.cells + growth.cost(r) <= self.cells)
            refused = 0 if fits else refused + 1
            (kept if fits else left).append(r)
            if fits:
                growth.add(r)
        if not kept:
            return {}, left
        parts, _ = best_parts([gains[r] for r in kept], [weights[r] for r in kept])
        return {r: float(part) for r, part in zip(kept, parts, strict=True) if part > LEAST}, left


def _cells(clique: Clique, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[name] for name in clique)


def _expected(model: TreeModel, cliques: Sequence[Clique]) -> dict[Clique, Array]:
    """The model's marginals; pairs too far apart in a wide tree to be brought together are left out."""
    try:
        return model.marginals(cliques)
    except Refused:
        tree = model.beliefs.tree
        return model.marginals([r for r in cliques if tree.home(r) is not None])


def _inside(model: TreeModel, workload: Mapping[Clique, float], sizes: Mapping[str, int], largest: int) -> list[Clique]:
    """Triples of the workload that the tree holds already."""
    position = {name: i for i, name in enumerate(sizes)}
    found = {
        r
        for node in model.beliefs.tree.nodes
        for r in combinations(sorted((n for n in node if n in position), key=position.__getitem__), 3)
        if r in workload and _cells(r, sizes) <= largest
    }
    return sorted(found)
