"""Charges for parts of a table: which unit can a question be about at all?

A question `WHERE region = 'North'` does not depend on a unit of another region. So what
one unit pays is the sum over the questions whose scope holds its cell, and a run pays
for its dearest unit (McSherry, "Privacy integrated queries", 2009, Thm. 4).

Why it is private. Every row lies in exactly one cell of a column's codec, and cells are
public. Add/remove: two neighbours differ in one unit of one cell c; questions whose
scope lacks c answer both alike, whatever was asked before. So the questions that hold c
compose, and a filter on the largest of these sums bounds every pair of neighbours, with
adaptively chosen questions. Replace: a unit leaves cell c and enters cell d, and the
questions that hold c or d compose: at most the two largest sums, and at most all. Units
by an id may have rows in several cells: they have no scopes, and nothing is saved. That
holds for at most one row a unit too, because which row is kept is drawn anew whenever a
table is opened (tables/privacy_unit.py): one cell today, another tomorrow.

Checked by brute force over all small tables in
tests/accounting/questions/test_partition.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from understudy.accounting.chain import read_amount
from understudy.accounting.cost import Cost
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused

MAX_PARTITION_CELLS = 256
"""Most cells of a column that charges are kept apart for: each charge writes them all."""

# Sums of unlike fractions are kept in few digits, rounded up by less than 2⁻¹²⁸.
_MAX_TALLY_BITS, _TALLY_DENOMINATOR = 160, 2**128

CellAmounts = tuple[Fraction, Fraction]
"""What one cell has paid: an amount of the run's accounting, and δ."""


@dataclass(frozen=True)
class PartitionScope:
    """The cells of one public column that a question can depend on.

    `domain` is a digest of the column's codec, so that cells of two schemas are never
    taken for one another; `size` is its number of cells.

    >>> PartitionScope("region", "a1", 4, frozenset({0})).is_whole
    False
    """

    column: str
    domain: str
    size: int
    cells: frozenset[int]

    def __post_init__(self) -> None:
        if not 1 <= self.size <= MAX_PARTITION_CELLS:
            raise Refused(
                f"{self.column}: charges are kept apart for at most"
                f" {MAX_PARTITION_CELLS} cells. Nothing was spent."
            )
        if not all(0 <= cell < self.size for cell in self.cells):
            raise Refused(
                f"{self.column}: a scope names a cell that the column does not have."
                " Nothing was spent."
            )

    @property
    def is_whole(self) -> bool:
        """Whether every unit is in it: then nothing is saved."""
        return len(self.cells) == self.size

    def is_within(self, other: PartitionScope) -> bool:
        """Whether every unit that can matter here can matter there.

        >>> north = PartitionScope("region", "a1", 4, frozenset({0}))
        >>> north.is_within(PartitionScope("region", "a1", 4, frozenset({0, 1})))
        True
        """
        return self.key == other.key and self.cells <= other.cells

    @property
    def key(self) -> str:
        """What charges of one partition have in common."""
        return f"{self.column}:{self.domain}"

    def to_facts(self) -> dict[str, object]:
        """For the detail of an entry."""
        return {
            "column": self.column,
            "domain": self.domain,
            "size": self.size,
            "cells": sorted(self.cells),
        }

    @classmethod
    def of_facts(cls, facts: object) -> PartitionScope:
        """As an entry wrote it; ValueError or KeyError where no entry can have."""
        if not isinstance(facts, dict):
            raise ValueError("not a scope")
        cells = [int(cell) for cell in facts["cells"]]
        return cls(
            str(facts["column"]),
            str(facts["domain"]),
            int(facts["size"]),
            frozenset(cells),
        )


@dataclass
class PartitionTally:
    """What the cells of one column have paid, and what was charged to its scopes in
    all.
    """

    cells: dict[int, CellAmounts] = field(default_factory=dict)
    together: CellAmounts = (Fraction(0), Fraction(0))

    def add(self, cells: Iterable[int], cost: Cost) -> None:
        """Charge a question to the cells of its scope."""
        self.together = _add_amounts(self.together, cost)
        for cell in cells:
            before = self.cells.get(cell, (Fraction(0), Fraction(0)))
            self.cells[cell] = _add_amounts(before, cost)

    def worst_unit(self, neighbours: Neighbours) -> CellAmounts:
        """The largest amount and the largest δ that one unit can have paid."""
        touched = 1 if neighbours is Neighbours.ADD_REMOVE else 2
        return (self._worst_of(0, touched), self._worst_of(1, touched))

    def _worst_of(self, place: int, touched: int) -> Fraction:
        paid = sorted(amounts[place] for amounts in self.cells.values())
        # A question that holds both cells of a replaced unit is in two sums, but is
        # paid once: all of them together are enough as well.
        return min(sum(paid[-touched:], Fraction(0)), self.together[place])


@dataclass
class ScopedSpending:
    """Everything that the scoped charges of a run have paid, by column."""

    tallies: dict[str, PartitionTally] = field(default_factory=dict)

    def worst_unit(self, neighbours: Neighbours) -> CellAmounts:
        """What one unit can have paid in all: columns are independent, so it may be in
        the dearest cell of each.
        """
        amount = delta = Fraction(0)
        for tally in self.tallies.values():
            more, more_delta = tally.worst_unit(neighbours)
            amount += more
            delta += more_delta
        return amount, delta

    def charge(self, cost: Cost, scope: PartitionScope, neighbours: Neighbours) -> Cost:
        """Add a question, and return by how much the worst unit's payment grows."""
        before, before_delta = self.worst_unit(neighbours)
        tally = self.tallies.setdefault(scope.key, PartitionTally())
        tally.add(scope.cells, cost)
        # Cells that paid less so far may catch up at no cost: parallel composition.
        after, after_delta = self.worst_unit(neighbours)
        return Cost(cost.accounting, after - before, after_delta - before_delta)

    def to_facts(self) -> dict[str, object]:
        """For the detail of an entry."""
        return {
            key: {
                "together": _spell_amounts(tally.together),
                "cells": {
                    str(cell): _spell_amounts(amounts)
                    for cell, amounts in sorted(tally.cells.items())
                },
            }
            for key, tally in self.tallies.items()
        }

    @classmethod
    def of_facts(cls, facts: object) -> ScopedSpending:
        """As the last charge wrote it; empty where it wrote none."""
        spending = cls()
        if not isinstance(facts, dict):
            return spending
        for key, stated in facts.items():
            cells = {
                int(cell): _read_amounts(amounts)
                for cell, amounts in stated["cells"].items()
            }
            spending.tallies[key] = PartitionTally(
                cells, _read_amounts(stated["together"])
            )
        return spending


def charge_scope(
    spending: ScopedSpending,
    cost: Cost,
    scope: PartitionScope | None,
    *,
    neighbours: Neighbours,
    unit: str,
) -> Cost:
    """What a question adds to the cost of a run, by its scope; the whole cost where it
    has none, or where the unit may have rows in several cells.

    `neighbours` and `unit` are those of the account, as its ledger has them.
    """
    # A unit in several cells pays in each of them: their charges add up.
    if scope is None or scope.is_whole or not has_single_row(unit):
        return cost
    return spending.charge(cost, scope, neighbours)


def has_single_row(unit: str) -> bool:
    """Whether a unit, as a ledger writes it down, is one row, and so lies in one cell.

    >>> [has_single_row(unit) for unit in ("row", "id, at most 1 rows", "id, at most 3 rows")]
    [True, False, False]
    """
    # The one row of an id may be another one in the next session.
    return unit == "row"


def read_scoped_spending(facts: Mapping[str, object]) -> ScopedSpending:
    """What the scoped charges of a run had paid when a charge was written."""
    return ScopedSpending.of_facts(facts.get("partitions"))


def _add_amounts(before: CellAmounts, cost: Cost) -> CellAmounts:
    amount, delta = before
    return _shorten_up(amount + cost.amount), _shorten_up(delta + cost.delta)


def _shorten_up(amount: Fraction) -> Fraction:
    if amount.denominator.bit_length() <= _MAX_TALLY_BITS:
        return amount
    return Fraction(math.ceil(amount * _TALLY_DENOMINATOR), _TALLY_DENOMINATOR)


def _spell_amounts(amounts: CellAmounts) -> list[str]:
    return [str(amounts[0]), str(amounts[1])]


def _read_amounts(stated: list[object]) -> CellAmounts:
    amount, delta = stated
    return read_amount(amount), read_amount(delta)
