"""Statistics that are no sums: quantiles, found by a noisy binary search, and numbers of
different values or units.

A quantile at level p/q is the smallest value c with T(c) = (q − p)·#{x ≤ c} − p·#{x > c}
≥ 0, a sum to which a row adds q − p or −p. A search asks for T at up to
`QuantileSearch.probes` values, each with fresh noise, chosen in view of the answers
before: adaptive composition, priced as that many sums. It looks for where the noisy T
passes 0, and where it is surely below and surely above 0 (`half_width` of all probes
together): these are the estimate and the ends of an interval that holds.

A row adds at most one value, or one unit, to the number of different ones in its group,
and takes at most one away.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.queries.statistics import GroupReach
from understudy.schema.predicates.ast import Predicate

_PROBES_PER_STEP = 2
"""Probes for each step of one binary search: the three searches share their first steps
wherever rows are many, so twice the probes of one are enough for them.
"""


@dataclass(frozen=True)
class QuantileSearch:
    """A quantile of a column's lattice index in each group."""

    column: str
    low: int
    high: int
    level: Fraction
    condition: Predicate | None = None

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The column that rows must have a value in."""
        return (self.column,)

    @property
    def probes(self) -> int:
        """How many sums are asked for."""
        return _PROBES_PER_STEP * max((self.high - self.low).bit_length(), 1)

    @property
    def weights(self) -> tuple[int, int]:
        """What a row at or below a probe adds, and what one above takes away."""
        level = self.level
        return level.denominator - level.numerator, level.numerator

    def describe(self) -> dict[str, object]:
        """What identifies it, together with its groups."""
        condition = None if self.condition is None else str(self.condition)
        return {
            "quantile": [self.column, self.low, self.high, str(self.level)],
            "condition": condition,
        }

    def sensitivity(
        self, groups: int, neighbours: Neighbours, max_rows: int
    ) -> Sensitivity:
        """How far one unit moves all probes together.

        >>> search = QuantileSearch("age", 0, 99, Fraction(1, 2))
        >>> search.probes, search.sensitivity(1, Neighbours.ADD_REMOVE, 1).l2_squared
        (14, Fraction(14, 1))
        """
        below, above = self.weights
        reach = GroupReach(
            np.full(groups, -above, object), np.full(groups, below, object), True
        )
        one = reach.sensitivity(neighbours, max_rows)
        return Sensitivity(
            l1=one.l1 * self.probes,
            l2_squared=one.l2_squared * self.probes,
            l0=one.l0 * self.probes,
            linf=one.linf,
        )


@dataclass(frozen=True)
class DistinctCount:
    """How many different values of a column, or privacy units, each group has."""

    column: str
    is_unit: bool = False
    condition: Predicate | None = None
    most: int | None = None
    """How many values the column can have; None for units."""

    @property
    def value_columns(self) -> tuple[str, ...]:
        """None: which rows have a value is decided by the cells."""
        return ()

    def describe(self) -> dict[str, object]:
        """What identifies it, together with its groups."""
        condition = None if self.condition is None else str(self.condition)
        return {"distinct": [self.column, self.is_unit], "condition": condition}

    def sensitivity(
        self, groups: int, neighbours: Neighbours, max_rows: int
    ) -> Sensitivity:
        """How far one unit moves the numbers: by one in each group that it is in, or,
        for values, by one for each of its rows.

        >>> DistinctCount("p", is_unit=True).sensitivity(9, Neighbours.ADD_REMOVE, 3).l2_squared
        Fraction(3, 1)
        """
        if not self.is_unit:
            ones = np.ones(groups, object)
            reach = GroupReach(ones * 0, ones, True)
            return reach.sensitivity(neighbours, max_rows)
        # Under replace a unit leaves some groups and another enters others.
        units = 1 if neighbours is Neighbours.ADD_REMOVE else 2
        moved = Fraction(min(units * max_rows, groups))
        return Sensitivity(l1=moved, l2_squared=moved, l0=int(moved), linf=Fraction(1))
