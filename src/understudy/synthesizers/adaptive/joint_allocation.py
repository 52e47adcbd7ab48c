"""Where one tree holds everything: one allocation over columns, pairs and triples.

A marginal is composed of residuals: for every set τ of its columns what τ says that no
smaller set does (synthesizers/published/residual.py). A triple informs its pairs, so the
parts of pairs and of triples are one question. And a residual alone costs less than its
marginal, by Π(1 − 1/n): in triples of columns with three values the noise is half as
large. What such an answer no longer says of its pairs must be asked of them. Which is
better, and which parts are best, follows from the programme of allocation.py with the
residuals as components and the workload's pairs and triples as targets.

Precision adds up. A marginal asked as it is, with noise variance v, informs τ with
variance v·Π(1 − 1/n)·Πn, the first product over τ and the second over its other columns.
A centred column has the factor (1 − 1/n)² instead, and informs only those τ that hold
it.

This holds for Gaussian noise when a row is added or removed, as for contrasts
(contrasts.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

import numpy as np

from understudy.measurements import AxisMap, Centring, Clique, Identity
from understudy.schema import Schema
from understudy.synthesizers.adaptive.allocation import (
    Allocation,
    AllocationProblem,
    Incidence,
)
from understudy.synthesizers.adaptive.candidates import Candidates
from understudy.synthesizers.adaptive.constants import (
    MAX_RESIDUAL_CELLS,
    MIN_BUDGET_PART,
)
from understudy.synthesizers.adaptive.contrasts import (
    AxisMaps,
    contrast_columns,
    contrast_noise_ratio,
)


@dataclass(frozen=True)
class MarginalQuery:
    """A question, and its part of the budget."""

    clique: Clique
    maps: AxisMaps
    part: float = 0.0


def allocate_jointly(
    candidates: Candidates, weights: Mapping[Clique, float], schema: Schema
) -> list[MarginalQuery]:
    """What to ask of these marginals: all as their candidates are, or all of several
    columns as residuals, whichever leaves less error; the most important first.

    A mixture of both would leave less error still, but two noisy answers to nearly the
    same question are harder to fit than one better answer.
    """
    plain = [
        MarginalQuery(r, candidate.maps or identity_maps(schema, r))
        for r, candidate in candidates.items()
    ]
    residuals = [_as_residual(query, candidates, schema) for query in plain]
    solved = [
        (residual_problem(queries, candidates, weights).solve(), queries)
        for queries in (plain, residuals)
    ]
    best, queries = min(solved, key=lambda pair: pair[0].error)
    asked = _with_parts(queries, best)
    importance = {r: c.distance * weights.get(r, 0.0) for r, c in candidates.items()}
    return sorted(asked, key=lambda query: -importance[query.clique])


def identity_maps(schema: Schema, clique: Clique) -> AxisMaps:
    """The maps of a marginal that is asked as it is."""
    return tuple(Identity(size) for size in schema.sizes(clique))


def _as_residual(
    query: MarginalQuery, candidates: Candidates, schema: Schema
) -> MarginalQuery:
    """The question for the residual alone, where it can be asked that way."""
    clique = query.clique
    is_small = candidates[clique].cells <= MAX_RESIDUAL_CELLS
    # Impossible cells carry no noise in a plain marginal; a residual has no such cells.
    if len(clique) < 2 or not is_small or schema.zeros(clique) is not None:
        return query
    return replace(query, maps=tuple(Centring(n) for n in schema.sizes(clique)))


def _with_parts(
    queries: Sequence[MarginalQuery], allocation: Allocation
) -> list[MarginalQuery]:
    # Parts too small to matter are left to the others.
    kept = np.where(allocation.parts < MIN_BUDGET_PART, 0.0, allocation.parts)
    kept /= kept.sum()
    return [
        replace(query, part=float(part))
        for query, part in zip(queries, kept, strict=True)
        if part > 0
    ]


def residual_problem(
    queries: Sequence[MarginalQuery],
    candidates: Candidates,
    weights: Mapping[Clique, float],
) -> AllocationProblem:
    """The allocation in which marginals with these weights are composed of residuals,
    one for each candidate.
    """
    index = {tau: i for i, tau in enumerate(candidates)}
    targets = [r for r in index if weights.get(r, 0.0) > 0]
    # A target without any distance would divide by zero.
    distances = np.array([c.distance for c in candidates.values()])
    return AllocationProblem(
        informs=Incidence.of(_list_informed(queries, candidates, index)),
        composes=Incidence.of(_list_composed(targets, index)),
        questions=len(queries),
        target_weights=np.array([weights[r] for r in targets]),
        distances=np.maximum(distances, 1e-9),
        gains=np.stack([c.gains for c in candidates.values()]),
    )


def _list_informed(
    queries: Sequence[MarginalQuery],
    candidates: Candidates,
    index: Mapping[Clique, int],
) -> list[tuple[int, int, float]]:
    """Which question informs which residual, and with what precision."""
    informs: list[tuple[int, int, float]] = []
    for i, query in enumerate(queries):
        needed = contrast_columns(query.clique, query.maps)
        for tau in _nonempty_subsets(query.clique):
            if tau in index and needed <= set(tau):
                # The gains of a candidate with contrasts count what they save already.
                saved = contrast_noise_ratio(candidates[tau].maps) ** 2
                informs.append((i, index[tau], precision_ratio(query, tau) * saved))
    return informs


def _list_composed(
    targets: Sequence[Clique], index: Mapping[Clique, int]
) -> list[tuple[int, int, float]]:
    """Which target is composed of which residuals."""
    composes: list[tuple[int, int, float]] = []
    for k, target in enumerate(targets):
        inside = [tau for tau in _nonempty_subsets(target) if tau in index]
        composes += [(k, index[tau], 1.0) for tau in inside]
    return composes


def precision_ratio(query: MarginalQuery, tau: Clique) -> float:
    """The precision that a question gives the residual τ, relative to that of τ's own
    plain marginal with the same part.
    """
    columns = zip(query.clique, query.maps, strict=True)
    return 1 / float(np.prod([_noise_factor(name in tau, m) for name, m in columns]))


def _noise_factor(is_inside: bool, axis: AxisMap) -> float:
    """What one column of a question does to the variance of a residual."""
    free = 1 - 1 / axis.size
    # Centred twice: once in the question, which also lowers its sensitivity, and once in
    # the residual.
    if isinstance(axis, Centring):
        return free**2
    return free if is_inside else float(axis.size)


def _nonempty_subsets(clique: Clique) -> Iterator[Clique]:
    return chain.from_iterable(
        combinations(clique, k) for k in range(1, len(clique) + 1)
    )
