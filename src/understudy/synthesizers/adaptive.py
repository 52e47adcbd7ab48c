"""Adaptive: what each marginal would gain is asked first, and the budget goes where it gains most.

  1. One-way marginals (a tenth of the budget), and a model of independent columns.
  2. How far is every pair of the workload from the model? A noisy L1 distance for each, all at once. Distance and expected counts say how
     far counts lie from the model, and so what a measurement with a given noise would gain (synthesizers/adaptive_gain.py). The best parts
     of the budget are those that gain most in all; a pair also tells of its columns, a triple of its pairs. Where pairs differ and noise
     hides how, at a very small ε, columns are counted once more and the distances are asked again, better. Of a column with two values the
     difference is measured, which costs half (synthesizers/contrasts.py).
  3. Of these pairs, those that form a forest, the strongest, are measured with their parts, and the model is fitted again: it now explains
     much of what other pairs have in common.
  4. Distances and gains anew, against the better model, and distances of triples where their noise leaves something to see. The pairs that
     gain most are measured, and single columns where their own error is what matters. The part that triples would gain more by is kept.
  5. With that part, the triples that gain most by their distance from the model by then.
  6. The model of maximum entropy on a junction tree of at most `cells` cells, leaning towards simpler ones where noise is all there is to
     see (models/interactions.py). What was measured and has no room there becomes aims that rows of a sample meet (models/aimed.py).

The ideas it stands on: pair scores against paid one-ways, the split by size, and a table of rows updated towards marginals that no model
holds (Zhang et al., "PrivSyn", 2021); maximum entropy on a junction tree (McKenna, Sheldon, Miklau, "Graphical-model based estimation",
2019); choosing by what the model serves worst, and workload weights (McKenna et al., "AIM", 2022); empirical Bayes (Efron, Morris 1973).
One formula, the expected gain, decides what is measured and how exactly.

Why it is private: one-ways, distances and marginals are questions to the curator, each priced before it is answered. Which are asked, and
with which noise, is computed from answers already paid for and from sizes. All noise is Gaussian in a GDP run (Laplace in a pure one), so
the account is exact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.random import Generator

from understudy.errors import Refused
from understudy.measurements import AxisMap, Clique, Gap, Identity, Measurements, gaps_of
from understudy.models.aimed import AimedModel
from understudy.models.aiming import aimed, expected_counts
from understudy.models.estimation import LIMIT_CELLS, estimate
from understudy.models.tree import TreeModel
from understudy.schema import Schema
from understudy.synthesizers.adaptive_choice import (
    ACROSS,
    LEAST,
    Prospects,
    beyond,
    columns_off,
    fitted,
    fitting,
    hidden,
    settled,
    with_columns,
    within,
)
from understudy.synthesizers.adaptive_gain import MEAN, PARTS, Array, pair_weights
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
from understudy.synthesizers.contrasts import Maps, contrasts
from understudy.synthesizers.levels import cells, coarse_maps, coarser, through
from understudy.synthesizers.mst import spanning
from understudy.synthesizers.sizes import Growth, column_sizes, rounded, spelled

LOOSE, TIGHT = 0.1, 0.02
"""How far a fit goes between rounds and at the end: its gap as a share of the loss that noise alone leaves."""

CHANCE = 1.5
"""The strength that triples are assumed to have before their distances are known: a little more than chance."""

WORTH = Fraction(1, 50)
"""The part of what is left below which triples are not asked about."""

LOOK, BETTER = (0.02, Fraction(3, 100)), (0.1, Fraction(12, 100))
"""The share of all rows to within which distances are to be known, and the largest part of the budget that a round of them gets for it;
and the same for a second look at pairs that noise hides."""

ROUGH, AGAIN = 0.1, Fraction(1, 4)
"""The share of all rows that columns may be off by at that second look, and the largest part of the budget that they get for it."""

MOST = Fraction(9, 10)
"""The largest part of what is left that the forest gets."""

ANYWAY = 0.05
"""What a column that no wish names weighs, in parts of the mean: it is in the release all the same."""

REST = Fraction(1, 1000)
"""What rounding of prices may leave of a budget."""

TRIPLES = 600
"""Triples that are asked about at most: each one more makes the distances of all of them noisier."""

TELLING = 0.1
"""The share of all rows below which the noise of a triple's distance must be for it to be asked."""


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

    singles: Fraction = option(Fraction(1, 10), "part of the budget for the first look at single columns")
    selection: Fraction = option(Fraction(1, 100), "part of the budget for each round of noisy distances")
    cells: int = option(1_000_000, "cells of the largest tree")
    largest: int = option(100_000, "cells of the largest marginal")

    def __post_init__(self) -> None:
        parts = (self.singles, self.selection)
        if not all(isinstance(part, Fraction) and part > 0 for part in parts) or self.singles + 3 * self.selection >= 1:
            raise Refused(
                "adaptive: `singles` and `selection` are exact fractions above 0 that leave something. Nothing was spent"
            )
        if min(self.cells, self.largest) < 1:
            raise Refused("adaptive: `cells` and `largest` must be at least 1. Nothing was spent")

    def measure(self, curator: Curator, workload: Workload, progress: Progress) -> Measurements:
        """One-ways, distances, and what gains most, in three stages."""
        schema, power = curator.schema, noise_power(curator.currency)
        sizes = {name: size for name, size in column_sizes(schema).items() if size > 1}
        place = {name: i for i, name in enumerate(sizes)}
        asked = {
            _ordered(clique, place): weight for clique, weight in zip(workload.cliques, workload.weights, strict=True)
        }
        weights = pair_weights(asked, list(sizes))
        levels = coarse_maps(schema, list(weights))
        pairs = [pair for pair in weights if self.holds(_cells(pair, sizes), levels.get(pair))]
        progress("measuring", 0.0)
        found = curator.known + public_total(curator)
        singles = one_ways(curator)
        column = dict.fromkeys(schema, 0.0)
        for clique, weight in asked.items():
            for name in clique:
                column[name] += weight
        least = max(ANYWAY * sum(column.values()) / len(column), 1e-9)
        part = {n: (max(column[n], least) * schema.sizes((n,))[0]) ** (1 / (1 + power)) for n in schema}
        split = rounded([part[n] for (n,) in singles])
        # What is left in the end goes to the columns that are wished for too, even if they were counted before.
        last = list(dict.fromkeys([*singles, *((n,) for n in sizes if column[n] > least)]))
        if not pairs:
            return found + curator.measure(last, share=1, weights=rounded([part[n] for (n,) in last]))
        bought = curator.measure(singles, share=self.singles, weights=split)
        # The deviation that the whole budget would buy for one marginal.
        unit = unit_noise(bought, self.singles, power) / (1 / math.sqrt(2) if power == 1 else MEAN)
        run = _Run(curator, self, sizes, weights | asked, column, found + bought, unit, power, progress)
        run.forest(pairs, singles, split)
        left_out = run.tree(pairs)
        run.triples()
        if curator.left > REST:  # what no triple was worth
            run.found += curator.measure(last, share=curator.left, weights=rounded([part[n] for (n,) in last]))
        if left_out:
            # Rows meet these too, but rows completed from given codes do not know of them.
            progress(f"{LEFT_OUT} of the tree, beyond {self.cells:,} cells: {spelled(left_out)}", 0.0)
        return run.found + Measurements(gaps=tuple(run.gaps.values()))

    def estimate(self, schema: Schema, measurements: Measurements, rng: Generator) -> TreeModel | AimedModel:  # noqa: ARG002
        """The maximum-entropy model of what one tree holds, and aims for what was measured beyond it."""
        held = within(measurements, schema, self.cells)
        some = fitted(measurements, held)
        tree = estimate(
            schema, some, cliques=held, empirical=True, cautious=True, tolerance=TIGHT, limit_cells=self.limit
        )
        larger = tuple(m for m in measurements if len(m.clique) > 2 and m not in some.items)
        return aimed(tree.model, replace(some, items=(*some.items, *larger)), held)

    def holds(self, fine: int, axes: Sequence[AxisMap] | None) -> bool:
        """Whether a marginal of so many cells can be measured, as it is or by its columns' levels."""
        return fine <= self.largest or (axes is not None and cells(axes) <= self.largest and fine <= self.cells)

    @property
    def limit(self) -> int:
        """Cells of the largest tree a fit works on."""
        return max(LIMIT_CELLS, 4 * self.cells)


@dataclass(eq=False)
class _Run:
    """A run under way: what was found so far, and the model of it."""

    curator: Curator
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
    gaps: dict[Clique, Gap] = field(default_factory=dict)
    maps: dict[Clique, Maps] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.state = estimate(self.curator.schema, self.found, empirical=True, tolerance=LOOSE)

    def forest(self, pairs: Sequence[Clique], singles: Sequence[Clique], split: Sequence[float]) -> None:
        """The strongest pairs that form a forest, each with the part it would get if all pairs were measured now."""
        prospects = self._prospects(pairs)
        if hidden([gap.distance for gap in self.gaps.values()], prospects.far, BETTER[0] * self.state.model.total):
            self._sharpen(singles, split)
            prospects = self._prospects(pairs, BETTER)
        kept, _ = fitting(prospects, Growth(self.sizes), self.how.cells)
        best = self._with_columns(prospects.only(kept)).best()
        order = sorted((r for r in kept if best[r][0] > LEAST), key=lambda r: -best[r][1] * self.weights[r])
        edges = list(spanning(order))
        if len(edges) < len(order):  # else the tree is all there is to measure, and the next stage does it
            parts = {r: best[r][0] for r in edges}
            self._measure(parts, min(_exact(sum(parts.values())), MOST) * self.curator.left)

    def tree(self, pairs: Sequence[Clique]) -> list[Clique]:
        """The pairs that gain most, and single columns; the pairs worth it that the tree has no room for are returned."""
        prospects = self._prospects(pairs)
        growth = Growth(self.sizes, self.held)
        kept, left_out = fitting(prospects, growth, self.how.cells)
        # Groups of labels are of use in the tree alone.
        chosen = self._with_columns(prospects.only([*kept, *(r for r in left_out if r not in self.maps)]))
        later = self._ahead(prospects)
        best = (chosen | later).best()
        back = sum(best[r][0] for r in later.curves)
        back = back if back >= WORTH else 0.0
        self.later = [r for r in later.curves if best.get(r, (0.0, 0.0))[0] > 0]
        if _tree(self.sizes, [*self.held, *(r for r in kept if best[r][0] > LEAST)]) > ACROSS:
            # Triples will be aims of rows there, which meet only so many of them: the pairs are measured by themselves.
            back = min(back, 0.5)
            best = chosen.best()
        elif not back:
            best = chosen.best()
        self.kept_back = _exact(back) * self.curator.left
        parts = {r: best[r][0] for r in chosen.curves if best[r][0] > LEAST}
        if parts:
            self._measure(parts, self.curator.left - self.kept_back)
        return left_out

    def triples(self) -> None:
        """The triples that gain most, with what was kept back for them."""
        if not self.kept_back or self.curator.left <= self.how.selection:
            return
        self.maps = {}
        prospects = self._prospects(self.later)
        best = prospects.best()
        order = sorted((r for r in best if best[r][0] > LEAST), key=lambda r: -best[r][1] * self.weights[r])
        if order:
            self._measure({r: best[r][0] for r in order}, self.curator.left)

    def _sharpen(self, singles: Sequence[Clique], split: Sequence[float]) -> None:
        """Columns that are far off hide what pairs have in common: measure them again."""
        rough = float(np.mean([*self._off.values(), 0.0])) / (ROUGH * max(self.state.model.total, 1.0))
        wanted = float(self.how.singles) * (rough ** (1 / self.power) - 1)
        if wanted > float(REST):
            self.found += self.curator.measure(
                singles, share=min(_exact(wanted), AGAIN, self.curator.left / 2), weights=split
            )
            self.state = estimate(self.curator.schema, self.found, empirical=True, tolerance=LOOSE)

    def _noise(self) -> tuple[float, float]:
        """The deviation that all that is left would buy for one marginal, and how noise falls with the part."""
        return self.unit * float(self.curator.left) ** -self.power, self.power

    def _prospects(self, cliques: Sequence[Clique], look: tuple[float, Fraction] | None = None) -> Prospects:
        """Ask how far these marginals are from the model."""
        model = aimed(self.state.model, self.found)
        expected = expected_counts(model, [r for r in cliques if _cells(r, self.sizes) <= self.how.largest])
        distances = self.curator.errors(expected, share=self._look(len(expected), *(look or LOOK)))
        self.gaps |= {
            gap.distance.clique: gap for gap in gaps_of(distances, expected)
        }  # a later look replaces an earlier one
        self.progress("selecting", float(1 - self.curator.left))
        far = beyond(settled(distances), self._off)
        fine = Prospects.of(expected, far, self.weights, *self._noise(), self._contrasts(expected))
        return self._coarser(fine, cliques)

    @property
    def _off(self) -> dict[str, float]:
        return columns_off(self.curator.schema, self.found, self.sizes)

    def _with_columns(self, prospects: Prospects) -> Prospects:
        return with_columns(prospects, self._off, self.sizes, self.columns, *self._noise())

    def _look(self, many: int, clear: float, most: Fraction) -> Fraction:
        """The part of the budget for so many distances: as much as tells them to within this share of all rows, in its bounds."""
        noise = self.unit / (clear * max(self.state.model.total, 1.0))
        needed = Fraction(noise ** (1 / self.power) * many).limit_denominator(1000)
        return min(max(self.how.selection, min(needed, most)), self.curator.left / 4)

    def _coarser(self, fine: Prospects, cliques: Sequence[Clique]) -> Prospects:
        """The same with marginals looked at through the levels of their columns, where that gains more."""
        self.maps = coarse_maps(self.curator.schema, cliques)
        if not self.maps:
            return fine
        expected = {
            r: through(self.maps[r], table) for r, table in _expected(self.state.model, list(self.maps)).items()
        }
        share = min(self.how.selection, self.curator.left / 4)
        distances = self.curator.errors(expected, share=share, maps={r: self.maps[r] for r in expected})
        coarse = Prospects.of(expected, settled(distances), self.weights, *self._noise(), {})
        part = int(np.searchsorted(PARTS, 1 / len(cliques)))
        chosen = coarser(fine.curves, coarse.curves, part)
        self.maps = {r: self.maps[r] for r in chosen}
        kept = coarse.only(chosen)
        return fine | kept

    def _ahead(self, pairs: Prospects) -> Prospects:
        """Triples of the workload, how far they are beyond their pairs: asked where answers would tell, else as chance takes them."""
        single = {name: self.state.model.marginal((name,)) for name in self.sizes}
        total = max(self.state.model.total, 1e-9)
        fits = [r for r in self.weights if len(r) == 3 and 0 < _cells(r, self.sizes) <= self.how.largest]
        # Of very many, those whose pairs are farthest from the model.
        strong = {r: sum(pairs.far.get(p, 0.0) for p in combinations(r, 2)) * self.weights[r] for r in fits}
        some = sorted(fits, key=lambda r: -strong[r])[:TRIPLES]
        noise = self.unit * (float(self.how.selection) / max(len(some), 1)) ** -self.power
        if noise < TELLING * total:
            expected = expected_counts(self.state.model, some)
            distances = self.curator.errors(expected, share=min(self.how.selection, self.curator.left / 4))
            far = beyond(settled(distances), self._off, pairs.far)
        else:
            expected = {r: _product([single[name] for name in r], total) for r in some}
            far = {r: MEAN * math.sqrt(CHANCE) * float(np.sqrt(table).sum()) for r, table in expected.items()}
        return Prospects.of(expected, far, self.weights, *self._noise(), self._contrasts(expected))

    def _contrasts(self, cliques: Iterable[Clique]) -> dict[Clique, Maps]:
        return contrasts(self.curator.schema, cliques, self.curator.neighbours, self.curator.currency)

    def _measure(self, parts: Mapping[Clique, float], share: Fraction) -> None:
        """Measure these, and fit the model again if anything is left to be asked."""
        looks = self._contrasts(parts) | self.maps
        maps = [looks.get(r) or tuple(Identity(n) for n in self.curator.schema.sizes(r)) for r in parts]
        self.found += self.curator.measure(
            list(parts), share=share, weights=rounded(list(parts.values())), maps=maps if looks else None
        )
        self.held = list(dict.fromkeys([*self.held, *(r for r in parts if len(r) > 1)]))
        self.progress("measuring", float(1 - self.curator.left))
        if self.curator.left > REST:
            self.state = estimate(
                self.curator.schema,
                self.found,
                empirical=True,
                cliques=within(self.found, self.curator.schema, self.how.cells),
                warm=self.state,
                tolerance=LOOSE,
                limit_cells=self.how.limit,
            )


def _exact(part: float) -> Fraction:
    return Fraction(part).limit_denominator(10_000)


def _product(columns: Sequence[Array], total: float) -> Array:
    """Independent columns."""
    result = np.array(total)
    for column in columns:
        result = np.multiply.outer(result, column / total)
    return result


def _ordered(clique: Clique, place: Mapping[str, int]) -> Clique:
    """The columns of a clique that vary, in the schema's order."""
    return tuple(sorted((name for name in clique if name in place), key=place.__getitem__))


def _cells(clique: Clique, sizes: Mapping[str, int]) -> int:
    return math.prod(sizes[name] for name in clique)


def _tree(sizes: Mapping[str, int], cliques: Sequence[Clique]) -> int:
    """Cells of a tree that holds these."""
    growth = Growth(sizes, cliques)
    return growth.cells


def _expected(model: TreeModel, cliques: Sequence[Clique]) -> dict[Clique, Array]:
    """The model's marginals; pairs too far apart in a wide tree to be brought together are left out."""
    try:
        return model.marginals(cliques)
    except Refused:
        tree = model.beliefs.tree
        return model.marginals([r for r in cliques if tree.home(r) is not None])
