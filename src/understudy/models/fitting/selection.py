"""In which way very many marginals are best heard together, told by splitting the noise
of every answer in two.

The strength of a marginal (models/fitting/marginal_strength.py) is told from that
marginal alone, and right for it alone. A model of very many that say much the same
follows their noise further: where all columns of a table depend on each other, half or
a quarter of the strength serves it better, and elsewhere it does harm. Triples may need
more than their strength: where most cells are empty, as in a questionnaire that skips
what does not apply, what they add is in a few cells, which expect the least and are
drawn back the most. And pairs that noise hides are better taken all at once than after
a forest of some that look strong by chance (models/fitting/staged.py): where it hides
most of what they differ by they are, and elsewhere the answers tell, as they tell the
rest.

Let y be a noisy answer with variance v, and z noise of the same variance, drawn here.
Then y + z and y − z have the variance 2v each and nothing in common but the truth
(Leiner, Duan, Wasserman, Ramdas, "Data fission", 2023). A model fitted to the one is
judged by the other, fairly; another way is taken if it is better by more than chance. z
is drawn from a fixed seed: it protects nobody, and the same answers are to give the
same model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from understudy.measurements import Clique
from understudy.models.estimates.loss_terms import (
    MIN_TERM_VARIANCE,
    Array,
    Question,
    Term,
)
from understudy.models.fitting.marginal_strength import (
    independent_counts,
    prior_variances,
)
from understudy.models.fitting.max_entropy import MarginalOracle
from understudy.models.fitting.staged import FitSettings, fit_in_stages

SMALLER_VARIANCE_FACTORS, LARGER_VARIANCE_FACTORS = (0.5, 0.25), (4.0, 16.0)
"""The parts of their strengths that are tried, one after the other as long as each is
better than the best so far.
"""

MAX_FISSION_CELL_TERMS = 2e7
"""Cells of a tree times terms, up to which larger strengths are tried."""

MIN_HIDDEN_SHARE, MAX_FOREST_HIDDEN_SHARE = 0.05, 0.55
"""The share of what marginals differ by that noise must hide for it to matter; and that
beyond which the strongest cannot be told.
"""

MIN_FISSION_DEVIATIONS = 1.5
"""Deviations, were neither better, by which another way must be."""

FISSION_SEED = 7_261_409_983
"""Where z comes from. A number nobody else would begin with: noise that a simulation
drew in the same way would be z itself.
"""

FISSION_FIT_TOLERANCE = 0.1
"""How far the fits go that are only judged (models/fitting/max_entropy.py)."""


def choose_fit_settings(
    oracle: MarginalOracle,
    terms: Sequence[Term],
    columns: Mapping[str, Array],
    total: float,
    *,
    base: Mapping[Clique, Array],
    cells: int,
) -> FitSettings:
    """The way in which a fit of these terms together serves it best; the `cells` of its
    tree say what a fit more would cost.
    """
    joint = [t for t in terms if len(t.clique) > 1]
    doubtful = share_hidden_by_noise(joint, columns, total) if len(joint) > 1 else 0.0
    best, unsure = (
        FitSettings(forest=doubtful < MAX_FOREST_HIDDEN_SHARE),
        doubtful >= MIN_HIDDEN_SHARE,
    )
    # An answer without noise of its own has no two halves.
    noisy = all(t.variance > MIN_TERM_VARIANCE for t in joint)
    larger = (
        noisy
        and any(len(t.clique) > 2 for t in joint)
        and cells * len(terms) <= MAX_FISSION_CELL_TERMS
    )
    if not unsure and not larger:
        return best
    shown, hidden = split_by_fission(terms)
    truth = _standardise_answers([t.values for t in hidden], hidden)

    def predict_hidden(
        way: FitSettings, warm: Mapping[Question, Array]
    ) -> tuple[Array, Mapping[Question, Array]]:
        found = fit_in_stages(
            oracle,
            shown,
            columns,
            total,
            base=base,
            warm=warm,
            tolerance=FISSION_FIT_TOLERANCE,
            way=way,
        )
        shares, _ = oracle.run(found.potentials)
        return (
            _standardise_answers(
                [total * t.answer(shares[t.clique]) for t in hidden], hidden
            ),
            found.weights,
        )

    made, weights = predict_hidden(best, {})

    def accept_if_better(way: FitSettings) -> bool:
        nonlocal best, made, weights
        other, after = predict_hidden(way, weights)
        gain = float(((truth - made) ** 2 - (truth - other) ** 2).sum())
        if gain <= MIN_FISSION_DEVIATIONS * 2 * math.sqrt(
            float(((other - made) ** 2).sum())
        ):
            return False
        best, made, weights = way, other, after
        return True

    if larger:
        all(
            accept_if_better(replace(best, trust=trust))
            for trust in LARGER_VARIANCE_FACTORS
        )
    if unsure:
        if best.trust <= 1:
            all(
                accept_if_better(replace(best, trust=trust))
                for trust in SMALLER_VARIANCE_FACTORS
            )
        if (
            best.forest
            and accept_if_better(replace(best, forest=False))
            and best.trust == 1
        ):
            accept_if_better(replace(best, trust=SMALLER_VARIANCE_FACTORS[0]))
    return best


def share_hidden_by_noise(
    terms: Sequence[Term], columns: Mapping[str, Array], total: float
) -> float:
    """The share of what marginals differ by from independent columns that noise hides.

    >>> from understudy.measurements import Identity
    >>> columns = {name: np.array([50.0, 50.0]) for name in "ab"}
    >>> apart = np.array([[40.0, 10.0], [10.0, 40.0]])
    >>> [round(share_hidden_by_noise([Term(("a", "b"), (Identity(2),) * 2, apart, v)], columns, 100.0), 2) for v in (1.0, 1e4)]
    [0.0, 0.99]
    """
    looks = [(t, independent_counts(t.clique, columns, total)) for t in terms]
    hidden, whole = 0.0, 1e-9
    for (term, expected), strength in zip(looks, prior_variances(looks), strict=True):
        signal = strength * term.square(expected) / term.variance
        far = np.sqrt(signal * term.row_variance)
        hidden, whole = (
            hidden + float((far / (1 + signal)).sum()),
            whole + float(far.sum()),
        )
    return hidden / whole


def split_by_fission(terms: Sequence[Term]) -> tuple[list[Term], list[Term]]:
    """Every answer of several columns twice, with noise of its own each time; what is
    known of single columns is shown as it is.
    """
    rng = np.random.default_rng(FISSION_SEED)
    shown, hidden = [], []
    for t in terms:
        if len(t.clique) == 1:
            shown.append(t)
            continue
        extra = rng.normal(0.0, math.sqrt(t.variance), t.values.shape)
        shown.append(Term(t.clique, t.maps, t.values + extra, 2 * t.variance))
        hidden.append(Term(t.clique, t.maps, t.values - extra, 2 * t.variance))
    return shown, hidden


def _standardise_answers(tables: Sequence[Array], terms: Sequence[Term]) -> Array:
    """Answers end to end, in deviations of their noise."""
    return np.concatenate(
        [
            np.ravel(a) / math.sqrt(t.variance)
            for a, t in zip(tables, terms, strict=True)
        ]
    )
