"""Rows exchanged for fresh ones until a table meets what is known of marginals that no
tree holds.

A junction tree gives rows that meet every marginal inside its nodes. Of marginals
across nodes more may be known than the tree can say. Then rows of a first table are
exchanged for fresh rows of the same tree, a few at a time, where that brings all tables
of interest nearer to their aims, those the tree meets already among them. Every row
stays one that the tree drew, so what cannot be never is; which of its rows are kept is
what changes, as little as the aims ask for.

The distance of a count c from its target t is (c - t)² / (1 + √t): near enough to the
sum of absolute distances, and smooth.

Aims are a model's, so this is post-processing: its generator may be seeded. (The idea
of updating a table towards noisy marginals is that of Zhang et al., "PrivSyn", 2021;
there, cells are overwritten.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.models.arrays import Array

RowCodes = NDArray[np.int32]

# Exchanges proposed for each row of the table.
EXCHANGE_PROPOSALS_PER_ROW = 5

# Proposals judged together, at most.
MAX_PROPOSAL_BATCH = 256

# Exchanges carried out at once, for they overshoot together: this share of a batch,
# or of the rows that the worst table is off by.
MIN_ACCEPTED_SHARE, ACCEPTED_EXCESS_SHARE = 0.02, 0.01


class CellIndex:
    """Cells of several tables laid end to end, and where rows fall into them.

    >>> cells = CellIndex([("a", "b"), ("b",)], {"a": 2, "b": 3})
    >>> cells.of(np.array([[1, 2]], np.int32)).tolist(), cells.size
    ([[5, 8]], 9)
    """

    def __init__(self, cliques: Sequence[Clique], sizes: Mapping[str, int]) -> None:
        place = {name: i for i, name in enumerate(sizes)}
        width = max(map(len, cliques), default=1)
        self.columns = np.zeros((width, len(cliques)), np.intp)
        self.strides = np.zeros((width, len(cliques)), np.int32)
        self.starts = np.zeros(len(cliques), np.int32)
        self.size = 0
        for j, clique in enumerate(cliques):
            self.starts[j] = self.size
            stride = 1
            for i, name in reversed(list(enumerate(clique))):
                self.columns[i, j], self.strides[i, j] = place[name], stride
                stride *= sizes[name]
            self.size += stride

    def of(self, rows: RowCodes) -> RowCodes:
        """The cell of each row in each table."""
        found: RowCodes = self.starts + rows[:, self.columns[0]] * self.strides[0]
        for columns, strides in zip(self.columns[1:], self.strides[1:], strict=True):
            found += rows[:, columns] * strides
        return found

    def counts(self, rows: RowCodes, block: int = 8192) -> NDArray[np.int64]:
        """How many rows fall into each cell."""
        found = np.zeros(self.size, np.int64)
        for start in range(0, len(rows), block):
            found += np.bincount(
                self.of(rows[start : start + block]).ravel(), minlength=self.size
            )
        return found


def refine_rows(
    rows: RowCodes,
    fresh: RowCodes,
    aims: Mapping[Clique, Array],
    sizes: Mapping[str, int],
    rng: Generator,
    *,
    rare: float = 0.0,
) -> RowCodes:
    """As many rows, some of them exchanged for fresh ones, so that they come nearer to
    the aims: a table of counts for each clique.

    Cells of a table that expect fewer than `rare` rows count as one: which of them have
    a row is left to chance.

    >>> rng = np.random.default_rng(0)
    >>> pool = rng.integers(0, 2, (4000, 2)).astype(np.int32)
    >>> aims = {("a", "b"): np.array([[300.0, 200.0], [200.0, 300.0]])}
    >>> better = refine_rows(pool[:1000], pool[1000:], aims, {"a": 2, "b": 2}, rng)
    >>> bool(np.abs(np.bincount(better @ [2, 1]) - [300, 200, 200, 300]).max() <= 3)
    True
    """
    rows = rows.copy()
    cells = CellIndex(list(aims), sizes)
    aim = np.concatenate(
        [np.asarray(table, np.float64).ravel() for table in aims.values()]
    )
    each = np.repeat(np.arange(len(aims)), [one.size for one in aims.values()])
    pool = _pool_rare_cells(aim, each, rare)
    table = np.zeros(int(pool.max()) + 1, np.int64)
    table[pool] = each
    aim = np.bincount(pool, aim)
    weight = 1 / (1 + np.sqrt(np.maximum(aim, 0)))
    excess = np.bincount(pool, cells.counts(rows), minlength=aim.size) - aim
    batch = int(np.clip(len(rows) // 64, 16, MAX_PROPOSAL_BATCH))
    batches = math.ceil(EXCHANGE_PROPOSALS_PER_ROW * len(rows) / batch)
    if len(rows) < 2 * batch or len(fresh) < batch:
        return rows
    at, spot, worst = 0, 0, 0.0
    order = rng.permutation(len(rows))
    for step in range(batches):
        if spot + batch > len(rows):
            order, spot = rng.permutation(len(rows)), 0
        if at + batch > len(fresh):
            fresh, at = fresh[rng.permutation(len(fresh))], 0
        here, coming = order[spot : spot + batch], fresh[at : at + batch]
        at, spot = at + batch, spot + batch
        old, new = pool[cells.of(rows[here])], pool[cells.of(coming)]
        # What one row fewer does to a cell's distance, and what one more does.
        fewer, more = (
            weight[old] * (1 - 2 * excess[old]),
            weight[new] * (1 + 2 * excess[new]),
        )
        change = ((fewer + more) * (old != new)).sum(axis=1)
        better = np.flatnonzero(change < 0)
        if step % 16 == 0:  # tables of triples have many cells
            worst = float(np.bincount(table, np.abs(excess)).max())
        most = max(
            1,
            int(
                max(
                    MIN_ACCEPTED_SHARE * batch,
                    min(ACCEPTED_EXCESS_SHARE * worst, batch / 2),
                )
            ),
        )
        if better.size > most:
            better = better[np.argpartition(change[better], most - 1)[:most]]
        if better.size:
            np.subtract.at(excess, old[better].ravel(), 1.0)
            np.add.at(excess, new[better].ravel(), 1.0)
            rows[here[better]] = coming[better]
    return rows


def _pool_rare_cells(
    aim: Array, table: NDArray[np.int64], rare: float
) -> NDArray[np.int64]:
    """For each cell of each table the number of the one that stands for it.

    The nearest whole number to 0.3 rows is none: aimed at one by one, rare combinations
    would die out.

    >>> _pool_rare_cells(np.array([0.1, 4.0, 0.2, 3.0]), np.array([0, 0, 0, 1]), 0.5).tolist()
    [0, 2, 0, 3]
    """
    common = aim >= rare
    return np.where(common, int(table[-1]) + np.cumsum(common), table)
