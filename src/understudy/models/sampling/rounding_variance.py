"""How far counts of a sample lie from their expectation when columns are drawn by
rounding, one after the other, along a junction tree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.inference.calibrated_tree import (
    Beliefs,
    divide_or_zero,
    sum_to_clique,
)
from understudy.models.sampling.rounding import fraction_variance

VarianceTable = tuple[Clique, Array]
"""Some columns, and the variance of the count in each of their cells."""


def rounding_variances(beliefs: Beliefs, total: float) -> list[VarianceTable]:
    """The variance of counts in a sample, for every column with those it is drawn for:
    what they hand on, and what it adds.

    Sums over columns that are drawn later have none of what those add.
    """
    tree, by_node = beliefs.tree, dict[int, list[VarianceTable]]()
    for node in tree.order:
        known, variance = tree.separators[node], np.zeros(())
        if known:
            above = variance_within(by_node[tree.parents[node]], known)
            assert above is not None, "a parent holds its separators"
            variance = above
        tables = [(known, variance)]
        for name in beliefs.new_columns(node):
            expected = beliefs.inside(node, (*known, name))
            share = divide_or_zero(expected, expected.sum(axis=-1, keepdims=True))
            parents = variance[..., np.newaxis]
            # A code of share p in rows that share their parents gets p² of the variance
            # of how many these are; where that is a row more or less, another fraction
            # is left to be rounded.
            variance = fraction_variance(total * expected) + parents * share**2
            variance = variance + np.minimum(parents, 1.0) * share * (1 - share)
            known = (*known, name)
            tables.append((known, variance))
        by_node[node] = tables
    found: list[VarianceTable] = []
    for tables in by_node.values():
        found += tables[1:]
    return found


def variance_within(tables: Sequence[VarianceTable], clique: Clique) -> Array | None:
    """The variance of a clique's counts, from the smallest table that holds it; None
    where none does.
    """
    holding = [entry for entry in tables if set(clique) <= set(entry[0])]
    if not holding:
        return None
    names, table = min(holding, key=lambda entry: entry[1].size)
    return sum_to_clique(table, names, clique)
