"""How exactly a run would know columns, pairs and what else it measures, once all its
answers are pooled.

What models/estimates/residuals.py does with tables is done here with their variances
alone, so that a plan costs nothing: a measured marginal determines each of its columns
and pairs by its sums, a pair its columns, and precisions add up. Answers to differences
or residuals, in numbers that are many times as large, are stated in rows. It is the
noise that the card states of the release afterwards. Where noise is much smaller than a
row, most cells have none, and its mean size is that of the best measurement alone.
Coarser bins of a column are taken to determine the number of rows alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from math import prod

from understudy.measurements import (
    AxisMap,
    Centring,
    Clique,
    Measurement,
    Measurements,
    Partition,
)
from understudy.models.estimates.noise_moments import (
    MEAN_ABS_NORMAL,
    cell_variance,
    min_noise_size,
)
from understudy.schema import Schema

MAX_SPLIT_COLUMNS = 8
"""Columns of the largest marginals that are split into all their parts, which are 2⁸; of
a larger one only columns and pairs are used.
"""


@dataclass(frozen=True)
class KnownMarginal:
    """A marginal that the answers determine in full: its cells, and the noise that is
    left on each, in rows: standard deviation and mean size.
    """

    clique: Clique
    cells: int
    deviation: float
    size: float


def known_marginals(
    schema: Schema, measured: Measurements
) -> tuple[KnownMarginal, ...]:
    """Every column and pair inside what is measured, and every larger marginal that is,
    in the schema's order.

    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from understudy.accounting import Cost, Accounting, Law
    >>> from understudy.measurements import Identity, Measurement
    >>> from understudy.schema import Boolean
    >>> columns = [Boolean(name=name, nullable=False) for name in ("smoker", "cough")]
    >>> schema = Schema(columns=tuple(columns))
    >>> two, cost = Identity(2), Cost(Accounting.GDP, Fraction(1))
    >>> def measured(clique):
    ...     counts = np.zeros((2,) * len(clique), np.int64)
    ...     maps = (two,) * len(clique)
    ...     return Measurement(clique, maps, counts, Law.DISCRETE_GAUSSIAN, Fraction(2), cost)
    >>> both = Measurements((measured(("smoker", "cough")), measured(("cough",))))
    >>> [(*k.clique, round(k.deviation, 2)) for k in known_marginals(schema, both)]
    [('smoker', 2.31), ('cough', 1.63), ('smoker', 'cough', 1.63)]
    """
    measured_by_column: dict[str, list[Measurement]] = {
        name: [m for m in measured if name in m.clique] for name in schema
    }
    subsets = _SubsetPrecision(schema, measured)
    known = []
    for clique in subsets.candidates():
        variance = subsets.cell_variance(clique)
        if not math.isfinite(variance):
            continue
        cells = prod(subsets.sizes[name] for name in clique)
        deviation = math.sqrt(variance)
        smallest = min_noise_size(measured_by_column[clique[0]], clique, cells)
        size = min(MEAN_ABS_NORMAL * deviation, smallest)
        known.append(KnownMarginal(clique, cells, deviation, size))
    return tuple(known)


class _SubsetPrecision:
    """The pooled precision of every subset of columns that the measurements speak of.

    A marginal is a sum of independent parts, one for each subset of its columns: the
    part of a subset is what its columns say beyond all smaller subsets. The variance of
    a cell is the sum of those of its parts, and the precisions of a part that several
    measurements determine add up.
    """

    def __init__(self, schema: Schema, measured: Measurements) -> None:
        self._order = {name: i for i, name in enumerate(schema)}
        self._has_declared_rows = schema.rows is not None
        self.sizes = dict(zip(schema, schema.sizes(tuple(schema)), strict=True))
        self._precision: dict[Clique, float] = {}
        self._larger: set[Clique] = set()
        for measurement in measured:
            self._add(measurement)

    def _add(self, measurement: Measurement) -> None:
        clique = measurement.clique
        is_split = len(clique) <= MAX_SPLIT_COLUMNS
        most = MAX_SPLIT_COLUMNS if is_split else 2
        variance = cell_variance(measurement)
        for subset, own in _subset_variances(
            clique, measurement.maps, variance, most=most
        ):
            key = self._in_order(subset)
            self._precision[key] = self._precision.get(key, 0.0) + 1 / own
        if is_split and len(clique) > 2:
            self._larger.add(self._in_order(clique))

    def _in_order(self, columns: Clique) -> Clique:
        return tuple(sorted(columns, key=self._order.__getitem__))

    def candidates(self) -> list[Clique]:
        """Columns, then pairs, then larger marginals, in the schema's order."""
        small = {subset for subset in self._precision if 1 <= len(subset) <= 2}
        return sorted(
            small | self._larger,
            key=lambda clique: (len(clique), [self._order[name] for name in clique]),
        )

    def cell_variance(self, clique: Clique) -> float:
        """Variance of a cell of a marginal; infinite where a part of it was never
        measured.
        """
        cells = prod(self.sizes[name] for name in clique)
        variance = self._rows_variance() / cells**2
        for length in range(1, len(clique) + 1):
            for subset in combinations(clique, length):
                variance += self._part_variance(subset, cells)
        return variance

    def _rows_variance(self) -> float:
        """Variance of the number of rows, the part of no column."""
        if self._has_declared_rows:
            return 0.0
        return 1 / self._precision[()] if () in self._precision else math.inf

    def _part_variance(self, subset: Clique, cells: int) -> float:
        """What the part of a subset adds to the variance of a cell, when it is spread
        evenly over the cells of the marginal.
        """
        free = prod((self.sizes[name] - 1) / self.sizes[name] for name in subset)
        if not free:
            return 0.0  # a column of one code says nothing beyond the others
        # No measurement says anything of it, so the cell is not determined.
        if subset not in self._precision:
            return math.inf
        inside = prod(self.sizes[name] for name in subset)
        return free / self._precision[subset] * (inside / cells) ** 2


def _subset_variances(
    clique: Clique, maps: tuple[AxisMap, ...], variance: float, *, most: int
) -> list[tuple[Clique, float]]:
    """The subsets of at most `most` columns that a measurement speaks of, each with the
    variance of a cell before centring.
    """
    subsets: list[tuple[Clique, float]] = [((), variance)]
    for name, axis in zip(clique, maps, strict=True):
        extended = []
        for subset, own in subsets:
            if not isinstance(axis, Centring):
                # Summing over the axis adds up its noise.
                extended.append((subset, own * axis.out))
            if not isinstance(axis, Partition) and len(subset) < most:
                # Centring multiplies by the axis's size, to stay in whole numbers.
                scale = axis.size if isinstance(axis, Centring) else 1
                extended.append(((*subset, name), own / scale**2))
        subsets = extended
    return subsets
