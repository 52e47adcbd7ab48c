"""Lower bounds on privacy loss from what a mechanism returned: an auditor who sees
outputs on two neighbouring tables and nothing else.

All bounds hold with probability 1 - ALPHA. A threshold is given beforehand, or chosen
on one half of the outputs and judged on the other, so looking for the most telling one
costs no validity. False positive and false negative rates get Clopper-Pearson upper
bounds at ALPHA/2 each; then, for any test with those rates,

  GDP    μ ≥ Φ⁻¹(1 - FPR) - Φ⁻¹(FNR)                                              Nasr et al., "Tight auditing", 2023
  pure   ε ≥ max(ln((1 - δ - FPR)/FNR), ln((1 - δ - FNR)/FPR))                     Kairouz, Oh, Viswanath 2015
  zCDP   ρ ≥ max over α of D_α(test on one side ‖ test on the other)/α             Bun, Steinke 2016: post-processing

`recomputed` is a second check: the loss that the noise actually added would cause,
from returned minus exact counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.expected_error import noise_deviation
from understudy.accounting.law import Law

ALPHA = 1e-6
"""Chance of a false alarm of one audit."""

ORDERS = np.array([1.25, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32])
"""Orders of Rényi divergence that a zCDP audit tries."""

Floats = NDArray[np.float64]
Bound = Callable[[Floats, Floats], Floats]
"""What false positive and false negative rates, both from above, prove about the loss.
"""


@dataclass(frozen=True)
class Audit:
    """What was proven about a loss, and what was claimed, in the same measure: μ, ε, ρ
    or δ.
    """

    lower: float
    claim: float

    @property
    def violated(self) -> bool:
        """Whether the claim is refuted."""
        return self.lower > self.claim * (1 + 1e-9)

    @property
    def share(self) -> float:
        """How much of the claim was seen."""
        return (
            self.lower / self.claim if self.claim else (inf if self.lower > 0 else 0.0)
        )


def at_most(hits: NDArray[np.int64], trials: int, alpha: float) -> Floats:
    """Clopper-Pearson upper bounds of probabilities."""
    hits = np.asarray(hits)
    with np.errstate(invalid="ignore"):
        upper = stats.beta.ppf(1 - alpha, hits + 1, np.maximum(trials - hits, 1e-9))
    return np.where(hits >= trials, 1.0, upper)


def lower_bound(
    here: Floats,
    there: Floats,
    bound: Bound,
    alpha: float = ALPHA,
    *,
    at: float | None = None,
) -> float:
    """The best bound by a threshold on scores; high scores speak for `there`.

    The threshold is chosen on the first half and judged on the second; one that is
    given beforehand is judged on everything.
    """
    here, there = np.asarray(here, np.float64), np.asarray(there, np.float64)
    cuts = (len(here) // 2, len(there) // 2)
    pooled = np.unique(np.concatenate([here[: cuts[0]], there[: cuts[1]]]))
    if len(pooled) > 400:
        pooled = np.unique(np.quantile(pooled, np.linspace(0, 1, 400)))

    def bounds(first: Floats, second: Floats, at: Floats) -> Floats:
        wrong = len(first) - np.searchsorted(np.sort(first), at, side="left")
        missed = np.searchsorted(np.sort(second), at, side="left")
        rates = (
            at_most(wrong, len(first), alpha / 2),
            at_most(missed, len(second), alpha / 2),
        )
        with np.errstate(all="ignore"):
            return np.nan_to_num(bound(*rates), nan=0.0, neginf=0.0, posinf=inf)

    if at is not None:
        return max(0.0, float(bounds(here, there, np.array([at]))[0]))
    chosen = pooled[int(np.argmax(bounds(here[: cuts[0]], there[: cuts[1]], pooled)))]
    return max(
        0.0, float(bounds(here[cuts[0] :], there[cuts[1] :], np.array([chosen]))[0])
    )


def gdp(
    here: Floats,
    there: Floats,
    claim: float,
    *,
    at: float | None = None,
    alpha: float = ALPHA,
) -> Audit:
    """μ."""
    return Audit(
        lower_bound(
            here,
            there,
            lambda p, m: special.ndtri(1 - p) - special.ndtri(m),
            alpha,
            at=at,
        ),
        claim,
    )


def pure(
    here: Floats,
    there: Floats,
    claim: float,
    *,
    delta: float = 0.0,
    at: float | None = None,
    alpha: float = ALPHA,
) -> Audit:
    """ε at a δ."""

    def bound(p: Floats, m: Floats) -> Floats:
        return np.maximum(
            np.log(np.maximum(1 - delta - p, 0) / m),
            np.log(np.maximum(1 - delta - m, 0) / p),
        )

    return Audit(lower_bound(here, there, bound, alpha, at=at), claim)


def zcdp(
    here: Floats,
    there: Floats,
    claim: float,
    *,
    at: float | None = None,
    alpha: float = ALPHA,
) -> Audit:
    """ρ."""

    def divergence(p: Floats, q: Floats) -> Floats:
        """max over α of D_α(Bernoulli(p) ‖ Bernoulli(q)) / α, for p ≥ q."""
        a = ORDERS[:, None]
        logs = np.logaddexp(
            a * np.log(p) + (1 - a) * np.log(q),
            a * np.log1p(-p) + (1 - a) * np.log1p(-q),
        )
        return np.where(p > q, (logs / (a - 1) / a).max(axis=0), 0.0)

    def bound(p: Floats, m: Floats) -> Floats:
        return np.maximum(divergence(1 - m, p), divergence(1 - p, m))

    return Audit(lower_bound(here, there, bound, alpha, at=at), claim)


def delta_of(shown: int, trials: int, claim: float, alpha: float = ALPHA) -> Audit:
    """δ of an event that the neighbour can never show."""
    below = (
        0.0 if shown == 0 else float(stats.beta.ppf(alpha, shown, trials - shown + 1))
    )
    return Audit(below, claim)


def audited(
    here: Floats,
    there: Floats,
    cost: Cost,
    *,
    at: float | None = None,
    alpha: float = ALPHA,
) -> Audit:
    """The audit in the accounting of a claimed cost."""
    match cost.accounting:
        case Accounting.GDP:
            return gdp(here, there, sqrt(cost.amount), at=at, alpha=alpha)
        case Accounting.PURE:
            return pure(
                here,
                there,
                float(cost.amount),
                delta=float(cost.delta),
                at=at,
                alpha=alpha,
            )
        case Accounting.ZCDP:
            return zcdp(here, there, float(cost.amount), at=at, alpha=alpha)


def seen(
    here: Floats,
    there: Floats,
    cost: Cost,
    *,
    at: float | None = None,
    alpha: float = ALPHA,
) -> float:
    """How much of the claim an audit sees.

    A test with two outcomes sees only part of a ρ, so there it is the μ of Gaussian
    noise with that ρ.
    """
    if cost.accounting is Accounting.ZCDP:
        return gdp(here, there, sqrt(2 * cost.amount), at=at, alpha=alpha).share
    return audited(here, there, cost, at=at, alpha=alpha).share


def by_outcome(
    here: Sequence[object], there: Sequence[object]
) -> tuple[Floats, Floats]:
    """Scores for outcomes without an order: the log-ratio of how often each was seen,
    learned on the first halves alone.
    """
    first, second = Counter(here[: len(here) // 2]), Counter(there[: len(there) // 2])
    rank = {o: np.log((second[o] + 0.5) / (first[o] + 0.5)) for o in {*first, *second}}
    return np.array([rank.get(o, 0.0) for o in here]), np.array(
        [rank.get(o, 0.0) for o in there]
    )


# The exact laws


def log_mass(law: Law, scale: Fraction, k: NDArray[np.int64]) -> Floats:
    """log P(noise = k), up to a constant that likelihood ratios lose."""
    s, k = float(scale), np.abs(np.asarray(k, np.float64))
    match law:
        case Law.DISCRETE_LAPLACE:
            return -k / s
        case Law.DISCRETE_GAUSSIAN:
            return -k * k / (2 * s * s)
        case Law.ROUNDED_GAUSSIAN:
            low, high = (
                special.log_ndtr(-(k - 0.5) / s),
                special.log_ndtr(-(k + 0.5) / s),
            )
            return low + np.log(-np.expm1(high - low))


def likelihood_ratio(
    values: NDArray[np.int64],
    here: NDArray[np.int64],
    there: NDArray[np.int64],
    law: Law,
    scale: Fraction,
) -> Floats:
    """log P(values | there) - log P(values | here) of noisy vectors, one for each along
    the first axis: the best statistic there is.
    """
    values = np.asarray(values)
    ratio = log_mass(law, scale, values - there) - log_mass(law, scale, values - here)
    return ratio.reshape(len(values), -1).sum(axis=1)


def goodness(noise: NDArray[np.int64], law: Law, scale: Fraction) -> float:
    """p-value of the chi-square test that noise follows its stated law."""
    noise = np.asarray(noise).ravel()
    reach = max(2, int(np.ceil(8 * noise_deviation(law, scale))))
    support = np.arange(-reach, reach + 1)
    mass = np.exp(log_mass(law, scale, support))
    mass /= mass.sum()
    # Neighbouring values are pooled until each bin expects 25 draws or more.
    edges, held = [], 0.0
    for k, p in zip(support, mass, strict=True):
        held += p * len(noise)
        if held >= 25:
            edges.append(k)
            held = 0.0
    bins = np.searchsorted(np.array(edges[:-1]), noise, side="left")
    expected = np.bincount(
        np.searchsorted(np.array(edges[:-1]), support, side="left"),
        weights=mass,
        minlength=len(edges),
    )
    seen = np.bincount(bins, minlength=len(edges))
    return float(stats.chisquare(seen, expected * len(noise)).pvalue)


@dataclass(frozen=True)
class Recomputed:
    """The loss that noise of the observed spread would cause: an interval with error
    ALPHA, and the claim.
    """

    low: float
    high: float
    claim: float

    @property
    def violated(self) -> bool:
        """Whether less noise was added than is claimed."""
        return self.low > self.claim

    @property
    def wasted(self) -> bool:
        """Whether more noise was added than was paid for."""
        return self.high < self.claim


def recomputed(
    noise: NDArray[np.int64],
    law: Law,
    *,
    l1: float,
    l2: float,
    cost: Cost,
    alpha: float = ALPHA,
) -> Recomputed:
    """ε, μ or ρ recomputed from returned minus exact counts. Both ends hold for any
    number of cells, each with error alpha / 2.

    Too little noise: squares are not negative, so their mean falls t below its
    expectation with probability at most exp(−n t² / (2 E[x⁴])) (Maurer, "A bound on the
    deviation probability for sums of non-negative random variables", 2003). Too much:
    Chernoff's bound, of squares under a Gaussian law and of sizes under Laplace's,
    whose squares have no exponential moments. The ends are the scales at which the
    noise would just not be too little, and just not be too much.
    """
    noise = np.abs(np.asarray(noise, np.float64).ravel())
    claim = (
        sqrt(cost.amount) if cost.accounting is Accounting.GDP else float(cost.amount)
    )
    ends = (
        _end(noise, law, alpha / 2, at_least)
        for at_least in (_is_too_little, _is_just_enough)
    )
    losses = [_loss(scale, law, l1, l2, cost.accounting) for scale in ends]
    return Recomputed(losses[0], losses[1], claim)


FAR = 1e6
"""Scale beyond which noise is taken for boundless."""

SMOOTH = 30
"""Scale from which Gaussian noise on integers has the moments of Gaussian noise, but
for the twelfth that rounding adds.
"""

TILTS = np.logspace(-4, np.log10(0.5), 40)
"""How far Chernoff's bound tilts a law, as parts of what its tail allows."""

Verdict = Callable[[Floats, Law, float, float], bool]


def _end(noise: Floats, law: Law, alpha: float, beyond: Verdict) -> float:
    """The scale at which a verdict turns from no to yes: for too little noise, and for
    noise that is not too much.
    """
    low, high = 0.05, 0.1
    while high < FAR and not beyond(noise, law, high, alpha):
        low, high = high, 2 * high
    if high >= FAR:
        return inf
    for _ in range(24):  # to a part in ten million, on the side that raises no alarm
        middle = (low + high) / 2
        low, high = (
            (low, middle) if beyond(noise, law, middle, alpha) else (middle, high)
        )
    return high if beyond is _is_too_little else low


def _masses(law: Law, scale: float) -> tuple[Floats, Floats]:
    """Sizes of noise and the logarithms of their probabilities."""
    k = np.arange(0, int(12 * scale) + 13, dtype=np.float64)
    logs = log_mass(law, Fraction(scale), k.astype(np.int64))
    logs[1:] += np.log(2)
    return k, logs - special.logsumexp(logs)


@lru_cache(maxsize=4096)  # the search for an end begins with the same scales every time
def _moments(law: Law, scale: float) -> tuple[float, float]:
    """The mean square of noise, and the mean of its fourth power."""
    if law is Law.DISCRETE_LAPLACE:
        q = np.exp(-1 / scale)
        second = 2 * q / (1 - q) ** 2
        return second, second * (1 + 10 * q + q * q) / (1 - q) ** 2
    if scale > SMOOTH:
        return scale**2 + (
            1 / 12 if law is Law.ROUNDED_GAUSSIAN else 0
        ), 3 * scale**4 + scale**2
    k, mass = _masses(law, scale)
    return float(np.exp(mass) @ k**2), float(np.exp(mass) @ k**4)


def _is_too_little(noise: Floats, law: Law, scale: float, alpha: float) -> bool:
    second, fourth = _moments(law, scale)
    slack = sqrt(-2 * np.log(alpha) * fourth / len(noise))
    return float((noise**2).mean()) < second - slack


@lru_cache(maxsize=4096)
def _tilted(law: Law, scale: float) -> tuple[Floats, Floats]:
    """How far a law is tilted, and the logarithms of its mass then."""
    if law is Law.DISCRETE_LAPLACE:
        q = np.exp(-1 / scale)
        grown = np.exp(
            (TILTS - 1) / scale
        )  # q · exp(tilt), which on its own overflows where the scale is small
        return TILTS / scale, np.log((1 - q) / (1 + q) * (1 + grown) / (1 - grown))
    tilt = TILTS / (2 * scale**2)
    if (
        scale > SMOOTH
    ):  # rounding adds a twelfth to the variance, a sixth of it where the law is tilted most
        return tilt, -np.log1p(-TILTS) / 2 + tilt / 4
    k, mass = _masses(law, scale)
    return tilt, special.logsumexp(np.outer(tilt, k**2) + mass, axis=1)


def _is_just_enough(noise: Floats, law: Law, scale: float, alpha: float) -> bool:
    tilt, logs = _tilted(law, scale)
    size = (
        float(noise.mean()) if law is Law.DISCRETE_LAPLACE else float((noise**2).mean())
    )
    return float((logs - tilt * size).min()) * len(noise) > np.log(alpha)


def _loss(
    scale: float, law: Law, l1: float, l2: float, accounting: Accounting
) -> float:
    if scale in (0, inf):
        return inf if scale == 0 else 0.0
    if accounting is Accounting.PURE:
        return l1 / scale
    return l2 / scale if accounting is Accounting.GDP else l2 * l2 / (2 * scale * scale)


def alike(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """p-value of no correlation between two lists of noise that should be independent."""
    a, b = np.asarray(first, np.float64).ravel(), np.asarray(second, np.float64).ravel()
    if a.std() == 0 or b.std() == 0:
        return 0.0
    return float(stats.pearsonr(a, b).pvalue)
