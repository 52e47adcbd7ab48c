"""The promises of a census release, checked on every table before it is written: no
negative count, none where a structural zero is declared, children that add up to their
parent, and every invariant and bound.

Fits and rounding are built to keep all of it. This is the line behind them: a fault
there, or of a solver, stops the release and never shows in a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from understudy.censuses.controlled_rounding import Integers
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.invariants import LevelBounds
from understudy.censuses.lattice import sum_to_marginal
from understudy.errors import ReleaseError

CHECKED_CELLS = 1 << 22
"""Cells that are looked at together: 32 MiB."""


def refuse_broken_promises(
    hierarchy: Hierarchy,
    tables: Sequence[Integers],
    bounds: Sequence[LevelBounds],
    impossible: NDArray[np.bool_],
) -> None:
    """Refuse tables (unit × cells, level by level) that do not keep what was promised."""
    for level, name in enumerate(hierarchy.levels):
        cells = impossible.size
        chunks = _cut_units(len(tables[level]), cells)
        is_kept = all(
            _keeps_bounds(tables[level][units], units, bounds[level], impossible)
            for units in chunks
        )
        if not is_kept or (level and not _add_up(hierarchy, level, tables)):
            raise ReleaseError(
                f"census: the fitted tables of {name} break a sum, a bound or a rule,"
                " so none is released. What was measured is kept in the ledger: resume"
                " the run with another method, and report this fault"
            )


def _keeps_bounds(
    table: Integers,
    units: slice,
    bounds: LevelBounds,
    impossible: NDArray[np.bool_],
) -> bool:
    """Whether the counts of these units are within all bounds and structural zeros."""
    if (table < 0).any() or table[:, impossible].any():
        return False
    whole = tuple(range(impossible.ndim))
    for axes, within in bounds.items():
        counts = sum_to_marginal(table, whole, axes)
        low, high = within.lower[units], within.upper[units]
        if (counts < low).any() or (counts > high).any():
            return False
    return True


def _add_up(hierarchy: Hierarchy, level: int, tables: Sequence[Integers]) -> bool:
    """Whether the units of a level add up to their parents, cell by cell."""
    above, here = tables[level - 1], tables[level]
    starts = hierarchy.child_starts(level - 1)
    for parents in _cut_parents(starts, above[0].size):
        first = starts[parents]
        children = here[first[0] : starts[parents.stop]]
        # Tables of large levels are small integers, whose sums need not be.
        sums = np.add.reduceat(children, first - first[0], axis=0, dtype=np.int64)
        if (sums != above[parents]).any():
            return False
    return True


def _cut_units(units: int, cells: int) -> Iterator[slice]:
    step = max(CHECKED_CELLS // cells, 1)
    for first in range(0, units, step):
        yield slice(first, min(first + step, units))


def _cut_parents(starts: Integers, cells: int) -> Iterator[slice]:
    """Neighbouring parents, with as many children as are looked at together."""
    step, first = max(CHECKED_CELLS // cells, 1), 0
    while first < len(starts) - 1:
        fits = int(np.searchsorted(starts, starts[first] + step, side="right")) - 1
        last = max(fits, first + 1)
        yield slice(first, last)
        first = last
