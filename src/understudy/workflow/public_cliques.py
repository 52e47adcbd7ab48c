"""Which columns to measure together, decided on a public table of the same kind, as the
winning entry of the NIST contest of 2018 did.

McKenna, Miklau, Sheldon, "Winning the NIST contest: a scalable and general approach to
differentially private synthetic data", 2021.

  1. Every pair of columns weighs its mutual information in the public table.
  2. The maximum spanning tree of these pairs.
  3. Two edges i–j and j–k of the tree that meet in j make a candidate triple, which
     weighs the mutual information of i and k given j: what the two pairs do not say.
  4. Pruned: pairs and triples that weigh no more than chance would make them, triples
     that are too large, and pairs that lie inside a triple that is kept.

It costs nothing, because no row that is to be protected is read: whoever calls it
declares the table public. `MST(public=...)` measures the cliques, and the guarantee
lists them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from math import sqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.models.fitting.estimate import select_fitting_cliques
from understudy.schema import Schema
from understudy.synthesizers.shared.spanning import spanning_forest
from understudy.tables import Table, TableSource, describe_rows
from understudy.workflow.open import TableLike, open_source

MAX_PUBLIC_CLIQUE_CELLS = 10_000
"""Cells of the largest pair or triple that is counted in the public table."""

CHANCE_DEVIATIONS = 3.0
"""Standard deviations of a chi-square above its mean that count as chance."""


def select_public_cliques(
    public: TableLike,
    schema: Schema | str | Path,
    *,
    triples: bool = True,
    limit: int = 100_000,
) -> tuple[Clique, ...]:
    """Pairs and triples that a public table suggests, as `MST(public=...)` takes them;
    their model has at most `limit` cells.

    >>> import pandas as pd
    >>> import understudy as us
    >>> public = pd.DataFrame({"a": ["x", "y"] * 50, "b": ["x", "y"] * 50, "c": ["x"] * 100})
    >>> columns = tuple(us.Categorical(name=name, values=("x", "y")) for name in "abc")
    >>> us.select_public_cliques(public, us.Schema(columns=columns))
    (('a', 'b'),)
    """
    with open_source(public) as source:
        declared = schema if isinstance(schema, Schema) else Schema.load(schema)
        if not declared.is_closed:
            raise Refused(
                "the schema leaves values or bounds to be learned, and cliques of a"
                " public table need them declared. Nothing was spent"
            )
        table = _open_columns(source, declared)
        sizes = table.schema.column_sizes
        tree = _strongest_tree(table)
        kept = _dependent_triples(table, tree) if triples else []
        kept, _ = select_fitting_cliques([*kept, *tree], sizes, limit)
    return tuple(_drop_covered(kept))


def _open_columns(source: TableSource, schema: Schema) -> Table:
    """The public table with the columns it shares with the schema."""
    shared = [column for column in schema.columns if column.name in source.names]
    if len(shared) < 2:
        raise Refused(
            f"{source.title}: has fewer than two of the schema's columns, so no two can"
            " be selected. Nothing was spent"
        )
    # Columns alone: the unit and the rules are about the private rows.
    columns = tuple(replace(column, constant=False) for column in shared)
    return describe_rows(source, Schema(columns=columns))


def _strongest_tree(table: Table) -> list[Clique]:
    """The maximum spanning forest of the pairs that depend beyond chance."""
    pairs = _countable(table, combinations(table.schema, 2))
    weights = {
        pair: mutual_information(counts[:, None, :])
        for pair, counts in zip(pairs, table.counts(pairs), strict=True)
    }
    order = sorted(pairs, key=lambda pair: -weights[pair])
    return list(spanning_forest([pair for pair in order if weights[pair] > 0]))


def _dependent_triples(table: Table, tree: Sequence[Clique]) -> list[Clique]:
    """Adjacent edges whose ends depend on each other given the middle, strongest
    first.
    """
    candidates = []
    for first, second in combinations(tree, 2):
        middle = set(first) & set(second)
        if middle:
            left, right = (set(edge) - middle for edge in (first, second))
            candidates.append((*left, *middle, *right))
    triples = _countable(table, candidates)
    weights = {
        triple: mutual_information(counts)
        for triple, counts in zip(triples, table.counts(triples), strict=True)
    }
    order = sorted(triples, key=lambda triple: -weights[triple])
    return [triple for triple in order if weights[triple] > 0]


def _countable(table: Table, cliques: Iterable[Clique]) -> list[Clique]:
    """Those small enough to be counted."""
    found = []
    for clique in cliques:
        cells = int(np.prod(table.schema.sizes(clique)))
        if cells <= MAX_PUBLIC_CLIQUE_CELLS:
            found.append(tuple(clique))
    return found


def mutual_information(counts: NDArray[np.int64]) -> float:
    """Mutual information of the first and the last axis given the middle one, in nats,
    less what independent columns would have by chance.

    >>> mutual_information(np.array([[[50, 0]], [[0, 50]]])) > 0.6
    True
    >>> mutual_information(np.array([[[25, 25]], [[25, 25]]])) < 0
    True
    """
    rows = counts.sum()
    if not rows:
        return 0.0
    joint = counts / rows
    given = joint.sum(axis=(0, 2), keepdims=True)
    left = joint.sum(axis=2, keepdims=True)
    right = joint.sum(axis=0, keepdims=True)
    # Empty cells add nothing; where a cell is full, so are its margins.
    full = joint > 0
    ratio = (joint * given)[full] / (left * right)[full]
    information = float((joint[full] * np.log(ratio)).sum())
    seen = given[0, :, 0] > 0
    levels_left = (left[:, seen, 0] > 0).sum(axis=0) - 1
    levels_right = (right[0, seen, :] > 0).sum(axis=1) - 1
    # 2n times the information has about a chi-square law if nothing depends.
    freedom = float((levels_left * levels_right).sum())
    by_chance = freedom + CHANCE_DEVIATIONS * sqrt(2 * freedom)
    return information - by_chance / (2 * float(rows))


def _drop_covered(cliques: Sequence[Clique]) -> list[Clique]:
    """Without the cliques that lie inside another."""
    sets = [frozenset(clique) for clique in cliques]
    return [
        clique
        for clique, own in zip(cliques, sets, strict=True)
        if not any(own < other for other in sets)
    ]
