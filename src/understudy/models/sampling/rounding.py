"""Sampling by rounding: integer counts as close to the expected ones as integers can
be.

Independent draws put an error of √count on every cell; rounding puts less than one.
Each cell gets the floor of its expected count, and the rows that remain go to the
fractional parts by systematic sampling (Madow 1949): lay the fractions end to end on a
line, throw one uniform offset, and count the marks at offset, offset + 1, … inside
each. So counts sum to exactly the rows asked for, each is within one of its
expectation, the expectation is exact, and a cell with nothing expected never gets a
row.

Rounding sees only a model, so it is post-processing: its generator may be seeded.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

# A scaled count this close to an integer is that integer: division by the total must
# not make a fraction of it.
INTEGER_SNAP_DISTANCE = 1e-9


def round_counts(
    expected: NDArray[np.float64], rows: int, rng: Generator
) -> NDArray[np.int64]:
    """Counts that sum to `rows`, each less than one away from its share of them.

    One axis is walked in order, so that the counts of any range of codes are also
    within one. A table with several axes is walked in random order: its rows would
    otherwise meet the stride of the marks.

    >>> rng = np.random.default_rng(0)
    >>> round_counts(np.array([1.0, 2.0, 3.0]), 12, rng).tolist()
    [2, 4, 6]
    >>> int(round_counts(np.array([[0.3, 0.3], [0.4, 0.0]]), 1, rng).sum())
    1
    """
    expected = np.asarray(expected, np.float64)
    flat = expected.ravel()
    sizes, asked = np.array([flat.size]), np.array([rows])
    if expected.ndim < 2 or rows == 0:
        return round_groups(flat, sizes, asked, rng).reshape(expected.shape)
    # Empty cells need no place on the line, and a table is mostly empty cells.
    order = rng.permutation(np.flatnonzero(flat))
    counts = np.zeros(flat.size, np.int64)
    counts[order] = round_groups(flat[order], np.array([order.size]), asked, rng)
    return counts.reshape(expected.shape)


def round_groups(
    expected: NDArray[np.float64],
    sizes: NDArray[np.int64],
    rows: NDArray[np.int64],
    rng: Generator,
) -> NDArray[np.int64]:
    """The same for many groups at once: `sizes[g]` consecutive cells share `rows[g]`
    rows, each group with an offset of its own.

    >>> rng = np.random.default_rng(0)
    >>> round_groups(
    ...     np.array([1.0, 1.0, 5.0]), np.array([2, 1]), np.array([4, 3]), rng
    ... ).tolist()
    [2, 2, 3]
    """
    if np.any(sizes < 1) or int(sizes.sum()) != expected.size:
        raise ValueError("every group needs cells, and every cell a group")
    if np.any(rows < 0):
        raise ValueError("a number of rows cannot be negative")
    if not np.all(np.isfinite(expected)) or np.any(expected < 0):
        raise ValueError("expected counts must be finite and not negative")
    starts = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(expected, starts)
    if np.any((sums <= 0) & (rows > 0)):
        raise ValueError("rows cannot be shared among cells of which none is expected")
    # Cells first divided by their sum: a tiny sum must not overflow the quotient.
    scaled = (
        expected
        / np.repeat(np.where(sums > 0, sums, 1.0), sizes)
        * np.repeat(rows, sizes)
    )
    nearest = np.rint(scaled)
    scaled = np.where(
        np.abs(scaled - nearest) <= INTEGER_SNAP_DISTANCE + nearest * 2.0**-50,
        nearest,
        scaled,
    )
    whole = np.floor(scaled)
    fraction = scaled - whole
    missing = rows - np.add.reduceat(whole, starts).astype(np.int64)

    line = np.cumsum(fraction)
    line -= np.repeat(line[starts] - fraction[starts], sizes)
    ends = line[starts + sizes - 1]
    # Where the line ends the quotient is exactly 1, so the last mark never falls on an
    # empty cell behind it.
    marks = line / np.repeat(np.where(ends > 0, ends, 1.0), sizes)
    room = np.repeat(missing, sizes)
    passed = np.minimum(
        np.floor(marks * room + np.repeat(rng.random(sizes.size), sizes)), room
    )
    passed = np.where(marks >= 1, room, passed)
    extra = np.diff(passed, prepend=0.0)
    extra[starts] = passed[starts]
    return np.asarray(whole + extra, np.int64)


def fraction_variance(expected: NDArray[np.float64]) -> NDArray[np.float64]:
    """The variance that rounding leaves in every cell: p(1 - p) for a fraction p of a
    row, nothing where the expectation is whole.

    >>> fraction_variance(np.array([3.0, 0.5, 7.9])).round(2).tolist()
    [0.0, 0.25, 0.09]
    """
    part = np.asarray(expected, np.float64) % 1.0
    return np.asarray(part * (1 - part))


def draw_shuffled_codes(
    shares: NDArray[np.float64],
    rows: int,
    rng: Generator,
    dtype: np.dtype[np.unsignedinteger],
) -> NDArray[np.unsignedinteger]:
    """One column of `rows` codes in random order, its counts rounded from `shares`.

    >>> sorted(
    ...     draw_shuffled_codes(
    ...         np.array([0.25, 0.75]), 4, np.random.default_rng(0), np.dtype(np.uint8)
    ...     ).tolist()
    ... )
    [0, 1, 1, 1]
    """
    codes = np.repeat(
        np.arange(shares.size, dtype=dtype), round_counts(shares, rows, rng)
    )
    rng.shuffle(codes)
    return codes
