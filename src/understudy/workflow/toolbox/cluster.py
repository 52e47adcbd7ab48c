"""k-means on private rows, as questions of a session."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from fractions import Fraction
from typing import Protocol

import numpy as np

from understudy.accounting.budget import Number
from understudy.accounting.cost import Cost
from understudy.errors import Refused
from understudy.queries.noise_intervals import NoiseScale
from understudy.queries.plan import QueryPlan
from understudy.schema import Schema
from understudy.toolbox.clusters import (
    MAX_CLUSTERS,
    Clustering,
    ClusterSpace,
    Floats,
    assign_points,
    count_grid_cells,
    fit_weighted_points,
    move_centres,
    plan_cluster_space,
    plan_grid,
    plan_round,
    plan_rows,
    spread_centres,
)
from understudy.workflow.open import member_of

ROWS_SHARE = Fraction(1, 20)
"""Part of the budget that counts rows, by which the cells of the grid are chosen."""

GRID_FIRST_SHARE = Fraction(1, 2)
"""Part of the budget for the grid where one round follows it."""

MIN_ROUND_ROWS = 100
"""Rows of a cluster, in deviations of its noisy count, from which a round behind the
grid is worth its half of the budget (benchmarks/toolbox.py clusters).
"""

MAX_LLOYD_ROUNDS = 50


class ClusterMethod(StrEnum):
    """How clusters are found."""

    AUTO = "auto"
    """A grid, and a round behind it if rows are many beside its noise."""
    HYBRID = "hybrid"
    """A noisy grid, then one Lloyd round from its centres."""
    GRID = "grid"
    """A noisy grid alone."""
    LLOYD = "lloyd"
    """Lloyd rounds from random centres."""


class PlanSession(Protocol):
    """The part of a session that clusters need."""

    schema: Schema

    def measure_plan(
        self,
        plan: QueryPlan,
        *,
        epsilon: Number,
        share: Fraction = Fraction(1),
        purpose: str = "",
    ) -> tuple[list[tuple[list[float], NoiseScale]], Cost]:
        """The statistics of a plan for a share of an ε, and what was charged."""

    def can_measure(self, plan: QueryPlan, *, epsilon: Number, share: Fraction) -> bool:
        """Whether the noise that a plan needs can be drawn."""

    def refuse_unaffordable(self, epsilon: Number) -> None:
        """Raise BudgetExceeded where an ε has no room."""


@dataclass
class _Asker:
    """Measures plans of one clustering, and adds up what they cost."""

    session: PlanSession
    epsilon: Number
    purpose: str
    cost: Cost | None = None
    noises: Sequence[NoiseScale] = ()
    """Those of the last plan."""

    def measure(self, plan: QueryPlan, share: Fraction) -> list[Floats]:
        measured, cost = self.session.measure_plan(
            plan, epsilon=self.epsilon, share=share, purpose=self.purpose
        )
        self.cost = cost if self.cost is None else self.cost + cost
        self.noises = [noise for _, noise in measured]
        return [np.array(values) for values, _ in measured]


def cluster(
    session: PlanSession,
    columns: Sequence[str],
    *,
    clusters: int,
    epsilon: Number,
    method: ClusterMethod | str = ClusterMethod.AUTO,
    rounds: int = 5,
    average: int = 1,
    purpose: str = "",
) -> Clustering:
    """The centres of so many clusters of private rows, by k-means on columns of numbers.

    Every column counts alike, in units of its declared bounds. `lloyd` asks in so many
    `rounds`, and gives the mean of the last `average` of them. Charged to the session's
    run, for at most `epsilon`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> from understudy.schema import Integer
    >>> from understudy.workflow.asking.questions import session
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.csv")
    ...     _ = people.write_text("age\\n" + "20\\n" * 3000 + "70\\n" * 3000)
    ...     declared = Schema(columns=(Integer(name="age", min=0, max=99),))
    ...     with session(people, declared, budget=2) as questions:
    ...         found = cluster(questions, ["age"], clusters=2, epsilon=2)
    >>> sorted(int(round(x, -1)) for x in found.centres[:, 0])
    [20, 70]
    """
    way = member_of(ClusterMethod, method, "method")
    _check_numbers(clusters, rounds, average)
    space = plan_cluster_space(columns, session.schema)
    session.refuse_unaffordable(epsilon)
    asker = _Asker(session, epsilon, purpose)
    # For starting points alone; noise has its own source.
    rng = np.random.default_rng()
    way = _avoid_undrawable(asker, space, way, rounds)
    if way is ClusterMethod.LLOYD:
        found = _run_rounds(asker, space, clusters, rounds, average, rng)
    else:
        found = _use_grid(asker, space, clusters, way, rng)
    assert asker.cost is not None
    return replace(found, cost=asker.cost if asker.cost.amount else None)


def _check_numbers(clusters: int, rounds: int, average: int) -> None:
    limits: list[tuple[str, int, Callable[[int], bool]]] = [
        (f"clusters are 1 to {MAX_CLUSTERS}", clusters, lambda n: n <= MAX_CLUSTERS),
        (
            f"rounds are 1 to {MAX_LLOYD_ROUNDS}",
            rounds,
            lambda n: n <= MAX_LLOYD_ROUNDS,
        ),
        ("average is 1 to the number of rounds", average, lambda n: n <= rounds),
    ]
    for words, number, is_small in limits:
        if type(number) is not int or number < 1 or not is_small(number):
            raise Refused(f"{words}. Nothing was spent")


def _avoid_undrawable(
    asker: _Asker, space: ClusterSpace, way: ClusterMethod, rounds: int
) -> ClusterMethod:
    """A grid alone where sums would need wider noise than there is; Refused, before
    anything is spent, if a way with rounds was asked for.
    """
    share = 1 - ROWS_SHARE - GRID_FIRST_SHARE
    if way is ClusterMethod.GRID:
        return way
    if way is ClusterMethod.LLOYD:
        share = Fraction(1, rounds)
    # Two corners of the box: no centres have clusters whose sums reach further.
    corners = np.array([[-1.0] * len(space.columns), [1.0] * len(space.columns)])
    if asker.session.can_measure(
        plan_round(space, corners), epsilon=asker.epsilon, share=share
    ):
        return way
    if way is ClusterMethod.AUTO:
        return ClusterMethod.GRID
    raise Refused(
        "The sums of a round need noise wider than any that is drawn (2^50). Use"
        " method=grid, a larger ε, narrower bounds or a coarser step. Nothing was spent"
    )


def _run_rounds(
    asker: _Asker,
    space: ClusterSpace,
    clusters: int,
    rounds: int,
    average: int,
    rng: np.random.Generator,
) -> Clustering:
    centres = spread_centres(clusters, len(space.columns), rng)
    seen = []
    for _ in range(rounds):
        counts, sums = _ask_round(asker, space, centres, Fraction(1, rounds))
        centres = move_centres(centres, counts, sums, rng)
        seen.append(centres)
    mean = np.mean(seen[-average:], axis=0)
    return Clustering(
        space.columns,
        space.to_values(mean),
        np.maximum(counts, 0),
        str(ClusterMethod.LLOYD),
    )


def _use_grid(
    asker: _Asker,
    space: ClusterSpace,
    clusters: int,
    way: ClusterMethod,
    rng: np.random.Generator,
) -> Clustering:
    (counted,) = asker.measure(plan_rows(space), ROWS_SHARE)
    (noise,) = asker.noises
    rows = float(counted[0])
    if way is ClusterMethod.AUTO:
        way = _choose_way(rows / clusters, noise, len(space.columns))
    is_alone = way is ClusterMethod.GRID
    share = 1 - ROWS_SHARE if is_alone else GRID_FIRST_SHARE
    cells = count_grid_cells(rows, _noise_at_share(noise, share), len(space.columns))
    coarse = plan_cluster_space(space.columns, space.schema, cells=cells)
    (noisy,) = asker.measure(plan_grid(coarse), share)
    points = coarse.centres[~np.isnan(coarse.centres).any(axis=1)]
    weights = np.maximum(noisy, 0.0)
    centres = fit_weighted_points(points, weights, clusters, rng)
    if is_alone:
        counts = _count_points(points, weights, centres)
    else:
        rest = 1 - ROWS_SHARE - share
        counts, sums = _ask_round(asker, space, centres, rest)
        centres = move_centres(centres, counts, sums, rng)
    return Clustering(
        space.columns, space.to_values(centres), np.maximum(counts, 0), str(way)
    )


def _choose_way(rows: float, noise: NoiseScale, columns: int) -> ClusterMethod:
    """Whether a round behind the grid is worth it, by noisy numbers alone."""
    share = (1 - ROWS_SHARE - GRID_FIRST_SHARE) / (columns + 1)
    is_clear = rows >= MIN_ROUND_ROWS * _noise_at_share(noise, share)
    return ClusterMethod.HYBRID if is_clear else ClusterMethod.GRID


def _ask_round(
    asker: _Asker, space: ClusterSpace, centres: Floats, share: Fraction
) -> tuple[Floats, Floats]:
    """Noisy counts, and noisy sums in units of half ranges, of every cluster."""
    counts, *sums = asker.measure(plan_round(space, centres), share)
    return counts, np.stack(sums, axis=1) / space.half_ranges


def _noise_at_share(noise: NoiseScale, share: Fraction) -> float:
    """The deviation of a count with this share, by that of the count of rows."""
    ratio = float(ROWS_SHARE / share)
    return noise.deviation * (math.sqrt(ratio) if noise.is_gaussian else ratio)


def _count_points(points: Floats, weights: Floats, centres: Floats) -> Floats:
    nearest = assign_points(points, centres)
    counts = np.bincount(nearest, weights, minlength=len(centres))
    return counts.astype(np.float64)
