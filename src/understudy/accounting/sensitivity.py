"""How far one unit can move an answer: the catalogue every price rests on.

Data are clipped to a public [low, high] of width R. `max_rows` is how many rows one
unit has at most (1 when the unit is the row).

| answer | add/remove | replace |
|---|---|---|
| count of rows that satisfy something | max_rows | max_rows |
| fraction, n public | refused: n is private | 1/n |
| sum | max_rows·max(|low|, |high|) | R for rows, max_rows·max(R, |low|, |high|) for ids |
| sum without bounds | refused | refused |
| mean, n public | refused: release sum and count | R/n |
| median | R | R for odd n, R/2 for even n |
| variance, divisor n | refused: release n, Σx and Σx² | R²(n−1)/n² |
| variance, divisor n − 1 | refused: likewise | R²/n |
| max, min | R | R |
| histogram: L1, L2² | max_rows, max_rows² | 2·max_rows, 2·max_rows² |
| histogram as proportions, n public: L1 | refused | 2/n |
| m counts: L1, L2² | m·max_rows, m·max_rows² | the same |
| workload matrix W | largest column norm | largest norm of a difference of two columns |
| marginal with axis maps | the same, for W = ⊗ maps | the same |

Under replace an id may be exchanged for one with another number of rows, so a total
changes by up to max_rows when max_rows > 1; with one row to a unit n is fixed. Every
line is checked against all tables of up to six rows in
tests/accounting/test_sensitivity.py.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Protocol

from understudy.accounting.budget import Number, to_exact_fraction
from understudy.accounting.cost import Sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.errors import Refused


class Axis(Protocol):
    """What the sensitivity of a marginal needs to know of an axis map.

    A row lies in one cell of the axis; after the map that cell is a column of length
    `out` with one entry `own_entry` and all others `other_entry`.
    """

    @property
    def out(self) -> int: ...
    @property
    def own_entry(self) -> int: ...
    @property
    def other_entry(self) -> int: ...


def count_sensitivity(neighbours: Neighbours, *, max_rows: int = 1) -> Sensitivity:
    """Rows that satisfy something: one unit moves it by its rows at most.

    >>> count_sensitivity(Neighbours.ADD_REMOVE).l1
    Fraction(1, 1)
    """
    return counts_sensitivity(1, neighbours, max_rows=max_rows)


def counts_sensitivity(
    queries: int,
    neighbours: Neighbours,  # noqa: ARG001
    *,
    max_rows: int = 1,
) -> Sensitivity:
    """Any number of counts that may all overlap: each moves by the rows of a unit at
    most, under either relation.

    >>> counts_sensitivity(5, Neighbours.REPLACE).l1
    Fraction(5, 1)
    """
    return Sensitivity(
        Fraction(queries * max_rows),
        Fraction(queries * max_rows**2),
        queries,
        Fraction(max_rows),
    )


def fraction_sensitivity(neighbours: Neighbours, *, n: int) -> Sensitivity:
    """Share of rows that satisfy something, with n public.

    >>> fraction_sensitivity(Neighbours.REPLACE, n=100).l1
    Fraction(1, 100)
    """
    _require_public_n("A fraction", "the count and the total", neighbours)
    return _scalar_sensitivity(Fraction(1, n))


def sum_sensitivity(
    neighbours: Neighbours,
    *,
    low: Number | None,
    high: Number | None,
    max_rows: int = 1,
) -> Sensitivity:
    """Sum of a column clipped to [low, high], of which every row has a value.

    >>> [sum_sensitivity(relation, low=-1, high=3).l1 for relation in Neighbours]
    [Fraction(3, 1), Fraction(4, 1)]
    """
    if low is None or high is None:
        raise Refused(
            "One row can move a sum without bounds by any amount: give the column `min`"
            " and `max`, or learn them. Nothing was spent."
        )
    a, b = _exact_bounds(low, high)
    furthest = max(abs(a), abs(b))
    if neighbours is Neighbours.REPLACE:
        # With several rows a unit may have fewer after the exchange: rows only leave.
        furthest = b - a if max_rows == 1 else max(b - a, furthest)
    return _scalar_sensitivity(max_rows * furthest)


def mean_sensitivity(
    neighbours: Neighbours, *, low: Number, high: Number, n: int
) -> Sensitivity:
    """Mean of a clipped column, with n public.

    >>> mean_sensitivity(Neighbours.REPLACE, low=0, high=1, n=50).l1
    Fraction(1, 50)
    """
    _require_public_n("A mean", "the sum and the count", neighbours)
    a, b = _exact_bounds(low, high)
    return _scalar_sensitivity((b - a) / n)


def median_sensitivity(
    neighbours: Neighbours, *, low: Number, high: Number, n: int | None = None
) -> Sensitivity:
    """Median of a clipped column, the mean of the middle two for even n. So large that
    noise drowns it: use a private quantile instead.

    >>> [median_sensitivity(Neighbours.REPLACE, low=0, high=1, n=n).l1 for n in (5, 6)]
    [Fraction(1, 1), Fraction(1, 2)]
    """
    a, b = _exact_bounds(low, high)
    # Of the middle two only one moves, so their mean moves by half the range.
    even = neighbours is Neighbours.REPLACE and n is not None and n % 2 == 0
    return _scalar_sensitivity((b - a) / 2 if even else b - a)


def variance_sensitivity(
    neighbours: Neighbours, *, low: Number, high: Number, n: int, divisor: int
) -> Sensitivity:
    """Variance of a clipped column, with n public; `divisor` is n or n − 1.

    >>> [variance_sensitivity(Neighbours.REPLACE, low=0, high=1, n=4, divisor=d).l1 for d in (4, 3)]
    [Fraction(3, 16), Fraction(1, 4)]
    """
    _require_public_n(
        "A variance", "the count, the sum and the sum of squares", neighbours
    )
    a, b = _exact_bounds(low, high)
    if divisor not in (n, n - 1) or n < 2:
        raise Refused(
            "A variance divides by n or by n - 1, and needs two rows. Nothing was spent."
        )
    # All rows but one at one bound, and that one moved from there to the other.
    return _scalar_sensitivity((b - a) ** 2 * Fraction(n - 1, n) / divisor)


def extreme_sensitivity(
    neighbours: Neighbours,  # noqa: ARG001
    *,
    low: Number,
    high: Number,
) -> Sensitivity:
    """Largest or smallest value of a clipped column: the width of its declared domain.

    >>> extreme_sensitivity(Neighbours.ADD_REMOVE, low=0, high=120).l1
    Fraction(120, 1)
    """
    a, b = _exact_bounds(low, high)
    return _scalar_sensitivity(b - a)


def histogram_sensitivity(
    neighbours: Neighbours, *, cells: int, max_rows: int = 1
) -> Sensitivity:
    """Counts of disjoint cells that together hold every row.

    >>> histogram_sensitivity(Neighbours.REPLACE, cells=10).l1
    Fraction(2, 1)
    """
    return marginal_sensitivity([_IdentityAxis(cells)], neighbours, max_rows=max_rows)


def proportions_sensitivity(
    neighbours: Neighbours, *, cells: int, n: int
) -> Sensitivity:
    """A histogram divided by a public n.

    >>> proportions_sensitivity(Neighbours.REPLACE, cells=10, n=100).l1
    Fraction(1, 50)
    """
    _require_public_n("A histogram of proportions", "the counts", neighbours)
    one = histogram_sensitivity(neighbours, cells=cells)
    return Sensitivity(one.l1 / n, one.l2_squared / n**2, one.l0, one.linf / n)


def workload_sensitivity(
    matrix: Sequence[Sequence[Number]], neighbours: Neighbours, *, max_rows: int = 1
) -> Sensitivity:
    """Linear queries of a histogram, one row of the matrix each: the norms of its
    columns, or of their differences.

    >>> workload_sensitivity([[1, 1, 1], [1, 0, 0], [0, 1, 1]], Neighbours.ADD_REMOVE).l1
    Fraction(2, 1)
    """
    # Equal columns move the answer alike: each is looked at once.
    columns = sorted(
        {tuple(map(to_exact_fraction, column)) for column in zip(*matrix, strict=True)}
    )
    moves = alone = [[(abs(value), 1) for value in column] for column in columns]
    if neighbours is Neighbours.REPLACE:
        pairs = _list_differences(columns)
        moves = (pairs or [[(Fraction(0), 1)]]) if max_rows == 1 else pairs + alone
    reached = _count_reached_cells(moves, alone, neighbours, max_rows)
    return _worst_sensitivity(moves, max_rows, min(len(matrix), reached))


def _list_differences(
    columns: Sequence[tuple[Fraction, ...]],
) -> list[list[tuple[Fraction, int]]]:
    """By how much a row that moves from one cell to another moves each answer."""
    return [
        [(abs(x - y), 1) for x, y in zip(one, other, strict=True)]
        for one, other in combinations(columns, 2)
    ]


def marginal_sensitivity(
    maps: Sequence[Axis], neighbours: Neighbours, *, max_rows: int = 1
) -> Sensitivity:
    """`(⊗ maps) · counts` of one clique; no maps at all is the total.

    The column of a cell is a product over the axes, and the maps treat all cells of an
    axis alike. So a pair of cells is known by the axes on which they differ, and how
    often each pair of entries occurs in their two columns is a product of small tables.

    >>> [marginal_sensitivity([], relation).l1 for relation in Neighbours]
    [Fraction(1, 1), Fraction(0, 1)]
    """
    # A row that enters or leaves moves the answer by the column of its cell.
    alone = _tally_changes(
        [{(m.own_entry, 0): 1, (m.other_entry, 0): m.out - 1} for m in maps], lone=True
    )
    moves = [alone]
    if neighbours is Neighbours.REPLACE:
        choices = [_tally_axis_pairs(axis) for axis in maps]
        # Every set of axes on which the two cells differ.
        moves = [_tally_changes(list(choice)) for choice in product(*choices)]
        if max_rows > 1:
            # An exchanged id may have fewer rows: some are removed and none enters.
            moves.append(alone)
    cells = math.prod(m.out for m in maps)
    reached = _count_reached_cells(moves, [alone], neighbours, max_rows)
    return _worst_sensitivity(moves, max_rows, min(cells, reached))


def _tally_axis_pairs(axis: Axis) -> list[dict[tuple[int, int], int]]:
    """How often each pair of entries occurs in the columns of two cells: of one place
    on the axis, and of two where there are two.
    """
    own, other = axis.own_entry, axis.other_entry
    same = {(own, own): 1, (other, other): axis.out - 1}
    if axis.out == 1:
        return [same]
    return [same, {(own, other): 1, (other, own): 1, (other, other): axis.out - 2}]


class _IdentityAxis:
    """An axis as it is."""

    own_entry, other_entry = 1, 0

    def __init__(self, out: int) -> None:
        self.out = out


def _tally_changes(
    tables: Sequence[dict[tuple[int, int], int]], *, lone: bool = False
) -> list[tuple[Fraction, int]]:
    """How often each absolute change occurs, from how often each pair of entries occurs
    on each axis.
    """
    pairs = Counter({(1, 0 if lone else 1): 1})
    for table in tables:
        wider: Counter[tuple[int, int]] = Counter()
        for (x, y), times in pairs.items():
            for (u, v), more in table.items():
                if more:
                    wider[x * u, y * v] += times * more
        pairs = wider
    changes: Counter[int] = Counter()
    for (x, y), times in pairs.items():
        changes[abs(x - y)] += times
    return [(Fraction(change), times) for change, times in changes.items()]


# Absolute changes, and in how many cells each occurs.
_CellChanges = Sequence[tuple[Fraction, int]]


def _count_reached_cells(
    moves: Sequence[_CellChanges],
    alone: Sequence[_CellChanges],
    neighbours: Neighbours,
    max_rows: int,
) -> int:
    """In how many cells one unit can be seen: rows of a unit may all lie elsewhere."""
    if max_rows == 1:
        return max(sum(times for value, times in move if value) for move in moves)
    # Under replace, rows leave cells and enter others.
    tables = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    one_row = max(sum(times for value, times in move if value) for move in alone)
    return tables * max_rows * one_row


def _worst_sensitivity(
    moves: Sequence[_CellChanges], max_rows: int, reach: int
) -> Sensitivity:
    """The largest of each norm over all moves of one row, `max_rows` times.

    Norms are convex, so a unit moves an answer furthest when all its rows move
    together.
    """
    l1 = l2_squared = linf = Fraction(0)
    for move in moves:
        l1 = max(l1, sum((value * times for value, times in move), Fraction(0)))
        squares = sum((value**2 * times for value, times in move), Fraction(0))
        l2_squared = max(l2_squared, squares)
        linf = max(linf, max((value for value, _ in move), default=Fraction(0)))
    return Sensitivity(max_rows * l1, max_rows**2 * l2_squared, reach, max_rows * linf)


def _scalar_sensitivity(change: Fraction) -> Sensitivity:
    return Sensitivity(change, change**2, 1, change)


def _exact_bounds(low: Number, high: Number) -> tuple[Fraction, Fraction]:
    try:
        a, b = to_exact_fraction(low), to_exact_fraction(high)
    except ValueError:
        raise Refused(
            "Bounds must be finite numbers, or one row can move the answer by any"
            " amount: give `min` and `max`. Nothing was spent."
        ) from None
    if a > b:
        raise Refused(
            "The lower bound is above the upper one: exchange `min` and `max`. Nothing"
            " was spent."
        )
    return a, b


def _require_public_n(what: str, instead: str, neighbours: Neighbours) -> None:
    if neighbours is Neighbours.ADD_REMOVE:
        raise Refused(
            f"{what} needs a public number of rows, and adding or removing a row"
            f" changes it: release {instead} instead. Nothing was spent."
        )
