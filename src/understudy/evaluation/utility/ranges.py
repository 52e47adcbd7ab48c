"""Range queries: how many rows lie in a random box of a few columns, in the original
and in the synthetic table.

Each query picks columns and, in each of them, a range of values if they have an order
and a random set of them if they have none, as in Zhang et al., "PrivSyn", 2021. The
error is the absolute difference of the two shares of rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.evaluation.utility.marginals import CountableTable, occurring_cells
from understudy.evaluation.utility.orders import choose_cliques
from understudy.findings import BetterDirection, Finding, FindingPart, Unavailable
from understudy.measurements import Clique
from understudy.schema import Categorical, Codec, Lattice, Schema

RANGE_QUERY_COUNT = 1000

MAX_QUERY_CLIQUES = 100
"""Sets of columns the queries are spread over: each has to be counted."""

MAX_SHOWN_QUERIES = 20
"""Queries with the largest errors, listed as parts."""


@dataclass(frozen=True, eq=False)
class RangeQuery:
    """A box: for each column of a clique, which codes lie in it."""

    clique: Clique
    inside: tuple[NDArray[np.bool_], ...]

    def share(self, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> float:
        """The share of rows in the box, from the cells that occur."""
        hit = np.ones(len(counts), bool)
        for axis, codes_inside in enumerate(self.inside):
            hit &= codes_inside[codes[:, axis]]
        return float(counts[hit].sum() / counts.sum())

    def words(self, schema: Schema) -> str:
        """The box in words; labels come from the schema alone."""
        return " and ".join(
            _describe_range(name, schema.codecs[name], inside)
            for name, inside in zip(self.clique, self.inside, strict=True)
        )


def draw_code_range(codec: Codec, rng: np.random.Generator) -> NDArray[np.bool_]:
    """A random range of the values of a column with an order, a random set of codes of
    one without.
    """
    inside = np.zeros(codec.size, bool)
    values = len(codec.bins)
    # A column without values has codes for missing and other alone.
    if values == 0:
        inside[rng.integers(0, codec.size)] = True
    elif _is_ordered(codec):
        low, high = np.sort(rng.integers(0, values, 2))
        inside[low : high + 1] = True
    else:
        inside[:] = rng.random(codec.size) < 0.5
        # An empty set would be right in every table.
        inside[rng.integers(0, codec.size)] = True
    return inside


def draw_queries(
    schema: Schema, cliques: list[Clique], most: int, rng: np.random.Generator
) -> list[RangeQuery]:
    """That many boxes, spread evenly over the cliques."""
    queries = []
    for i in range(most):
        # In turn, so that every clique is asked about equally often.
        clique = cliques[i % len(cliques)]
        ranges = [draw_code_range(schema.codecs[name], rng) for name in clique]
        queries.append(RangeQuery(clique, tuple(ranges)))
    return queries


def assess_range_queries(
    real: CountableTable,
    synthetic: CountableTable,
    schema: Schema,
    *,
    order: int = 3,
    queries: int = RANGE_QUERY_COUNT,
    rng: np.random.Generator | None = None,
) -> Finding:
    """Mean absolute error of the share of rows in a random box."""
    rng = rng or np.random.default_rng(0)
    order = min(order, len(schema))
    cliques = choose_cliques(schema, order, most=MAX_QUERY_CLIQUES, rng=rng)
    tables = {
        clique: (
            occurring_cells(real, clique, schema),
            occurring_cells(synthetic, clique, schema),
        )
        for clique in cliques
    }
    if any(not counts.sum() for _, counts in tables[cliques[0]]):
        raise Unavailable("one of the tables has no rows")
    drawn = draw_queries(schema, cliques, queries, rng)
    real_shares, synthetic_shares = (
        np.array([query.share(*tables[query.clique][side]) for query in drawn])
        for side in (0, 1)
    )
    errors = np.abs(real_shares - synthetic_shares)
    worst = np.argsort(-errors, kind="stable")[:MAX_SHOWN_QUERIES]
    parts = tuple(
        FindingPart(
            name=drawn[i].words(schema),
            columns=drawn[i].clique,
            value=float(errors[i]),
            facts={
                "real": float(real_shares[i]),
                "synthetic": float(synthetic_shares[i]),
            },
        )
        for i in worst
    )
    return Finding(
        name="range_queries",
        title=f"Range queries over {order} columns, mean error",
        family="queries",
        value=float(errors.mean()),
        better=BetterDirection.LOWER,
        best=0.0,
        worst=1.0,
        note=(
            "Difference of the share of rows in a random box; the farthest are listed."
        ),
        parts=parts,
        facts={
            "queries": queries,
            "p95": float(np.quantile(errors, 0.95)),
            "largest": float(errors.max()),
            "mean_share": float(real_shares.mean()),
        },
    )


def _is_ordered(codec: Codec) -> bool:
    column = codec.column
    if isinstance(column, Categorical):
        return column.ordered
    return isinstance(column, Lattice)


def _describe_range(name: str, codec: Codec, inside: NDArray[np.bool_]) -> str:
    labels, hits = codec.labels(), np.flatnonzero(inside)
    if _is_ordered(codec) and len(hits) > 1:
        return f"{name} from {labels[hits[0]]} through {labels[hits[-1]]}"
    words = f"{name} in {', '.join(labels[i] for i in hits[:3])}"
    if len(hits) > 3:
        words += f" and {len(hits) - 3} more"
    return words
