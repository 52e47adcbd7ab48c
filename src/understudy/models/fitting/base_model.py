"""The base that a fit starts from and is shrunk towards, and the columns it knows.

The base is a model itself: the strongest of the measured cliques that form a tree have a
solution in closed form (models/fitting/closed_form.py), a little smoothed, and columns
outside it are independent. So a fit of tree-shaped measurements starts at its end, and
any other has only to learn what the tree does not say. Structural zeros are potentials
of minus infinity from the start.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from understudy.measurements import Clique, Identity, Measurements
from understudy.models.arrays import Array, align_axes
from understudy.models.estimates.consistency import project_simplex
from understudy.models.estimates.loss_terms import MIN_TERM_VARIANCE, Question, Term
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.estimates.support import find_supported_codes
from understudy.models.fitting.closed_form import (
    direct_marginals,
    direct_potentials,
    select_tree_cliques,
)
from understudy.models.fitting.column_tails import estimate_tails
from understudy.models.fitting.constants import (
    BASE_DOUBT_DEVIATIONS,
    BASE_SMOOTHING_SHARE,
    DENOISED_DOUBT_DEVIATIONS,
    MIN_COLUMN_SHARE,
)
from understudy.models.fitting.marginal_strength import independent_counts
from understudy.models.fitting.one_way_prior import denoise_one_ways
from understudy.models.tree_potentials import with_zeros
from understudy.schema import Lattice, Schema

Potentials = dict[Clique, Array]


def base_potentials(
    schema: Schema,
    measurements: Measurements,
    total: float,
    kept: Sequence[Clique],
    terms: Sequence[Term],
    limit: int,
) -> Potentials:
    """A smoothed tree model of the strongest measured cliques as potentials, and minus
    infinity in every structural zero.
    """
    potentials: Potentials = {}
    if total > 0:
        pooled = PooledResiduals.of(schema, measurements)
        columns = {name: column_counts(schema, pooled, name, total) for name in schema}
        joint = [t.clique for t in terms if len(t.clique) > 1 and t.plain]
        strength = {r: _dependence_beyond_noise(pooled, r, columns) for r in joint}
        tree = select_tree_cliques(sorted(joint, key=lambda r: -strength[r]))
        inside = {name for clique in tree for name in clique}
        alone = [name for name in schema if name not in inside]
        potentials = {(name,): np.log(columns[name] / total) for name in alone}
        # Smoothed, since an empty cell of a tree model could never be filled again.
        tables = direct_marginals(schema, pooled, list(tree), total)
        for clique in tree:
            smoothing = _smooth_cells(pooled, clique, columns, total)
            tables[clique] = tables[clique] + smoothing
        potentials |= direct_potentials(tables, tree)
    return _add_zeros(schema, kept, potentials, limit)


def _smooth_cells(
    pooled: PooledResiduals, clique: Clique, columns: Mapping[str, Array], total: float
) -> Array:
    """Counts that a table gets in addition: a share of independence, where that is
    within the doubt that noise leaves.
    """
    doubt = BASE_DOUBT_DEVIATIONS * np.sqrt(pooled.variance(clique).mean())
    independent = independent_counts(clique, columns, total)
    return np.asarray(BASE_SMOOTHING_SHARE * np.minimum(independent, doubt))


def independent_potentials(
    schema: Schema,
    kept: Sequence[Clique],
    columns: Mapping[str, Array],
    total: float,
    limit: int,
) -> Potentials:
    """Independent columns as potentials, and minus infinity in every structural zero."""
    logs: Potentials = {(name,): np.log(columns[name] / total) for name in schema}
    return _add_zeros(schema, kept, logs, limit)


def _add_zeros(
    schema: Schema, kept: Sequence[Clique], potentials: Potentials, limit: int
) -> Potentials:
    flat: Potentials = {clique: np.zeros(schema.sizes(clique)) for clique in kept}
    with_impossible = with_zeros(schema, flat | potentials, limit)
    return {clique: theta for clique, theta in with_impossible.items() if np.any(theta)}


def warm_start_weights(
    base: Mapping[Clique, Array],
    terms: Sequence[Term],
    columns: Mapping[str, Array],
    total: float,
) -> dict[Question, Array]:
    """What a tree's potentials say beyond independent columns, as weights of its terms:
    a start near the end.
    """
    weights: dict[Question, Array] = {}
    for term in terms:
        theta = base.get(term.clique)
        if theta is None or not term.plain or len(term.clique) < 2:
            continue
        if np.all(np.isfinite(theta)):
            new = _columns_new_to(term.clique, base)
            logs = [
                align_axes(np.log(columns[name] / total), (name,), term.clique)
                for name in new
            ]
            weights[term.question] = theta - sum(logs)
    return weights


def _columns_new_to(clique: Clique, base: Mapping[Clique, Array]) -> list[str]:
    """Columns of a clique that no clique of the base before it has."""
    before: set[str] = set()
    for other in base:
        if other == clique:
            break
        before |= set(other)
    return [name for name in clique if name not in before]


def denoise_columns(
    schema: Schema, measurements: Measurements, terms: Sequence[Term], total: float
) -> list[Term]:
    """The terms with one-way counts estimated from everything that informs them.

    An empirical fit does not shrink columns, so what it is given must be the best there
    is: a column that was hardly measured by itself is known better from the sums of its
    pairs, and the distribution of counts in other columns reveals what noise hides
    (models/fitting/one_way_prior.py).
    """
    pooled = PooledResiduals.of(schema, measurements)
    known: dict[str, tuple[Term, Array]] = {}
    tails: dict[str, Array] = {}
    for name in schema:
        variance = pooled.variance((name,))
        if not np.all(np.isfinite(variance)):
            continue
        # Cells of a pooled column may differ in variance; the prior needs one.
        mean_variance = max(float(variance.mean()), MIN_TERM_VARIANCE)
        maps = (Identity(variance.size),)
        term = Term((name,), maps, pooled.marginal((name,)), mean_variance)
        tails[name] = estimate_tails(schema, name, term.values, variance)
        is_body = _possible_codes(schema, name, term) * (tails[name] == 0)
        body_total = max(total - float(tails[name].sum()), 0.0)
        known[name] = term, body_total / is_body.sum() * is_body
    rest = [
        t
        for t in terms
        if len(t.clique) != 1 or t.is_coarse or t.clique[0] not in known
    ]
    denoised = [
        replace(term, values=term.values + tails[term.clique[0]])
        for term in denoise_one_ways(list(known.values()))
    ]
    return [*denoised, *rest]


def _possible_codes(schema: Schema, name: str, term: Term) -> Array:
    """One for every code that may occur and does by its counts; for all of them if none
    may.
    """
    zeros = schema.zeros((name,))
    if zeros is not None:
        return np.ones(zeros.size) if zeros.all() else np.where(zeros, 0.0, 1.0)
    codec = schema.codecs[name]
    supported = find_supported_codes(
        term.values,
        math.sqrt(term.variance),
        bins=len(codec.bins),
        is_ordered=isinstance(codec.column, Lattice),
    )
    return supported.astype(np.float64)


def column_counts(
    schema: Schema,
    pooled: PooledResiduals,
    name: str,
    total: float,
    denoised: Array | None = None,
) -> Array:
    """A column's counts from everything that was measured of it, or as they were
    `denoised`, none quite zero; even counts where nothing was measured.
    """
    variance = pooled.variance((name,))
    known = np.isfinite(variance)
    zeros = schema.zeros((name,))
    if not known.any() or (zeros is not None and zeros.all()):
        return np.asarray(np.full(known.shape, total / known.size))
    deviation = np.sqrt(np.where(known, variance, variance[known].max()))
    least = MIN_COLUMN_SHARE * total
    if denoised is None:
        # An empty cell may be empty by chance, so each gets half a deviation more.
        allowed = None if zeros is None else ~zeros
        counts = project_simplex(pooled.marginal((name,)), total, allowed=allowed)
        counts = counts + np.maximum(BASE_DOUBT_DEVIATIONS * deviation, least)
    else:
        # A posterior mean has chance in it already.
        doubt = np.minimum(DENOISED_DOUBT_DEVIATIONS * deviation, denoised)
        counts = denoised + np.maximum(doubt, least)
    return np.asarray(counts * (total / counts.sum()), np.float64)


def _dependence_beyond_noise(
    pooled: PooledResiduals, clique: Clique, columns: Mapping[str, Array]
) -> float:
    """The L1 distance of a marginal from independence, less what noise contributes."""
    total = float(columns[clique[0]].sum())
    product = independent_counts(clique, columns, total)
    noise = np.minimum(np.sqrt(pooled.variance(clique)), product)
    counts = project_simplex(pooled.marginal(clique), total)
    distance = float(np.abs(counts - product).sum())
    return distance - MEAN_ABS_NORMAL * float(noise.sum())
