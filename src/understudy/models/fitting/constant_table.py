"""Constants with what a maintainer needs to change them: kind, unit and reason.

A constant is declared once, by `ConstantTable.add`, which returns its value. The page
docs/synthesizers/adaptive.md lists the same tables, and a test compares them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeVar

import numpy as np

Value = TypeVar("Value")


class ConstantKind(Enum):
    """What a constant decides, and so what a change of it can do."""

    THRESHOLD = "statistical threshold"
    BUDGET = "budget share"
    COMPUTE = "compute limit"
    GUARD = "numerical guard"
    GRID = "grid"


@dataclass(frozen=True, eq=False)
class Constant:
    """One constant: its value, what kind it is of, its unit, and why it is so."""

    name: str
    value: object
    kind: ConstantKind
    unit: str
    why: str

    @property
    def text(self) -> str:
        """The value as documents print it; a grid as its ends and its length."""
        # A grid of a hundred points says no more than its ends.
        if isinstance(self.value, np.ndarray):
            first, last = self.value[0], self.value[-1]
            return f"{first:g} to {last:g}, {self.value.size} points"
        if isinstance(self.value, tuple):
            return ", ".join(str(each) for each in self.value)
        if isinstance(self.value, int):
            return f"{self.value:,}"
        return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)


@dataclass(frozen=True)
class ConstantTable:
    """The constants of a folder, in the order in which they are declared."""

    rows: list[Constant] = field(default_factory=list)

    def add(
        self, name: str, value: Value, kind: ConstantKind, unit: str, why: str
    ) -> Value:
        """Declare a constant, and return its value.

        >>> table = ConstantTable()
        >>> table.add("MAX_PAIRS", 60, ConstantKind.COMPUTE, "pairs", "Memory.")
        60
        >>> [(row.name, row.text) for row in table.rows]
        [('MAX_PAIRS', '60')]
        """
        self.rows.append(Constant(name, value, kind, unit, why))
        return value
