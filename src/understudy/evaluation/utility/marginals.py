"""A first comparison: the total variation distance of every column, and every pair of
columns, between a synthetic table and the original.

It is half of the summed differences of shares, 0 if the two agree and 1 if they have
nothing in common. Both tables are counted exactly,
under the release's closed schema, so a real value outside its domain counts where the
release counts it.

The results come from real rows without any noise. They are for the custodian's eyes,
the caller notes the look in the ledger, and choosing among releases by them is a choice
the guarantee does not cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.findings import INTERNAL_MARKING
from understudy.measurements import Clique
from understudy.schema import Schema

MAX_DENSE_MARGINAL_CELLS = 2**22
"""Above this many cells a pair is compared by the cells that occur."""

_MAX_CELLS_PER_PASS = 2**24
"""Cells counted in one pass over the rows."""


class CountableTable(Protocol):
    """The part of a table that a comparison needs."""

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Dense counts over each clique."""

    def sparse_counts(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes and counts of the cells that occur."""


@dataclass(frozen=True)
class MarginalDistance:
    """How far one marginal of the synthetic table is from the original's."""

    clique: Clique
    distance: float

    def __str__(self) -> str:
        return f"{' × '.join(self.clique)} {self.distance:.3f}"


@dataclass(frozen=True, kw_only=True)
class MarginalComparison:
    """Every column and every pair, farthest first.

    >>> MarginalComparison(
    ...     columns=(MarginalDistance(("age",), 0.02), MarginalDistance(("sex",), 0.01)),
    ...     pairs=(),
    ... ).worst_columns(1)
    (MarginalDistance(clique=('age',), distance=0.02),)
    """

    columns: tuple[MarginalDistance, ...]
    pairs: tuple[MarginalDistance, ...]

    def worst_columns(self, most: int = 5) -> tuple[MarginalDistance, ...]:
        """The columns farthest off."""
        return self.columns[:most]

    def worst_pairs(self, most: int = 5) -> tuple[MarginalDistance, ...]:
        """The pairs farthest off."""
        return self.pairs[:most]

    @property
    def mean_column(self) -> float:
        """Mean distance of a column."""
        return _mean_distance(self.columns)

    @property
    def mean_pair(self) -> float:
        """Mean distance of a pair."""
        return _mean_distance(self.pairs)

    def __str__(self) -> str:
        worst = (*self.worst_columns(1), *self.worst_pairs(1))
        farthest = " and ".join(str(gap) for gap in worst) or "none"
        return (
            f"columns {self.mean_column:.3f}, pairs {self.mean_pair:.3f} on average;"
            f" farthest {farthest} ({INTERNAL_MARKING})"
        )


def compare_marginals(
    real: CountableTable, synthetic: CountableTable, schema: Schema
) -> MarginalComparison:
    """Total variation distance of every one- and two-way marginal of two tables under
    one closed schema.
    """
    singles: list[Clique] = [(name,) for name in schema]
    pairs: list[Clique] = list(combinations(schema, 2))
    return MarginalComparison(
        columns=marginal_distances(real, synthetic, schema, singles),
        pairs=marginal_distances(real, synthetic, schema, pairs),
    )


def total_variation(real: NDArray[np.int64], synthetic: NDArray[np.int64]) -> float:
    """Total variation distance of two tables of counts, each taken as shares of its own
    total.

    >>> total_variation(np.array([1, 3]), np.array([2, 2]))
    0.25

    An empty table has nothing in common with one that is not.
    """
    here, there = int(real.sum()), int(synthetic.sum())
    # Shares of an empty table are undefined; two empty ones agree.
    if here == 0 or there == 0:
        return 0.0 if here == there else 1.0
    return float(np.abs(real / here - synthetic / there).sum() / 2)


def marginal_distances(
    real: CountableTable,
    synthetic: CountableTable,
    schema: Schema,
    cliques: list[Clique],
) -> tuple[MarginalDistance, ...]:
    """Total variation distance of each of these marginals, farthest first."""
    distances: list[MarginalDistance] = []
    # One pass over the rows counts a whole batch.
    for batch in _batch_cliques(schema, cliques):
        counts = zip(batch, real.counts(batch), synthetic.counts(batch), strict=True)
        for clique, here, there in counts:
            distances.append(MarginalDistance(clique, total_variation(here, there)))
    for clique in cliques:
        if prod(schema.sizes(clique)) > MAX_DENSE_MARGINAL_CELLS:
            cells = real.sparse_counts(clique), synthetic.sparse_counts(clique)
            distances.append(MarginalDistance(clique, _sparse_distance(*cells)))
    return tuple(sorted(distances, key=lambda gap: (-gap.distance, gap.clique)))


def occurring_cells(
    table: CountableTable, clique: Clique, schema: Schema
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes and counts of the cells of a marginal that occur, however large it is."""
    if prod(schema.sizes(clique)) > MAX_DENSE_MARGINAL_CELLS:
        return table.sparse_counts(clique)
    (counts,) = table.counts([clique])
    places = np.nonzero(counts)
    return np.stack(places, axis=1).astype(np.int64), counts[places]


def _batch_cliques(schema: Schema, cliques: list[Clique]) -> list[list[Clique]]:
    """Cliques small enough to count densely, in groups that fit memory together."""
    # First fit in the given order: cliques of a kind have similar sizes.
    batches: list[list[Clique]] = []
    room = 0
    for clique in cliques:
        cells = prod(schema.sizes(clique))
        if cells > MAX_DENSE_MARGINAL_CELLS:
            continue
        if cells > room:
            batches.append([])
            room = _MAX_CELLS_PER_PASS
        batches[-1].append(clique)
        room -= cells
    return batches


def _sparse_distance(
    real: tuple[NDArray[np.int64], NDArray[np.int64]],
    synthetic: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> float:
    """The same from the cells that occur in either table."""
    (real_codes, real_counts), (synthetic_codes, synthetic_counts) = real, synthetic
    codes = np.concatenate([real_codes, synthetic_codes])
    cells, place = np.unique(codes, axis=0, return_inverse=True)
    # numpy 2.0 alone returned the inverse with the shape of its argument.
    place = place.reshape(-1)
    here, there = np.zeros(len(cells), np.int64), np.zeros(len(cells), np.int64)
    np.add.at(here, place[: len(real_codes)], real_counts)
    np.add.at(there, place[len(real_codes) :], synthetic_counts)
    return total_variation(here, there)


def _mean_distance(gaps: tuple[MarginalDistance, ...]) -> float:
    if not gaps:
        return 0.0
    return sum(gap.distance for gap in gaps) / len(gaps)
