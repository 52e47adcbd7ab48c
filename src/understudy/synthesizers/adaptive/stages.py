"""The stages of an adaptive run: distances, gains, and what is measured next (synthesizers/adaptive/adaptive.py tells the whole)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused
from understudy.measurements import Clique, Gap, Identity, Measurements, gaps_of
from understudy.models.fitting.estimate import estimate
from understudy.models.fitting.marginal_strength import MEAN, around
from understudy.models.fitting.off_tree_targets import aimed, expected_counts
from understudy.models.tree import TreeModel
from understudy.synthesizers.adaptive.allocation import PARTS, Array
from understudy.synthesizers.adaptive.candidates import (
    ACROSS,
    LEAST,
    Prospects,
    at_least_chance,
    beyond,
    columns_off,
    fitting,
    hidden,
    hold_all,
    settled,
    told,
    with_columns,
    within,
)
from understudy.synthesizers.adaptive.contrasts import Maps, contrasts
from understudy.synthesizers.adaptive.few_columns import POWER, Table
from understudy.synthesizers.adaptive.hierarchies import coarse_maps, coarser, through
from understudy.synthesizers.adaptive.joint_allocation import Ask, shared_out
from understudy.synthesizers.adaptive.no_selection import HIDE, TOLD, numbers
from understudy.synthesizers.adaptive.workload_weights import mean_order, strongest
from understudy.synthesizers.base import Curator, Progress
from understudy.synthesizers.budget_split import Growth, rounded
from understudy.synthesizers.published.mst import spanning

if TYPE_CHECKING:
    from understudy.synthesizers.adaptive.adaptive import Adaptive

LOOSE = 0.25
"""How far a fit goes between rounds: its gap as a share of the loss that noise alone leaves."""

CHANCE = 1.5
"""The strength that triples are assumed to have before their distances are known: a little more than chance."""

WORTH = Fraction(1, 50)
"""The part of what is left below which triples are not asked about."""

LOOK, BETTER = (0.02, Fraction(3, 100)), (0.1, Fraction(12, 100))
"""The share of all rows to within which distances are to be known, and the largest part of the budget that a round of them gets for it;
and the same for a second look at pairs that noise hides."""

GLANCE = (0.1, Fraction(3, 100))
"""The same where columns are few: pairs are few too, and all of them may be worth it."""

ROUGH, AGAIN = 0.1, Fraction(1, 4)
"""The share of all rows that columns may be off by at that second look, and the largest part of the budget that they get for it."""

MOST = Fraction(9, 10)
"""The largest part of what is left that the forest gets."""

REST = Fraction(1, 1000)
"""What rounding of prices may leave of a budget."""

TRIPLES = 600
"""Triples that are asked about at most: each one more makes the distances of all of them noisier."""

TELLING = 0.1
"""The share of all rows below which the noise of a triple's distance must be for it to be asked."""


@dataclass(eq=False)
class Run:
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
        self.order = mean_order(self.weights, self.columns)
        # Whether one tree has room for all there is to ask. Then nothing is too weak to be worth asking for if noise is small enough.
        self.whole = hold_all([r for r in self.weights if len(r) > 1], self.sizes, self.how.cells)

    def at_once(self) -> None:
        """Everything that few columns are worth, after a look at pairs where that tells which they are."""
        pairs = [r for r in self.weights if len(r) == 2 and _cells(r, self.sizes) <= self.how.largest]
        share = self._look(len(pairs), *GLANCE) if pairs else Fraction(1)
        noise = self.unit * (float(share) / max(len(pairs), 1)) ** -self.power
        far = (
            dict(self._prospects(pairs, GLANCE).far)
            if len(pairs) > 1 and noise < TELLING * self.state.model.total
            else {}
        )
        model = self.state.model
        table = Table(
            single={name: np.asarray(model.marginal((name,))) for name in self.sizes},
            off=self._off,
            columns=self.columns,
            weights=self.weights,
            total=max(model.total, 1e-9),
            noise=self._noise()[0],
            largest=self.how.largest,
            far=far,
        )
        parts = table.best_parts()
        if parts:
            self._measure(parts, self.curator.left)

    def forest(self, pairs: Sequence[Clique], singles: Sequence[Clique], split: Sequence[float]) -> None:
        """The strongest pairs that form a forest, each with the part it would get if all pairs were measured now."""
        prospects = self._prospects(pairs)
        if self._outright(pairs):
            return
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
        if self._together(prospects, later):
            return []
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

    def _together(self, pairs: Prospects, triples: Prospects) -> bool:
        """Where one tree has room for everything: what is left goes to columns, pairs and triples at once."""
        gaussian = self.power != POWER and self.curator.neighbours is Neighbours.ADD_REMOVE
        if not (self.whole and gaussian and self._tells(len(triples.curves))) or self.maps:
            return False
        every = self._with_columns(pairs) | triples
        # A triple holds three pairs: by a third of what holds them, pairs weigh as much in all as triples do.
        weights = {r: self.weights[r] / (3 if len(r) == 2 else 1) for r in every.curves if len(r) > 1}
        self._ask(shared_out(every, weights, self.curator.schema, self._contrasts(every.curves)), self.curator.left)
        return True

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

    def again(self, singles: Sequence[Clique], split: Sequence[float], share: Fraction) -> None:
        """Measure columns once more: their total is known from the first look."""
        self._measure(dict(zip(singles, split, strict=True)), share)

    def _outright(self, pairs: Sequence[Clique]) -> bool:
        """Where pairs are one number each and distances do not tell which matter: measure all of them, with all that is left."""
        noise = self.unit * (float(LOOK[1]) / len(pairs)) ** -self.power
        if noise > HIDE * self.state.model.total or told([gap.distance for gap in self.gaps.values()]) > TOLD:
            return False
        parts = numbers(self.curator, {p: self.weights[p] for p in pairs}, self._contrasts(pairs), self.how.singles)
        if not parts:
            return False
        self._measure(parts, self.curator.left)
        return True

    def _sharpen(self, singles: Sequence[Clique], split: Sequence[float]) -> None:
        """Columns that are far off hide what pairs have in common: measure them again."""
        rough = float(np.mean([*self._off.values(), 0.0])) / (ROUGH * max(self.state.model.total, 1.0))
        wanted = float(self.how.singles) * (rough ** (1 / self.power) - 1)
        if wanted > float(REST):
            self.again(singles, split, min(_exact(wanted), AGAIN, self.curator.left / 2))

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
        far = self._at_least_chance(beyond(settled(distances), self._off), expected)
        fine = Prospects.of(expected, far, self.weights, *self._noise(), self._contrasts(expected))
        return self._coarser(fine, cliques)

    @property
    def _off(self) -> dict[str, float]:
        return columns_off(self.curator.schema, self.found, self.sizes)

    def _with_columns(self, prospects: Prospects) -> Prospects:
        looks = self._contrasts([(name,) for name in self.sizes])
        return with_columns(prospects, self._off, self.sizes, self.columns, self.order, *self._noise(), looks)

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
        # Of very many, those whose pairs are farthest from the model.
        some = strongest(self.weights, pairs.far, self.sizes, self.how.largest, TRIPLES)
        if self._tells(len(some)):
            expected = expected_counts(self.state.model, some)
            distances = self.curator.errors(expected, share=min(self.how.selection, self.curator.left / 4))
            far = self._at_least_chance(beyond(settled(distances), self._off, pairs.far), expected)
        else:
            expected = {r: around(r, single, total) for r in some}
            far = {r: MEAN * math.sqrt(CHANCE) * float(np.sqrt(table).sum()) for r, table in expected.items()}
        return Prospects.of(expected, far, self.weights, *self._noise(), self._contrasts(expected))

    def _at_least_chance(self, far: dict[Clique, float], expected: Mapping[Clique, Array]) -> dict[Clique, float]:
        """What nobody has measured yet is off by chance at least, where all of that can be heard."""
        known = {m.clique for m in self.found}
        return at_least_chance(far, {r: t for r, t in expected.items() if r not in known}) if self.whole else far

    def _tells(self, many: int) -> bool:
        """Whether so many distances of triples would say something, and there are any."""
        noise = self.unit * (float(self.how.selection) / max(many, 1)) ** -self.power
        return many > 0 and noise < TELLING * max(self.state.model.total, 1e-9)

    def _contrasts(self, cliques: Iterable[Clique]) -> dict[Clique, Maps]:
        return contrasts(self.curator.schema, cliques, self.curator.neighbours, self.curator.currency)

    def _measure(self, parts: Mapping[Clique, float], share: Fraction) -> None:
        """Measure these, each as a marginal of its kind is asked for."""
        looks = self._contrasts(parts) | self.maps
        sizes = self.curator.schema.sizes
        self._ask([Ask(r, looks.get(r) or tuple(map(Identity, sizes(r))), part) for r, part in parts.items()], share)

    def _ask(self, asks: Sequence[Ask], share: Fraction) -> None:
        """Ask these questions, and fit the model again if anything is left to be asked."""
        self.found += self.curator.measure(
            [ask.clique for ask in asks],
            share=share,
            weights=rounded([ask.part for ask in asks]),
            maps=[ask.maps for ask in asks],
        )
        self.held = list(dict.fromkeys([*self.held, *(ask.clique for ask in asks if len(ask.clique) > 1)]))
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
