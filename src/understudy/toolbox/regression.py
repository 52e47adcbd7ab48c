"""Least squares from noisy moments, with intervals that count the noise.

Sufficient statistics perturbation (Vu, Slavković 2009; Wang, "Revisiting differentially
private linear regression", 2018). With M = Z'Z + E, A the block of M of the predictors
and b its column of the response, the estimate is β = A⁻¹b. To first order in the noise

    β − β* = A⁻¹(e_b − E_A·β) + sampling error,

so the noise adds A⁻¹VA⁻¹ to the covariance, V that of e_b − E_A·β. Entries of E are
independent unless they are one sum: E_jk and E_kj, and for an indicator j, its own
square, E_jj and E_1j with the constant. Sampling adds
σ²A⁻¹, with σ² = (M_yy − β'b)/(n − p): constant residual variance, because its alternative
needs fourth moments.

The first order holds while E is small beside A. Where the noise may turn A singular,
no interval from it would hold: the intervals are then the whole line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.accounting.cost import Cost
from understudy.errors import Refused
from understudy.queries.noise_intervals import NoiseScale
from understudy.text import align_columns
from understudy.toolbox.moments import MomentPlan

MAX_RELATIVE_NOISE = 1 / 3
"""Largest norm of the noise beside the smallest eigenvalue of A up to which first order
is used: intervals cover up to there (benchmarks/toolbox.py).
"""

_REGRESSION_POPULATIONS = ("sample", "census")

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class RegressionEstimate:
    """Coefficients of least squares, with a covariance of noise and sampling."""

    formula: str
    names: tuple[str, ...]
    estimates: Floats
    covariance: Floats
    rows: float
    """The noisy number of rows that have all values."""
    deviation: float
    """Standard deviation of the residuals."""
    population: str
    level: float
    is_determined: bool
    """Whether the noise left enough of the predictors' moments to say anything."""
    sampling_error: Floats
    """Standard errors of sampling alone, as if there were no noise."""
    cost: Cost | None = None

    @property
    def error(self) -> Floats:
        """Standard errors."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self) -> tuple[Floats, Floats]:
        """Both ends of the intervals."""
        width = float(ndtri((1 + self.level) / 2)) * self.error
        return self.estimates - width, self.estimates + width

    def to_dict(self) -> dict[str, object]:
        """It for a program."""
        low, high = self.interval()
        keys = ("name", "estimate", "low", "high")
        rows = zip(
            self.names,
            self.estimates.tolist(),
            low.tolist(),
            high.tolist(),
            strict=True,
        )
        return {
            "formula": self.formula,
            "population": self.population,
            "level": self.level,
            "rows": self.rows,
            "residual_deviation": self.deviation,
            "is_determined": self.is_determined,
            "coefficients": [dict(zip(keys, row, strict=True)) for row in rows],
        }

    def to_frame(self) -> Any:
        """A pandas frame with one row a coefficient."""
        import pandas

        low, high = self.interval()
        columns = {
            "estimate": self.estimates,
            "std_error": self.error,
            "low": low,
            "high": high,
        }
        return pandas.DataFrame(columns, index=list(self.names))

    def lines(self) -> list[str]:
        """It in words."""
        low, high = self.interval()
        head = ["", "estimate", f"{self.level:.0%} interval"]
        rows = [
            [name, f"{value:.4g}", f"{a:.4g} to {b:.4g}"]
            for name, value, a, b in zip(
                self.names, self.estimates, low, high, strict=True
            )
        ]
        what = "sampling and noise" if self.population == "sample" else "noise"
        notes = [f"{self.formula}: intervals that count {what}."]
        if not self.is_determined:
            notes.append(
                "The noise is too large beside the predictors' moments: ask with a"
                " larger ε, or with fewer terms. What was measured is stored."
            )
        return [*align_columns([head, *rows], right=[1]), *notes]

    def __str__(self) -> str:
        return "\n".join(self.lines())

    __repr__ = __str__


def check_regression_options(population: str, level: float) -> None:
    """Refuse, before anything is spent, what `fit_moments` could not use."""
    if population not in _REGRESSION_POPULATIONS:
        raise Refused(
            "A population is `sample` (the rows are some of it) or `census` (all of it)."
            " Nothing was spent"
        )
    if not 0 < level < 1:
        raise Refused("A level lies between 0 and 1, such as 0.95. Nothing was spent")


def fit_moments(
    plan: MomentPlan,
    sums: Sequence[float],
    noises: Sequence[NoiseScale],
    *,
    population: str = "sample",
    level: float = 0.95,
    sampling_factor: float = 1.0,
    cost: Cost | None = None,
) -> RegressionEstimate:
    """Coefficients from measured sums, one for each statistic of the plan. Sampling
    counts `sampling_factor` times, where units of several rows were sampled.
    """
    moments = plan.fill(sums)
    # A rounded normal number has 1/12 more variance than the normal one.
    spreads = [each.deviation**2 + each.rounding / 6 for each in noises]
    variances = plan.fill_variances(spreads)
    terms = len(plan.terms) - 1
    inner = moments[:terms, :terms]
    is_determined = _is_determined(inner, variances[:terms, :terms])
    rows = max(float(moments[0, 0]), 1.0)
    if not is_determined:
        return _give_up(plan, rows, population, level, cost)
    inverse = np.linalg.inv(inner)
    beta = inverse @ moments[:terms, -1]
    residual = max(float(moments[-1, -1] - beta @ moments[:terms, -1]), 0.0)
    variance = residual / max(rows - terms, 1.0)
    covariance = inverse @ _noise_of_scores(plan, beta, spreads) @ inverse
    of_sampling: Floats = np.asarray(variance * inverse, np.float64)
    _, sampling = _to_values(plan, beta, of_sampling)
    if population == "sample":
        covariance = covariance + sampling_factor * of_sampling
    estimates, covariance = _to_values(plan, beta, covariance)
    return RegressionEstimate(
        formula=str(plan.plan.query),
        names=tuple(term.name for term in plan.terms[:-1]),
        estimates=estimates,
        covariance=covariance,
        rows=rows,
        deviation=float(np.sqrt(variance)) * plan.terms[-1].width,
        population=population,
        level=level,
        is_determined=True,
        sampling_error=np.sqrt(np.diag(sampling)),
        cost=cost,
    )


def _is_determined(inner: Floats, variances: Floats) -> bool:
    """Whether the noise is small beside every direction of the predictors' moments."""
    smallest = float(np.linalg.eigvalsh(inner)[0])
    # A symmetric matrix of independent noise has a norm of about 2·σ·√size.
    norm = 2 * float(np.sqrt(variances.max(initial=0.0) * len(inner)))
    return smallest > 0 and norm <= MAX_RELATIVE_NOISE * smallest


def _noise_of_scores(
    plan: MomentPlan, beta: Floats, spreads: Sequence[float]
) -> Floats:
    """The covariance of e_b − E_A·β, for noise of these variances in the sums."""
    # How each score changes with each sum, which may be several of its entries.
    factors = np.append(-beta, 1.0)
    slopes = np.zeros((len(beta), len(spreads)))
    for place, variance in enumerate(spreads):
        alone = [0.0] * len(spreads)
        alone[place] = variance**0.5
        slopes[:, place] = plan.fill(alone)[:-1] @ factors
    return np.asarray(slopes @ slopes.T, np.float64)


def _to_values(
    plan: MomentPlan, beta: Floats, covariance: Floats
) -> tuple[Floats, Floats]:
    """Coefficients of z as coefficients of the columns' own values."""
    response = plan.terms[-1]
    predictors = plan.terms[:-1]
    linear = np.diag([response.width / term.width for term in predictors])
    # x = middle + width·z, so the intercept moves by the coefficient times the middle.
    for place, term in enumerate(predictors[1:], start=1):
        linear[0, place] = -term.middle * linear[place, place]
    estimates = linear @ beta
    estimates[0] += response.middle
    return estimates, linear @ covariance @ linear.T


def _give_up(
    plan: MomentPlan, rows: float, population: str, level: float, cost: Cost | None
) -> RegressionEstimate:
    """No estimate: the interval of every coefficient is the whole line."""
    size = len(plan.terms) - 1
    return RegressionEstimate(
        formula=str(plan.plan.query),
        names=tuple(term.name for term in plan.terms[:-1]),
        estimates=np.zeros(size),
        covariance=np.diag(np.full(size, np.inf)),
        rows=rows,
        deviation=float("nan"),
        population=population,
        level=level,
        is_determined=False,
        sampling_error=np.zeros(size),
        cost=cost,
    )
