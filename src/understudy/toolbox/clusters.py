"""k-means by noisy sums: private Lloyd rounds, or one noisy grid.

Lloyd (Blum, Dwork, McSherry, Nissim, "Practical privacy: the SuLQ framework", 2005; Su
et al., "Differentially private k-means clustering", 2016). A round asks for the number
of rows of each cluster and, for each column, the sum of their values: one noisy sum a
statistic, with the clusters as groups. The rows of a cluster are those whose cell has
its centre next to that of the cluster; cells are public, and fine.

Grid (the uniform grid of Su et al.). The number of rows in each cell of a coarse public
grid is measured once, and k-means is run on the noisy grid, which costs nothing more.
Better where rows are few, because no budget is split over rounds.

Why it is private. Given the centres, which are public once released, a cell belongs to
one cluster or to none. A row lies in one cell, so in one cluster: it moves one count by
1, and one sum of each column by at most the half range of its bounds. These are groups
and statistics like any others (queries/statistics.py); T rounds compose. Checked against
all small tables in tests/toolbox/test_clusters.py.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.errors import Refused
from understudy.queries.batches import AtomCells
from understudy.queries.builders import count
from understudy.queries.cells import QueryCells, make_cells
from understudy.queries.plan import AnyStatistic, QueryPlan, column_factor
from understudy.queries.query import Aggregate, AggregateKind, GroupKey, Query
from understudy.queries.resolving import resolve_query
from understudy.queries.statistics import ColumnFactor, Statistic
from understudy.schema import Schema
from understudy.schema.columns.code_layout import BinEdges
from understudy.schema.columns.numeric import Integer, Real
from understudy.text import align_columns

MAX_CLUSTERS = 100
MAX_CLUSTER_COLUMNS = 8

MAX_CLUSTER_CELLS = 1 << 18
"""Cells that decide which cluster a row is in: with two columns, 512 bins of each."""

MAX_CLUSTER_BINS = 1 << 12
"""Bins of one column: finer ones move no centre by more than a part in 8,000 of its range,
and a key has at most 100,000 groups.
"""

GRID_ROWS_PER_CELL = 10
"""ε times the rows of a cell of the coarse grid: Su et al. found about 10 best."""

_LLOYD_RESTARTS = 8
"""Starts of k-means on a grid: the best of several is near the optimum."""

_LLOYD_STEPS = 100

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClusterSpace:
    """The columns of a clustering, scaled to [−1, 1], and the centre of every cell."""

    schema: Schema
    factors: tuple[ColumnFactor, ...]
    cells: QueryCells
    centres: Floats
    """Of each cell, one number a column; NaN where a column has no value."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(factor.column for factor in self.factors)

    @property
    def half_ranges(self) -> Floats:
        """The largest distance from the middle of each column, in lattice steps."""
        return np.array([_half_range(factor) for factor in self.factors], np.float64)

    def to_values(self, points: Floats) -> Floats:
        """Points in the columns' own values."""
        values: Floats = (self._origins + points * self.half_ranges) * self._steps
        return values

    def to_points(self, values: Floats) -> Floats:
        """The columns' own values as points."""
        points: Floats = (values / self._steps - self._origins) / self.half_ranges
        return points

    @property
    def _origins(self) -> Floats:
        return np.array([factor.origin for factor in self.factors], np.float64)

    @property
    def _steps(self) -> Floats:
        return np.array([_step(self.schema, name) for name in self.columns])


@dataclass(frozen=True, eq=False, repr=False)
class Clustering:
    """Centres of clusters in the columns' own values, and about how many rows each has.

    >>> print(Clustering(("age",), np.array([[20.0], [70.0]]), np.array([300.0, 200.0])))
    age  rows
     20   300
     70   200
    """

    columns: tuple[str, ...]
    centres: Floats
    rows: Floats
    method: str = ""
    cost: Cost | None = None

    def assign(self, points: Floats) -> NDArray[np.int64]:
        """The nearest centre of each point, in the columns' own values: for rows of a
        synthetic table, or of one's own.
        """
        return assign_points(np.asarray(points, np.float64), self.centres)

    def to_dict(self) -> dict[str, object]:
        """It for a program."""
        return {
            "columns": list(self.columns),
            "centres": self.centres.tolist(),
            "rows": self.rows.tolist(),
            "method": self.method,
        }

    def lines(self) -> list[str]:
        """A line for each cluster."""
        order = np.lexsort(self.centres.T[::-1])
        cells = [
            [*(f"{value:.4g}" for value in self.centres[i]), f"{self.rows[i]:,.0f}"]
            for i in order
        ]
        head = [*self.columns, "rows"]
        return align_columns([head, *cells], right=range(len(head)))

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class ClusterPlan(QueryPlan):
    """Number of rows and sums of every column, for each cluster of some centres."""

    named: str
    """What decides which cluster a cell is in."""

    def digest(self, statistic: AnyStatistic) -> str:
        """By the cells, the centres and the statistic."""
        facts = ["clusters", super().digest(statistic), self.named]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()


def plan_cluster_space(
    columns: Sequence[str], schema: Schema, *, cells: int = MAX_CLUSTER_CELLS
) -> ClusterSpace:
    """The space of these columns, cut into at most so many cells."""
    if not 1 <= len(columns) <= MAX_CLUSTER_COLUMNS:
        raise Refused(
            f"Clusters are found in between 1 and {MAX_CLUSTER_COLUMNS} columns."
            " Nothing was spent"
        )
    counted = tuple(
        Aggregate(AggregateKind.COUNT, (name,), name=f"n{i}")
        for i, name in enumerate(columns)
    )
    resolved = resolve_query(Query(counted), schema)
    names = [aggregate.columns[0] for aggregate in resolved.aggregates]
    factors = tuple(column_factor(schema, name) for name in names)
    bins = max(2, math.floor(cells ** (1 / len(factors)) + 1e-9))
    bins = min(bins, MAX_CLUSTER_BINS)
    keys = [_cut_column(factor, schema, bins) for factor in factors]
    made = make_cells(schema, keys, [])
    return ClusterSpace(schema, factors, made, _find_centres(made, factors))


def plan_round(space: ClusterSpace, centres: Floats) -> ClusterPlan:
    """What one Lloyd round asks about these centres."""
    nearest = assign_points(space.centres, centres)
    cells = space.cells
    grouped = AtomCells(cells.schema, cells.clique, (), nearest, len(centres))
    own = [Statistic(space.columns)]
    own += [Statistic(space.columns, (factor,)) for factor in space.factors]
    return ClusterPlan(
        query=count(),
        source_schema=space.schema,
        cells=grouped,
        where=np.ones(len(nearest), np.bool_),
        statistics=tuple(own),
        parts=((0,),),
        named=_name_groups(space, nearest),
    )


def plan_rows(space: ClusterSpace) -> QueryPlan:
    """The number of rows that have a value in all columns."""
    cells = make_cells(space.schema, [], [])
    return QueryPlan(
        query=count(),
        source_schema=space.schema,
        cells=cells,
        where=np.ones(1, np.bool_),
        statistics=(Statistic(space.columns),),
        parts=((0,),),
    )


def plan_grid(space: ClusterSpace) -> ClusterPlan:
    """The number of rows in every cell that has a value in all columns."""
    has_values = ~np.isnan(space.centres).any(axis=1)
    numbers = np.where(has_values, np.cumsum(has_values) - 1, -1)
    cells = space.cells
    return ClusterPlan(
        query=count(),
        source_schema=space.schema,
        cells=AtomCells(cells.schema, cells.clique, (), numbers, int(has_values.sum())),
        where=np.ones(len(numbers), np.bool_),
        statistics=(Statistic(),),
        parts=((0,),),
        named=_name_groups(space, numbers),
    )


def count_grid_cells(rows: float, deviation: float, columns: int) -> int:
    """Cells of a coarse grid for so many rows and the noise of one count: more where
    rows are many.

    >>> count_grid_cells(2_000, 2.8, 2), count_grid_cells(50_000, 1.4, 2)
    (101, 5050)
    """
    # Su et al. have (ε·rows/10)^(2d/(2 + d)), for Laplace noise: ε is √2/deviation.
    ratio = max(rows, 1.0) * math.sqrt(2) / (max(deviation, 1e-9) * GRID_ROWS_PER_CELL)
    cells = int(min(ratio ** (2 * columns / (2 + columns)), float(MAX_CLUSTER_CELLS)))
    return max(cells, int(2**columns))


def assign_points(points: Floats, centres: Floats) -> NDArray[np.int64]:
    """The nearest centre of each point; -1 for points without a value.

    >>> assign_points(np.array([[0.0], [0.9], [np.nan]]), np.array([[0.0], [1.0]])).tolist()
    [0, 1, -1]
    """
    # Column by column: all differences at once would take gigabytes.
    distances = np.zeros((len(points), len(centres)))
    for axis in range(centres.shape[1]):
        distances += (points[:, axis, None] - centres[None, :, axis]) ** 2
    nearest = np.nan_to_num(distances, nan=np.inf).argmin(axis=1)
    return np.where(np.isnan(distances[:, 0]), -1, nearest).astype(np.int64)


def move_centres(
    centres: Floats, counts: Floats, sums: Floats, rng: np.random.Generator
) -> Floats:
    """The centres of the next round: noisy sums over noisy counts, inside the bounds. A
    cluster with less than one row starts again anywhere.
    """
    moved = centres.copy()
    for place, rows in enumerate(counts):
        if rows < 1:
            moved[place] = rng.uniform(-1, 1, centres.shape[1])
        else:
            moved[place] = np.clip(sums[place] / rows, -1, 1)
    return moved


def spread_centres(clusters: int, columns: int, rng: np.random.Generator) -> Floats:
    """Starting centres far from one another, from no row: points of the box, each the
    farthest from those before of a few tries.
    """
    centres = rng.uniform(-1, 1, (1, columns))
    while len(centres) < clusters:
        tries = rng.uniform(-1, 1, (16, columns))
        distances = ((tries[:, None, :] - centres[None]) ** 2).sum(axis=2).min(axis=1)
        centres = np.vstack([centres, tries[distances.argmax()]])
    return centres


def fit_weighted_points(
    points: Floats, weights: Floats, clusters: int, rng: np.random.Generator
) -> Floats:
    """k-means of weighted points: Lloyd's algorithm from several starts.

    >>> rng = np.random.default_rng(1)
    >>> points = np.array([[-1.0], [-0.8], [0.9]])
    >>> sorted(fit_weighted_points(points, np.array([1.0, 1.0, 5.0]), 2, rng).ravel().round(2))
    [np.float64(-0.9), np.float64(0.9)]
    """
    best, least = spread_centres(clusters, points.shape[1], rng), math.inf
    if weights.sum() <= 0:
        return best
    for _ in range(_LLOYD_RESTARTS):
        centres = _seed_centres(points, weights, clusters, rng)
        for _ in range(_LLOYD_STEPS):
            nearest = assign_points(points, centres)
            moved = _weighted_means(points, weights, nearest, centres)
            if np.allclose(moved, centres):
                break
            centres = moved
        loss = float(weights @ ((points - centres[nearest]) ** 2).sum(axis=1))
        if loss < least:
            best, least = centres, loss
    return best


def _seed_centres(
    points: Floats, weights: Floats, clusters: int, rng: np.random.Generator
) -> Floats:
    """k-means++ (Arthur, Vassilvitskii 2007)."""
    centres = points[rng.choice(len(points), 1, p=weights / weights.sum())]
    while len(centres) < clusters:
        far = ((points[:, None, :] - centres[None]) ** 2).sum(axis=2).min(axis=1)
        chance = weights * far
        if chance.sum() <= 0:
            chance = np.ones(len(points))
        chosen = rng.choice(len(points), 1, p=chance / chance.sum())
        centres = np.vstack([centres, points[chosen]])
    return centres


def _weighted_means(
    points: Floats, weights: Floats, nearest: NDArray[np.int64], centres: Floats
) -> Floats:
    moved = centres.copy()
    for place in range(len(centres)):
        own = nearest == place
        if weights[own].sum() > 0:
            moved[place] = weights[own] @ points[own] / weights[own].sum()
    return moved


def _half_range(factor: ColumnFactor) -> int:
    return max(factor.high - factor.origin, factor.origin - factor.low, 1)


def _step(schema: Schema, name: str) -> float:
    column = schema[name]
    assert isinstance(column, Integer | Real)
    return float(column.step)


def _cut_column(factor: ColumnFactor, schema: Schema, bins: int) -> GroupKey:
    """A column in so many bins of equal width, or in its values if they are fewer."""
    column = schema[factor.column]
    assert isinstance(column, Integer | Real)
    values = factor.high - factor.low + 1
    used = min(bins, values)
    starts = [factor.low + values * i // used for i in range(used + 1)]
    step = Fraction(column.step)
    return GroupKey(factor.column, tuple(start * step for start in starts))


def _find_centres(cells: QueryCells, factors: Sequence[ColumnFactor]) -> Floats:
    """The middle of each cell in units of half ranges."""
    grids = []
    for factor in factors:
        codec = cells.codecs[factor.column]
        assert isinstance(codec.bins, BinEdges)
        edges = np.array(codec.bins.edges, np.float64)
        middles = np.full(codec.size, np.nan)
        middles[: len(edges) - 1] = (edges[:-1] + edges[1:] - 1) / 2
        grids.append((middles - factor.origin) / _half_range(factor))
    mesh = np.meshgrid(*grids, indexing="ij")
    return np.stack([axis.ravel() for axis in mesh], axis=1)


def _name_groups(space: ClusterSpace, groups: NDArray[np.int64]) -> str:
    edges = [space.cells.codecs[name].edges.tolist() for name in space.columns]
    named = json.dumps([space.columns, edges]).encode() + groups.tobytes()
    return hashlib.sha256(named).hexdigest()
