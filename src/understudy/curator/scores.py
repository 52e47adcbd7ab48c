"""Scores: how good a choice would be, as integers on a grid, each with the most that one unit can move it.

A score lives here because it reads exact counts. It is a plain function of one marginal and a public estimate of it, both integers in
units of 1/GRID rows, so its sensitivity is exact: rounding happens to the estimate, on the public side, before any row is looked at.

`check_score` brute-forces a score's sensitivity over every small dataset; every entry of SCORES is checked in tests/curator/test_scores.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused

GRID = 2**10
"""Estimates are rounded to multiples of 1/GRID rows."""

LARGEST = 2.0**40
"""Rows that an estimate may have. Larger ones could wrap a 64-bit integer around, and then no sensitivity would hold."""


@dataclass(frozen=True)
class Score:
    """A score of one marginal, in units of 1/GRID rows.

    `of(counts, estimate)` takes integer counts and the estimate in grid units; `add_remove` and `replace` are the most that one row
    moves it under each neighbour relation, in grid units.
    """

    name: str
    of: Callable[[NDArray[np.int64], NDArray[np.int64]], int]
    add_remove: int
    replace: int

    def sensitivity(self, neighbours: Neighbours, max_rows: int) -> int:
        """The most that one unit moves the score, in grid units: its rows move it one after the other."""
        return max_rows * (self.add_remove if neighbours is Neighbours.ADD_REMOVE else self.replace)


def to_grid(estimate: NDArray[np.float64]) -> NDArray[np.int64]:
    """A public estimate, rounded to the grid.

    >>> to_grid(np.array([0.5, 1.0])).tolist()
    [512, 1024]
    """
    numbers = np.asarray(estimate, np.float64)
    if not np.abs(numbers).sum() < LARGEST:  # also where one of them is no number
        raise Refused(f"An estimate must be numbers that add up to less than {LARGEST:.0e} rows. Nothing was spent")
    return np.rint(numbers * GRID).astype(np.int64)


def l1_distance(counts: NDArray[np.int64], estimate: NDArray[np.int64]) -> int:
    """‖counts − estimate‖₁. One row more moves one cell by GRID, so the distance by at most GRID; a replaced row moves two."""
    if counts.shape != estimate.shape:  # numpy would stretch one of them, and the sensitivity with it
        raise Refused("An estimate has another shape than its marginal. No answer was given")
    return int(np.abs(counts * GRID - estimate).sum())


SCORES = {s.name: s for s in (Score("l1", l1_distance, add_remove=GRID, replace=2 * GRID),)}
"""Every score the curator will choose by."""


def check_score(score: Score, *, cells: int = 3, rows: int = 6) -> None:
    """Try every dataset of at most `rows` rows over `cells` cells, every neighbour, and several estimates; raise where a claim is broken.

    >>> check_score(SCORES["l1"])
    """
    rng = np.random.default_rng(0)
    estimates = [np.zeros(cells, np.int64), np.full(cells, GRID), *rng.integers(-GRID, rows * GRID, (6, cells))]
    for size in range(rows):
        for dataset in combinations_with_replacement(range(cells), size):
            counts = np.bincount(np.array(dataset, np.int64), minlength=cells)
            for estimate in estimates:
                here = score.of(counts, estimate)
                for entering in range(cells):
                    more = counts + np.eye(cells, dtype=np.int64)[entering]
                    _claim(score, "add_remove", abs(score.of(more, estimate) - here), score.add_remove)
                    for leaving in set(dataset):
                        moved = more - np.eye(cells, dtype=np.int64)[leaving]
                        _claim(score, "replace", abs(score.of(moved, estimate) - here), score.replace)


def _claim(score: Score, relation: str, moved: int, claim: int) -> None:
    if moved > claim:
        raise AssertionError(f"score {score.name}: one row moves it by {moved} under {relation}, {claim} is claimed")
