"""Evidence: everything that a release says about the rows behind it.

Two sources are kept apart. The measurements are unbiased and have known noise: their
pooled least squares give any sum of cells with its exact deviation. The release's own
marginals, those of the model or of the released rows, agree with one another and with
the rows that are sampled, but carry no error of their own; a released distance says how
far such a marginal is from the truth.

The card, answers, degenerate columns and sampling all ask this one object. It is made
once for each release, and what is costly is computed when it is first asked for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting
from understudy.accounting.law import Law
from understudy.measurements import Clique, EstimateDistance, Measurements
from understudy.models import PortableModel
from understudy.models.estimates.noise_moments import MEAN_ABS_NORMAL
from understudy.models.estimates.residuals import PooledResiduals
from understudy.models.model import RoundedModel
from understudy.schema import Lattice, Schema
from understudy.schema.columns.bin_density import BinDensity

ROUNDING_ERROR_FACTOR = 1.1
"""Factor on the error of rounding to whole rows: cells of a column are rounded
together, and fractions of a row are not normal.
"""

_MIN_TOTAL_ROWS = 1e-9
"""Smallest divisor of a share (avoids division by zero in an empty release)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What is known from a release; nothing in it reads a row of the private table.

    >>> from fractions import Fraction
    >>> from understudy.accounting import Cost
    >>> from understudy.measurements import Identity, Measurement
    >>> from understudy.schema import Boolean
    >>> schema = Schema(columns=(Boolean(name="smoker", nullable=False),))
    >>> cost = Cost(Accounting.GDP, Fraction(1))
    >>> law, scale = Law.DISCRETE_GAUSSIAN, Fraction(2)
    >>> axes, values = (Identity(2),), np.array([70, 30])
    >>> counts = Measurement(("smoker",), axes, values, law, scale, cost)
    >>> evidence = Evidence(schema=schema, measurements=Measurements((counts,)))
    >>> evidence.rows, evidence.shares("smoker").tolist()
    (100.0, [0.7, 0.3])
    """

    schema: Schema
    measurements: Measurements
    model: PortableModel | None = None
    microdata: Mapping[str, NDArray[np.integer]] | None = None
    accounting: Accounting | None = None

    # -- from the measurements

    @cached_property
    def least_squares(self) -> PooledResiduals:
        """All measurements, pooled by least squares."""
        return PooledResiduals.of(self.schema, self.measurements)

    @cached_property
    def rows(self) -> float:
        """The estimated number of rows, which errors are shares of."""
        return max(self.least_squares.total, 1.0)

    @cached_property
    def is_gaussian(self) -> bool:
        """Whether all noise is Gaussian: Laplace noise has heavier tails, which need a
        bound with room for them.
        """
        return all(m.law is not Law.DISCRETE_LAPLACE for m in self.measurements)

    def released_distance(self, clique: Clique) -> EstimateDistance | None:
        """The last distance that was measured of a marginal, with its estimate in this
        order of columns; None if there is none.
        """
        for released in reversed(self.measurements.gaps):
            named = released.distance.clique
            if set(named) == set(clique):
                axes = [named.index(name) for name in clique]
                return replace(
                    released,
                    distance=replace(released.distance, clique=clique),
                    estimate=released.estimate.transpose(axes),
                )
        return None

    # -- from the model, or the released rows

    @property
    def has_rows(self) -> bool:
        """Whether there are rows to sample, from a model or from one fixed table."""
        return self.model is not None or self.microdata is not None

    def marginal(self, clique: Clique) -> NDArray[np.float64]:
        """The release's own counts over a clique. A release of tables alone has the
        least squares of its measurements.
        """
        if self.model is not None:
            return self.model.marginal(clique)
        if self.microdata is not None:
            return self._count_microdata(self.microdata, clique)
        return np.maximum(self.least_squares.marginal(clique), 0.0)

    def shares(self, name: str) -> NDArray[np.float64]:
        """The release's own share of rows in each cell of one column."""
        counts = self.marginal((name,))
        return counts / max(float(counts.sum()), _MIN_TOTAL_ROWS)

    def sampling_error(self, clique: Clique) -> float:
        """How far, in rows, a sample may be from the release's own counts.

        If rows are rounded from the model and nothing else, the fractions of a row give
        it. Otherwise every cell that has a row is allowed one more or less, on both
        sides: an allowance, not a proved bound (docs/card.md says where it falls
        short).
        """
        model = self.model
        if model is None:
            return 0.0
        table = self.marginal(clique)
        variance = (
            model.rounding_variance(clique) if isinstance(model, RoundedModel) else None
        )
        if variance is None:
            return 2 * float(np.minimum(table, 1.0).sum())
        # A count that is never negative is off by at most twice its expectation, on
        # average; for small cells that is less than the normal approximation.
        per_cell = np.minimum(MEAN_ABS_NORMAL * np.sqrt(variance), 2 * table)
        mean = float(per_cell.sum())
        return ROUNDING_ERROR_FACTOR * (mean + 2 * math.sqrt(float(variance.sum())))

    @cached_property
    def bin_densities(self) -> dict[str, BinDensity]:
        """How values lie inside the bins of each binned column, from the release's own
        count of every bin: no further measurement is needed.
        """
        return {
            name: codec.bin_density(self.marginal((name,)))
            for name, codec in self.schema.codecs.items()
            if isinstance(codec.column, Lattice) and codec.is_binned
        }

    def _count_microdata(
        self, microdata: Mapping[str, NDArray[np.integer]], clique: Clique
    ) -> NDArray[np.float64]:
        if not clique:  # numpy has no flat index for no columns
            return np.array(float(len(next(iter(microdata.values())))))
        sizes = self.schema.sizes(clique)
        flat = np.ravel_multi_index([microdata[name] for name in clique], sizes)
        counts = np.bincount(flat, minlength=math.prod(sizes))
        return counts.reshape(sizes).astype(np.float64)
