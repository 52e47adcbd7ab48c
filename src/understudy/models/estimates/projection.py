"""Noisy answers that obey linear equations: generalised least squares, with covariance.

Noisy numbers about one table rarely add up. Of all numbers that satisfy A·x = b, the
projection in the metric of the noise has the least variance of any unbiased linear
estimate (Gauss–Markov). With y the answers and Σ the covariance of their noise,

    x = y − Σ Aᵀ (A Σ Aᵀ)⁺ (A y − b),      Cov x = Σ − Σ Aᵀ (A Σ Aᵀ)⁺ A Σ.

It uses released numbers alone, so it costs nothing; and no variance ever grows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused

RELATIVE_RESIDUAL = 1e-9
"""Largest part of the answers that may be left of an equation: beyond rounding, the
equations contradict each other or answers that are exact.
"""


@dataclass(frozen=True, eq=False)
class ConsistentAnswers:
    """Values that satisfy the equations, and the covariance of their noise."""

    values: NDArray[np.float64]
    covariance: NDArray[np.float64]

    @property
    def deviations(self) -> NDArray[np.float64]:
        """Standard deviation of each value."""
        # Rounding may leave a variance of 0 a little below.
        return np.sqrt(np.maximum(np.diag(self.covariance), 0.0))


def project_answers(
    values: NDArray[np.float64],
    covariance: NDArray[np.float64],
    equations: NDArray[np.float64],
    totals: NDArray[np.float64] | None = None,
) -> ConsistentAnswers:
    """The least-squares numbers with equations @ numbers = totals (0 by default).

    >>> all_men_women = np.array([2005.0, 1001.0, 995.0])
    >>> noise = np.diag([4.0, 25.0, 16.0])
    >>> adds_up = np.array([[1.0, -1.0, -1.0]])
    >>> project_answers(all_men_women, noise, adds_up).values.round(1).tolist()
    [2004.2, 1006.0, 998.2]
    """
    wanted = np.zeros(len(equations)) if totals is None else np.asarray(totals, float)
    _refuse_misfits(values, covariance, equations, wanted)
    # Equations of any size count alike: a pseudo-inverse drops what is small.
    lengths = np.linalg.norm(equations, axis=1)
    rows = equations / lengths[:, None]
    spread = rows @ covariance @ rows.T
    gain = covariance @ rows.T @ np.linalg.pinv(spread, hermitian=True)
    projected = values - gain @ (rows @ values - wanted / lengths)
    left = np.abs(rows @ projected - wanted / lengths)
    size = max(1.0, float(np.abs(values).max()), float(np.abs(wanted).max()))
    if left.max() > RELATIVE_RESIDUAL * size:
        raise Refused(
            "The equations contradict each other, or answers without noise: leave one"
            " of them out"
        )
    reduced = covariance - gain @ rows @ covariance
    return ConsistentAnswers(projected, (reduced + reduced.T) / 2)


def _refuse_misfits(
    values: NDArray[np.float64],
    covariance: NDArray[np.float64],
    equations: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> None:
    _refuse_wrong_shapes(values, covariance, equations, totals)
    numbers = (values, covariance, equations, totals)
    if not all(np.isfinite(part).all() for part in numbers):
        raise Refused("Answers, covariance and equations have to be finite numbers")
    symmetric = np.allclose(covariance, covariance.T)
    smallest = np.linalg.eigvalsh(covariance).min() if symmetric else -np.inf
    if smallest < -RELATIVE_RESIDUAL * np.abs(covariance).max(initial=1.0):
        raise Refused("A covariance is symmetric, and no variance is negative")
    if not np.abs(equations).max(axis=1).all():
        raise Refused("An equation names no answer")


def _refuse_wrong_shapes(
    values: NDArray[np.float64],
    covariance: NDArray[np.float64],
    equations: NDArray[np.float64],
    totals: NDArray[np.float64],
) -> None:
    count = len(values)
    fits = (
        covariance.shape == (count, count)
        and equations.ndim == 2
        and equations.shape[1] == count
        and totals.shape == (len(equations),)
    )
    if not count or not fits or not len(equations):
        raise Refused(
            "Answers, covariance and equations have to be of one size, and at least one"
            " equation is needed"
        )
