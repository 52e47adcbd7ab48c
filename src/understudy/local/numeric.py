"""Means and distributions of bounded numbers.

  duchi        one bit: Duchi, Jordan, Wainwright, "Minimax optimal procedures for
               locally private estimation", 2018
  piecewise    a cell near the number: Wang et al., "Collecting and analyzing
               multidimensional data with local differential privacy", 2019
  square_wave  the same on levels, decoded by expectation maximisation with smoothing:
               Li et al., "Estimating numerical distributions under local differential
               privacy", 2020

All three are discrete here, so that probabilities are exact fractions. A reported cell
is linear in the number on average, and its mean is decoded without bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt

import numpy as np
from scipy import special

from understudy.local.counting import Counts
from understudy.local.estimates import (
    Floats,
    MeanEstimate,
    binomial_interval,
    check_reports,
)
from understudy.local.reports import Integers
from understudy_client import CollectionPlan

MAX_EM_STEPS = 10_000
"""Steps of expectation maximisation; those measured needed a few hundred."""

MIN_OUTSIDE_REPORTS = 25
"""Expected reports outside of their windows below which the mean report is too skew to
count as normal.
"""

CHERNOFF_RATES = np.geomspace(1e-3, 1e3, 300)
"""λ times the number of cells that Chernoff's bound is tried at: any of them holds."""

MIN_LIKELIHOOD_GAIN = 1e-3
"""A step that raises the log-likelihood by less ends the iteration, as in the paper."""


@dataclass(frozen=True)
class NumericDistribution:
    """A distribution on equal intervals, for display, and the mean with its interval.

    The shares are smooth and near the maximum of the likelihood. They are biased and
    have no interval; the mean is unbiased up to half the width of a level.
    """

    edges: Floats
    shares: Floats
    mean: MeanEstimate

    def quantile(self, part: float) -> float:
        """The number below which this part of the distribution lies."""
        cumulative = np.concatenate([[0.0], np.cumsum(self.shares)])
        return float(np.interp(part, cumulative, self.edges))

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "edges": self.edges.tolist(),
            "display_shares": self.shares.tolist(),
            "mean": self.mean.to_dict(),
        }


@dataclass(frozen=True)
class WindowLaw:
    """The law of a reported cell: those of a window are likelier, the others equal."""

    window: int
    cells: int
    ratio: float

    @property
    def inside(self) -> float:
        """That a report lies in the window."""
        weight = self.ratio * self.window
        return weight / (weight + self.cells - self.window)

    @property
    def slope(self) -> float:
        """By how much the mean report moves with the window's first cell."""
        return self.inside - (1 - self.inside) * self.window / self.outside

    @property
    def intercept(self) -> float:
        """The mean report of the window that begins at zero."""
        in_window = (self.window - 1) / 2
        beyond = (self.cells + self.window - 1) / 2
        return self.inside * in_window + (1 - self.inside) * beyond

    @property
    def outside(self) -> int:
        """Cells outside a window, and the number of the last window."""
        return self.cells - self.window

    @property
    def near(self) -> float:
        """Probability of a cell inside the window."""
        return self.inside / self.window

    @property
    def far(self) -> float:
        """Probability of a cell outside: near / far is the plan's ratio, and no quotient
        is larger.
        """
        return (1 - self.inside) / self.outside

    def columns(self, firsts: Integers) -> Floats:
        """Probabilities of cells (rows) for some windows (columns)."""
        cell = np.arange(self.cells)[:, None]
        within = (cell >= firsts) & (cell < firsts + self.window)
        return np.where(within, self.near, self.far)

    def matrix(self) -> Floats:
        """Probabilities of cells for all windows."""
        return self.columns(np.arange(self.outside + 1))


def window_law(plan: CollectionPlan) -> WindowLaw:
    """The law of the cells of a plan with `piecewise` or `square_wave`."""
    if plan.mechanism == "piecewise":
        window, outside = plan.sizes["window"], plan.sizes["outside"]
    else:
        window, outside = 2 * plan.sizes["reach"] + 1, plan.sizes["levels"] - 1
    return WindowLaw(window, window + outside, float(plan.ratio))


def estimate_mean(plan: CollectionPlan, counts: Counts, level: float) -> MeanEstimate:
    """The mean of the numbers behind the reports."""
    reports = int(counts.sum())
    check_reports(reports)
    if plan.mechanism == "duchi":
        low, high = binomial_interval(counts[1:], reports, level)
        # Decoding is linear and rising, so the ends of the interval are decoded like
        # the mean.
        places = np.array([counts[1] / reports, low[0], high[0]])
        least = float(1 / (plan.ratio + 1))
        return _place_mean(plan, (places - least) / (1 - 2 * least), level, reports)
    law = window_law(plan)
    cells = np.arange(law.cells)
    middle = float(counts @ cells) / reports
    first = (middle - law.intercept) / law.slope
    if reports * (1 - law.inside) < MIN_OUTSIDE_REPORTS:
        lower, upper = bound_windows(law, middle, reports, level)
        firsts = np.array([first, min(lower, first), max(upper, first)])
    else:
        # The observed variance, which holds whatever the numbers are.
        variance = float(counts @ (cells - middle) ** 2) / (reports - 1)
        reach = special.ndtri((1 + level) / 2) * sqrt(variance / reports) / law.slope
        firsts = np.array([first, first - reach, first + reach])
    return _place_mean(plan, _scale_windows(plan, law, firsts), level, reports)


def bound_windows(
    law: WindowLaw, middle: float, reports: int, level: float
) -> tuple[float, float]:
    """An interval of the mean window that covers whatever the numbers are and however
    few there are, from the mean of the reported cells.

    Chernoff: for every λ > 0, P(mean report ≥ m) ≤ (E exp(λ·report) / e^(λm))^n. The
    expectation is convex in the window, so that of all numbers with this mean it is
    largest where each of them is one of the bounds; then it is linear in the mean.
    """
    doubt = np.log((1 - level) / 2) / reports
    low = _bound_from_below(law, middle, doubt)
    high = _bound_from_below(law, law.cells - 1 - middle, doubt)
    return low, law.outside - high


def _bound_from_below(law: WindowLaw, middle: float, doubt: float) -> float:
    """The mean windows below it make so large a mean report unlikely."""
    rate = CHERNOFF_RATES / law.cells
    # Everything in units of exp(λ·cells), the weight of the last cell.
    all_cells = np.expm1(-CHERNOFF_RATES) / np.expm1(-rate)
    in_window = np.expm1(-rate * law.window) / np.expm1(-rate)
    # Of the first window, beside the last one.
    first = np.exp(-rate * law.outside)
    seen = np.exp(rate * (middle - law.cells + 1) + doubt)
    tilted = (seen - law.far * all_cells) / ((law.near - law.far) * in_window)
    return law.outside * float(np.max((tilted - first) / (1 - first)))


def _scale_windows(plan: CollectionPlan, law: WindowLaw, firsts: Floats) -> Floats:
    """Places between the bounds, from 0 to 1, of (fractional) windows."""
    if plan.mechanism == "piecewise":
        return firsts / law.outside
    # A level stands for its middle.
    return (firsts + 0.5) / plan.sizes["levels"]


def _place_mean(
    plan: CollectionPlan, places: Floats, level: float, reports: int
) -> MeanEstimate:
    assert plan.bounds is not None
    low, high = (float(end) for end in plan.bounds)
    mean, lower, upper = (low + (high - low) * places).tolist()
    return MeanEstimate(mean, lower, upper, level, reports)


def mean_variance(plan: CollectionPlan, place: float) -> float:
    """Variance of what one report says about a number at this place between the bounds
    (0 to 1), in units of their distance.
    """
    if plan.mechanism == "duchi":
        least = float(1 / (plan.ratio + 1))
        bit = least + place * (1 - 2 * least)
        return bit * (1 - bit) / (1 - 2 * least) ** 2
    law = window_law(plan)
    start, rest = divmod(place * law.outside, 1)
    first = int(min(start, law.outside))
    # A place between two windows is rounded to one of them at random.
    pair = law.columns(np.array([first, min(first + 1, law.outside)]))
    mixed = pair @ [1 - rest, rest]
    cells = np.arange(law.cells)
    middle = float(mixed @ cells)
    spread = float(mixed @ (cells - middle) ** 2)
    return spread / (law.slope * law.outside) ** 2


def square_wave_reach(epsilon: float, levels: int) -> int:
    """Cells on each side of a level that are likelier: the width that maximises the
    information between number and report.

    >>> square_wave_reach(1.0, 64)
    16
    """
    growth = exp(epsilon)
    above = epsilon * growth - growth + 1
    return max(1, round(levels * above / (2 * growth * (growth - 1 - epsilon))))


def estimate_distribution(
    plan: CollectionPlan, counts: Counts, level: float
) -> NumericDistribution:
    """The distribution behind the reports of `square_wave`, and its mean."""
    mean = estimate_mean(plan, counts, level)
    assert plan.bounds is not None
    low, high = (float(end) for end in plan.bounds)
    shares = maximise_likelihood(window_law(plan).matrix(), counts)
    return NumericDistribution(np.linspace(low, high, len(shares) + 1), shares, mean)


def maximise_likelihood(matrix: Floats, counts: Counts) -> Floats:
    """Shares that make the counts of reports likely, smoothed in every step."""
    levels = matrix.shape[1]
    shares = np.full(levels, 1 / levels)
    before = -np.inf
    for _ in range(MAX_EM_STEPS):
        expected = matrix @ shares
        likelihood = float(counts @ np.log(expected))
        if likelihood - before < MIN_LIKELIHOOD_GAIN:
            break
        before = likelihood
        moved = shares * (matrix.T @ (counts / expected))
        # Without smoothing, the likelihood is highest for spikes that fit the noise.
        shares = _smooth_neighbours(moved / moved.sum())
    return shares


def _smooth_neighbours(shares: Floats) -> Floats:
    """Each share averaged with its neighbours, with weights ¼, ½, ¼; ends with one."""
    padded = np.concatenate([shares[:1], shares, shares[-1:]])
    smooth = (padded[:-2] + 2 * padded[1:-1] + padded[2:]) / 4
    return np.asarray(smooth / smooth.sum())
