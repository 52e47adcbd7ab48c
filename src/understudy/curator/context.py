"""What a mechanism needs to answer: rows, payments, noise and the guarantee's terms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Accounting, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import default_law, scale_for
from understudy.curator.payment import Payments
from understudy.errors import Refused
from understudy.measurements import Clique
from understudy.noise import draw_noise
from understudy.noise.samplers import MAX_NOISE_SCALE
from understudy.queries.features import FeaturePlan
from understudy.queries.statistics import Statistic
from understudy.schema import Schema

Draw = Callable[[Law, Fraction, tuple[int, ...]], NDArray[np.int64]]
"""Exact integer noise of a law, scale and shape."""


class TableProtocol(Protocol):
    """The exact integers a table answers. They never leave the curator without noise."""

    def rows(self) -> int:
        """Number of rows, after every unit is bounded."""

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """Dense counts over each clique."""

    def sparse_counts(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes and counts of the cells that occur."""

    def labels(
        self, column: str, *, by_unit: bool = False
    ) -> tuple[list[str], NDArray[np.int64]]:
        """Labels that occur, and how often, or how many units have each."""

    def lattice(self, column: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lattice indices that occur, in rising order, and how often."""

    def lattice_counts(self, column: str, edges: Sequence[int]) -> NDArray[np.int64]:
        """How many lattice indices lie in each bin."""

    def sum(self, column: str, low: int, high: int) -> int:
        """Sum of the lattice indices, clipped."""

    def count_valid(self, column: str) -> int:
        """Number of rows that have a value in this column."""

    def cell_sums(
        self, clique: Clique, statistics: Sequence[Statistic]
    ) -> tuple[NDArray[np.int64], list[list[int]]]:
        """The cells that occur, and each statistic's sum over the rows of each."""

    def cell_values(
        self, clique: Clique, column: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Cells, lattice indices of a column in them, and how often each pair occurs."""

    def unit_cells(self, clique: Clique) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """A number for each unit, and the cells that each has rows in."""

    def group_sizes(
        self, key: str, clique: Clique, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Groups of rows that share a key: cells, numbers of rows up to `most`, and how
        many groups have both.
        """

    def derive_units(self, plan: FeaturePlan) -> TableProtocol:
        """The table of units: one row for each, with columns per unit."""

    def votes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """For each column, how many cells vote for each candidate type."""

    def sizes(self) -> NDArray[np.int64]:
        """How many units have 1, 2, … max_rows rows."""

    def broken(self) -> int:
        """Number of rows that break a rule, after every unit is bounded."""

    def with_schema(self, schema: Schema) -> TableProtocol:
        """The same rows under another schema."""


@dataclass(frozen=True, kw_only=True, eq=False)
class MechanismContext:
    """Rows, payments and noise. `draw` can be replaced by tests, through this
    constructor and nowhere else.
    """

    table: TableProtocol
    payments: Payments
    neighbours: Neighbours
    accounting: Accounting
    epsilon: Fraction
    max_rows: int = 1
    draw: Draw = draw_noise

    @property
    def law(self) -> Law:
        """The law of noise that this run's accounting prices exactly."""
        return default_law(self.accounting)

    def scale(self, amount: Fraction, sensitivity: Sensitivity) -> Fraction:
        """The smallest noise scale on the grid that costs at most `amount`. One wider
        than any that is drawn is refused here, before the charge.
        """
        scale = scale_for(self.law, amount, sensitivity, self.accounting)
        if scale > MAX_NOISE_SCALE:
            raise Refused(
                "This part of the budget needs noise wider than any that is drawn"
                " (2^50), so nothing was asked. Use a larger ε"
            )
        return scale

    def add_noise(self, exact: NDArray[np.int64], scale: Fraction) -> NDArray[np.int64]:
        """Exact counts plus exact noise on every cell, the empty ones too. Counts are
        far below 2⁶²: their sum cannot wrap.

        A scale of 0 is what `scale` gives for an answer on which all neighbours agree,
        such as the total under replace.
        """
        if not scale:
            return exact.copy()
        return exact + self.draw(self.law, scale, exact.shape)

    def unit_vector(self, *, histograms: int = 1) -> Sensitivity:
        """How far one unit moves a histogram: `max_rows` rows that enter one cell each,
        and under replace leave another. Several histograms are moved so far each.
        """
        m = self.max_rows
        d = histograms
        # All m rows may be alike and share a cell: that is what L2 is largest for.
        if self.neighbours is Neighbours.ADD_REMOVE:
            return Sensitivity(
                l1=Fraction(d * m),
                l2_squared=Fraction(d * m * m),
                l0=d * m,
                linf=Fraction(m),
            )
        return Sensitivity(
            l1=Fraction(2 * d * m),
            l2_squared=Fraction(2 * d * m * m),
            l0=2 * d * m,
            linf=Fraction(m),
        )


def split_amount(
    amount: Fraction,
    weights: Sequence[float] | None,
    parts: int,
) -> list[Fraction]:
    """An amount in parts by weight, exactly: the parts never add up to more.

    >>> split_amount(Fraction(1), [1, 3], 2)
    [Fraction(1, 4), Fraction(3, 4)]
    """
    exact = [Fraction(1)] * parts
    if weights is not None:
        # Short denominators: sums of thousands of them stay quick to compute.
        exact = [Fraction(w).limit_denominator(10**6) for w in weights]
    if len(exact) != parts or any(w <= 0 for w in exact):
        raise Refused("Weights must be positive, one for each part. Nothing was spent")
    total = sum(exact)
    return [amount * w / total for w in exact]
