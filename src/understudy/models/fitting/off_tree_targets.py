"""What noisy marginals say that a junction tree has no room for, as aims for its rows
(models/refined_tree.py).

A measured marginal lies around what the tree expects of it. It is believed as far as
its noise and the strength of what it adds suggest
(models/fitting/marginal_strength.py), and then brought to agree with what is known
better: pairs with the tree's columns, larger marginals with all their pairs, those
aimed at included. Pairs come first, and larger marginals lean to what pairs say of
them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from understudy.errors import Refused
from understudy.measurements import Clique, Measurements, Partition
from understudy.models.estimates.loss_terms import Term, terms_of
from understudy.models.fitting.marginal_strength import prior_variances
from understudy.models.inference.log_calibration import align_axes
from understudy.models.refined_tree import Array, RefinedTreeModel
from understudy.models.tree import TreeModel

TARGET_FIT_SWEEPS = 10
"""Times a table is scaled to the sums it should have."""


def add_target_marginals(
    tree: TreeModel, measurements: Measurements, held: Sequence[Clique] | None = None
) -> TreeModel | RefinedTreeModel:
    """The tree with aims for every plain marginal that was measured and that no node of
    it holds; the tree itself where there is none.

    Where `held` is given, larger marginals that are not listed get aims even if a node
    holds them: they were no part of the fit.
    """
    own = None if held is None else {frozenset(clique) for clique in held}
    beyond = [
        term
        for term in terms_of(tree.schema, measurements)
        if len(term.clique) > 1
        and not any(isinstance(m, Partition) for m in term.maps)
        and (
            tree.beliefs.tree.home(term.clique) is None
            or (
                own is not None
                and len(term.clique) > 2
                and frozenset(term.clique) not in own
            )
        )
    ]
    if not beyond or not tree.total > 0:
        return tree
    found = RefinedTreeModel(tree, {})
    for order in sorted({len(term.clique) for term in beyond}):
        some = [term for term in beyond if len(term.clique) == order]
        expected = expected_counts(found, [term.clique for term in some])
        looks = [
            (t, _match_known_columns(found, t.clique, expected[t.clique]))
            for t in some
            if t.clique in expected
        ]
        tau = prior_variances(looks)
        new = {
            t.clique: _shrink_marginal(found, t, around, tau[i] * around)
            for i, (t, around) in enumerate(looks)
        }
        found = RefinedTreeModel(tree, {**found.aims, **new})
    return found


def expected_counts(
    model: TreeModel | RefinedTreeModel, cliques: Sequence[Clique]
) -> dict[Clique, Array]:
    """What a model expects of pairs, and of larger cliques where a node holds them; of
    others what their pairs say, and no more.

    Nothing is said of columns too far apart in a wide tree to be brought together.
    """
    tree = (model.tree if isinstance(model, RefinedTreeModel) else model).beliefs.tree
    larger = [r for r in cliques if len(r) > 2 and tree.home(r) is None]
    pairs = list(dict.fromkeys(pair for r in larger for pair in combinations(r, 2)))
    near = [r for r in cliques if r not in set(larger)]
    try:
        known = model.marginals([*near, *pairs])
    except Refused:
        known = model.marginals(
            [r for r in [*near, *pairs] if len(r) < 2 or tree.home(r) is not None]
        )
    found = {r: known[r] for r in near if r in known}
    for r in larger:
        sums: dict[Clique, Array] = {
            pair: known[pair] for pair in combinations(r, 2) if pair in known
        }
        if len(sums) == len(r) * (len(r) - 1) // 2:
            shape = [tree.sizes[name] for name in r]
            found[r] = _fit_proportionally(
                np.full(shape, model.total / math.prod(shape)), r, sums
            )
    return found


def _match_known_columns(
    model: RefinedTreeModel, clique: Clique, expected: Array
) -> Array:
    """What is expected of a pair, with the columns that are known better."""
    return (
        expected
        if len(clique) > 2
        else _fit_proportionally(
            expected, clique, model.marginals([(name,) for name in clique])
        )
    )


def _shrink_marginal(
    model: RefinedTreeModel, term: Term, expected: Array, spread: Array
) -> Array:
    """A measured marginal, leaning to what is expected of it as far as it deserves,
    with the sums that are known better.
    """
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
