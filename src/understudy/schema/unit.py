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
    def sampling_factor(self) -> float:
        """The most by which the variance of a sum over sampled units exceeds that over as
        many sampled rows, Σ k²N_k / Σ kN_k for N_k units of k rows: that of units whose
        rows are alike.

        >>> Unit(id="patient", max_rows=3).sampling_factor
        3.0
        >>> Unit(id="patient", max_rows=3, sizes=(4, 1, 0)).sampling_factor
        1.3333333333333333
        """
        # By Cauchy and Schwarz: (x₁ + … + x_k)² ≤ k (x₁² + … + x_k²).
        if not self.sizes:
            return float(self.max_rows)
        counts = list(enumerate(self.sizes, start=1))
        return sum(k * k * n for k, n in counts) / sum(k * n for k, n in counts)

    @property
    def clustered_noun(self) -> str:
        """What a unit of several rows is called; empty where none has several."""
        return self.id or "" if self.sampling_factor > 1 else ""

    @property
    def counted_rows(self) -> str:
        """Which rows are counted, for whoever reads an answer; empty where all are.

        >>> Unit(id="patient", max_rows=2).counted_rows
        'Of each patient at most 2 rows are counted, and no row without one'
        """
        if self.id is None:
            return ""
        rows = "one row is" if self.max_rows == 1 else f"{self.max_rows:,} rows are"
        return f"Of each {self.id} at most {rows} counted, and no row without one"

    @property
    def noun(self) -> str:
        """What a guarantee calls the unit."""
        return "row" if self.id is None else self.id


ROW_UNIT = Unit()
"""Every row is a unit of its own."""
