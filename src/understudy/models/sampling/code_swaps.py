"""Fewer chance errors between columns that no node ties together.

Rows with the same parents may exchange their codes of a new column: every table the
tree holds stays as it is. Between the new column and those it is not tied to directly,
chance alone decides, and costs √count in every cell. Exchanges that bring these pairs
closer to what the model expects of them take most of that error away, at the price of a
little time.

Only cells that expect a row or more are aimed at. An aim of 0.3 rows is nearest to
none, and rare combinations would die out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.models.arrays import Array

# Rounds of exchanges, rows proposed in each, and of how many proposals one is carried
# out: many at once would overshoot.
SWAP_ROUNDS, MAX_SWAP_PROPOSALS, PROPOSALS_PER_SWAP = 10, 4096, 20

# Rows that a cell must expect to be aimed at.
MIN_SWAP_EXPECTED_ROWS = 1.0

# Partners stand up to 2 to this power rows apart in an order that is random inside
# each group.
MAX_SWAP_REACH_LOG2 = 6


def swap_codes(
    codes: NDArray[np.unsignedinteger],
    others: Mapping[str, NDArray[np.unsignedinteger]],
    expected: Mapping[str, Array],
    order: NDArray[np.int64],
    members: NDArray[np.int64],
    rng: Generator,
) -> NDArray[np.unsignedinteger]:
    """The same codes, exchanged inside groups so that they meet other columns as often
    as expected.

    `expected` holds a table of shares for each other column, that column's axis first.
    `order` lists the rows group by group, in random order inside each, and `members`
    says which group a row is in.

    >>> codes, other = np.array([0, 0, 1, 1], np.uint8), np.array([0, 0, 1, 1], np.uint8)
    >>> even, one = {"z": np.full((2, 2), 0.25)}, np.zeros(4, np.int64)
    >>> better = swap_codes(
    ...     codes, {"z": other}, even, np.array([0, 2, 1, 3]), one, np.random.default_rng(0)
    ... )
    >>> np.bincount(other * 2 + better, minlength=4).tolist()
    [1, 1, 1, 1]
    """
    rows = codes.size
    if not others or rows < 2:
        return codes
    width = next(iter(expected.values())).shape[1]
    lengths = [expected[name].size for name in others]
    starts = (np.cumsum(lengths) - lengths).astype(np.int32)
    columns = list(others.values())
    mine = codes.astype(np.int32)
    goal = rows * np.concatenate([expected[name].ravel() for name in others])
    found = [
        np.bincount(column.astype(np.int32) * np.int32(width) + mine, minlength=length)
        for column, length in zip(columns, lengths, strict=True)
    ]
    excess = np.concatenate(found) - goal
    counted = goal >= MIN_SWAP_EXPECTED_ROWS
    groups = members[order]
    for _ in range(SWAP_ROUNDS):
        here, there = _propose_swaps(
            groups, min(MAX_SWAP_PROPOSALS, max(rows // 4, 16)), rng
        )
        here, there = order[here], order[there]
        differ = mine[here] != mine[there]
        here, there = here[differ], there[differ]
        if here.size:
            # For both rows and every other column the first cell of its line of that
            # table; all tables lie end to end.
            a, b = (_first_cells(columns, at, width, starts) for at in (here, there))
            _apply_swaps(mine, excess, counted, (here, a), (there, b))
    return mine.astype(codes.dtype)


def _first_cells(
    columns: Sequence[NDArray[Any]],
    at: NDArray[np.int64],
    width: int,
    starts: NDArray[np.int32],
) -> NDArray[np.int32]:
    """The first cell of each row's line in the tables of all other columns."""
    codes: NDArray[Any] = np.stack([column[at] for column in columns], axis=1)
    cells: NDArray[np.int32] = codes * np.int32(width) + starts
    return cells


def _propose_swaps(
    groups: NDArray[np.int64], proposals: int, rng: Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of places in the same group, no place twice: every second stretch of some
    length looks at the next.
    """
    reach = int(
        2 ** (rng.random() * min(MAX_SWAP_REACH_LOG2, math.log2(groups.size / 2)))
    )
    half = groups.size // (2 * reach) * reach
    if not half:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    stride = max(1, half // proposals)
    spots = (np.arange(half // stride) * stride + rng.integers(half)) % half
    first = spots + spots // reach * reach
    first = first[groups[first] == groups[first + reach]]
    return first, first + reach


def _apply_swaps(
    mine: NDArray[np.int32],
    excess: Array,
    counted: NDArray[np.bool_],
    one: tuple[NDArray[np.int64], NDArray[np.int32]],
    another: tuple[NDArray[np.int64], NDArray[np.int32]],
) -> None:
    """Exchange between those pairs of rows where that brings tables nearest to their
    goals.
    """
    # What one row fewer does to the distance of a cell from its goal, and what one more
    # does.
    distance = np.abs(excess)
    down = np.where(counted, np.abs(excess - 1) - distance, 0).astype(np.float32)
    up = np.where(counted, np.abs(excess + 1) - distance, 0).astype(np.float32)
    (here, a), (there, b) = one, another
    x, y = mine[here, None], mine[there, None]
    change = (down[a + x] + up[a + y] + down[b + y] + up[b + x]) * (a != b)
    gain = change.sum(axis=1)
    better = np.flatnonzero(gain < 0)
    most = max(1, here.size // PROPOSALS_PER_SWAP)
    if better.size > most:
        better = better[np.argpartition(gain[better], most - 1)[:most]]
    a, b, x, y = a[better], b[better], x[better], y[better]
    excess -= np.bincount(
        np.concatenate([(a + x).ravel(), (b + y).ravel()]), minlength=excess.size
    )
    excess += np.bincount(
        np.concatenate([(a + y).ravel(), (b + x).ravel()]), minlength=excess.size
    )
    mine[here[better]], mine[there[better]] = y[:, 0], x[:, 0]
