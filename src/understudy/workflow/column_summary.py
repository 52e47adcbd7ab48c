"""A column of both tables in a few numbers: mean, standard deviation and quantiles of
numbers and dates, the most frequent value of labels. Computed from all rows without
noise: internal, not private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.findings import Fact
from understudy.schema import Integer, Lattice, Real, Schema
from understudy.tables import Table

SUMMARY_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Levels of the quantiles: the median, the quartiles, and where the tails begin."""

SummaryValue = float | str
"""A number, or a date, time or label as text."""


@dataclass(frozen=True)
class ValueSummary:
    """The values of one column in one table; missing cells are counted, and left out of
    everything else.
    """

    missing: float
    """Share of rows without a value."""
    mean: SummaryValue | None = None
    deviation: float | None = None
    quantiles: tuple[SummaryValue, ...] = ()

    def to_dict(self) -> dict[str, Fact]:
        """As JSON holds it."""
        return {
            "missing": self.missing,
            "mean": self.mean,
            "deviation": self.deviation,
            "quantiles": list(self.quantiles),
        }


@dataclass(frozen=True)
class ColumnSummary:
    """One column of numbers, dates or times in both tables."""

    column: str
    real: ValueSummary
    synthetic: ValueSummary

    @property
    def shift(self) -> float | None:
        """How far the mean moved, in standard deviations of the real values; None where
        there is no mean that is a number, or no deviation.
        """
        real, synthetic = self.real.mean, self.synthetic.mean
        if not isinstance(real, float) or not isinstance(synthetic, float):
            return None
        return (synthetic - real) / self.real.deviation if self.real.deviation else None

    def to_dict(self) -> dict[str, Fact]:
        """As JSON holds it."""
        return {
            "column": self.column,
            "levels": list(SUMMARY_LEVELS),
            "real": self.real.to_dict(),
            "synthetic": self.synthetic.to_dict(),
            "shift": self.shift,
        }


def summarise_columns(
    real: Table, synthetic: Table, schema: Schema
) -> tuple[ColumnSummary, ...]:
    """Every column that has an order, in both tables."""
    return tuple(
        ColumnSummary(
            name, _summarise_table(real, column), _summarise_table(synthetic, column)
        )
        for name, column in ((name, schema[name]) for name in schema)
        if isinstance(column, Lattice)
    )


def _summarise_table(table: Table, column: Lattice) -> ValueSummary:
    points, counts = table.lattice(column.name)
    rows = table.rows()
    missing = 1 - float(counts.sum()) / rows if rows else 0.0
    return summarise_points(column, points, counts, missing=max(0.0, missing))


def summarise_points(
    column: Lattice,
    points: NDArray[np.int64],
    counts: NDArray[np.int64],
    *,
    missing: float = 0.0,
) -> ValueSummary:
    """The summary of values that lie at lattice points, each so many times.

    >>> age = Integer(name="age", min=0, max=90)
    >>> summarise_points(age, np.array([20, 40]), np.array([3, 1])).quantiles
    (20.0, 20.0, 20.0, 20.0, 40.0)
    """
    total = int(counts.sum())
    if not total:
        return ValueSummary(missing)
    mean = float(np.dot(points, counts / total))
    below = np.cumsum(counts)
    # The smallest value that at least this share of the rows does not exceed.
    places = [int(np.searchsorted(below, level * total)) for level in SUMMARY_LEVELS]
    quantiles = tuple(_spell_point(column, int(points[place])) for place in places)
    if not isinstance(column, Integer | Real):
        return ValueSummary(missing, _spell_point(column, round(mean)), None, quantiles)
    origin = _to_number(column, 0)
    step = _to_number(column, 1) - origin
    variance = float(np.dot((points - mean) ** 2, counts / total))
    return ValueSummary(
        missing, origin + step * mean, step * math.sqrt(variance), quantiles
    )


def _spell_point(column: Lattice, point: int) -> SummaryValue:
    if isinstance(column, Integer | Real):
        return _to_number(column, point)
    return str(column.value_at(point))


def _to_number(column: Lattice, point: int) -> float:
    return float(str(column.value_at(point)))
