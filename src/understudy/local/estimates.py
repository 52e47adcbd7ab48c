"""Estimates from reports, with intervals that cover.

The number of reports that support a value is binomial (or, for a fixed group of
respondents, a sum of Bernoulli variables, whose tails are lighter: Hoeffding 1956). So
the Clopper-Pearson interval of the supporting share covers at any sample size, and a
linear map makes it one for the share of the value.

Raw estimates are unbiased and can be negative; they are the ones to analyse. `norm_sub`
makes a distribution of them for display, and biases large shares downwards: Wang,
Lopuhaä-Zwakenberg, Li, Skoric, Li, "Locally differentially private frequency estimation
with consistency", 2020.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from understudy.errors import Refused
from understudy.local.support import SupportProbabilities

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class FrequencyTable:
    """Shares of values with confidence intervals.

    `shares` are raw: unbiased, possibly below zero, the ones to analyse. `is_whole` says
    that everybody has one of the values: candidates of an open vocabulary leave others.
    """

    values: tuple[str, ...]
    shares: Floats
    low: Floats
    high: Floats
    level: float
    reports: int
    is_whole: bool = False

    def display_shares(self) -> Floats:
        """The nearest shares that could be (Norm-Sub), for display only: they are
        biased. They add up to 1, or to less where the values are not all there are.
        """
        above = np.maximum(self.shares, 0.0)
        return norm_sub(self.shares) if self.is_whole or above.sum() > 1 else above

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        shown = self.display_shares()
        return {
            "level": self.level,
            "reports": self.reports,
            "values": [
                {
                    "value": value,
                    "share": float(self.shares[i]),
                    "low": float(self.low[i]),
                    "high": float(self.high[i]),
                    "display_share": float(shown[i]),
                }
                for i, value in enumerate(self.values)
            ],
        }


@dataclass(frozen=True)
class MeanEstimate:
    """The mean of a number with a confidence interval."""

    mean: float
    low: float
    high: float
    level: float
    reports: int

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "mean": self.mean,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "reports": self.reports,
        }


def binomial_interval(
    hits: NDArray[np.int64], trials: int, level: float
) -> tuple[Floats, Floats]:
    """Clopper-Pearson interval of probabilities.

    >>> low, high = binomial_interval(np.array([0, 10]), 10, 0.95)
    >>> low.round(3).tolist(), high.round(3).tolist()
    ([0.0, 0.692], [0.308, 1.0])
    """
    tail = (1 - level) / 2
    hit = np.asarray(hits, dtype=np.float64)
    # The beta quantile is undefined where a parameter is zero: the end is known there.
    lower = special.betaincinv(np.maximum(hit, 1), trials - hit + 1, tail)
    upper = special.betainccinv(hit + 1, np.maximum(trials - hit, 1), tail)
    return np.where(hit == 0, 0.0, lower), np.where(hit == trials, 1.0, upper)


def estimate_shares(
    values: tuple[str, ...],
    supporting: NDArray[np.int64],
    reports: int,
    support: SupportProbabilities,
    level: float,
    *,
    is_whole: bool = False,
) -> FrequencyTable:
    """Shares of values from how many reports support each."""
    check_reports(reports)
    q, gap = float(support.q), support.gap
    low, high = binomial_interval(supporting, reports, level)
    return FrequencyTable(
        values=values,
        shares=(supporting / reports - q) / gap,
        low=(low - q) / gap,
        high=(high - q) / gap,
        level=level,
        reports=reports,
        is_whole=is_whole,
    )


def check_reports(reports: int) -> None:
    """Refuse to estimate from nothing."""
    if reports == 0:
        raise Refused(
            "no valid report has arrived yet, so there is nothing to estimate"
        )


def check_level(level: float) -> None:
    """Refuse what is no confidence level."""
    if not 0 < level < 1:
        raise Refused("a confidence level lies between 0 and 1, such as 0.95")


def norm_sub(shares: Floats) -> Floats:
    """The nearest distribution: what is left of each share above one threshold.

    >>> norm_sub(np.array([0.6, 0.6, -0.3])).tolist()
    [0.5, 0.5, 0.0]
    """
    # The largest shares stay; the threshold that makes them sum to one is found by
    # trying each number of them.
    ordered = np.sort(shares)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(shares) + 1)
    kept = np.flatnonzero(ordered > excess)
    threshold = excess[kept[-1]] if len(kept) else excess[0]
    return np.asarray(np.maximum(shares - threshold, 0.0))
