"""Noisy marginals for all units of one level of a hierarchy, and the counts that an
owner declares invariant.

Why it is private. A row lies in one unit of a level and in one cell of a marginal, so
the histogram over units × cells is one histogram over disjoint cells: a row changes one
of them (add/remove: L2² = 1), or leaves one and enters another, of the same unit or of
two (replace: L2² = 2). A level costs the same however many units it has. Units of
several rows are bounded as everywhere (`MechanismContext.unit_vector`). Rows outside of
the hierarchy or in a structural zero are counted nowhere; leaving one for the other
changes one cell, which is less.

Every cell of every unit has noise of its own, the empty and impossible ones too. Several
levels and queries are priced one by one, and their prices add up.

Invariants are no mechanism: their exact counts leave the curator because the owner
declared them public, at no cost, and the guarantee is about tables that agree on them.
Nothing beyond the declared cells leaves: a zero pattern is 0 or 1, not a count.

Sensitivity checked by brute force in tests/curator/mechanisms/test_geounits.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost, Sensitivity
from understudy.accounting.pricing import price
from understudy.curator.context import MechanismContext
from understudy.curator.payment import NoisyAnswer, fingerprint_array
from understudy.errors import BudgetExceeded
from understudy.measurements import Clique
from understudy.schema import Schema

MAX_PART_CELLS = 1 << 24
"""Cells of one stored answer; levels with more are answered in parts. 128 MiB while they
are drawn.
"""


@dataclass(frozen=True, eq=False)
class UnitCounts:
    """Noisy marginals of the units of one level, the scale of their noise and what they
    cost.
    """

    level: str
    clique: Clique
    values: NDArray[Any]
    scale: Fraction
    cost: Cost


@dataclass(frozen=True, eq=False)
class UnitLevel:
    """One level of a public hierarchy: its name, and the unit of each lowest unit."""

    name: str
    unit_of_leaf: NDArray[np.int64]
    units: int


@dataclass(frozen=True, eq=False)
class UnitHistogram:
    """The persons' histogram of every lowest unit. The rows are counted once, when an
    answer first needs them. PRIVATE but for what has noise.
    """

    context: MechanismContext
    schema: Schema
    geography: Clique
    columns: Clique
    leaf_codes: NDArray[np.int64]
    _counted: list[tuple[NDArray[np.int64], ...]] = field(default_factory=list)

    def measure_units(
        self, level: UnitLevel, clique: Clique, *, amount: Fraction
    ) -> UnitCounts:
        """The noisy marginal of every unit of a level, for at most `amount`.

        A level that no single answer could hold is answered in parts of neighbouring
        units. The first part is charged for the whole level, before any noise is drawn,
        and the others for nothing more: all parts are one histogram over disjoint cells.
        That holds for one reading of the rows. A run that is resumed between two parts
        may see a person in a part that was drawn before and in one that was not, so what
        it draws of the level is charged as the whole level again.
        """
        scale, cost = self._price_level(amount)
        sizes = self.find_sizes(clique)
        parts = _split_units(level.units, math.prod(sizes))
        nothing, is_paid = Cost(cost.accounting, Fraction(0)), False
        payments, answers = self.context.payments, []
        for part in parts:
            request = self._describe_part(level, clique, scale, part)
            # Stored by an earlier process: replayed for what it had cost.
            is_replayed = payments.will_replay(request)
            is_free = part.start > 0 if is_replayed else is_paid
            is_paid = is_paid or not is_replayed
            paid = nothing if is_free else cost
            if part.start and paid.amount > payments.amount_left:
                raise BudgetExceeded(
                    f"{level.name}: the run was cut off between two parts of this level,"
                    " and the parts that are left cost as much as all. So much is not"
                    " left in it: begin a new run. Nothing was spent"
                )
            answers.append(self._measure_part(request, level, clique, paid, part))
        shape = (level.units, *sizes)
        return UnitCounts(level.name, clique, _join_parts(answers, shape), scale, cost)

    def pass_over_lost(
        self, level: UnitLevel, clique: Clique, *, amount: Fraction
    ) -> bool:
        """Go on without this answer if an earlier process of the run was killed after
        it had paid for it and before all of it was stored; tells whether that was so.

        A lost draw is not repeated for free, and a second payment would be taken from
        the answers that follow.
        """
        scale, cost = self._price_level(amount)
        parts = _split_units(level.units, math.prod(self.find_sizes(clique)))
        payments = self.context.payments
        is_lost = any(payments.is_lost(ahead=place) for place in range(len(parts)))
        if not is_lost and len(parts) > 1:
            # Between two parts: the first payment was for all of them.
            stored = [
                payments.will_replay(
                    self._describe_part(level, clique, scale, part), ahead=place
                )
                for place, part in enumerate(parts)
            ]
            is_lost = any(stored) and not all(stored)
        if not is_lost:
            return False
        asked = f"{level.name}: {self._spell_clique(clique)}"
        payments.pass_over(asked, cost, steps=len(parts))
        return True

    def _price_level(self, amount: Fraction) -> tuple[Fraction, Cost]:
        """The scale of the noise on a level for at most `amount`, and what it costs."""
        sensitivity = self.find_sensitivity()
        scale = self.context.scale(amount, sensitivity)
        cost = price(self.context.law, scale, sensitivity, self.context.accounting)
        return scale, cost

    def _describe_part(
        self, level: UnitLevel, clique: Clique, scale: Fraction, units: slice
    ) -> dict[str, Any]:
        request = {
            "mechanism": f"{level.name}: {self._spell_clique(clique)}",
            "law": self.context.law,
            "scale": scale,
            **self._describe_level(level, clique),
        }
        if units != slice(0, level.units):
            request["part"] = [units.start, units.stop]
        return request

    def _measure_part(
        self,
        request: dict[str, Any],
        level: UnitLevel,
        clique: Clique,
        cost: Cost,
        units: slice,
    ) -> NDArray[Any]:
        """Noisy marginals of neighbouring units, in the smallest integers that hold them:
        what was drawn decides, not what was counted.
        """

        def count_units() -> NDArray[np.int64]:
            return self._count_level(level, clique, units)

        def add_noise(exact: NDArray[np.int64]) -> NoisyAnswer:
            noisy = self.context.add_noise(exact, request["scale"])
            return {"values": _shrink_integers(noisy) if "part" in request else noisy}

        answer = self.context.payments.pay(request, cost, count_units, add_noise)
        values: NDArray[Any] = answer["values"]
        return values

    def read_invariant(
        self, level: UnitLevel, clique: Clique, *, only_zeros: bool
    ) -> NDArray[np.int64]:
        """Exact counts that the owner declared public; with `only_zeros` 0 and 1 for
        cells without and with persons.
        """
        exact = self._count_level(level, clique)
        # Only the pattern was declared public, never how many persons a cell has.
        return np.minimum(exact, 1) if only_zeros else exact

    def find_sizes(self, clique: Clique) -> tuple[int, ...]:
        """The shape of a marginal."""
        return self.schema.sizes(clique)

    def find_sensitivity(self) -> Sensitivity:
        """How far one privacy unit moves a level. A row lies in one unit of a level, so
        that all units together cost as one.
        """
        return self.context.unit_vector()

    def _spell_clique(self, clique: Clique) -> str:
        return " × ".join(clique) or "total"

    def _describe_level(self, level: UnitLevel, clique: Clique) -> dict[str, Any]:
        """What an answer depends on besides rows and noise."""
        return {
            "clique": clique,
            "columns": self.columns,
            "geography": self.geography,
            "leaves": fingerprint_array(self.leaf_codes),
            "units": fingerprint_array(level.unit_of_leaf),
        }

    def _count_level(
        self, level: UnitLevel, clique: Clique, units: slice | None = None
    ) -> NDArray[np.int64]:
        """Exact counts of all units of a level, or of some neighbouring ones."""
        leaf, codes, counts = self._count_leaves()
        first, last = (0, level.units) if units is None else (units.start, units.stop)
        table = np.zeros((last - first, *self.find_sizes(clique)), np.int64)
        unit = level.unit_of_leaf[leaf]
        if len(table) < level.units:
            inside = (unit >= first) & (unit < last)
            unit, codes, counts = unit[inside], codes[inside], counts[inside]
        places = [codes[:, self.columns.index(name)] for name in clique]
        np.add.at(table, (unit - first, *places), counts)
        return table

    def _count_leaves(self) -> tuple[NDArray[np.int64], ...]:
        """The leaf, the codes and the number of persons of every cell that occurs."""
        if not self._counted:
            self._counted.append(self._count_rows())
        return self._counted[0]

    def _count_rows(self) -> tuple[NDArray[np.int64], ...]:
        codes, counts = self.context.table.sparse_counts(
            (*self.geography, *self.columns)
        )
        depth = len(self.geography)
        leaf, inside = self._find_leaves(codes[:, :depth])
        zeros = self.schema.zeros(self.columns)
        if zeros is not None:
            inside &= ~zeros[tuple(codes[:, depth:].T)]
        return leaf[inside], codes[inside, depth:], counts[inside]

    def _find_leaves(
        self, codes: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The lowest unit of each place, and whether there is one."""
        unit = np.zeros(len(self.leaf_codes), np.int64)
        place = np.zeros(len(codes), np.int64)
        inside = np.ones(len(codes), np.bool_)
        # Level by level: all combinations of all labels may be too many to be numbered.
        for depth, size in enumerate(self.schema.sizes(self.geography)):
            known, unit = np.unique(
                unit * size + self.leaf_codes[:, depth], return_inverse=True
            )
            key = place * size + codes[:, depth]
            # Kept inside the array, so that unknown places compare as different, not as
            # an error.
            place = np.minimum(np.searchsorted(known, key), len(known) - 1)
            inside &= known[place] == key
        # Rows of places that are not in the hierarchy are nobody's.
        return np.argsort(unit)[place], inside


def _split_units(units: int, cells: int) -> list[slice]:
    """Neighbouring units that one answer holds together."""
    step = max(MAX_PART_CELLS // cells, 1)
    return [slice(first, min(first + step, units)) for first in range(0, units, step)]


def _join_parts(answers: list[NDArray[Any]], shape: tuple[int, ...]) -> NDArray[Any]:
    """The answer for all units; parts are let go as they are copied."""
    if len(answers) == 1:
        return answers[0]
    joined = np.empty(shape, np.result_type(*answers))
    first = 0
    while answers:
        part = answers.pop(0)
        joined[first : first + len(part)] = part
        first += len(part)
    return joined


def _shrink_integers(noisy: NDArray[np.int64]) -> NDArray[Any]:
    """The same integers in 16 or 32 bits where these hold them."""
    largest = int(np.abs(noisy).max(initial=0))
    for small in (np.int16, np.int32):
        if largest <= np.iinfo(small).max:
            return noisy.astype(small)
    return noisy
