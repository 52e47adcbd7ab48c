"""Dependence: correlation and mutual information of every pair of columns, in the
original and in the synthetic table.

Both come from counts of codes. A correlation is Pearson's, of bin midpoints or of the
ranks of ordered labels, over the rows in which both are known; labels without an order
have none. Mutual information, in nats, is of all codes, missing ones included.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.utility.marginals import CountableTable, occurring_cells
from understudy.findings import (
    BetterDirection,
    Finding,
    FindingPart,
    Unavailable,
    mean_of_parts,
)
from understudy.measurements import Clique
from understudy.schema import BinEdges, Boolean, Categorical, Codec, Lattice, Schema

OccurringCells = tuple[NDArray[np.int64], NDArray[np.int64]]


def scores_of_codec(codec: Codec) -> NDArray[np.float64] | None:
    """A number for each code of a column that has an order, NaN for those that are no
    value; None if it has no order.

    >>> from understudy.schema import Integer, codec_of
    >>> scores_of_codec(codec_of(Integer(name="age", min=0, max=8, bins=(0, 3, 6, 9)))).tolist()
    [1.0, 4.0, 7.0, nan]
    """
    column, scores = codec.column, np.full(codec.size, np.nan)
    if isinstance(codec.bins, BinEdges):
        assert isinstance(column, Lattice)
        # A bin of integers ends one before the next begins, so its middle is half less.
        edges = np.array(codec.bins.edges, np.float64)
        scores[: len(codec.bins)] = (edges[:-1] + edges[1:] - 1) / 2
    elif isinstance(column, Boolean) or (
        isinstance(column, Categorical) and column.ordered
    ):
        scores[: len(codec.bins)] = np.arange(len(codec.bins))
    else:
        return None
    return scores


def correlation(
    cells: OccurringCells, first: NDArray[np.float64], second: NDArray[np.float64]
) -> float | None:
    """Pearson's correlation from the cells that occur; None if a column does not vary.

    >>> table = np.array([[0, 0], [1, 1]]), np.array([3, 5])
    >>> round(correlation(table, np.array([0.0, 1.0]), np.array([0.0, 1.0])), 12)
    1.0
    """
    codes, counts = cells
    x, y = first[codes[:, 0]], second[codes[:, 1]]
    known = ~(np.isnan(x) | np.isnan(y))
    x, y, weights = x[known], y[known], counts[known].astype(np.float64)
    if not weights.sum():
        return None
    weights /= weights.sum()
    scale = float((weights @ np.abs(x)) ** 2 * (weights @ np.abs(y)) ** 2)
    x, y = x - weights @ x, y - weights @ y
    spread = float((weights @ x**2) * (weights @ y**2))
    # A constant column keeps a spread of rounding errors, of this size at most.
    if spread <= 1e-24 * max(scale, 1e-300):
        return None
    covariance = weights @ (x * y)
    return float(np.clip(covariance / np.sqrt(spread), -1, 1))


def mutual_information(cells: OccurringCells, sizes: tuple[int, ...]) -> float | None:
    """Mutual information in nats from the cells that occur; None for an empty table.

    >>> round(mutual_information((np.array([[0, 0], [1, 1]]), np.array([4, 4])), (2, 2)), 4)
    0.6931
    """
    codes, counts = cells
    total = counts.sum()
    if not total:
        return None
    first, second = codes[:, 0], codes[:, 1]
    rows = np.bincount(first, counts, sizes[0])
    columns = np.bincount(second, counts, sizes[1])
    ratio = counts * total / (rows[first] * columns[second])
    # Never negative but for rounding.
    return max(0.0, float((counts / total) @ np.log(ratio)))


def assess_correlations(
    real: CountableTable, synthetic: CountableTable, schema: Schema
) -> Finding:
    """Mean absolute difference of Pearson's correlation over the pairs that have one."""
    scores = {name: scores_of_codec(codec) for name, codec in schema.codecs.items()}
    known = {name: score for name, score in scores.items() if score is not None}
    if len(known) < 2:
        raise Unavailable("fewer than two columns have numbers or an order")
    parts = []
    for clique in combinations(known, 2):
        here, there = (
            correlation(
                occurring_cells(table, clique, schema),
                known[clique[0]],
                known[clique[1]],
            )
            for table in (real, synthetic)
        )
        parts.append(_pair_part(clique, here, there))
    return _mean_finding(
        "correlation",
        "Correlations, mean difference",
        2.0,
        parts,
        "Pearson's, of numbers and ordered labels.",
    )


def assess_mutual_information(
    real: CountableTable, synthetic: CountableTable, schema: Schema
) -> Finding:
    """Mean absolute difference of mutual information over all pairs."""
    if len(schema) < 2:
        raise Unavailable("the table has fewer than two columns")
    parts = []
    for clique in combinations(schema, 2):
        here, there = (
            mutual_information(
                occurring_cells(table, clique, schema), schema.sizes(clique)
            )
            for table in (real, synthetic)
        )
        parts.append(_pair_part(clique, here, there))
    return _mean_finding(
        "mutual_information",
        "Mutual information, mean difference",
        None,
        parts,
        "In nats; 0 is no dependence.",
    )


def matrix_of_pairs(
    finding: Finding, names: tuple[str, ...], side: str, *, diagonal: float = np.nan
) -> NDArray[np.float64]:
    """A finding about pairs as a symmetric matrix of the `real` or `synthetic` values,
    NaN where there is none.
    """
    place = {name: i for i, name in enumerate(names)}
    matrix = np.full((len(names), len(names)), np.nan)
    np.fill_diagonal(matrix, diagonal)
    for part in finding.parts:
        value = part.facts.get(side)
        if isinstance(value, float) and set(part.columns) <= set(place):
            i, j = (place[name] for name in part.columns)
            matrix[i, j] = matrix[j, i] = value
    return matrix


def _pair_part(clique: Clique, here: float | None, there: float | None) -> FindingPart:
    name = " × ".join(clique)
    facts = {"real": here, "synthetic": there}
    if here is None or there is None:
        where = "the real table" if here is None else "the synthetic table"
        if here is None and there is None:
            where = "either table"
        return FindingPart(
            name=name,
            columns=clique,
            reason=f"a column does not vary in {where}",
            facts=dict(facts),
        )
    return FindingPart(
        name=name, columns=clique, value=abs(here - there), facts=dict(facts)
    )


def _mean_finding(
    name: str, title: str, worst: float | None, parts: list[FindingPart], note: str
) -> Finding:

    def rank(part: FindingPart) -> tuple[float, tuple[str, ...]]:
        # Parts without a number come last; differences are never negative.
        size = 1.0 if part.value is None else -part.value
        return size, part.columns

    ranked = tuple(sorted(parts, key=rank))
    value = mean_of_parts(ranked)
    if value is None:
        raise Unavailable("no pair of columns varies in both tables")
    return Finding(
        name=name,
        title=title,
        family="dependence",
        value=value,
        better=BetterDirection.LOWER,
        best=0.0,
        worst=worst,
        note=note,
        parts=ranked,
        facts={"pairs": sum(part.is_computed for part in ranked)},
    )
