"""Columns of which coarser bins were measured: their own part is tied to the total, and
solved as one small system (models/estimates/residuals.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from understudy.measurements import (
    Measurement,
)
from understudy.models.estimates.noise_moments import cell_variance
from understudy.models.estimates.residual_parts import ResidualPart
from understudy.schema import Schema

# A direction with this share of all precision was not measured.
UNMEASURED_PRECISION_SHARE = 1e-10


@dataclass(frozen=True, eq=False)
class CoarseColumnPart:
    """The own part of a column with coarser bins, given the total: `values + slope ·
    (total - its estimate)`.
    """

    values: NDArray[np.float64]
    slope: NDArray[np.float64]
    variance: NDArray[np.float64]
    covariance: NDArray[np.float64]
    """Among the directions that were measured."""

    @cached_property
    def root(self) -> NDArray[np.float64]:
        """A matrix that turns independent noise into noise of this covariance."""
        size, basis = np.linalg.eigh(self.covariance)
        return np.asarray(basis * np.sqrt(np.maximum(size, 0.0)))


@dataclass(frozen=True, eq=False)
class CoarseSystem:
    """The own part u of a column with coarser bins, and the total t: H u + h t = b,
    eliminated down to the total.
    """

    values: NDArray[np.float64]
    slope: NDArray[np.float64]
    variance: NDArray[np.float64]
    covariance: NDArray[np.float64]
    precision: float
    pull: float

    @classmethod
    def of(
        cls,
        schema: Schema,
        name: str,
        observations: list[Measurement],
        part: ResidualPart | None,
    ) -> CoarseSystem:
        (n,) = schema.sizes((name,))
        centre = np.eye(n) - 1 / n
        own = 0.0 if part is None else part.precision
        hessian, tie, pull = (
            own * centre,
            np.zeros(n),
            np.zeros(n) if part is None else own * part.values,
        )
        precision, total_pull, scale = 0.0, 0.0, 0.0
        for m in observations:
            bins, weight = m.maps[0].matrix().astype(np.float64), 1 / cell_variance(m)
            seen, even = bins @ centre, bins.sum(axis=1) / n
            hessian = hessian + weight * seen.T @ seen
            tie = tie + weight * seen.T @ even
            pull = pull + weight * seen.T @ m.values
            precision += weight * float(even @ even)
            scale += weight * float((bins**2).sum())
            total_pull += weight * float(even @ m.values)
        inverse, unseen = _centred_inverse(hessian, None if own > 0 else scale)
        return cls(
            inverse @ pull,
            -inverse @ tie,
            np.where(unseen, math.inf, np.diag(inverse)),
            inverse,
            precision - float(tie @ inverse @ tie),
            total_pull - float(tie @ inverse @ pull),
        )

    def solve(self, total: float) -> CoarseColumnPart:
        return CoarseColumnPart(
            self.values + self.slope * total, self.slope, self.variance, self.covariance
        )


def _centred_inverse(
    hessian: NDArray[np.float64], scale: float | None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The inverse among centred vectors, and the cells that a direction nothing was
    measured of touches.

    Every direction was measured if `scale` is None; else it is the precision against
    which one counts as not measured.
    """
    n = len(hessian)
    if n == 1:  # one code has nothing to differ from
        return np.zeros((1, 1)), np.zeros(1, bool)
    if scale is None:
        # The constant direction is no part of it; giving it the mean precision leaves
        # the inverse of the rest as it is.
        level = float(np.trace(hessian)) / n
        inverse = cho_solve(cho_factor(hessian + level / n), np.eye(n) - 1 / n)
        return np.asarray((inverse + inverse.T) / 2, np.float64), np.zeros(n, bool)
    size, basis = np.linalg.eigh(hessian)
    seen = size > UNMEASURED_PRECISION_SHARE * scale
    touched = 1 - 1 / n - (basis[:, seen] ** 2).sum(axis=1) > 1e-9
    return (
        np.asarray((basis[:, seen] / size[seen]) @ basis[:, seen].T, np.float64),
        touched,
    )
