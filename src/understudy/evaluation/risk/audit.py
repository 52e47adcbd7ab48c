"""Empirical lower bounds on privacy loss: what an auditor proves who sees answers on
two neighbouring tables.

All bounds hold with probability 1 - α. A threshold on a score makes false positives and
false negatives; their rates get Clopper-Pearson upper bounds FPR and FNR at α/2 each,
and any test with such rates proves

  GDP    μ ≥ Φ⁻¹(1 - δ - FPR) - Φ⁻¹(FNR)
         Nasr et al., "Tight auditing of differentially private ML", 2023
  pure   ε ≥ max(ln((1 - δ - FPR)/FNR), ln((1 - δ - FNR)/FPR))
         Kairouz, Oh, Viswanath, "The composition theorem", 2015
  zCDP   ρ ≥ max over α of D_α(test on one side ‖ test on the other)/α
         Bun, Steinke, "Concentrated differential privacy", 2016

A threshold is fixed beforehand, or chosen on one half of the scores and judged on the
other, so searching for the best one costs no validity. `noise_spread` is the second
test: the loss that noise of the observed spread would cause on these two tables, taking
its law as stated. It needs far fewer answers, and is the one that notices noise which is
a little too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
from numpy.typing import NDArray
from scipy import special

from understudy.accounting.conversion import epsilon_of
from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law

FALSE_ALARM_RATE = 1e-6
"""Chance that an audit refutes a true claim."""

RENYI_ORDERS = np.array([1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32])
"""Orders of Rényi divergence that a zCDP audit tries."""

MAX_AUDIT_THRESHOLDS = 400

Floats = NDArray[np.float64]
LossBound = Callable[[Floats, Floats], Floats]
"""What false positive and false negative rates, both from above, prove about the loss.
"""


def clopper_pearson_upper(hits: NDArray[np.int64], trials: int, alpha: float) -> Floats:
    """Clopper-Pearson upper bounds of probabilities.

    >>> clopper_pearson_upper(np.array([0, 10]), 10, 0.05).round(3).tolist()
    [0.259, 1.0]
    """
    # With only hits the bound is 1, and the beta distribution has no second parameter.
    with np.errstate(invalid="ignore"):
        upper = special.betainccinv(hits + 1, np.maximum(trials - hits, 1e-9), alpha)
    return np.asarray(np.where(hits >= trials, 1.0, upper), np.float64)


def best_lower_bound(
    here: Floats,
    there: Floats,
    bound: LossBound,
    *,
    alpha: float = FALSE_ALARM_RATE,
    at: float | None = None,
) -> float:
    """The best bound by a threshold on scores; high scores speak for `there`."""

    def bounds_at_cuts(first: Floats, second: Floats, cuts: Floats) -> Floats:
        # α is shared by the two rates, and the claim needs both.
        wrong = len(first) - np.searchsorted(np.sort(first), cuts, side="left")
        missed = np.searchsorted(np.sort(second), cuts, side="left")
        rates = (
            clopper_pearson_upper(wrong, len(first), alpha / 2),
            clopper_pearson_upper(missed, len(second), alpha / 2),
        )
        with np.errstate(all="ignore"):
            return np.nan_to_num(bound(*rates), nan=0.0, neginf=0.0, posinf=inf)

    if at is None:
        # Chosen on one half and judged on the other: the choice is no second chance.
        training_here, here = np.array_split(here, [len(here) // 2])
        training_there, there = np.array_split(there, [len(there) // 2])
        cuts = np.unique(np.concatenate([training_here, training_there]))
        if len(cuts) > MAX_AUDIT_THRESHOLDS:
            levels = np.linspace(0, 1, MAX_AUDIT_THRESHOLDS)
            cuts = np.unique(np.quantile(cuts, levels))
        proven = bounds_at_cuts(training_here, training_there, cuts)
        at = float(cuts[int(np.argmax(proven))])
    return max(0.0, float(bounds_at_cuts(here, there, np.array([at]))[0]))


def loss_lower_bound(
    here: Floats,
    there: Floats,
    accounting: Accounting,
    *,
    delta: float = 0.0,
    alpha: float = FALSE_ALARM_RATE,
) -> float:
    """The μ, ε or ρ that scores prove. For Gaussian noise the middle is the best
    threshold, so it is fixed beforehand.
    """
    match accounting:
        case Accounting.GDP:
            return best_lower_bound(
                here,
                there,
                lambda p, m: special.ndtri(1 - delta - p) - special.ndtri(m),
                alpha=alpha,
                at=0.0,
            )
        case Accounting.PURE:
            return best_lower_bound(
                here, there, lambda p, m: _log_ratio(p, m, delta), alpha=alpha
            )
        case Accounting.ZCDP:
            return best_lower_bound(
                here,
                there,
                lambda p, m: np.maximum(
                    _renyi_divergence(1 - m, p), _renyi_divergence(1 - p, m)
                ),
                alpha=alpha,
            )


def _log_ratio(p: Floats, m: Floats, delta: float) -> Floats:
    return np.maximum(
        np.log(np.maximum(1 - delta - p, 0) / m),
        np.log(np.maximum(1 - delta - m, 0) / p),
    )


def _renyi_divergence(p: Floats, q: Floats) -> Floats:
    """max over α of D_α(Bernoulli(p) ‖ Bernoulli(q)) / α, for p ≥ q."""
    # In logarithms: rates may be as small as 1e-6, and their powers far smaller.
    a = RENYI_ORDERS[:, None]
    logs = np.logaddexp(
        a * np.log(p) + (1 - a) * np.log(q), a * np.log1p(-p) + (1 - a) * np.log1p(-q)
    )
    return np.asarray(np.where(p > q, (logs / (a - 1) / a).max(axis=0), 0.0))


def log_mass(law: Law, scale: Fraction, k: NDArray[np.int64]) -> Floats:
    """log P(noise = k), up to a constant that likelihood ratios lose."""
    s, size = float(scale), np.abs(np.asarray(k, np.float64))
    match law:
        case Law.DISCRETE_LAPLACE:
            return -size / s
        case Law.DISCRETE_GAUSSIAN:
            return -size * size / (2 * s * s)
        case Law.ROUNDED_GAUSSIAN:
            # P(k) is a difference of two tails; in logarithms it does not underflow.
            low = special.log_ndtr(-(size - 0.5) / s)
            high = special.log_ndtr(-(size + 0.5) / s)
            return np.asarray(low + np.log(-np.expm1(high - low)), np.float64)


def likelihood_ratio(
    values: NDArray[np.int64],
    here: NDArray[np.int64],
    there: NDArray[np.int64],
    law: Law,
    scale: Fraction,
) -> Floats:
    """log P(values | there) - log P(values | here) of noisy vectors, one for each along
    the first axis: the best score there is.

    >>> likelihood_ratio(
    ...     np.array([[0], [1]]),
    ...     np.array([0]),
    ...     np.array([1]),
    ...     Law.DISCRETE_LAPLACE,
    ...     Fraction(1),
    ... ).tolist()
    [-1.0, 1.0]
    """
    moved = np.asarray(here != there).ravel()
    if not moved.any():
        return np.zeros(len(values))
    cells = values.reshape(len(values), -1)[:, moved]
    # Cells that are the same in both tables say nothing, and drop out of the ratio.
    if_there = log_mass(law, scale, cells - there.ravel()[moved])
    if_here = log_mass(law, scale, cells - here.ravel()[moved])
    return np.asarray((if_there - if_here).sum(axis=1), np.float64)


def log_odds(here: Floats, there: Floats) -> Floats:
    """log P(candidate | there) - log P(candidate | here) of a private choice, from its
    log-weights.
    """
    log_there = there - logsumexp_of(there)
    log_here = here - logsumexp_of(here)
    return np.asarray(log_there - log_here, np.float64)


def logsumexp_of(logs: Floats) -> float:
    """log Σ exp of some numbers."""
    # The largest term is taken out, so that none overflows.
    peak = float(logs.max())
    return peak + float(np.log(np.exp(logs - peak).sum()))


@dataclass(frozen=True, kw_only=True)
class AuditVerdict:
    """A claim, and what was proven about it, in the run's measure and as the ε a person
    reads. `delta` is that of the claimed ε.
    """

    accounting: Accounting
    claimed: float
    measured: float
    """By the answers alone, whatever their law."""
    by_spread: float | None
    """By the spread of the noise, taking its law as stated."""
    claimed_epsilon: float
    delta: float
    alpha: float = FALSE_ALARM_RATE

    @property
    def is_violated(self) -> bool:
        """Whether the claim is refuted."""
        return max(self.measured, self.by_spread or 0.0) > self.claimed * (1 + 1e-9)

    @property
    def epsilon(self) -> float:
        """What the answers prove, as ε at the claim's δ."""
        return epsilon_of_loss(self.accounting, self.measured, self.delta)

    @property
    def epsilon_by_spread(self) -> float | None:
        """What the spread of the noise says, as ε at the claim's δ."""
        if self.by_spread is None:
            return None
        return epsilon_of_loss(self.accounting, self.by_spread, self.delta)

    def sentence(self) -> str:
        """The verdict in one line.

        >>> AuditVerdict(
        ...     accounting=Accounting.PURE,
        ...     claimed=1.0,
        ...     measured=0.87,
        ...     by_spread=None,
        ...     claimed_epsilon=1.0,
        ...     delta=0.0,
        ... ).sentence()
        'claimed 1.00, measured at least 0.87, no violation at 1e-6'
        """
        proven, outcome = self.epsilon, "no violation"
        if self.is_violated:
            proven = max(self.epsilon, self.epsilon_by_spread or 0.0)
            outcome = "VIOLATION"
        level = f"{self.alpha:.0e}".replace("e-0", "e-")
        return (
            f"claimed {self.claimed_epsilon:.2f}, measured at least"
            f" {format_rounded_down(proven)}, {outcome} at {level}"
        )


def epsilon_of_loss(accounting: Accounting, amount: float, delta: float) -> float:
    """A loss in a run's measure (μ, ε or ρ) as the ε at a δ.

    >>> (
    ...     epsilon_of_loss(Accounting.PURE, 0.5, 0.0),
    ...     epsilon_of_loss(Accounting.GDP, 0.0, 1e-9),
    ... )
    (0.5, 0.0)
    """
    if accounting is Accounting.PURE or amount in (0.0, inf):
        return amount
    exact = Fraction(amount).limit_denominator(10**9)
    # GDP is accounted in μ², because that adds up over answers.
    total = exact * exact if accounting is Accounting.GDP else exact
    return float(epsilon_of(accounting, total, Fraction(delta)))


def format_rounded_down(value: float) -> str:
    """Two decimals, never rounded up: a lower bound stays one.

    >>> format_rounded_down(0.999), format_rounded_down(inf)
    ('0.99', '∞')
    """
    return "∞" if value == inf else f"{int(value * 100 + 1e-9) / 100:.2f}"
