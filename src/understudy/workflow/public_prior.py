"""A public table as a prior: rows of other people, declared public by the owner, whose
distribution may be like that of the private table.

Nothing about them is protected; the guarantee lists them among what was declared
public. Which of their marginals are used is decided from them alone and costs nothing.
How far those are from the private ones is measured: a noisy distance each, and the
number of rows where nothing else determines it. Synthesizers find both among the
measurements they start from, and a fit weighs the public table by these distances
(models/fitting/public_prior.py).
"""

from __future__ import annotations

from collections.abc import Mapping
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
from understudy.tables import TableSource, describe_rows

PRIOR_TOTAL_SHARE, PRIOR_DISTANCE_SHARE = Fraction(1, 100), Fraction(1, 50)
"""Parts of the budget for the number of rows, and for all distances together: small,
because a prior is only worth what it saves.
"""

MAX_PUBLIC_TREE_CELLS = 50_000
"""Cells of the model that the public marginals make: small beside what a synthesizer
may build on it.
"""

MAX_PUBLIC_PAIR_CELLS = 10_000
"""Cells of the largest public pair that is counted."""

CHANCE_DISTANCE_PER_CELL = 0.8
"""E|Z| for a standard normal Z, rounded: sampling error adds this much to the distance
of a cell from independence, in units of the square root of its expected count.
"""


def refuse_unlike(public: TableSource, schema: Schema, private: TableSource) -> None:
    """Refuse, before anything is spent, the private table itself, and one that has none
    of its columns, or only one of them.
    """
    # A file has one ledger, whatever path leads to it.
    is_file = public.path is not None
    is_same_file = is_file and public.ledger_path == private.ledger_path
    if public is private or is_same_file:
        raise Refused(
            f"{public.title}: the table that is to be protected cannot be the public"
            " one. Nothing was spent"
        )
    # One column alone is no prior for anything but itself.
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


def measure_public_distances(curator: Curator, public: TableSource) -> Measurements:
    """The public marginals that are used, each with its noisy distance from the private
    one; and the number of rows, if it had to be measured.
    """
    schema = curator.schema
    counted = public_marginals(public, schema)
    if not counted:
        return Measurements()
    known, measured = curator.discovered_measurements, Measurements()
    if curator.rows is not None:
        total = float(curator.rows)  # public under replace
    else:
        # What discovery measured usually determines the number of rows well enough.
        if schema.rows is None and not len(known):
            measured = curator.measure([()], share=PRIOR_TOTAL_SHARE)
        total = max(pool_total(schema, known + measured)[0], 1.0)
    # The public table may be larger or smaller: only its shares are a prior.
    scaled = {
        clique: counts * (total / max(counts.sum(), 1.0))
        for clique, counts in counted.items()
    }
    distances = curator.errors(scaled, share=PRIOR_DISTANCE_SHARE)
    gaps = tuple(
        EstimateDistance(gap.distance, gap.estimate, public=True)
        for gap in distances_with_estimates(distances, scaled)
    )
    return measured + Measurements(gaps=gaps)


def public_marginals(
    public: TableSource, schema: Schema
) -> dict[Clique, NDArray[np.float64]]:
    """The columns and the pairs furthest from independence, as many as a small junction
    tree holds, counted in the public table.
    """
    names = [name for name in schema if name in public.names]
    columns = [replace(c, constant=False) for c in schema.columns if c.name in names]
    # Columns alone: the unit and the rules are about the private rows.
    columns_only = Schema(columns=tuple(columns))
    sizes = columns_only.column_sizes
    pairs = _list_small_pairs(names, sizes)
    singles: list[Clique] = [(name,) for name in names]
    cliques = [*singles, *pairs]
    counted = describe_rows(public, columns_only).counts(cliques)
    counts = dict(zip(cliques, counted, strict=True))
    if not counts[singles[0]].sum():
        return {}
    dependence = {pair: _excess_dependence(counts[pair]) for pair in pairs}
    dependent = [pair for pair in pairs if dependence[pair] > 0]
    dependent.sort(key=lambda pair: -dependence[pair])
    # The strongest pairs first, as far as one small tree holds them.
    kept, _ = select_fitting_cliques(dependent, sizes, MAX_PUBLIC_TREE_CELLS)
    return {
        clique: _without_impossible(counts[clique], schema, clique)
        for clique in [*singles, *kept]
    }


def _list_small_pairs(names: list[str], sizes: Mapping[str, int]) -> list[Clique]:
    """The pairs of columns whose tables are small enough to count."""
    return [
        (first, second)
        for first, second in combinations(names, 2)
        if sizes[first] * sizes[second] <= MAX_PUBLIC_PAIR_CELLS
    ]


def _without_impossible(
    counts: NDArray[np.int64], schema: Schema, clique: Clique
) -> NDArray[np.float64]:
    """The counts, without those in cells that the schema calls impossible."""
    zeros = schema.zeros(clique)
    if zeros is None:
        return counts.astype(np.float64)
    return np.where(zeros, 0.0, counts)


def _excess_dependence(counts: NDArray[np.int64]) -> float:
    """L1 distance of a pair from independence beyond sampling error, as a share of its
    rows.
    """
    rows = counts.sum()
    product = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / rows
    distance = np.abs(counts - product).sum()
    # A count with expectation m is about √m off by chance alone.
    by_chance = CHANCE_DISTANCE_PER_CELL * np.sqrt(product).sum()
    return float((distance - by_chance) / rows)
