"""Candidates: marginals that could be measured next, and how they share a budget.

A candidate is a marginal with the counts that the model expects of it, its distance from
them and its weight in the workload. From these follow its gain curve (gains.py) and,
for all candidates together, the best parts of the budget (allocation.py).

Single columns are candidates too. The error of a column is known from its noise. A
marginal of several columns is off by the errors of its columns and by its own, which are
orthogonal; so a column's gain counts less where the pairs that hold it are far off.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from understudy.measurements import Clique, Distance
from understudy.synthesizers.adaptive.allocation import (
    Allocation,
    AllocationProblem,
    Incidence,
)
from understudy.synthesizers.adaptive.constants import BUDGET_PART_GRID
from understudy.synthesizers.adaptive.contrasts import (
    AxisMaps,
    contrast_columns,
    contrast_noise_ratio,
)
from understudy.synthesizers.adaptive.gains import Array, gain_curves


@dataclass(frozen=True)
class BudgetNoise:
    """The standard deviation that the budget left would buy for one marginal, and the
    power: with a part b of it the deviation is that times b^−power.
    """

    deviation: float
    power: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """A marginal that could be measured: `gains` at each part of BUDGET_PART_GRID, its
    weight, its distance from the model, its τ, its cells, and the maps through which it
    would be asked (none: as it is).

    `noisy_distance` is the answer that its distance was estimated from, if one was paid.
    """

    gains: Array
    weight: float
    distance: float
    prior_deviation: float
    cells: int
    maps: AxisMaps = ()
    noisy_distance: float | None = None

    @classmethod
    def of(
        cls,
        expected: Array,
        distance: float,
        weight: float,
        noise: BudgetNoise,
        maps: AxisMaps = (),
    ) -> Candidate:
        """A marginal with these expected counts at this distance from them.

        With contrasts in `maps` its noise is smaller at the same cost.
        """
        alone: Clique = ()
        scored = score_marginals(
            {alone: expected}, {alone: distance}, {alone: weight}, noise, {alone: maps}
        )
        return scored[alone]

    def gain_with(self, part: float) -> float:
        """What measuring it with a part of the budget gains by itself, in rows."""
        return float(np.interp(part, BUDGET_PART_GRID, self.gains))


Candidates = Mapping[Clique, Candidate]


@dataclass(frozen=True)
class BudgetShare:
    """A candidate's part of the budget left, and its gain in rows by the parts of all,
    not weighted.
    """

    part: float = 0.0
    gain: float = 0.0


def score_marginals(
    expected: Mapping[Clique, Array],
    distances: Mapping[Clique, float],
    weights: Mapping[Clique, float],
    noise: BudgetNoise,
    maps: Mapping[Clique, AxisMaps],
    answers: Mapping[Clique, Distance] | None = None,
) -> dict[Clique, Candidate]:
    """A candidate for each of these marginals; `answers` are the paid distances."""
    paid = answers or {}
    ratios = [contrast_noise_ratio(maps.get(clique, ())) for clique in expected]
    gains, deviations = gain_curves(
        list(expected.values()),
        np.array([distances[clique] for clique in expected], np.float64),
        noise.deviation * np.array(ratios, np.float64),
        noise.power,
    )
    candidates: dict[Clique, Candidate] = {}
    for i, (clique, table) in enumerate(expected.items()):
        candidates[clique] = Candidate(
            gains=gains[i],
            weight=weights[clique],
            distance=distances[clique],
            prior_deviation=float(deviations[i]),
            cells=table.size,
            maps=maps.get(clique, ()),
            noisy_distance=float(paid[clique]) if clique in paid else None,
        )
    return candidates


def shares_of_parts(
    candidates: Candidates, parts: Mapping[Clique, float]
) -> dict[Clique, BudgetShare]:
    """The shares of candidates whose parts another plan fixed, in proportion, each with
    the gain of its own part.
    """
    total = sum(parts.values())
    shares: dict[Clique, BudgetShare] = {}
    for clique, candidate in candidates.items():
        if clique in parts:
            part = parts[clique] / total
            shares[clique] = BudgetShare(part, candidate.gain_with(part))
    return shares


def allocate_budget(candidates: Candidates, power: float) -> dict[Clique, BudgetShare]:
    """Every candidate's best part of the budget left, and what it gains.

    >>> noise = BudgetNoise(100.0, 0.5)
    >>> strong, weak = (Candidate.of(np.full(10, 100.0), far, 1.0, noise) for far in (500.0, 20.0))
    >>> shares = allocate_budget({("a",): strong, ("b",): weak}, noise.power)
    >>> bool(shares["a",].part > 0.9), round(sum(share.part for share in shares.values()), 9)
    (True, 1.0)
    """
    # Without a weight every allocation is as good: none is made.
    if not any(candidate.weight > 0 for candidate in candidates.values()):
        return {}
    solved = solve_separately(candidates, power)
    shares: dict[Clique, BudgetShare] = {}
    for i, (clique, candidate) in enumerate(candidates.items()):
        # A pair gains from larger marginals too, so the gain is not that of its own part.
        gain = max(candidate.distance - float(solved.left[i]), 0.0)
        shares[clique] = BudgetShare(float(solved.parts[i]), gain)
    return shares


def solve_separately(candidates: Candidates, power: float) -> Allocation:
    """The allocation in which every candidate is a target by itself."""
    cliques = list(candidates)
    own = [(i, i, 1.0) for i in range(len(cliques))]
    problem = AllocationProblem(
        informs=Incidence.of([*own, *_inner_links(candidates, power)]),
        composes=Incidence.of(own),
        questions=len(cliques),
        target_weights=np.array([c.weight for c in candidates.values()]),
        distances=np.array([c.distance for c in candidates.values()]),
        gains=np.stack([c.gains for c in candidates.values()]),
    )
    return problem.solve()


def _inner_links(candidates: Candidates, power: float) -> list[tuple[int, int, float]]:
    """What each candidate says of those inside it: (outer, inner, worth of a part)."""
    index = {clique: i for i, clique in enumerate(candidates)}
    links: list[tuple[int, int, float]] = []
    for outer, candidate in candidates.items():
        # A contrast says nothing of sums over its column.
        needed = (
            contrast_columns(outer, candidate.maps) if candidate.maps else frozenset()
        )
        for inner in _proper_subsets(outer):
            if inner not in index or not needed <= set(inner):
                continue
            # A sum over k cells has k times the variance, which is worth a part
            # smaller by k^(1 / 2·power).
            ratio = candidates[inner].cells / candidate.cells
            links.append((index[outer], index[inner], ratio ** (1 / (2 * power))))
    return links


def _proper_subsets(clique: Clique) -> list[Clique]:
    return [
        inner
        for order in range(1, len(clique))
        for inner in combinations(clique, order)
    ]


def column_candidates(
    candidates: Candidates,
    distances: Mapping[Clique, float],
    errors: Mapping[str, float],
    sizes: Mapping[str, int],
    weights: Mapping[str, float],
    order: float,
    noise: BudgetNoise,
    maps: Mapping[Clique, AxisMaps],
) -> dict[Clique, Candidate]:
    """Every measured column as a candidate beside `candidates`: `errors` are their mean
    L1 errors, and `weights` say how much of the workload holds each.

    `distances` are those of all pairs, whether they are candidates or not.

    A marginal of the workload has `order` columns and as many pairs as they form, all
    orthogonal: E = √(Σ columns² + Σ pairs²). So a column weighs ∂E/∂column, with the
    errors of pairs as they are left by the best allocation without columns.
    """
    shares = allocate_budget(candidates, noise.power)
    pair_errors = {
        pair: max(distance - shares.get(pair, BudgetShare()).gain, 0.0)
        for pair, distance in distances.items()
        if len(pair) == 2
    }
    pairs_inside = order * (order - 1) / 2
    errors_around: dict[str, list[float]] = {name: [] for name in errors}
    for pair, pair_error in pair_errors.items():
        for name in pair:
            if name in errors_around:
                errors_around[name].append(pair_error)
    columns: dict[Clique, Candidate] = {}
    for name, error in errors.items():
        around = np.array(errors_around[name])
        slopes = error / np.sqrt(order * error**2 + pairs_inside * around**2)
        weight = weights[name] * float(slopes.mean()) if around.size else 0.0
        # All cells of a column have the same noise, so it expects as much of each.
        even = np.ones(sizes[name])
        columns[name,] = Candidate.of(even, error, weight, noise, maps.get((name,), ()))
    return columns
