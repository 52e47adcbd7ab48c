"""One-run auditing: canaries go into a copy of the data by fair coins, the synthesizer
runs once, and guesses about the coins are counted.

Steinke, Nasr, Jagielski, "Privacy auditing with one (1) training run", 2023. If a run
is (ε, δ)-private, then of r guesses about m independent coins at least v are right with
probability at most

  P[B ≥ v] + 2mδ · max over i of (1/i) · P[v - i ≤ B < v],        B ~ Binomial(r, e^ε/(1 + e^ε)).

The largest ε for which this is below α is refuted. Guesses are made where the score is
most telling, for a few numbers of guesses that are fixed beforehand and share α. One
run tells little: at ε = 1 it notices gross faults (no noise, a column left out of the
account), not noise that is half of what it should be. That is what the white-box audit
is for. And where δ is not well below α, a claim allows what could refute it, so nothing
is refuted.
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
from understudy.measurements import Clique, Identity, Measurements

CANARY_GUESS_SHARES = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Parts of the canaries that are guessed at, the most telling first."""

MAX_REFUTED_EPSILON = 60.0

Codes = Mapping[str, NDArray[np.int64]]


def p_value(
    right: int, guesses: int, canaries: int, epsilon: float, delta: float
) -> float:
    """Chance of so many right guesses under (ε, δ)-privacy, at most.

    >>> round(p_value(10, 10, 10, 0.0, 0.0) * 1024, 6)
    1.0
    """
    from scipy.stats import (
        binom,
    )  # here, because only an audit needs it and it takes long to load

    q = 1 / (1 + exp(-epsilon))
    beyond = float(binom.sf(right - 1, guesses, q))
    if delta and right:
        below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, q))
        beyond += 2 * canaries * delta * float((below / np.arange(1, right + 1)).max())
    return min(1.0, beyond)


def largest_refuted_epsilon(
    right: int,
    guesses: int,
    canaries: int,
    *,
    delta: float,
    alpha: float = FALSE_ALARM_RATE,
) -> float:
    """The largest ε that so many right guesses refute; 0 where they refute none.

    >>> largest_refuted_epsilon(50, 100, 100, delta=0.0)
    0.0
    """
    if p_value(right, guesses, canaries, 0.0, delta) >= alpha:
        return 0.0
    low, high = 0.0, MAX_REFUTED_EPSILON
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high)
            if p_value(right, guesses, canaries, middle, delta) < alpha
            else (low, middle)
        )
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
    found = []
    for share in CANARY_GUESS_SHARES:
        each = max(1, round(share * m / 2))
        right = int(coins[order[m - each :]].sum() + (~coins[order[:each]]).sum())
        refuted = largest_refuted_epsilon(
            right, 2 * each, m, delta=delta, alpha=alpha / len(CANARY_GUESS_SHARES)
        )
        found.append(
            CanaryGuesses(canaries=m, guesses=2 * each, right=right, epsilon=refuted)
        )
    return max(found, key=lambda g: g.epsilon)


def score_canaries(
    measurements: Measurements,
    base: Mapping[Clique, NDArray[np.int64]],
    canaries: Codes,
    others: Codes | None,
) -> Floats:
    """How likely each canary is to be in, from everything measured at once: the
    posterior mean of its coin, minus one half.

    What is measured, beyond the table's own exact counts `base`, is Σ coin · (canary's
    cell) + noise; where a canary is out, the row in `others` stands in. Coins have mean
    ½ and variance ¼, noise its stated variance, so the mean is a ridge regression.
    """
    m = len(next(iter(canaries.values())))
    gram, moment = 4.0 * np.eye(m), np.zeros(m)
    for measured in measurements:
        if (
            not measured.clique
            or not measured.scale
            or not all(isinstance(axis, Identity) for axis in measured.maps)
        ):
            continue
        sizes = measured.values.shape
        cells = [(_cell_indices(canaries, measured.clique, sizes), 1.0)]
        if others is not None:
            cells.append((_cell_indices(others, measured.clique, sizes), -1.0))
        at = np.concatenate([c for c, _ in cells])
        sign = np.repeat([s for _, s in cells], m)
        design = sparse.csr_array(
            (sign, (at, np.tile(np.arange(m), len(cells)))),
            shape=(measured.values.size, m),
        )
        left = (measured.values - base[measured.clique]).ravel().astype(np.float64)
        if others is not None:
            left -= np.bincount(cells[1][0], minlength=left.size)  # as if all were out
        left -= design @ np.full(m, 0.5)
        weight = 1 / max(noise_deviation(measured.law, measured.scale), 1e-3) ** 2
        gram += weight * (design.T @ design).toarray()
        moment += weight * (design.T @ left)
    for shown in measurements.sparse:
        cells_shown = {tuple(code) for code in shown.codes.tolist()}
        rows = np.stack([canaries[name] for name in shown.clique], axis=1).tolist()
        moment += np.array([float(tuple(row) in cells_shown) for row in rows])
    return np.asarray(np.linalg.solve(gram, moment), np.float64)


def _cell_indices(
    codes: Codes, clique: Clique, sizes: Sequence[int]
) -> NDArray[np.int64]:
    return np.asarray(
        np.ravel_multi_index(tuple(codes[name] for name in clique), tuple(sizes)),
        np.int64,
    )
