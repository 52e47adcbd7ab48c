"""A public table as a prior: rows of other people, declared public by the owner, that
say what this table may look like.

Nothing about them is protected; the guarantee lists them among what was declared
public. Which of their marginals are of use is told from them alone and costs nothing.
How far those are from the truth is bought: a noisy distance each, and the number of
rows where nothing else tells it. Synthesizers find both among what is known already,
and a fit believes the public table as far as it deserves
(models/fitting/public_prior.py).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from understudy.curator import Curator
from understudy.errors import Refused, TableError
from understudy.measurements import (
    Clique,
    EstimateDistance,
    Measurements,
    distances_with_estimates,
)
from understudy.models.estimates.pooling import pool_total
from understudy.models.fitting.estimate import select_fitting_cliques
from understudy.schema import Schema
from understudy.tables import Table, TableSource

PRIOR_TOTAL_SHARE, PRIOR_DISTANCE_SHARE = Fraction(1, 100), Fraction(1, 50)
"""Parts of the budget for the number of rows, and for the distances."""

MAX_PUBLIC_TREE_CELLS = 50_000
"""Cells of the model that the public marginals make: small beside what a synthesizer
may build on it.
"""

MAX_PUBLIC_PAIR_CELLS = 10_000
"""Cells of the largest pair that is looked at."""

CHANCE_DISTANCE_PER_CELL = 0.8
"""What chance adds to the distance from independence of a table, for every cell that is
filled: E|z|.
"""


def refuse_unlike(public: TableSource, schema: Schema, private: TableSource) -> None:
    """Refuse, before anything is spent, the private table itself, and one that has none
    of its columns, or only one of them.
    """
    if public is private or (
        public.kind in ("csv", "parquet") and public.ledger_path == private.ledger_path
    ):
        raise Refused(
            f"{public.title}: the table that is to be protected cannot be the public"
            " one. Nothing was spent"
        )
    shared, needed = sum(name in public.names for name in schema), min(2, len(schema))
    if shared < needed:
        raise TableError(
            f"{public.title}: has {shared} of the table's columns, and fewer than"
            f" {needed} tell nothing of it. Nothing was spent"
        )


def describe_public_table(public: TableSource, schema: Schema) -> str:
    """What the guarantee says of it."""
    shared = [name for name in schema if name in public.names]
    return f"the public table {public.title}, used as a prior for {', '.join(shared)}"


def measure_public_distances(custody: Curator, public: TableSource) -> Measurements:
    """The public marginals that are of use, each with its noisy distance from the
    truth; and the number of rows, if it had to be bought.
    """
    schema = custody.schema
    counted = public_marginals(public, schema)
    if not counted:
        return Measurements()
    known, bought = custody.discovered_measurements, Measurements()
    if custody.rows is not None:
        total = float(custody.rows)
    else:
        if schema.rows is None and not len(known):
            bought = custody.measure([()], share=PRIOR_TOTAL_SHARE)
        total = max(pool_total(schema, known + bought)[0], 1.0)
    scaled = {
        clique: table * (total / max(table.sum(), 1.0))
        for clique, table in counted.items()
    }
    distances = custody.errors(scaled, share=PRIOR_DISTANCE_SHARE)
    gaps = tuple(
        EstimateDistance(gap.distance, gap.estimate, public=True)
        for gap in distances_with_estimates(distances, scaled)
    )
    return bought + Measurements(gaps=gaps)


def public_marginals(
    public: TableSource, schema: Schema
) -> dict[Clique, NDArray[np.float64]]:
    """The columns and the pairs furthest from independence, as many as a small junction
    tree holds, counted in the public table.
    """
    names = [name for name in schema if name in public.names]
    columns = tuple(
        replace(c, constant=False) for c in schema.columns if c.name in names
    )
    apart = Schema(
        columns=columns
    )  # whom the private table protects and what it rules out is not about these rows
    table = Table(public, apart)
    sizes = apart.column_sizes
    pairs = [
        pair
        for pair in combinations(names, 2)
        if sizes[pair[0]] * sizes[pair[1]] <= MAX_PUBLIC_PAIR_CELLS
    ]
    singles: list[Clique] = [(name,) for name in names]
    counts = dict(
        zip([*singles, *pairs], table.counts([*singles, *pairs]), strict=True)
    )
    if not counts[singles[0]].sum():
        return {}
    far = {pair: _excess_dependence(counts[pair]) for pair in pairs}
    wanted = sorted(
        (pair for pair in pairs if far[pair] > 0), key=lambda pair: -far[pair]
    )
    kept, _ = select_fitting_cliques(wanted, sizes, MAX_PUBLIC_TREE_CELLS)
    return {
        clique: _without_impossible(counts[clique], schema, clique)
        for clique in [*singles, *kept]
    }


def _without_impossible(
    counts: NDArray[np.int64], schema: Schema, clique: Clique
) -> NDArray[np.float64]:
    """The counts, without those in cells that the schema calls impossible."""
    zeros = schema.zeros(clique)
    return (
        np.where(zeros, 0.0, counts) if zeros is not None else counts.astype(np.float64)
    )


def _excess_dependence(counts: NDArray[np.int64]) -> float:
    """How far a pair is from independence, as a share of its rows, beyond what chance
    explains.
    """
    rows = counts.sum()
    product = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
    return float(
        (
            np.abs(counts - product).sum()
            - CHANCE_DISTANCE_PER_CELL * np.sqrt(product).sum()
        )
        / rows
    )
