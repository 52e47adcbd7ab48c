"""A model step by step from simple to rich, each step leaning to the one before as far
as noise suggests.

    1. independent columns, and the strongest pairs that form a forest, leaning to
       independence;
    2. all other pairs, leaning to what the forest says of them;
    3. larger marginals, leaning to what the pairs say of them.

So a pair that a forest explains already has next to no strength of its own
(models/fitting/marginal_strength.py), and its noise is not believed; a triple is asked
only for what its pairs do not say. In each step the answers of the steps before are
replaced by what the model has made of them: they stay as they are, unless the new ones
know better.

Where noise hides which pairs are strongest, the forest is one of chance. Then all pairs
lean to independence at once, and no second step is needed: a `FitSettings` says so, and
by which part of their strengths terms are believed. models/fitting/selection.py finds
out which way is best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from understudy.measurements import Clique
from understudy.models.estimates.loss_terms import Array, Question, Term
from understudy.models.fitting.closed_form import select_tree_cliques
from understudy.models.fitting.marginal_strength import (
    independent_counts,
    shrink_terms_to_columns,
    shrink_terms_to_expected,
)
from understudy.models.fitting.max_entropy import (
    MarginalOracle,
    MaxEntropyFit,
    fit_max_entropy,
    typical_noise,
)
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """The part of their strengths that terms are believed by, and whether a forest of
    pairs comes before the others.
    """

    trust: float = 1.0
    forest: bool = True


def fit_in_stages(
    oracle: MarginalOracle,
    terms: Sequence[Term],
    columns: Mapping[str, Array],
    total: float,
    *,
    base: Mapping[Clique, Array],
    warm: Mapping[Question, Array],
    tolerance: float,
    way: FitSettings | None = None,
    progress: Callable[[int, float], None] | None = None,
) -> MaxEntropyFit:
    """Fit the terms in steps around independent `columns`, whose logarithms the `base`
    holds.
    """
    way = way or FitSettings()
    first, *later = split_into_stages(terms, columns, total, forest=way.forest)
    held, loss = shrink_terms_to_columns(first, columns, total, way.trust)
    small = (
        oracle
        if not later
        else _build_oracle([*base, *(t.clique for t in held)], columns)
    )
    found = fit_max_entropy(
        small,
        held,
        total,
        base=base,
        warm=warm,
        shrinkage=typical_noise(held),
        tolerance=_stage_tolerance(tolerance, loss, held),
        progress=progress,
    )
    for step in later:
        shares, _ = oracle.run(found.potentials)
        kept = [
            Term(t.clique, t.maps, total * t.answer(shares[t.clique]), t.variance)
            for t in held
        ]
        new, loss = shrink_terms_to_expected(
            [(t, total * shares[t.clique]) for t in step], way.trust
        )
        held = [*kept, *new]
        start = {t.question: warm[t.question] for t in step if t.question in warm}
        more = fit_max_entropy(
            oracle,
            held,
            total,
            base=found.potentials,
            warm=start,
            shrinkage=typical_noise(held),
            tolerance=_stage_tolerance(tolerance, loss, held),
            progress=progress,
        )
        weights = {
            **found.weights,
            **{t.question: more.weights[t.question] for t in step},
        }
        found = MaxEntropyFit(
            more.potentials, weights, more.loss, more.gap, found.passes + more.passes
        )
    return found


def _stage_tolerance(tolerance: float, loss: float, held: Sequence[Term]) -> float:
    """How near a step comes to its best: a share of the `loss` that the noise of its
    new terms leaves, told for every number of the fit.
    """
    return tolerance * loss / max(sum(t.values.size for t in held), 1)


def _build_oracle(
    cliques: Iterable[Clique], columns: Mapping[str, Array]
) -> Calibration:
    """A tree of its own for the first step: a forest needs few cells, however many the
    whole model has.
    """
    sizes = {name: column.size for name, column in columns.items()}
    every: list[Clique] = list(
        dict.fromkeys([*cliques, *((name,) for name in columns)])
    )
    return Calibration(JunctionTree.of(every, sizes), every, sizes)


def split_into_stages(
    terms: Sequence[Term],
    columns: Mapping[str, Array],
    total: float,
    *,
    forest: bool = True,
) -> list[list[Term]]:
    """Columns and a forest of strong pairs, or all pairs; the other pairs; larger
    marginals. Steps without a term are left out.

    >>> from understudy.measurements import Identity
    >>> columns = {name: np.array([50.0, 50.0]) for name in "abc"}
    >>> away = {("a", "b"): 20.0, ("b", "c"): 15.0, ("a", "c"): 6.0}
    >>> pairs = [Term(p, (Identity(2),) * 2, 25 + x * np.array([[1.0, -1], [-1, 1]]), 1.0) for p, x in away.items()]
    >>> [[t.clique for t in step] for step in split_into_stages(pairs, columns, 100.0)]
    [[('a', 'b'), ('b', 'c')], [('a', 'c')]]
    """
    larger = [t for t in terms if len(t.clique) > 2]
    if not forest:
        return [[t for t in terms if len(t.clique) < 3], *([larger] if larger else [])]
    pairs = {t.clique: t for t in terms if len(t.clique) == 2 and not t.is_coarse}
    apart: dict[Clique, float] = {}
    for pair, term in pairs.items():
        expected = independent_counts(pair, columns, total)
        noise = np.minimum(np.sqrt(term.row_variance), expected)
        found = (
            np.maximum(term.values, 0)
            if term.plain
            else expected + term.to_rows(term.values - term.answer(expected))
        )
        apart[pair] = float(np.abs(found - expected).sum() - noise.sum())
    strongest = select_tree_cliques(sorted(pairs, key=lambda pair: -apart[pair]))
    simple = [t for t in terms if len(t.clique) < 2 or t.clique in strongest]
    rest = [t for t in terms if len(t.clique) == 2 and t.clique not in strongest]
    return [simple, *(step for step in (rest, larger) if step)]
