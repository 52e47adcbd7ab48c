"""Where one tree has room for everything: columns, pairs and triples get their parts of
the budget together.

A marginal is put together from residuals: for every set τ of its columns what τ says
that no smaller set does (synthesizers/published/residual.py). A triple tells of its
pairs, so what pairs get by themselves and what triples get is one question. And to ask
for a residual alone costs less than to ask for the marginal, by Π(1 − 1/n): in triples
of columns with three values noise is half of what it were; what such an answer no
longer says of its pairs must be asked of them. Whether that is better, and which parts
are best, follows from

    the error left on residual τ      Lτ = far off it is now − what the precision of all answers that tell of it gains
    the error left on a marginal A    √(Σ Lτ² over τ in A): residuals are at right angles to each other
    to be made small                  Σ w·(that), over pairs and triples

Precision adds up: a marginal of noise v that is asked as it is tells of τ with v·Π(1 −
1/n)·Πn, the first over τ and the second over its other columns; a column that is asked
for by its differences has (1 − 1/n)² instead, and tells of the τ alone that hold it.
Gains are concave in precision (synthesizers/adaptive/allocation.py) and all else is
convex, so that moving parts towards the questions whose next bit gains more finds the
best ones.

It holds for Gaussian noise when a row is added or removed, as contrasts do
(synthesizers/adaptive/contrasts.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Centring, Clique, Identity
from understudy.schema import Schema
from understudy.synthesizers.adaptive.allocation import (
    BUDGET_PART_GRID,
    LOG_FIRST_PART,
    LOG_PART_STEP,
    Array,
)
from understudy.synthesizers.adaptive.candidates import MIN_BUDGET_PART, Candidates
from understudy.synthesizers.adaptive.contrasts import (
    AxisMaps,
    contrast_columns,
    contrast_noise_ratio,
)

MAX_RESIDUAL_CELLS = 4096
"""Cells of the largest marginal that may be asked for by its residual: its numbers are
so many times as large as counts.
"""

JOINT_ALLOCATION_UPDATES = 400
"""Times all parts are moved."""


@dataclass(frozen=True)
class MarginalQuery:
    """A question, and its part of the budget."""

    clique: Clique
    maps: AxisMaps
    part: float = 0.0


def allocate_jointly(
    prospects: Candidates,
    weights: Mapping[Clique, float],
    schema: Schema,
    maps: Mapping[Clique, AxisMaps],
) -> list[MarginalQuery]:
    """What to ask of these marginals, those first that matter most: as they are, by the
    contrasts in `maps`, or by residuals.

    One way for all of them, that which leaves less error: a little of each leaves less
    still, but two noisy answers to much the same question are harder to hear than one
    better answer.
    """
    plain = [
        MarginalQuery(r, maps.get(r) or tuple(Identity(n) for n in schema.sizes(r)))
        for r in prospects.curves
    ]
    # What is impossible carries no noise in a plain marginal, and a centred one knows
    # nothing of it.
    centred = [
        (
            MarginalQuery(
                ask.clique, tuple(Centring(n) for n in schema.sizes(ask.clique))
            )
            if len(ask.clique) > 1
            and prospects.cells[ask.clique] <= MAX_RESIDUAL_CELLS
            and schema.zeros(ask.clique) is None
            else ask
        )
        for ask in plain
    ]
    plans = [
        _JointAllocation.of(asks, prospects, weights, maps) for asks in (plain, centred)
    ]
    best = min(plans, key=lambda plan: plan.error(plan.parts))
    rank = {r: -prospects.far[r] * weights.get(r, 0.0) for r in prospects.curves}
    some = [
        replace(ask, part=float(part))
        for ask, part in zip(best.asks, best.parts, strict=True)
        if part > 0
    ]
    return sorted(some, key=lambda ask: rank[ask.clique])


@dataclass(frozen=True, eq=False)
class _JointAllocation:
    """Questions × residuals they tell of, marginals × residuals they are made of, and
    what precision gains.
    """

    asks: Sequence[MarginalQuery]
    giver: NDArray[np.int64]
    taker: NDArray[np.int64]
    worth: Array
    whole: NDArray[np.int64]
    piece: NDArray[np.int64]
    weight: Array
    far: Array
    gains: Array
    prices: Array

    @classmethod
    def of(
        cls,
        asks: Sequence[MarginalQuery],
        prospects: Candidates,
        weights: Mapping[Clique, float],
        maps: Mapping[Clique, AxisMaps],
    ) -> _JointAllocation:
        """`maps` are the contrasts that gains were told for: what those save is in the
        gains already.
        """
        place = {tau: i for i, tau in enumerate(prospects.curves)}
        told = [
            (
                i,
                place[tau],
                _precision_share(ask, tau)
                * contrast_noise_ratio(maps.get(tau, ())) ** 2,
            )
            for i, ask in enumerate(asks)
            for tau in _nonempty_subsets(ask.clique)
            if tau in place and contrast_columns(ask.clique, ask.maps) <= set(tau)
        ]
        wanted = [r for r in place if weights.get(r, 0.0) > 0]
        made = [
            (i, place[tau])
            for i, r in enumerate(wanted)
            for tau in _nonempty_subsets(r)
            if tau in place
        ]
        gains = np.stack(list(prospects.curves.values()))
        slopes = np.maximum(np.diff(gains, axis=1) / np.diff(BUDGET_PART_GRID), 1e-300)
        return cls(
            asks=asks,
            giver=np.array([row[0] for row in told], np.int64),
            taker=np.array([row[1] for row in told], np.int64),
            worth=np.array([row[2] for row in told]),
            whole=np.array([row[0] for row in made], np.int64),
            piece=np.array([row[1] for row in made], np.int64),
            weight=np.array([weights[r] for r in wanted]),
            far=np.array([max(prospects.far[r], 1e-9) for r in place]),
            gains=gains,
            prices=np.log(np.minimum.accumulate(slopes, axis=1)),
        )

    @cached_property
    def parts(self) -> Array:
        """The parts of the budget under which the least error is left."""
        many = len(self.asks)
        parts = np.full(many, 1 / many)
        for _ in range(JOINT_ALLOCATION_UPDATES):
            left, price = self._left(parts)
            error = self._marginal_errors(left)
            pull = (self.weight / np.maximum(error, 1e-12))[self.whole] * left[
                self.piece
            ]
            pulled = np.bincount(self.piece, pull, minlength=left.size) * price
            bit = np.bincount(
                self.giver, self.worth * pulled[self.taker], minlength=many
            )
            parts = np.maximum(parts * np.sqrt(bit / max(bit.max(), 1e-300)), 1e-300)
            parts /= parts.sum()
        parts = np.where(parts < MIN_BUDGET_PART, 0.0, parts)
        return np.asarray(parts / parts.sum())

    def error(self, parts: Array) -> float:
        """The error that is left on all marginals, weighted."""
        return float(self.weight @ self._marginal_errors(self._left(parts)[0]))

    def _marginal_errors(self, left: Array) -> Array:
        return np.asarray(
            np.sqrt(
                np.bincount(
                    self.whole, left[self.piece] ** 2, minlength=self.weight.size
                )
            )
        )

    def _left(self, parts: Array) -> tuple[Array, Array]:
        """The error left on every residual, and what a bit more of precision gains."""
        reached = np.bincount(
            self.taker, self.worth * parts[self.giver], minlength=self.far.size
        )
        rows = np.arange(self.far.size)
        spot = np.clip(
            (np.log(np.maximum(reached, BUDGET_PART_GRID[1])) - LOG_FIRST_PART)
            / LOG_PART_STEP,
            0,
            BUDGET_PART_GRID.size - 2.001,
        )
        low = spot.astype(np.int64)
        over = spot - low
        # Gains are tabulated at every part, prices between two of them.
        gain = (
            self.gains[rows, low + 1] * (1 - over)
            + self.gains[rows, np.minimum(low + 2, BUDGET_PART_GRID.size - 1)] * over
        )
        steep = (
            self.prices[rows, low] * (1 - over)
            + self.prices[rows, np.minimum(low + 1, BUDGET_PART_GRID.size - 2)] * over
        )
        # Differences may tell more than the whole budget would of a plain marginal:
        # noise alone is left there.
        heard = np.maximum(reached, 1.0)
        left = np.maximum(self.far - gain, 1e-12) / np.sqrt(heard)
        return left, np.where(reached > 1, left / (2 * heard), np.exp(steep))


def _precision_share(ask: MarginalQuery, tau: Clique) -> float:
    """The precision that a question gives a residual, in parts of what it has itself as
    a plain marginal.
    """
    noise = 1.0
    for name, m in zip(ask.clique, ask.maps, strict=True):
        free = 1 - 1 / m.size
        noise *= free**2 if isinstance(m, Centring) else free if name in tau else m.size
    return 1 / noise


def _nonempty_subsets(clique: Clique) -> Iterator[Clique]:
    """The sets of these columns, but for none of them."""
    return chain.from_iterable(
        combinations(clique, k) for k in range(1, len(clique) + 1)
    )
