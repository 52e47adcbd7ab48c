"""Measured marginals that a junction tree does not hold, as targets of its sampled rows
(models/refined_tree.py).

Such a marginal is shrunk towards what the tree expects of it, by its noise and the prior
variance of what it adds (models/fitting/marginal_strength.py), and then made consistent
with what is known better: pairs with the tree's columns, larger marginals with all their
pairs, targets included. Pairs come first, and larger marginals are shrunk towards what
pairs say of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements, Partition
from understudy.models.arrays import Array
from understudy.models.estimates.loss_terms import Term, terms_of
from understudy.models.fitting.constants import TARGET_FIT_SWEEPS
from understudy.models.fitting.marginal_strength import prior_variances
from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.refined_tree import RefinedTreeModel
from understudy.models.tree import TreeModel

MAX_FITTED_CELLS = 1 << 16
"""Cells of the tables that are fitted together; a larger table is fitted alone."""


def add_target_marginals(
    tree: TreeModel, measurements: Measurements, held: Sequence[Clique] | None = None
) -> TreeModel | RefinedTreeModel:
    """The tree with a target for every measured marginal that no node of it holds; the
    tree itself if there is none.

    With `held` given, larger marginals that are not listed become targets even if a
    node holds them: they were no part of the fit.
    """
    fitted = None if held is None else {frozenset(clique) for clique in held}
    beyond = [
        term
        for term in terms_of(tree.schema, measurements)
        if _is_beyond_tree(tree, term, fitted)
    ]
    if not beyond or not tree.total > 0:
        return tree
    refined = RefinedTreeModel(tree, {})
    # Pairs first: larger marginals are shrunk towards what all pairs say, these included.
    for order in sorted({len(term.clique) for term in beyond}):
        same = [term for term in beyond if len(term.clique) == order]
        targets = _shrink_marginals(refined, same)
        refined = RefinedTreeModel(tree, {**refined.aims, **targets})
    return refined


def _shrink_marginals(
    model: RefinedTreeModel, terms: Sequence[Term]
) -> dict[Clique, Array]:
    """Measured marginals of one order, each shrunk towards what the model expects."""
    expected = expected_counts(model, [term.clique for term in terms])
    around = _match_known_columns(model, expected)
    observations = [(t, around[t.clique]) for t in terms if t.clique in around]
    moved: dict[Clique, Array] = {}
    # The prior variances are estimated from all marginals of the order together.
    for tau, (term, counts) in zip(
        prior_variances(observations), observations, strict=True
    ):
        moved[term.clique] = _shrink_marginal(term, counts, float(tau) * counts)
    return _fit_known_sums(model, moved)


def _is_beyond_tree(
    tree: TreeModel, term: Term, fitted: set[frozenset[str]] | None
) -> bool:
    """Whether a term of several columns took no part in the tree's fit."""
    is_grouped = any(isinstance(m, Partition) for m in term.maps)
    if len(term.clique) < 2 or is_grouped:
        return False
    if tree.beliefs.tree.home(term.clique) is None:
        return True
    is_larger = len(term.clique) > 2
    return fitted is not None and is_larger and frozenset(term.clique) not in fitted


def expected_counts(
    model: TreeModel | RefinedTreeModel, cliques: Sequence[Clique]
) -> dict[Clique, Array]:
    """What a model expects of pairs, and of larger cliques that a node holds; of others
    the maximum-entropy table of their pairs.

    Columns too far apart in a wide tree to compute are left out.
    """
    tree = (model.tree if isinstance(model, RefinedTreeModel) else model).beliefs.tree
    larger = [c for c in cliques if len(c) > 2 and tree.home(c) is None]
    pairs = list(dict.fromkeys(pair for c in larger for pair in combinations(c, 2)))
    near = [c for c in cliques if c not in set(larger)]
    known = _known_marginals(model, tree, [*near, *pairs])
    expected = {c: known[c] for c in near if c in known}
    even: dict[Clique, Array] = {}
    for clique in larger:
        # Without all its pairs a larger marginal is not determined well enough.
        if all(pair in known for pair in combinations(clique, 2)):
            shape = [tree.sizes[name] for name in clique]
            even[clique] = np.full(shape, model.total / math.prod(shape))
    # The tables nearest to even ones, in relative entropy, that have the known pairs.
    return {**expected, **_fit_proportionally(even, known, 2)}


def _known_marginals(
    model: TreeModel | RefinedTreeModel, tree: JunctionTree, cliques: Sequence[Clique]
) -> Mapping[Clique, Array]:
    """Marginals of a model; those within its nodes alone where others are too far apart
    to be computed.
    """
    try:
        return model.marginals(cliques)
    except Refused:
        inside = [c for c in cliques if len(c) < 2 or tree.home(c) is not None]
        # A target less is better than no model: the budget is spent by now.
        return model.marginals(inside)


def _match_known_columns(
    model: RefinedTreeModel, expected: Mapping[Clique, Array]
) -> dict[Clique, Array]:
    """What is expected of marginals, pairs with the columns that are known better."""
    pairs: dict[Clique, Array] = {
        r: table for r, table in expected.items() if len(r) == 2
    }
    return {**expected, **_fit_known_sums(model, pairs)}


def _shrink_marginal(term: Term, expected: Array, spread: Array) -> Array:
    """A measured marginal shrunk towards its expected counts by the prior variances
    `spread`: the best linear estimate, cell by cell, none negative.
    """
    away = term.to_rows(term.values - term.answer(expected))
    moved = expected + away * spread / (spread + term.row_variance)
    return np.maximum(moved, 0.0)


def _fit_known_sums(
    model: RefinedTreeModel, tables: Mapping[Clique, Array]
) -> dict[Clique, Array]:
    """Tables of one order with the sums that a model knows better: those of columns for
    pairs, those of pairs for larger ones.
    """
    order = min(max(map(len, tables), default=2) - 1, 2)
    parts = [part for clique in tables for part in combinations(clique, order)]
    return _fit_proportionally(tables, model.marginals(parts), order)


def _fit_proportionally(
    tables: Mapping[Clique, Array], sums: Mapping[Clique, Array], order: int
) -> dict[Clique, Array]:
    """Every table with these sums over each `order` of its columns, by proportional
    fitting.
    """
    fitted: dict[Clique, Array] = {}
    for cliques in _batch_by_shape(tables):
        stacked = np.stack([tables[clique] for clique in cliques])
        columns = range(len(cliques[0]))
        wanted: dict[tuple[int, ...], Array] = {}
        for axes in combinations(columns, order):
            parts = [_take_columns(clique, axes) for clique in cliques]
            wanted[axes] = np.stack([sums[part] for part in parts])
        for _ in range(TARGET_FIT_SWEEPS):
            for axes, sum_wanted in wanted.items():
                # The first axis numbers the tables of the batch.
                gone = tuple(i + 1 for i in columns if i not in axes)
                now = stacked.sum(axis=gone, keepdims=True)
                known = sum_wanted.reshape(now.shape)
                stacked *= np.divide(known, now, out=np.zeros_like(now), where=now > 0)
        fitted |= dict(zip(cliques, stacked, strict=True))
    return {clique: fitted[clique] for clique in tables}


def _take_columns(clique: Clique, axes: Sequence[int]) -> Clique:
    """The columns of a clique at these places.

    >>> _take_columns(("a", "b", "c"), (0, 2))
    ('a', 'c')
    """
    return tuple(clique[i] for i in axes)


def _batch_by_shape(tables: Mapping[Clique, Array]) -> list[list[Clique]]:
    """The cliques of tables of one shape, in batches that stay in the cache."""
    by_shape: dict[tuple[int, ...], list[Clique]] = {}
    for clique, table in tables.items():
        by_shape.setdefault(table.shape, []).append(clique)
    batches: list[list[Clique]] = []
    for shape, cliques in by_shape.items():
        step = max(MAX_FITTED_CELLS // math.prod(shape), 1)
        batches += [cliques[at : at + step] for at in range(0, len(cliques), step)]
    return batches
