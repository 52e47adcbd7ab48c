"""How exactly a run would know columns, pairs and what else it measures, once all its
answers are taken together.

What models/estimates/residuals.py does with tables is done here with their variances
alone, so that it costs nothing: a measured marginal tells of each of its columns and
pairs by its sums, a pair tells of its columns, and precisions add up. What is asked by
differences or residuals, in numbers that are many times as large, is told in rows. It
is the noise that the card states of the release afterwards. Where noise is much smaller
than a row, most cells have none, and its mean size is that of the best look alone.
Coarser bins of a column are taken to tell of the number of rows alone.
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
"""Columns of the largest marginals that are split into all their parts, which are 2⁸; a
larger one tells of its columns and pairs alone.
"""


@dataclass(frozen=True)
class KnownMarginal:
    """A marginal of which everything would be measured: its cells, and what noise
    leaves on each, in rows: deviation and mean size.
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
    >>> schema = Schema(columns=tuple(Boolean(name=n, nullable=False) for n in ("smoker", "cough")))
    >>> two, law, cost = Identity(2), Law.DISCRETE_GAUSSIAN, Cost(Accounting.GDP, Fraction(1))
    >>> both = Measurement(("smoker", "cough"), (two, two), np.zeros((2, 2), np.int64), law, Fraction(2), cost)
    >>> one = Measurement(("cough",), (two,), np.zeros(2, np.int64), law, Fraction(2), cost)
    >>> [(*k.clique, round(k.deviation, 2)) for k in known_marginals(schema, Measurements((both, one)))]
    [('smoker', 2.31), ('cough', 1.63), ('smoker', 'cough', 1.63)]
    """
    order = {name: i for i, name in enumerate(schema)}
    precision: dict[Clique, float] = {}
    larger: set[Clique] = set()
    looks: dict[str, list[Measurement]] = {
        name: [m for m in measured if name in m.clique] for name in schema
    }
    for m in measured:
        whole = len(m.clique) <= MAX_SPLIT_COLUMNS
        for tau, variance in _subset_variances(
            m.clique, m.maps, cell_variance(m), most=MAX_SPLIT_COLUMNS if whole else 2
        ):
            key = tuple(sorted(tau, key=order.__getitem__))
            precision[key] = precision.get(key, 0.0) + 1 / variance
        if whole and len(m.clique) > 2:
            larger.add(tuple(sorted(m.clique, key=order.__getitem__)))
    rows = (
        0.0
        if schema.rows is not None
        else 1 / precision[()]
        if () in precision
        else math.inf
    )
    sizes = schema.column_sizes
    ones: list[Clique] = [(name,) for name in schema if (name,) in precision]
    others = {*(tau for tau in precision if len(tau) == 2), *larger}
    found = []
    for clique in [
        *ones,
        *sorted(others, key=lambda c: (len(c), [order[name] for name in c])),
    ]:
        cells = prod(sizes[name] for name in clique)
        variance = rows / cells**2
        for k in range(1, len(clique) + 1):
            for tau in combinations(clique, k):
                inside = prod(sizes[name] for name in tau)
                free = prod((sizes[name] - 1) / sizes[name] for name in tau)
                if free:
                    variance += (
                        free / precision[tau] * (inside / cells) ** 2
                        if tau in precision
                        else math.inf
                    )
        if math.isfinite(variance):
            deviation = math.sqrt(variance)
            size = min(
                MEAN_ABS_NORMAL * deviation,
                min_noise_size(looks[clique[0]], clique, cells),
            )
            found.append(KnownMarginal(clique, cells, deviation, size))
    return tuple(found)


def _subset_variances(
    clique: Clique, maps: tuple[AxisMap, ...], variance: float, *, most: int
) -> list[tuple[Clique, float]]:
    """The sets of at most so many columns that a table speaks of, each with the
    variance of a cell before centring.
    """
    parts: list[tuple[Clique, float]] = [((), variance)]
    for name, axis in zip(clique, maps, strict=True):
        split = []
        for tau, var in parts:
            if not isinstance(axis, Centring):
                split.append((tau, var * axis.out))
            if not isinstance(axis, Partition) and len(tau) < most:
                split.append(
                    (
                        (*tau, name),
                        var / (axis.size if isinstance(axis, Centring) else 1) ** 2,
                    )
                )
        parts = split
    return parts
