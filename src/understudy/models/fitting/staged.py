"""A model fitted in stages from simple to rich, each shrunk towards the one before.

    1. independent columns, and the strongest pairs that form a forest, shrunk towards
       independence;
    2. all other pairs, shrunk towards what the forest says of them;
    3. larger marginals, shrunk towards what the pairs say of them.

A pair that the forest explains has next to no prior variance of its own
(models/fitting/marginal_strength.py), so its noise is not fitted; a triple adds only
what its pairs do not say. In each stage the answers of earlier stages are replaced by
the model's, which keeps them unless the new ones know better.

Where noise hides which pairs are strongest, the forest would be random. Then all pairs
are shrunk towards independence in one stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from understudy.measurements import Clique
from understudy.models.arrays import Array
from understudy.models.estimates.loss_terms import Question, Term
from understudy.models.fitting.closed_form import select_tree_cliques
from understudy.models.fitting.constants import MIN_FOREST_SIGNAL_SHARE
from understudy.models.fitting.dual_descent import MarginalOracle
from understudy.models.fitting.marginal_strength import (
    independent_counts,
    prior_variances,
    shrink_terms_to_columns,
    shrink_terms_to_expected,
)
from understudy.models.fitting.max_entropy import (
    MaxEntropyFit,
    fit_max_entropy,
    typical_noise,
)
from understudy.models.inference.calibration import Calibration
from understudy.models.inference.junction_tree import JunctionTree


def fit_in_stages(
    oracle: MarginalOracle,
    terms: Sequence[Term],
    columns: Mapping[str, Array],
    total: float,
    *,
    base: Mapping[Clique, Array],
    warm: Mapping[Question, Array],
    tolerance: float,
    progress: Callable[[int, float], None] | None = None,
) -> MaxEntropyFit:
    """Fit the terms in stages around independent `columns`, whose logarithms the `base`
    holds.
    """
    first, *later = split_into_stages(terms, columns, total)
    held, loss = shrink_terms_to_columns(first, columns, total)
    # A forest needs few cells, however many the whole model has.
    first_oracle = (
        _build_oracle([*base, *(t.clique for t in held)], columns) if later else oracle
    )
    fit = fit_max_entropy(
        first_oracle,
        held,
        total,
        base=base,
        warm=warm,
        shrinkage=typical_noise(held),
        tolerance=_stage_tolerance(tolerance, loss, held),
        progress=progress,
    )
    for stage in later:
        shares, _ = oracle.run(fit.potentials)
        kept = [
            Term(t.clique, t.maps, total * t.answer(shares[t.clique]), t.variance)
            for t in held
        ]
        # New terms are shrunk towards what the model says of them by now.
        expected = [(t, total * shares[t.clique]) for t in stage]
        new, loss = shrink_terms_to_expected(expected)
        held = [*kept, *new]
        further = fit_max_entropy(
            oracle,
            held,
            total,
            base=fit.potentials,
            warm={t.question: warm[t.question] for t in stage if t.question in warm},
            shrinkage=typical_noise(held),
            tolerance=_stage_tolerance(tolerance, loss, held),
            progress=progress,
        )
        fit = _join_fits(fit, further, stage)
    return fit


def _join_fits(
    fit: MaxEntropyFit, further: MaxEntropyFit, stage: Sequence[Term]
) -> MaxEntropyFit:
    """The later fit, with the weights that a warm start of every stage needs."""
    new = {t.question: further.weights[t.question] for t in stage}
    return MaxEntropyFit(
        potentials=further.potentials,
        weights={**fit.weights, **new},
        loss=further.loss,
        gap=further.gap,
        passes=fit.passes + further.passes,
    )


def _stage_tolerance(tolerance: float, loss: float, held: Sequence[Term]) -> float:
    """The duality gap of a stage: a share of the `loss` that the noise of its new terms
    leaves, per number of the fit.
    """
    return tolerance * loss / max(sum(t.values.size for t in held), 1)


def _build_oracle(
    cliques: Iterable[Clique], columns: Mapping[str, Array]
) -> Calibration:
    sizes = {name: column.size for name, column in columns.items()}
    every: list[Clique] = list(
        dict.fromkeys([*cliques, *((name,) for name in columns)])
    )
    return Calibration(JunctionTree.of(every, sizes), every, sizes)


def split_into_stages(
    terms: Sequence[Term], columns: Mapping[str, Array], total: float
) -> list[list[Term]]:
    """Columns and a forest of strong pairs (or all pairs); the other pairs; larger
    marginals. Stages without a term are left out.

    >>> from understudy.measurements import Identity
    >>> columns = {name: np.array([50.0, 50.0]) for name in "abc"}
    >>> away = {("a", "b"): 20.0, ("b", "c"): 15.0, ("a", "c"): 6.0}
    >>> shape, maps = np.array([[1.0, -1], [-1, 1]]), (Identity(2), Identity(2))
    >>> pairs = [Term(pair, maps, 25 + x * shape, 1.0) for pair, x in away.items()]
    >>> [[t.clique for t in stage] for stage in split_into_stages(pairs, columns, 100.0)]
    [[('a', 'b'), ('b', 'c')], [('a', 'c')]]
    """
    singles = [t for t in terms if len(t.clique) < 2]
    pairs = [t for t in terms if len(t.clique) == 2]
    larger = [t for t in terms if len(t.clique) > 2]
    signal_share = interaction_signal_share([*pairs, *larger], columns, total)
    # Where noise hides most interactions, ranking pairs would rank their noise.
    if signal_share <= MIN_FOREST_SIGNAL_SHARE:
        stages = [[*singles, *pairs], larger]
    else:
        forest = _select_strong_forest(pairs, columns, total)
        inside = [t for t in pairs if t.clique in forest]
        outside = [t for t in pairs if t.clique not in forest]
        stages = [[*singles, *inside], outside, larger]
    first, *later = stages
    return [first, *filter(None, later)]


def _select_strong_forest(
    pairs: Sequence[Term], columns: Mapping[str, Array], total: float
) -> set[Clique]:
    """The pairs furthest from independence that form a forest."""
    strength: dict[Clique, float] = {
        term.clique: _distance_beyond_noise(term, columns, total)
        for term in pairs
        if not term.is_coarse
    }
    strongest_first = sorted(strength, key=lambda pair: -strength[pair])
    return set(select_tree_cliques(strongest_first))


def interaction_signal_share(
    terms: Sequence[Term], columns: Mapping[str, Array], total: float
) -> float:
    """The share of the L1 distance of marginals from independence that survives their
    shrinkage; 1 for a single marginal, which nothing is selected from.

    >>> from understudy.measurements import Identity
    >>> columns = {name: np.array([50.0, 50.0]) for name in "ab"}
    >>> apart = np.array([[40.0, 10.0], [10.0, 40.0]])
    >>> def pair(variance): return Term(("a", "b"), (Identity(2),) * 2, apart, variance)
    >>> [round(interaction_signal_share([pair(v)] * 2, columns, 100.0), 2) for v in (1.0, 1e4)]
    [1.0, 0.01]
    """
    if len(terms) < 2:
        return 1.0
    observations = [(t, independent_counts(t.clique, columns, total)) for t in terms]
    kept, whole = 0.0, 0.0
    for (term, expected), variance in zip(
        observations, prior_variances(observations), strict=True
    ):
        signal = variance * term.square(expected) / term.variance
        distance = np.sqrt(signal * term.row_variance)
        whole += float(distance.sum())
        kept += float((distance * signal / (1 + signal)).sum())
    return kept / whole if whole > 0 else 1.0


def _distance_beyond_noise(
    term: Term, columns: Mapping[str, Array], total: float
) -> float:
    """The L1 distance of a noisy pair from independence, less what noise contributes."""
    expected = independent_counts(term.clique, columns, total)
    # A count cannot fall below 0, so noise moves a small one by no more than itself.
    noise = np.minimum(np.sqrt(term.row_variance), expected)
    if term.plain:
        counts = np.maximum(term.values, 0)
    else:
        counts = expected + term.to_rows(term.values - term.answer(expected))
    return float(np.abs(counts - expected).sum() - noise.sum())
