"""Nearest rows in mixed columns.

A label adds 1 if it differs, a number the share of its range by which it does, a
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
"""Distances computed at a time: 16 MiB."""


@dataclass(frozen=True, eq=False)
class NeighbourSpace:
    """Rows to be searched, in some columns."""

    rows: Records
    columns: tuple[str, ...]

    def distances_to(self, targets: Records) -> NDArray[np.float32]:
        """From every target to every row."""
        distances = np.zeros((targets.rows, self.rows.rows), np.float32)
        for name in self.columns:
            if isinstance(self.rows.schema[name], Lattice):
                here, there = targets.numbers(name), self.rows.numbers(name)
                distances += _gower_distances(here, there, self.rows.width(name))
            else:
                here_codes = targets.codes[name][:, None]
                there_codes = self.rows.codes[name][None, :]
                distances += here_codes != there_codes
        return distances

    def nearest(self, targets: Records, many: int = 1) -> NDArray[np.int64]:
        """The places of the nearest rows of each target; ties go to the first."""
        step = max(1, MAX_DISTANCES_AT_ONCE // max(1, self.rows.rows))
        many = min(many, self.rows.rows)
        parts = []
        for start in range(0, targets.rows, step):
            block = targets.take(slice(start, start + step))
            distances = self.distances_to(block)
            if many == 1:
                parts.append(distances.argmin(axis=1)[:, None])
            else:
                # A stable sort: ties go to the first row, as with the minimum.
                order = np.argsort(distances, axis=1, kind="stable")
                parts.append(order[:, :many])
        if not parts:
            return np.zeros((0, many), np.int64)
        return np.concatenate(parts)


def is_right_guess(
    guessed: Records, true: Records, column: str, tolerance: float = 0.05
) -> NDArray[np.bool_]:
    """Which guesses are right: labels equal, numbers within a share of the true value
    (or equal, if that is zero).
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
    # A column of one value has a width of 0, and no distances.
    scale = width or 1.0
    scaled_here = np.nan_to_num(here / scale)[:, None]
    scaled_there = np.nan_to_num(there / scale)[None, :]
    distances = np.abs(scaled_here - scaled_there).astype(np.float32)
    missing_here, missing_there = np.isnan(here)[:, None], np.isnan(there)[None, :]
    distances[missing_here | missing_there] = 1.0
    distances[missing_here & missing_there] = 0.0
    return distances
