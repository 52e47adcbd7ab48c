"""Noisy marginals that overlap, made to agree: on the number of rows, on every column
they share, and on being counts.

Qardaji, Yang, Li, "PriView: practical differentially private release of marginal
contingency tables", 2014, §4.3; Zhang et al., "PrivSyn: differentially private data
synthesis", 2021, §3.3.

For a set of columns S that several marginals hold, each gives an estimate of the counts
over S: its own sum over the other columns. A sum of k cells has k times the variance of
one, so the estimates are averaged with weights ∝ 1/(variance · k), and each marginal
spreads what it lacks evenly over the cells behind. That leaves all sums over smaller
sets as they are, so sets are taken from small to large.

Then every marginal is projected on the non-negative counts with the right total
(Norm-Sub: cut at zero, take the surplus evenly off the rest, again and again; its limit
is the Euclidean projection). That disturbs the agreement a little, so both are
repeated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.measurements import Clique
from understudy.models.arrays import align_axes
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.pooling import PooledMarginal
from understudy.schema import Schema

# Agreement and projection, at most this often.
MAX_AGREEMENT_ROUNDS = 20

# Marginals that agree up to this share of the rows agree.
AGREEMENT_TOLERANCE = 1e-4

TargetMarginals = dict[Clique, NDArray[np.float64]]


def enforce_consistency(
    schema: Schema, pooled: Mapping[Clique, PooledMarginal], total: float
) -> TargetMarginals:
    """Non-negative marginals that sum to `total`, agree on shared columns (all but
    exactly) and hold nothing in structural zeros.

    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=tuple(Boolean(name=name, nullable=False) for name in "abc"))
    >>> ab = PooledMarginal(np.array([[4.0, 1.0], [1.0, 4.0]]), variance=1.0)
    >>> bc = PooledMarginal(np.array([[4.0, 2.0], [1.0, 3.0]]), variance=1.0)
    >>> found = enforce_consistency(schema, {("a", "b"): ab, ("b", "c"): bc}, 10.0)
    >>> found["a", "b"].sum(axis=0).tolist(), found["b", "c"].sum(axis=1).tolist()
    ([5.5, 4.5], [5.5, 4.5])
    """
    allowed = {clique: _allowed_cells(schema, clique) for clique in pooled}
    tables = {
        c: p.values + (total - float(p.values.sum())) / p.values.size
        for c, p in pooled.items()
    }
    shared = shared_sets(list(pooled))
    for _ in range(MAX_AGREEMENT_ROUNDS):
        gap = 0.0
        for columns in shared:
            gap = max(gap, _average_shared(columns, tables, pooled))
        tables = {
            c: project_simplex(t, total, allowed=allowed[c]) for c, t in tables.items()
        }
        if gap <= AGREEMENT_TOLERANCE * max(total, 1.0):
            break
    return tables


def shared_sets(cliques: Sequence[Clique]) -> list[Clique]:
    """Every non-empty set of columns in which two cliques meet, small ones first.

    >>> shared_sets([("a", "b"), ("b", "c"), ("a", "b", "d")])
    [('b',), ('a', 'b')]
    """
    met = {frozenset(one) & frozenset(other) for one, other in combinations(cliques, 2)}
    return sorted((tuple(sorted(s)) for s in met if s), key=lambda s: (len(s), s))


def _average_shared(
    columns: Clique, tables: TargetMarginals, pooled: Mapping[Clique, PooledMarginal]
) -> float:
    """Let all marginals that hold these columns agree on them; the largest distance
    there was to the agreed counts.
    """
    holders = [clique for clique in tables if set(columns) <= set(clique)]
    sums = [_sum_to_columns(tables[c], c, columns) for c in holders]
    # A sum of k cells has k times the variance of one.
    cells_behind = [tables[c].size // sums[0].size for c in holders]
    precisions = [
        1 / (pooled[clique].variance * cells)
        for clique, cells in zip(holders, cells_behind, strict=True)
    ]
    agreed = np.average(sums, axis=0, weights=precisions)
    for clique, own, cells in zip(holders, sums, cells_behind, strict=True):
        lacking = align_axes((agreed - own) / cells, columns, clique)
        tables[clique] = tables[clique] + lacking
    return max(float(np.abs(agreed - own).sum()) for own in sums)


def _sum_to_columns(
    table: NDArray[np.float64], clique: Clique, columns: Clique
) -> NDArray[np.float64]:
    """A table summed over all other columns, its axes in the order of `columns`."""
    rest = tuple(i for i, name in enumerate(clique) if name not in columns)
    kept = [name for name in clique if name in columns]
    order = [kept.index(name) for name in columns]
    return np.asarray(table.sum(axis=rest).transpose(order))


def _allowed_cells(schema: Schema, clique: Clique) -> NDArray[np.bool_] | None:
    zeros = schema.zeros(clique)
    return None if zeros is None else ~zeros
