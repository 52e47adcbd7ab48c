"""Combining rules: one estimate and interval out of M copies of a table.

Each copy gives an estimate q and the variance v that it would have if the copy were the
sample. With q̄ and v̄ their means and b the variance of the q between copies, what the
variance T of q̄ is depends on how the copies were made, and on nothing else:

| copies | T | degrees of freedom |
|---|---|---|
| partial: some columns replaced | b/M + v̄ | (M−1)(1 + v̄/(b/M))² |
| full: every cell drawn from a model | v̄·k/n·(1 + n/(kM)), drawn parameters (n/k + 1) | ∞ |
| full, from the variance between copies | (1 + 1/M)b − v̄ | (M−1)(1 − v̄/((1+1/M)b))² |
| imputed: missing cells filled in | (1 + 1/M)b + v̄ | (M−1)(1 + v̄/((1+1/M)b))² |
| nested: imputed m times, each masked r times | (1 + 1/m)B − b̄/r + v̄ | by Satterthwaite |

Partial and nested: Reiter 2003, 2004. Full: Raab, Nowok, Dibben, "Practical data
synthesis for large samples", 2017, which holds for a single copy too; from the variance
between copies: Raghunathan, Reiter, Rubin 2003, whose T is often negative below twenty
copies. Imputed: Rubin 1987. Tests of several coefficients: Reiter 2005; Li,
Raghunathan, Rubin 1991.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from understudy.errors import Refused
from understudy.text import format_count

MIN_BETWEEN_COPIES = 20
"""Copies from which the rule of Raghunathan, Reiter and Rubin is used: with 5 its
variance is negative once in five times, with 20 once in thirty.
"""

MAX_T_DEGREES = 1e6
"""Degrees of freedom beyond which t is the normal distribution to six digits."""


class CopyKind(StrEnum):
    """How the copies of a table were made."""

    PARTIAL = "partial"
    FULL = "full"
    FULL_BETWEEN = "full-between"
    NESTED = "nested"
    IMPUTED = "imputed"


@dataclass(frozen=True, kw_only=True)
class CombiningRule:
    """How copies were made, as far as their combination depends on it.

    `proper`: the parameters of the model were drawn anew for each copy. `rows_ratio` is
    rows of a copy over rows of the original, k/n. `nest` is the number of masked copies
    of each imputation, which follow one another.

    >>> CombiningRule(kind=CopyKind.PARTIAL).check_copies(5)
    """

    kind: CopyKind
    proper: bool = True
    rows_ratio: float = 1.0
    nest: int = 1

    def check_copies(self, copies: int) -> None:
        """Refuse a number of copies that the rule cannot combine."""
        least = 1 if self.kind is CopyKind.FULL else 2
        if copies < least:
            raise Refused(
                f"combine: a {self.kind} set needs at least"
                f" {format_count(least, 'copy', 'copies')}: the variance between them"
                " is part of the answer"
            )
        if self.kind is CopyKind.FULL_BETWEEN and copies < MIN_BETWEEN_COPIES:
            raise Refused(
                "combine: the variance between copies gives negative variances below"
                f' {MIN_BETWEEN_COPIES} copies. Use kind="full"'
            )
        nests, rest = divmod(copies, self.nest)
        is_nested = self.kind is CopyKind.NESTED
        if is_nested and (rest or nests < 2 or self.nest < 2):
            raise Refused(
                "combine: nested copies are at least two imputations with at least two"
                " masked copies each: give their number as `nest`"
            )


@dataclass(frozen=True, eq=False)
class CombinedEstimate:
    """Estimates with their variances and degrees of freedom, one for each coefficient."""

    estimate: NDArray[np.float64]
    variance: NDArray[np.float64]
    degrees: NDArray[np.float64]
    between: NDArray[np.float64]
    within: NDArray[np.float64]
    copies: int
    rule: CombiningRule

    @property
    def error(self) -> NDArray[np.float64]:
        """Standard errors."""
        return np.sqrt(self.variance)

    def interval(
        self, level: float = 0.95
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both ends of the intervals at this level."""
        width = self._quantile((1 + level) / 2) * self.error
        return self.estimate - width, self.estimate + width

    def p_values(self) -> NDArray[np.float64]:
        """Two-sided, of the hypothesis that a coefficient is 0."""
        # A variance of 0 (every copy says the same without error) leaves no doubt.
        ratio = np.divide(
            np.abs(self.estimate),
            self.error,
            out=np.full_like(self.estimate, np.inf),
            where=self.error > 0,
        )
        return np.asarray(2 * stats.t.sf(ratio, self._capped_degrees()))

    def _quantile(self, probability: float) -> NDArray[np.float64]:
        return np.asarray(stats.t.ppf(probability, self._capped_degrees()))

    def _capped_degrees(self) -> NDArray[np.float64]:
        return np.minimum(self.degrees, MAX_T_DEGREES)


def combine_estimates(
    estimates: NDArray[np.float64], variances: NDArray[np.float64], rule: CombiningRule
) -> CombinedEstimate:
    """Estimates and variances, one row a copy, as the rule combines them.

    >>> q, v = np.array([[1.0], [1.6], [0.5]]), np.array([[0.04], [0.05], [0.045]])
    >>> both = combine_estimates(q, v, CombiningRule(kind=CopyKind.PARTIAL))
    >>> both.variance.round(6).tolist(), both.degrees.round(6).tolist()
    ([0.146111], [4.176368])
    """
    copies = len(estimates)
    rule.check_copies(copies)
    within = variances.mean(axis=0)
    if rule.kind is CopyKind.NESTED:
        total, degrees, between = _combine_nested(estimates, within, rule)
    else:
        between = _variance_between(estimates)
        total, degrees = _combine_flat(between, within, copies, rule)
    return CombinedEstimate(
        estimate=estimates.mean(axis=0),
        variance=total,
        degrees=degrees,
        between=between,
        within=within,
        copies=copies,
        rule=rule,
    )


def _variance_between(estimates: NDArray[np.float64]) -> NDArray[np.float64]:
    if len(estimates) == 1:
        return np.zeros_like(estimates[0])
    variance: NDArray[np.float64] = estimates.var(axis=0, ddof=1)
    return variance


def _combine_flat(
    between: NDArray[np.float64],
    within: NDArray[np.float64],
    copies: int,
    rule: CombiningRule,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variance and degrees of freedom where no imputation is nested."""
    if rule.kind is CopyKind.FULL:
        factor = full_variance_factor(copies, rule)
        return within * factor, np.full_like(within, np.inf)
    if rule.kind is CopyKind.PARTIAL:
        spread = between / copies
        return spread + within, _satterthwaite_degrees(within, spread, copies)
    spread = (1 + 1 / copies) * between
    if rule.kind is CopyKind.IMPUTED:
        return spread + within, _satterthwaite_degrees(within, spread, copies)
    total = spread - within
    # Where the difference is negative, its conservative replacement is v̄ (k = n).
    is_negative = total <= 0
    degrees = _satterthwaite_degrees(-within, spread, copies)
    return (
        np.where(is_negative, rule.rows_ratio * within, total),
        np.where(is_negative, np.inf, degrees),
    )


def full_variance_factor(copies: int, rule: CombiningRule) -> float:
    """What the variance of an average copy is multiplied by where every cell is drawn.

    >>> full_variance_factor(5, CombiningRule(kind=CopyKind.FULL))
    1.4
    """
    ratio = rule.rows_ratio
    # Drawing the parameters adds their own variance once more.
    added = 1 / ratio + 1 if rule.proper else 1 / ratio
    return ratio * (1 + added / copies)


def _satterthwaite_degrees(
    within: NDArray[np.float64], spread: NDArray[np.float64], copies: int
) -> NDArray[np.float64]:
    # Copies that agree wholly (b = 0) leave v̄ alone, which is normal.
    ratio = np.divide(
        within, spread, out=np.full_like(within, np.inf), where=spread > 0
    )
    degrees: NDArray[np.float64] = (copies - 1) * (1 + ratio) ** 2
    return degrees


def _combine_nested(
    estimates: NDArray[np.float64], within: NDArray[np.float64], rule: CombiningRule
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Variance, degrees of freedom and variance between imputations."""
    masked = rule.nest
    imputed = len(estimates) // masked
    nests = estimates.reshape(imputed, masked, -1)
    between = nests.mean(axis=1).var(axis=0, ddof=1)
    inside = nests.var(axis=1, ddof=1).mean(axis=0)
    spread = (1 + 1 / imputed) * between
    total = spread - inside / masked + within
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = (spread / total) ** 2 / (imputed - 1)
        inverse += (inside / masked / total) ** 2 / (imputed * (masked - 1))
        degrees = 1 / inverse
    is_negative = total <= 0
    # Leaving the masking's part out is conservative.
    fallback = spread + within
    return (
        np.where(is_negative, fallback, total),
        np.where(is_negative, _satterthwaite_degrees(within, spread, imputed), degrees),
        between,
    )


@dataclass(frozen=True)
class JointTest:
    """The test of the hypothesis that several coefficients are all 0."""

    statistic: float
    coefficients: int
    degrees: float
    p_value: float


def check_all_zero(
    estimates: NDArray[np.float64],
    covariances: NDArray[np.float64],
    rule: CombiningRule,
) -> JointTest:
    """Whether coefficients are all 0: their estimates, one row a copy, and their
    covariance matrices.

    Nested copies and the rule of the variance between copies have no such test here.
    """
    copies, k = estimates.shape
    rule.check_copies(copies)
    mean, within = estimates.mean(axis=0), covariances.mean(axis=0)
    solved = np.linalg.solve(within, mean)
    if rule.kind is CopyKind.FULL:
        chi_squared = float(mean @ solved) / full_variance_factor(copies, rule)
        p_value = float(stats.chi2.sf(chi_squared, k))
        return JointTest(chi_squared / k, k, np.inf, p_value)
    if rule.kind not in (CopyKind.PARTIAL, CopyKind.IMPUTED):
        raise Refused(
            f"combine: several coefficients of {rule.kind} copies cannot be tested"
            " together; their intervals can be read one by one"
        )
    between = np.atleast_2d(np.cov(estimates, rowvar=False))
    share = 1 / copies if rule.kind is CopyKind.PARTIAL else 1 + 1 / copies
    r = share * float(np.trace(np.linalg.solve(within, between))) / k
    statistic = float(mean @ solved) / (k * (1 + r))
    degrees = _joint_degrees(k, copies, r)
    return JointTest(statistic, k, degrees, float(stats.f.sf(statistic, k, degrees)))


def _joint_degrees(k: int, copies: int, r: float) -> float:
    """Denominator degrees of freedom of the F test."""
    if r == 0:
        return MAX_T_DEGREES
    t = k * (copies - 1)
    # The usual approximation needs t > 4; below, the one of Rubin's book is used.
    if t > 4:
        degrees = 4 + (t - 4) * (1 + (1 - 2 / t) / r) ** 2
    else:
        degrees = t * (1 + 1 / k) * (1 + 1 / r) ** 2 / 2
    return min(degrees, MAX_T_DEGREES)
