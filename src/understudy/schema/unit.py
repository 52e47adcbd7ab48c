"""The privacy unit: whom the guarantee protects."""

from __future__ import annotations

from dataclasses import dataclass

from understudy.errors import SchemaError

# Noise on every count grows with the rows that are protected together.
MAX_UNIT_ROWS = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Unit:
    """The privacy unit: a row, or an id with at most `max_rows` rows (enforced).

    `sizes` is the number of ids that have 1, 2, … `max_rows` rows, if that is known:
    declared, or `learned` inside the privacy budget.

    >>> Unit(id="patient", max_rows=5).noun
    'patient'
    """

    id: str | None = None
    max_rows: int = 1
    sizes: tuple[int, ...] = ()
    learned: bool = False

    def __post_init__(self) -> None:
        if self.sizes:
            self._check_sizes()
        if not 1 <= self.max_rows <= MAX_UNIT_ROWS:
            raise SchemaError(
                f"unit: max_rows must be at least 1 and at most {MAX_UNIT_ROWS:,}:"
                " noise grows with it"
            )
        if self.id is None and self.max_rows != 1:
            raise SchemaError(
                "unit: max_rows needs an id column. Add `id`, or leave max_rows out"
            )

    def _check_sizes(self) -> None:
        fits = len(self.sizes) == self.max_rows
        if not fits or min(self.sizes) < 0 or max(self.sizes) == 0:
            raise SchemaError(
                "unit: sizes must say how many have 1, 2, … max_rows rows, and not be"
                " all 0"
            )

    @property
    def noun(self) -> str:
        """What a guarantee calls the unit."""
        return "row" if self.id is None else self.id


ROW_UNIT = Unit()
"""Every row is a unit of its own."""
