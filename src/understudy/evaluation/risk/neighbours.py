"""Nearest rows in mixed columns.

A label counts 1 where it differs, a number the share of its range by which it does, a
missing cell 1 beside a known one (Gower, "A general coefficient of similarity and some
of its properties", 1971).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from understudy.schema import Lattice
from understudy.tables import Records

MAX_DISTANCES_AT_ONCE = 1 << 22
"""Distances computed at a time."""


@dataclass(frozen=True, eq=False)
class NeighbourSpace:
    """Rows to be searched, in some columns."""

    rows: Records
    columns: tuple[str, ...]

    def distances_to(self, targets: Records) -> NDArray[np.float32]:
        """From every target to every row."""
        found = np.zeros((targets.rows, self.rows.rows), np.float32)
        for name in self.columns:
            if isinstance(self.rows.schema[name], Lattice):
                found += _gower_distances(
                    targets.numbers(name),
                    self.rows.numbers(name),
                    self.rows.width(name),
                )
            else:
                found += targets.codes[name][:, None] != self.rows.codes[name][None, :]
        return found

    def nearest(self, targets: Records, many: int = 1) -> NDArray[np.int64]:
        """The places of the nearest rows of each target; ties go to the first."""
        step = max(1, MAX_DISTANCES_AT_ONCE // max(1, self.rows.rows))
        many = min(many, self.rows.rows)
        parts = []
        for start in range(0, targets.rows, step):
            far = self.distances_to(targets.take(slice(start, start + step)))
            if many == 1:
                parts.append(far.argmin(axis=1)[:, None])
            else:
                parts.append(np.argsort(far, axis=1, kind="stable")[:, :many])
        return np.concatenate(parts) if parts else np.zeros((0, many), np.int64)


def is_right_guess(
    guessed: Records, true: Records, column: str, tolerance: float = 0.05
) -> NDArray[np.bool_]:
    """Where a guess is right: labels equal, numbers within a share of the true value
    (or equal, where that is zero).
    """
    if not isinstance(true.schema[column], Lattice):
        return np.asarray(guessed.codes[column] == true.codes[column])
    here, there = true.numbers(column), guessed.numbers(column)
    with np.errstate(invalid="ignore"):
        near = np.abs(here - there) <= tolerance * np.abs(here)
    return near | (np.isnan(here) & np.isnan(there))


def _gower_distances(
    here: NDArray[np.float64], there: NDArray[np.float64], width: float
) -> NDArray[np.float32]:
    scale = width or 1.0
    known = np.abs(
        np.nan_to_num(here / scale)[:, None] - np.nan_to_num(there / scale)[None, :]
    ).astype(np.float32)
    gone_here, gone_there = np.isnan(here)[:, None], np.isnan(there)[None, :]
    known[gone_here | gone_there] = 1.0
    known[gone_here & gone_there] = 0.0
    return known
