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
from understudy.models.arrays import Array, align_axes
from understudy.models.estimates.loss_terms import Term, terms_of
from understudy.models.fitting.constants import TARGET_FIT_SWEEPS
from understudy.models.fitting.marginal_strength import prior_variances
from understudy.models.inference.junction_tree import JunctionTree
from understudy.models.refined_tree import RefinedTreeModel
from understudy.models.tree import TreeModel


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
    looks = [
        (t, _match_known_columns(model, t.clique, expected[t.clique]))
        for t in terms
        if t.clique in expected
    ]
    targets = {}
    # The prior variances are estimated from all marginals of the order together.
    for tau, (term, around) in zip(prior_variances(looks), looks, strict=True):
        spread = float(tau) * around
        targets[term.clique] = _shrink_marginal(model, term, around, spread)
    return targets


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
    for clique in larger:
        # Without all its pairs a larger marginal is not determined well enough.
        if all(pair in known for pair in combinations(clique, 2)):
            shape = [tree.sizes[name] for name in clique]
            even = np.full(shape, model.total / math.prod(shape))
            expected[clique] = _fit_to_pairs(even, clique, known)
    return expected


def _fit_to_pairs(table: Array, clique: Clique, known: Mapping[Clique, Array]) -> Array:
    """The table nearest to this one, in relative entropy, that has the known pairs."""
    sums: dict[Clique, Array] = {p: known[p] for p in combinations(clique, 2)}
    return _fit_proportionally(table, clique, sums)


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
    model: RefinedTreeModel, clique: Clique, expected: Array
) -> Array:
    """What is expected of a pair, with the columns that are known better."""
    if len(clique) > 2:
        return expected
    columns = model.marginals([(name,) for name in clique])
    return _fit_proportionally(expected, clique, columns)


def _shrink_marginal(
    model: RefinedTreeModel, term: Term, expected: Array, spread: Array
) -> Array:
    """A measured marginal shrunk towards its expected counts by the prior variances
    `spread`, with the sums that are known better.
    """
    # The best linear estimate, cell by cell, then scaled to agree with what is exact.
    away = term.to_rows(term.values - term.answer(expected))
    moved = expected + away * spread / (spread + term.row_variance)
    sums = model.marginals(combinations(term.clique, min(len(term.clique) - 1, 2)))
    return _fit_proportionally(np.maximum(moved, 0.0), term.clique, sums)


def _fit_proportionally(
    table: Array, clique: Clique, sums: dict[Clique, Array]
) -> Array:
    """The table with these sums over smaller cliques, by proportional fitting."""
    for _ in range(TARGET_FIT_SWEEPS):
        for part, wanted in sums.items():
            gone = tuple(i for i, name in enumerate(clique) if name not in part)
            now = table.sum(axis=gone)
            ratio = np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
            table = table * align_axes(ratio, part, clique)
    return np.asarray(table, np.float64)
