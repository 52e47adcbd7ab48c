"""The dry run: the real curator on an imagined table. No rows and no ledger, but every
privacy cost is the real one.

A plan is what a dry run charged and what it measured. Because the same code asks and
pays, a plan cannot drift from the run.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.filter import Filter
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.curator.context import MechanismContext
from understudy.curator.curator import Curator
from understudy.curator.payment import Payments
from understudy.curator.simulation.population import Population
from understudy.measurements import Clique
from understudy.noise import draw_noise
from understudy.queries.features import FeaturePlan
from understudy.queries.statistics import Statistic
from understudy.schema import Lattice, Schema
from understudy.tables import TEXT_CANDIDATE, TYPE_CANDIDATES

ASSUMED_VALUES = 20
"""Values that a list still to be learned is assumed to have."""

ASSUMED_RANGE = 10_000
"""Lattice points, from zero, that bounds still to be learned are assumed to span."""

PLENTIFUL_COUNT = 10**12
"""A count that no noise hides."""


class DryRunTable:
    """A table of imagined rows, or of none. What discovery asks about stands out of any
    noise, so that sizes can be forecast.
    """

    def __init__(self, schema: Schema, people: int = 0) -> None:
        self._schema = schema
        self._people = people

    def rows(self) -> int:
        """As many rows as are imagined."""
        return self._people

    def counts(self, cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
        """What a population has, or zero in every cell."""
        if self._people:
            population = Population(self._schema, self._people)
            return [population.counts(clique) for clique in cliques]
        return [np.zeros(self._schema.sizes(clique), np.int64) for clique in cliques]

    def sparse_counts(
        self, clique: Clique
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """No cell occurs."""
        return np.zeros((0, len(clique)), np.int64), np.zeros(0, np.int64)

    def labels(
        self, column: str, *, by_unit: bool = False
    ) -> tuple[list[str], NDArray[np.int64]]:
        """As many as are assumed."""
        return [f"value {i + 1:02}" for i in range(ASSUMED_VALUES)], np.full(
            ASSUMED_VALUES, PLENTIFUL_COUNT
        )

    def lattice(self, column: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """No value occurs."""
        return np.zeros(0, np.int64), np.zeros(0, np.int64)

    def lattice_counts(self, column: str, edges: Sequence[int]) -> NDArray[np.int64]:
        """All rows, or plenty where none are imagined, spread evenly between the
        bounds; bounds that are not known are assumed.
        """
        first, end = self._assumed_range(column)
        width = end - first
        rows = self._people or PLENTIFUL_COUNT
        # Counts below each edge, rounded down: their differences add up to all rows.
        below = [rows * min(max(edge - first, 0), width) // width for edge in edges]
        return np.asarray(np.diff(below), np.int64)

    def _assumed_range(self, column: str) -> tuple[int, int]:
        """The lattice points of a column, from the first to behind the last."""
        described = self._schema[column]
        if not isinstance(described, Lattice):
            raise TypeError(f"{column}: only numbers, dates and times have a lattice")
        low = described.low
        high = described.high
        if high is None:
            first = low if low is not None else 0
            return first, first + ASSUMED_RANGE
        return (low if low is not None else high + 1 - ASSUMED_RANGE), high + 1

    def sum(self, column: str, low: int, high: int) -> int:
        """Nothing to add up."""
        return 0

    def count_valid(self, column: str) -> int:
        """No row has a value."""
        return 0

    def cell_sums(
        self, clique: Clique, statistics: Sequence[Statistic]
    ) -> tuple[NDArray[np.int64], list[list[int]]]:
        """No cell occurs."""
        return np.zeros(0, np.int64), [[] for _ in statistics]

    def cell_values(
        self, clique: Clique, column: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """No value occurs."""
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing

    def unit_cells(self, clique: Clique) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """No unit has rows."""
        return np.zeros(0, np.int64), np.zeros(0, np.int64)

    def group_sizes(
        self, key: str, clique: Clique, most: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """No group has rows."""
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, nothing

    def votes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Every column is taken for a list of labels."""
        ballots = np.zeros((len(columns), len(TYPE_CANDIDATES)), np.int64)
        # Labels are the dearest to learn, so a forecast errs on the side of caution.
        ballots[:, TYPE_CANDIDATES.index(TEXT_CANDIDATE)] = PLENTIFUL_COUNT
        return ballots

    def sizes(self) -> NDArray[np.int64]:
        """Every unit has one row."""
        histogram = np.zeros(self._schema.unit.max_rows, np.int64)
        histogram[0] = self._people
        return histogram

    def broken(self) -> int:
        """No row breaks a rule."""
        return 0

    def derive_units(self, plan: FeaturePlan) -> DryRunTable:
        """No unit has a row."""
        return self.with_schema(plan.schema)

    def with_schema(self, schema: Schema) -> DryRunTable:
        """The same rows under another schema."""
        return DryRunTable(schema, self._people)


class _DryRunLedger:
    """A run that remembers nothing."""

    def answer(self, step: int, digest: str) -> bytes | None:
        return None

    def is_lost(self, step: int) -> bool:
        return False

    def charge(self, step: int, cost: Cost, digest: str) -> None:
        pass

    def store(self, step: int, digest: str, payload: bytes) -> None:
        pass


def _draw_zeros(law: Law, scale: Fraction, shape: tuple[int, ...]) -> NDArray[np.int64]:
    return np.zeros(shape, np.int64)


def open_dry_run(
    schema: Schema,
    filter: Filter,
    *,
    epsilon: Fraction,
    neighbours: Neighbours,
    people: int = 0,
) -> Curator:
    """A curator of an imagined table, to find out what a run would ask and pay.

    With `people`, a population of that many answers, under the noise a run would draw,
    so that what a run chooses is chosen here too. Without, every marginal is empty and
    nothing is noised.
    """
    context = MechanismContext(
        table=DryRunTable(schema, people),
        payments=Payments(_DryRunLedger(), filter),
        neighbours=neighbours,
        accounting=filter.accounting,
        epsilon=epsilon,
        max_rows=schema.unit.max_rows,
        draw=draw_noise if people else _draw_zeros,
    )
    return Curator(context, schema)
