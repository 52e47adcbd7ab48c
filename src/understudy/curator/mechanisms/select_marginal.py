"""Private selection and noisy distances: which marginal an estimate fits worst, and by
how much.

`choose_clique` is the exponential mechanism (McSherry, Talwar 2007) over a finite
public list of cliques, sampled exactly: P ∝ exp(ε q / 2Δ).

Why it is private. Scores are q = w · (score − penalty) with public weights and
penalties on a grid, so one unit moves any of them by at most Δ = max w · Δ(score), in
integers. The price is ε in a pure run, ε²/8 in a zCDP run, 0.393 ε² in a GDP run
(`accounting.pricing.price_choice`).

`measure_distances` adds exact integer noise to the L1 distances themselves. One unit
moves every distance at once by at most Δ, so K of them have L1 sensitivity K·Δ and L2
sensitivity √K·Δ. Of a marginal through partitions of its axes the same holds: a row
lies in one cell of it too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost, Sensitivity
from understudy.accounting.pricing import choice_epsilon_for, price, price_choice
from understudy.curator.context import MechanismContext
from understudy.curator.mechanisms.scores import (
    CHOICE_SCORES,
    SCORE_GRID,
    Score,
    to_grid,
)
from understudy.curator.payment import NoisyAnswer, fingerprint_array
from understudy.errors import Refused
from understudy.measurements import AxisMap, Centring, Clique, Distance, Identity
from understudy.noise import exponential_mechanism

EstimatesByClique = Mapping[Clique, NDArray[np.float64]]


def choose_clique(
    context: MechanismContext,
    estimates: EstimatesByClique,
    *,
    amount: Fraction,
    score: str = "l1",
    weights: Sequence[float] | None = None,
    penalties: Sequence[float] | None = None,
    rows: int | None = None,
) -> Clique:
    """One of the cliques, with probability rising in w · (score − penalty).

    `rows` is the number of rows where all neighbours agree on it; some scores need it.
    """
    if not estimates:
        raise Refused(
            "There is nothing to choose from: the list of candidates is empty. Nothing"
            " was spent"
        )
    if score not in CHOICE_SCORES:
        raise Refused(
            f'There is no score "{score}". Choose by one of {", ".join(CHOICE_SCORES)}.'
            " Nothing was spent"
        )
    rule = CHOICE_SCORES[score]
    candidates = _Candidates.of(estimates, weights, penalties)
    sensitivity = candidates.find_sensitivity(rule, context, rows)
    # The cost below is that of this ε, not the amount: roots were rounded down.
    epsilon = choice_epsilon_for(amount, context.accounting)
    request = {
        "mechanism": "choice",
        "score": score,
        "epsilon": epsilon,
        "candidates": candidates.describe_request(),
    }

    def compute_scores() -> NDArray[np.int64]:
        return candidates.compute_scores(rule, context.table.counts(candidates.cliques))

    def draw_choice(scores: NDArray[np.int64]) -> NoisyAnswer:
        index = exponential_mechanism(
            scores,
            epsilon=epsilon,
            sensitivity=sensitivity,
        )
        return {"index": np.array(index)}

    cost = price_choice(epsilon, context.accounting)
    answer = context.payments.pay(request, cost, compute_scores, draw_choice)
    return candidates.cliques[int(answer["index"])]


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Cliques to choose from, with estimates, weights and penalties on the grid."""

    cliques: list[Clique]
    estimates: list[NDArray[np.int64]]
    weights: list[int]
    penalties: list[int]

    @classmethod
    def of(
        cls,
        estimates: EstimatesByClique,
        weights: Sequence[float] | None,
        penalties: Sequence[float] | None,
    ) -> _Candidates:
        """Everything rounded to the grid, on the public side."""
        cliques = list(estimates)
        grid_weights = [1] * len(cliques)
        if weights is not None:
            grid_weights = _grid_weights(weights).tolist()
        grid_penalties = [0] * len(cliques)
        if penalties is not None:
            grid_penalties = to_grid(np.array(penalties)).tolist()
        # Whole numbers of the grid: scores are then exact, and so is their sensitivity.
        rounded = [to_grid(estimates[clique]) for clique in cliques]
        return cls(cliques, rounded, grid_weights, grid_penalties)

    def find_sensitivity(
        self,
        rule: Score,
        context: MechanismContext,
        rows: int | None,
    ) -> Fraction:
        """How far one unit moves the score that moves furthest."""
        moves = []
        for estimate, weight in zip(self.estimates, self.weights, strict=True):
            moved = rule.sensitivity(
                context.neighbours,
                context.max_rows,
                rows=rows,
                shape=estimate.shape,
            )
            # The penalty is public and cancels in the difference of two scores.
            moves.append(weight * moved)
        return Fraction(max(moves))

    def describe_request(self) -> list[list[object]]:
        """What the answer depends on, for the ledger."""
        every = zip(
            self.cliques,
            self.estimates,
            self.weights,
            self.penalties,
            strict=True,
        )
        return [
            [clique, fingerprint_array(estimate), weight, penalty]
            for clique, estimate, weight, penalty in every
        ]

    def compute_scores(
        self, rule: Score, tables: list[NDArray[np.int64]]
    ) -> NDArray[np.int64]:
        """w · (score − penalty) of every clique, exact."""
        scores = [
            weight * (rule.of(counts, estimate) - penalty)
            for counts, estimate, weight, penalty in zip(
                tables, self.estimates, self.weights, self.penalties, strict=True
            )
        ]
        return np.array(scores, np.int64)


def _grid_weights(weights: Sequence[float]) -> NDArray[np.int64]:
    """Weights on the grid, the largest one 1: only their ratios matter, and large ones
    could make a score overflow.
    """
    numbers = np.array(weights, np.float64)
    # Written so that NaN is refused too: it compares as false.
    if not 0 < numbers.min() <= numbers.max() < np.inf:
        raise Refused(
            "Weights of candidates must be positive numbers. Nothing was spent"
        )
    return np.maximum(to_grid(numbers / numbers.max()), 1)


def measure_distances(
    context: MechanismContext,
    estimates: EstimatesByClique,
    *,
    amount: Fraction,
    maps: Mapping[Clique, tuple[AxisMap, ...]] | None = None,
) -> dict[Clique, Distance]:
    """The L1 distance of every estimate to its true marginal, all of them noisy; where
    it has `maps`, to that of coarser bins.
    """
    if not estimates:
        return {}
    coarser = maps or {}
    _refuse_centred(coarser)
    rule = CHOICE_SCORES["l1"]
    cliques = list(estimates)
    rounded = [to_grid(estimates[c]) for c in cliques]
    one = rule.sensitivity(context.neighbours, context.max_rows)
    many = len(cliques)
    # One unit may move every distance at once, each by at most `one`.
    sensitivity = Sensitivity(
        l1=Fraction(many * one),
        l2_squared=Fraction(many * one * one),
        l0=many,
        linf=Fraction(one),
    )
    scale = context.scale(amount, sensitivity)
    cost = price(context.law, scale, sensitivity, context.accounting)
    request = {
        "mechanism": "errors",
        "law": context.law,
        "scale": scale,
        "candidates": [
            [c, fingerprint_array(e)] for c, e in zip(cliques, rounded, strict=True)
        ],
    }
    # Only where there are maps: requests stored by earlier versions have none.
    if coarser:
        request["maps"] = [repr(coarser.get(c)) for c in cliques]

    def compute_distances() -> NDArray[np.int64]:
        tables = context.table.counts(cliques)
        distances = []
        for clique, counts, estimate in zip(cliques, tables, rounded, strict=True):
            mapped = _apply_maps(counts, coarser.get(clique))
            distances.append(rule.of(mapped, estimate))
        return np.array(distances, np.int64)

    def draw_distances(exact: NDArray[np.int64]) -> NoisyAnswer:
        return {"distances": context.add_noise(exact, scale)}

    answer = context.payments.pay(request, cost, compute_distances, draw_distances)
    each = _price_distance(context, scale, one)
    return {
        c: Distance(c, int(d), SCORE_GRID, context.law, scale, each)
        for c, d in zip(cliques, answer["distances"], strict=True)
    }


def _refuse_centred(maps: Mapping[Clique, tuple[AxisMap, ...]]) -> None:
    if any(isinstance(m, Centring) for axes in maps.values() for m in axes):
        raise Refused(
            "A distance is asked of counts or of coarser bins, not of centred counts."
            " Nothing was spent"
        )


def _price_distance(context: MechanismContext, scale: Fraction, move: int) -> Cost:
    """What one distance costs by itself: several may be used apart from each other."""
    alone = Sensitivity(l1=Fraction(move), l2_squared=Fraction(move * move))
    return price(context.law, scale, alone, context.accounting)


def _apply_maps(
    counts: NDArray[np.int64], axes: tuple[AxisMap, ...] | None
) -> NDArray[np.int64]:
    """Counts of coarser bins, where an axis has any."""
    for axis, map_ in enumerate(axes or ()):
        if not isinstance(map_, Identity):
            counts = np.moveaxis(
                np.tensordot(map_.matrix(), counts, axes=(1, axis)),
                0,
                axis,
            )
    return np.asarray(counts, np.int64)
