"""Which marginals one junction tree of bounded size holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np

from understudy.measurements import Clique, Measurement, Measurements
from understudy.schema import Schema
from understudy.synthesizers.adaptive.candidates import BudgetShare, Candidates
from understudy.synthesizers.adaptive.constants import (
    MAX_ADMISSION_FORECASTS,
    MAX_CONSECUTIVE_REFUSALS,
    MAX_JOINT_FIT_WORK,
    MAX_SMALL_JOINT_FIT_WORK,
    MAX_SMALL_MARGINAL_CELLS,
    MAX_TRIPLE_TREE_CELLS,
    MIN_BUDGET_PART,
)
from understudy.synthesizers.adaptive.contrasts import contrast_columns
from understudy.synthesizers.budget_split import TreeGrowth


def rank_by_gain(
    candidates: Candidates, shares: Mapping[Clique, BudgetShare]
) -> list[Clique]:
    """Those worth measuring, the largest weighted gain first."""
    worthwhile = [r for r, share in shares.items() if share.part > MIN_BUDGET_PART]
    return sorted(worthwhile, key=lambda r: -shares[r].gain * candidates[r].weight)


def admit_cliques(
    ranked: Sequence[Clique], growth: TreeGrowth, cells: int
) -> tuple[list[Clique], list[Clique]]:
    """Those of these cliques, in order, that one tree of at most `cells` cells holds,
    and those it does not.
    """
    kept: list[Clique] = []
    left_out: list[Clique] = []
    refusals, forecasts = 0, 0
    for clique in ranked:
        # What a node holds already costs nothing; all else needs a forecast, which is slow.
        fits = growth.holds(clique)
        if not fits:
            forecasts += 1
            may_search = (
                refusals < MAX_CONSECUTIVE_REFUSALS
                and forecasts <= MAX_ADMISSION_FORECASTS
            )
            fits = may_search and growth.cells + growth.cost(clique) <= cells
        if fits:
            growth.add(clique)
            kept.append(clique)
            refusals = 0
        else:
            left_out.append(clique)
            refusals += 1
    return kept, left_out


def cliques_in_tree(
    measurements: Measurements, schema: Schema, cells: int
) -> list[Clique]:
    """The measured cliques, in the order they were measured, that one tree of at most
    `cells` cells holds.

    A large tree holds pairs alone, unless it has room for everything.
    """
    sizes = schema.column_sizes
    cliques = _list_joint_cliques(measurements, schema)
    if fits_one_tree(cliques, sizes, cells):
        return cliques
    growth = TreeGrowth(sizes)
    kept: list[Clique] = []
    refusals = 0
    for clique in cliques:
        # Sampled rows match triples in any case; in a large tree they only cost time.
        limit = cells if len(clique) < 3 else min(cells, MAX_TRIPLE_TREE_CELLS)
        fits = growth.holds(clique) or (
            refusals < MAX_CONSECUTIVE_REFUSALS
            and growth.cells + growth.cost(clique) <= limit
        )
        refusals = 0 if fits else refusals + 1
        if fits and growth.cells <= limit:
            growth.add(clique)
            kept.append(clique)
    return kept


def _list_joint_cliques(measurements: Measurements, schema: Schema) -> list[Clique]:
    """The measured cliques of several columns, each once, in the table's order."""
    place = {name: i for i, name in enumerate(schema)}
    joint = [m.clique for m in measurements if len(m.clique) > 1]
    ordered = [tuple(sorted(names, key=place.__getitem__)) for names in joint]
    return list(dict.fromkeys(ordered))


def fits_one_tree(
    cliques: Sequence[Clique], sizes: Mapping[str, int], cells: int
) -> bool:
    """Whether one tree of at most `cells` cells holds all of these, and a fit to it is
    quick.

    >>> sizes = dict.fromkeys("abcd", 10)
    >>> [fits_one_tree(list(combinations("abcd", 3)), sizes, cells) for cells in (1_000, 10_000)]
    [False, True]
    """
    small = are_small_marginals(cliques, sizes)
    work = MAX_SMALL_JOINT_FIT_WORK if small else MAX_JOINT_FIT_WORK
    most = min(cells, work / max(len(cliques), 1))
    growth = TreeGrowth(sizes)
    for clique in cliques:
        if growth.holds(clique):
            continue
        if growth.cells + growth.cost(clique) > most:
            return False
        growth.add(clique)
    return True


def are_small_marginals(cliques: Iterable[Clique], sizes: Mapping[str, int]) -> bool:
    """Whether no marginal has more than MAX_SMALL_MARGINAL_CELLS cells.

    >>> [are_small_marginals([("a", "b")], {"a": 8, "b": size}) for size in (8, 9)]
    [True, False]
    """
    return all(
        clique_cells(clique, sizes) <= MAX_SMALL_MARGINAL_CELLS for clique in cliques
    )


def clique_cells(clique: Clique, sizes: Mapping[str, int]) -> int:
    """Cells of a marginal."""
    return math.prod(sizes[name] for name in clique)


def reduce_triples_to_pairs(
    measurements: Measurements, held: Sequence[Clique]
) -> Measurements:
    """Measurements in which triples outside the tree are replaced by their pair sums.

    Sums of one triple share noise where they share a column. That is not modelled:
    single columns are known better from other measurements.
    """
    inside = {frozenset(clique) for clique in held}
    items: list[Measurement] = []
    sums: list[Measurement] = []
    for m in measurements:
        if len(m.clique) < 3 or frozenset(m.clique) in inside:
            items.append(m)
            continue
        needed = contrast_columns(m.clique, m.maps)
        pairs = combinations(m.clique, 2)
        sums += [_sum_to_pair(m, pair) for pair in pairs if needed <= set(pair)]
    return replace(measurements, items=(*items, *sums))


def _sum_to_pair(triple: Measurement, pair: Clique) -> Measurement:
    """What a measured marginal says of two of its columns: noise variance adds up."""
    summed = tuple(i for i, name in enumerate(triple.clique) if name not in pair)
    values = np.asarray(triple.values.sum(axis=summed), np.int64)
    widening = math.sqrt(triple.values.size / values.size)
    # Scales are fractions, as everything that a price depends on.
    exact = Fraction(widening).limit_denominator(1000)
    maps = tuple(m for i, m in enumerate(triple.maps) if i not in summed)
    return replace(
        triple, clique=pair, maps=maps, values=values, scale=triple.scale * exact
    )
