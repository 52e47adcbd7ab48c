"""The descent: noisy counts of a bounded column on a public tree of lattice cells,
finer where there are more rows.

After Zhang, Xiao, Xie, "PrivTree", 2016, and Hay, Rastogi, Miklau, Suciu, "Boosting the
accuracy of differentially private histograms through consistency", 2010. The first
level cuts the range between the bounds into at most 64 cells of equal width, a power of
two (a range of up to 256 values into single values). Each further level cuts, into 16,
the cells whose noisy count stands out, until cells are single values: so a value that
many rows share is found wherever it lies. Counts of all levels are then made to agree
by least squares.

Why it is private. The cells of a level do not overlap, so each row lies in at most one
of them, and one unit moves a level by at most the sensitivity of a histogram: max_rows
in L1 and in L2 under add/remove; under replace, 2·max_rows in L1 and √2·max_rows in L2.
Which cells a level has depends on the bounds and on the noisy answers before it alone.
Every cell of a level is noised, the empty ones too. The prices of the levels add up;
how many there are at most is a matter of the bounds. A descent that ends early pays
less, as its noisy answers say.

Sensitivity checked by brute force in tests/curator/discovery/test_tree_histogram.py.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.cost import Cost
from understudy.accounting.expected_error import noise_deviation
from understudy.accounting.pricing import price
from understudy.curator.context import MechanismContext
from understudy.curator.discovery.tree_counts import CountTree, TreeLevel
from understudy.schema import Lattice, OutOfBoundsPolicy

MAX_ROOT_CELLS = 64
"""Most cells of the first level."""

MAX_SINGLE_VALUES = 256
"""A range of at most this many values is cut into single values at once."""

CELL_FAN_OUT = 16
"""Cells into which a cell is cut."""

MIN_DESCENT_SIGMAS = 4
"""Standard deviations by which a count must exceed zero to be looked into."""

MAX_DESCENT_CELLS = 256
"""A cell with less than this part of the rows is not looked into."""

BEYOND_LATTICE = 2**63 - 1
"""Larger than any lattice index."""


def level_widths(values: int) -> tuple[int, ...]:
    """Widths of the cells, level by level, for a range of this many values.

    >>> level_widths(100), level_widths(1_000), level_widths(200_000)
    ((1,), (16, 1), (4096, 256, 16, 1))
    """
    if values <= MAX_SINGLE_VALUES:
        return (1,)
    width = 1
    while -(-values // width) > MAX_ROOT_CELLS:
        width *= 2
    widths = [width]
    while widths[-1] > 1:
        widths.append(max(1, widths[-1] // CELL_FAN_OUT))
    return tuple(widths)


def descend_tree(
    context: MechanismContext,
    column: Lattice,
    *,
    amount: Fraction,
) -> CountTree:
    """Noisy counts of a column's values, for at most `amount`."""
    low = column.low
    high = column.high
    if low is None or high is None:
        raise ValueError(f"{column.name}: a descent needs bounds")
    widths = level_widths(high - low + 1)
    sensitivity = context.unit_vector()
    scale = context.scale(amount / len(widths), sensitivity)
    cost = price(context.law, scale, sensitivity, context.accounting)
    noise = noise_deviation(context.law, scale)
    starts = np.array(range(low, high + 1, widths[0]), np.int64)
    ends = np.append(starts[1:], high + 1)
    parent = np.zeros(len(starts), np.int64)
    counts, beyond = _measure_root(context, column, starts, ends, scale, cost)
    levels = [TreeLevel(starts, ends, parent, counts)]
    for width in widths[1:]:
        chosen = _cells_to_cut(levels, noise)
        if chosen.size == 0:
            break
        starts, ends, parent = _cut_cells(levels[-1], chosen, width)
        counts = _measure_cells(context, column, starts, ends, scale, cost)
        levels.append(TreeLevel(starts, ends, parent, counts))
    return CountTree(tuple(levels), max(noise**2, 1e-9), beyond)


def _measure_root(
    context: MechanismContext,
    column: Lattice,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    scale: Fraction,
    cost: Cost,
) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Noisy counts of the first level, and of what lies below and above the bounds
    where it counts as the nearest bound.
    """
    if column.outside is not OutOfBoundsPolicy.CLIP:
        return _measure_cells(context, column, starts, ends, scale, cost), (0, 0)
    # Counted apart once, so that the schema can say how much lies beyond the bounds.
    outer_starts = np.concatenate([[-BEYOND_LATTICE], starts, ends[-1:]])
    outer_ends = np.concatenate([starts[:1], ends, [BEYOND_LATTICE]])
    counts = _measure_cells(context, column, outer_starts, outer_ends, scale, cost)
    below = int(counts[0])
    above = int(counts[-1])
    inside = counts[1:-1].copy()
    inside[0] += below
    inside[-1] += above
    return inside, (below, above)


def _cells_to_cut(levels: list[TreeLevel], noise: float) -> NDArray[np.intp]:
    """The cells of the last level whose noisy counts stand out, in order."""
    counts = levels[-1].counts
    total = float(levels[0].counts.sum())
    enough = max(MIN_DESCENT_SIGMAS * noise, total / MAX_DESCENT_CELLS)
    standing = np.flatnonzero(counts > enough)
    largest = np.argsort(-counts[standing], kind="stable")[:MAX_DESCENT_CELLS]
    return np.sort(standing[largest])


def _cut_cells(
    level: TreeLevel,
    chosen: NDArray[np.intp],
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Starts, ends and parents of the cells that the chosen ones are cut into."""
    pieces = -(-(level.ends - level.starts)[chosen] // width)
    parent = np.repeat(chosen, pieces)
    # The place of each piece within its cell: 0, 1, … anew for every cell.
    first_piece = np.repeat(np.cumsum(pieces) - pieces, pieces)
    starts = level.starts[parent] + width * (np.arange(len(parent)) - first_piece)
    # The last cell may be narrower: it ends with the range.
    ends = np.minimum(starts + width, level.ends[parent])
    return starts, ends, parent


def _measure_cells(
    context: MechanismContext,
    column: Lattice,
    starts: NDArray[np.int64],
    ends: NDArray[np.int64],
    scale: Fraction,
    cost: Cost,
) -> NDArray[np.int64]:
    """Noisy counts of cells that do not overlap."""
    # Cells may leave gaps: all bins between the edges are counted, and those asked for
    # are picked before any noise is drawn.
    edges = np.unique(np.concatenate([starts, ends]))
    asked = np.searchsorted(edges, starts)
    where = edges.tolist()
    # What lies beyond a bound counts as the bound, here as in every other answer.
    if column.outside is OutOfBoundsPolicy.CLIP:
        where[0] = -BEYOND_LATTICE if where[0] == column.low else where[0]
        where[-1] = BEYOND_LATTICE if where[-1] - 1 == column.high else where[-1]
    request = {
        "mechanism": "bins",
        "column": column.name,
        "law": context.law,
        "scale": scale,
        "edges": where,
        "cells": asked.tolist(),
    }
    answer = context.payments.pay(
        request,
        cost,
        lambda: context.table.lattice_counts(column.name, where)[asked],
        lambda exact: {"counts": context.add_noise(exact, scale)},
    )
    return answer["counts"].astype(np.int64)
