"""One-run auditing: canaries go into a copy of the data by fair coins, the synthesizer
runs once, and guesses about the coins are counted.

Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", 2023. If a run
is (ε, δ)-private, then of r guesses about m independent coins at least v are right with
probability at most

  P[B ≥ v] + 2mδ · max over i of (1/i) · P[v - i ≤ B < v],        B ~ Binomial(r, e^ε/(1 + e^ε)).

The largest ε for which this is below α is refuted. Guesses are made about the canaries
with the most extreme scores, for a few numbers of guesses that are fixed beforehand and
share α. One run says little: at ε = 1 it notices gross faults (no noise, a column left
out of the account), not noise that is half of what it should be. That is what the
white-box audit is for. And if δ is not well below α, a claim allows what could refute
it, so nothing is refuted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from understudy.accounting.expected_error import noise_deviation
from understudy.evaluation.risk.audit import FALSE_ALARM_RATE, Floats
from understudy.measurements import Clique, Identity, Measurement, Measurements

CANARY_GUESS_SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Shares of the canaries that are guessed at, those with extreme scores first."""

MAX_REFUTED_EPSILON = 60.0

Codes = Mapping[str, NDArray[np.int64]]


def p_value(
    right: int, guesses: int, canaries: int, epsilon: float, delta: float
) -> float:
    """Chance of this many right guesses or more under (ε, δ)-privacy, at most.

    >>> round(p_value(10, 10, 10, 0.0, 0.0) * 1024, 6)
    1.0
    """
    # Here, because only an audit needs it and it takes long to load.
    from scipy.stats import binom

    q = 1 / (1 + exp(-epsilon))
    beyond = float(binom.sf(right - 1, guesses, q))
    if delta and right:
        # P[v − i ≤ B < v] for i = 1, 2, …, v.
        below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, q))
        largest = float((below / np.arange(1, right + 1)).max())
        beyond += 2 * canaries * delta * largest
    return min(1.0, beyond)


def largest_refuted_epsilon(
    right: int,
    guesses: int,
    canaries: int,
    *,
    delta: float,
    alpha: float = FALSE_ALARM_RATE,
) -> float:
    """The largest ε that this many right guesses refute; 0 if they refute none.

    >>> largest_refuted_epsilon(50, 100, 100, delta=0.0)
    0.0
    """
    if p_value(right, guesses, canaries, 0.0, delta) >= alpha:
        return 0.0
    # The p-value rises with ε, so the largest refuted one is found by halving.
    low, high = 0.0, MAX_REFUTED_EPSILON
    for _ in range(60):
        middle = (low + high) / 2
        if p_value(right, guesses, canaries, middle, delta) < alpha:
            low = middle
        else:
            high = middle
    return low


@dataclass(frozen=True, kw_only=True)
class CanaryGuesses:
    """How many coins were guessed at, how many rightly, and the ε this refutes."""

    canaries: int
    guesses: int
    right: int
    epsilon: float


def choose_best_guesses(
    scores: Floats,
    coins: NDArray[np.bool_],
    *,
    delta: float,
    alpha: float = FALSE_ALARM_RATE,
) -> CanaryGuesses:
    """The best of a few numbers of guesses: high scores are guessed to be in, low ones
    out, equally many of each.
    """
    order = np.argsort(scores, kind="stable")
    m = len(coins)
    # The best of several tries counts, so they share the chance of a false alarm.
    alpha_each = alpha / len(CANARY_GUESS_SHARES)
    tries = []
    for share in CANARY_GUESS_SHARES:
        each = max(1, round(share * m / 2))
        right_inside = coins[order[m - each :]].sum()
        right_outside = (~coins[order[:each]]).sum()
        right = int(right_inside + right_outside)
        refuted = largest_refuted_epsilon(
            right, 2 * each, m, delta=delta, alpha=alpha_each
        )
        tries.append(
            CanaryGuesses(canaries=m, guesses=2 * each, right=right, epsilon=refuted)
        )
    return max(tries, key=lambda guesses: guesses.epsilon)


def score_canaries(
    measurements: Measurements,
    base: Mapping[Clique, NDArray[np.int64]],
    canaries: Codes,
    others: Codes | None,
) -> Floats:
    """How likely each canary is to be in, from everything measured at once: the
    posterior mean of its coin, minus one half.

    What is measured, beyond the table's own exact counts `base`, is Σ coin · (canary's
    cell) + noise; if a canary is out, the row in `others` takes its place. Coins have mean
    ½ and variance ¼, noise its stated variance, so the mean is a ridge regression.
    """
    m = len(next(iter(canaries.values())))
    # Of the prior: a coin's precision is 1/¼ = 4.
    gram, moment = 4.0 * np.eye(m), np.zeros(m)
    for measured in measurements:
        is_plain = all(isinstance(axis, Identity) for axis in measured.maps)
        if not measured.clique or not measured.scale or not is_plain:
            continue
        design, if_all_out = _canary_design(measured, canaries, others)
        observed = (measured.values - base[measured.clique]).ravel().astype(np.float64)
        residual = observed - if_all_out - design @ np.full(m, 0.5)
        # A noise-free answer has no finite weight; this one is large enough.
        deviation = max(noise_deviation(measured.law, measured.scale), 1e-3)
        weight = 1 / deviation**2
        gram += weight * (design.T @ design).toarray()
        moment += weight * (design.T @ residual)
    for sparse_answer in measurements.sparse:
        # A cell that passed the threshold speaks for a canary in it; how much is left
        # to the ranking, since thresholded noise has no simple likelihood.
        shown = {tuple(code) for code in sparse_answer.codes.tolist()}
        columns = [canaries[name] for name in sparse_answer.clique]
        rows = np.stack(columns, axis=1).tolist()
        moment += np.array([float(tuple(row) in shown) for row in rows])
    return np.asarray(np.linalg.solve(gram, moment), np.float64)


def _canary_design(
    measured: Measurement, canaries: Codes, others: Codes | None
) -> tuple[sparse.csr_array, Floats]:
    """Cells × canaries: how an answer moves when a canary is in; and what the answer
    would be, beyond the table's own counts, if all were out.
    """
    sizes, cells = measured.values.shape, measured.values.size
    inside = _cell_indices(canaries, measured.clique, sizes)
    m = len(inside)
    shape, every = (cells, m), np.arange(m)
    design = sparse.csr_array((np.ones(m), (inside, every)), shape=shape)
    if others is None:
        return design, np.zeros(cells)
    outside = _cell_indices(others, measured.clique, sizes)
    design = design - sparse.csr_array((np.ones(m), (outside, every)), shape=shape)
    return design, np.bincount(outside, minlength=cells).astype(np.float64)


def _cell_indices(
    codes: Codes, clique: Clique, sizes: Sequence[int]
) -> NDArray[np.int64]:
    columns = tuple(codes[name] for name in clique)
    return np.asarray(np.ravel_multi_index(columns, tuple(sizes)), np.int64)
