"""People with several rows: sampled rows gathered under generated persons.

Rows are sampled as ever. Those that agree on the columns which are constant within a
person may be one person's. How many persons have 1, 2, … rows follows a histogram that
was paid for (or declared): the largest households are placed first, each in a random
group of rows that still has room, so that the histogram is met as far as the groups
allow; what is left over has one row each.

This gives the right marginals of rows, the right number of rows per person, and
constant columns. It does not give dependence between the rows of one person beyond the
constant columns: their other columns follow the model given the constant ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from understudy.models.sampling.conditions import group_rows

# Generated keys begin somewhere between these: whole numbers of 16 digits, exact in
# every format, and nobody's own.
MIN_KEY_START, MAX_KEY_START = 10**15, 8 * 10**15


def gather_persons(
    codes: Mapping[str, NDArray[np.integer]],
    constants: Sequence[str],
    sizes: Sequence[int],
    rows: int,
    rng: Generator,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An order of the rows in which each person's stand together, and the number of the
    person each then belongs to.

    >>> codes = {"sex": np.array([0, 1, 0, 1, 0, 0])}
    >>> order, person = gather_persons(codes, ["sex"], [0, 1], 6, np.random.default_rng(0))
    >>> [codes["sex"][order].tolist()[i : i + 2] for i in (0, 2, 4)], person.tolist()
    ([[0, 0], [0, 0], [1, 1]], [0, 0, 1, 1, 2, 2])
    """
    groups = group_rows(codes, tuple(constants), rows)
    left = groups.counts.astype(np.int64)
    taken = []
    for k, wanted in reversed(list(enumerate(_persons_by_size(sizes, rows), start=1))):
        if k == 1:
            placed = left.copy()
        else:
            room = left // k
            placed = _spread_persons(room, min(wanted, int(room.sum())), rng)
        left = left - k * placed
        taken.append((k, placed))
    # Rows in random order, then by group; the persons of a group take them in turn.
    order = rng.permutation(rows)
    order = order[np.argsort(groups.member[order], kind="stable")]
    length = (
        np.concatenate([np.repeat(k, placed.sum()) for k, placed in taken])
        if taken
        else np.zeros(0, np.int64)
    )
    home = np.concatenate(
        [np.repeat(np.arange(left.size), placed) for _, placed in taken]
    )
    ranked = np.argsort(home, kind="stable")
    start = np.concatenate([[0], np.cumsum(length[ranked])])
    shuffled = rng.permutation(ranked.size)
    pieces = length[ranked][shuffled]
    first = np.repeat(start[:-1][shuffled], pieces)
    within = np.arange(rows) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return order[first + within], np.repeat(np.arange(shuffled.size), pieces)


def _persons_by_size(sizes: Sequence[int], rows: int) -> list[int]:
    """How many persons have 1, 2, … rows, in proportion to the histogram, such that all
    rows are theirs.
    """
    weights = np.array(sizes if sum(sizes) else [1], np.float64)
    shares = weights / weights.sum()
    persons = rows / float(shares @ np.arange(1, shares.size + 1))
    return [round(persons * share) for share in shares]


def _spread_persons(
    room: NDArray[np.int64], wanted: int, rng: Generator
) -> NDArray[np.int64]:
    """So many persons over groups, each place equally likely."""
    if wanted >= int(room.sum()):
        return room.copy()
    slots = np.repeat(np.arange(room.size), room)
    return np.bincount(rng.permutation(slots)[:wanted], minlength=room.size).astype(
        np.int64
    )


def representative_rows(person: NDArray[np.int64], turn: int = 0) -> NDArray[np.int64]:
    """For each row, which row speaks for its person: the first, or the next one at each
    turn. A person's rows stand together.

    >>> (
    ...     representative_rows(np.array([0, 0, 1])).tolist(),
    ...     representative_rows(np.array([0, 0, 1]), 1).tolist(),
    ... )
    ([0, 0, 2], [1, 1, 2])
    """
    begins = np.diff(person, prepend=-1) != 0
    first = np.flatnonzero(begins)
    rows = np.diff(np.append(first, person.size))
    return np.asarray(
        (first + turn % np.maximum(rows, 1))[np.cumsum(begins) - 1], np.int64
    )
