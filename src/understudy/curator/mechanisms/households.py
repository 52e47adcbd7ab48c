"""Noisy tables of households for all units of one level: how many there are of each size
and kind. A household is the rows that share a key.

Why it is private. A household is one record of one histogram: its place, its size (up to
`max_persons`) and its columns are functions of its own rows alone. How far a neighbour
moves that histogram depends on whom the guarantee protects.

  * A household is protected (the key is the privacy unit): its record enters or leaves
    one cell (add/remove: L2² = 1), or leaves one and enters another (replace: L2² = 2).
    The persons' tables move by up to `max_persons` (geounits.py).
  * A person is protected (a row is the privacy unit): a row that comes or goes moves one
    household's record from one cell to another (add/remove: L2² = 2). A row that is
    replaced may leave one household and enter another, two records that move; where both
    leave the same cell and enter the same cell, two cells change by 2 each (replace:
    L2² = 8). The persons' tables move by one row.

Checked by brute force in tests/curator/mechanisms/test_households.py, where each bound is
reached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Sensitivity
from understudy.accounting.household_sensitivity import find_household_sensitivity
from understudy.curator.mechanisms.geounits import UnitHistogram, UnitLevel
from understudy.curator.payment import fingerprint_array
from understudy.measurements import Clique


@dataclass(frozen=True, eq=False)
class HouseholdHistogram(UnitHistogram):
    """The households of every lowest unit, by size and by the household's columns;
    `columns` begins with the size. PRIVATE but for what has noise.
    """

    key: str = ""
    max_persons: int = 1
    """Larger households count as households of this size."""

    kinds: NDArray[np.bool_] | None = None
    """Which cells of the household's columns have households at all."""

    def find_sizes(self, clique: Clique) -> tuple[int, ...]:
        """The shape of a marginal."""
        return tuple(
            self.max_persons
            if name == self.columns[0]
            else self.schema.codecs[name].size
            for name in clique
        )

    def find_sensitivity(self) -> Sensitivity:
        """How far one household, or one person, moves a level."""
        return find_household_sensitivity(
            self.context.neighbours, is_unit=self.schema.unit.id == self.key
        )

    def _spell_clique(self, clique: Clique) -> str:
        return f"households by {super()._spell_clique(clique)}"

    def _describe_level(self, level: UnitLevel, clique: Clique) -> dict[str, Any]:
        kept: dict[str, Any] = {"key": self.key, "max_persons": self.max_persons}
        if self.kinds is not None:
            kept["kinds"] = fingerprint_array(self.kinds)
        return {**super()._describe_level(level, clique), **kept}

    def _count_rows(self) -> tuple[NDArray[np.int64], ...]:
        clique = (*self.geography, *self.columns[1:])
        places, sizes, counts = self.context.table.group_sizes(
            self.key, clique, self.max_persons
        )
        shape = self.schema.sizes(clique)
        codes = np.array(np.unravel_index(places, shape), np.int64).T
        depth = len(self.geography)
        leaf, inside = self._find_leaves(codes[:, :depth])
        cells = codes[:, depth:]
        if self.kinds is not None:
            inside = inside & self.kinds[tuple(cells.T)]
        whole = np.column_stack([sizes - 1, cells])
        return leaf[inside], whole[inside], counts[inside]
