"""Numbers that mean missing, far from all others: -99 among ages, 9999 among incomes.
Post-processing of noisy counts: no row is read and nothing is paid.

Codebooks use few numbers for it (`tables.LEADING_CODES`), and only those are looked for.
One is suspected where the outermost magnitude that exceeds its noise has a code in it and
stands apart: on the other side of zero from all others, or beyond a magnitude that holds
nothing. The second histogram of the bounds then counts the code by itself, and it is one
where the rest of its magnitude holds next to nothing. A code that is found wrongly does
little harm: it keeps its rows and its spelling.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.models.estimates.support import ADJACENT_BIN_SIGMAS
from understudy.schema import Column, Integer, Lattice, Real
from understudy.tables import LEADING_CODES

MIN_CODE_SIGMAS = 4
"""Standard deviations by which the count of a code itself must exceed zero."""

MAX_BESIDE_CODE_SHARE = 0.05
"""Part of a code's rows that the rest of its magnitude may hold."""


class FarCodes(NamedTuple):
    """Suspected codes: their magnitude, and their lattice indices in order."""

    magnitude: int
    indices: tuple[int, ...]

    def split_magnitude(self, edges: Sequence[int]) -> tuple[int, ...]:
        """Edges that count each code apart from the rest of its magnitude.

        >>> FarCodes(1, (-99,)).split_magnitude((-256, -128, -64))
        (-128, -99, -98, -64)
        """
        low, high = edges[self.magnitude], edges[self.magnitude + 1]
        own = {end for index in self.indices for end in (index, index + 1)}
        return tuple(sorted({low, high, *own}))

    def confirm(
        self, edges: tuple[int, ...], counts: NDArray[np.int64], noise: float
    ) -> tuple[int, ...]:
        """The codes that rows have, where hardly a row of the magnitude has another
        value; else none.

        >>> FarCodes(1, (-99,)).confirm((-128, -99, -98, -64), np.array([3, 90, -5]), 10.0)
        (-99,)
        """
        places = [edges.index(index) for index in self.indices]
        rows = dict(zip(self.indices, counts[places].tolist(), strict=True))
        held = sum(rows.values())
        beside = int(counts.sum()) - held
        error = noise * math.sqrt(max(len(counts) - len(rows), 1))
        if beside > max(ADJACENT_BIN_SIGMAS * error, MAX_BESIDE_CODE_SHARE * held):
            return ()
        return tuple(i for i, count in rows.items() if count > MIN_CODE_SIGMAS * noise)


def list_code_indices(column: Lattice) -> tuple[int, ...]:
    """The lattice indices of the codes that a column of numbers may have; none where its
    type was declared, since then the owner has looked at it.

    >>> list_code_indices(Integer(name="age"))
    ()
    """
    if not isinstance(column, Integer | Real) or "type" not in column.learned:
        return ()
    if column.low is not None or column.high is not None:
        return ()
    places = [Fraction(code) / Fraction(column.step) for code in LEADING_CODES]
    whole = [int(place) for place in places if place.denominator == 1]
    return tuple(sorted([*(-index for index in whole), *whole]))


def with_numeric_codes(column: Column, codes: Sequence[int], step: Fraction) -> Column:
    """The column with codes at these indices of a lattice of this step."""
    if not codes:
        return column
    point = ".0" if isinstance(column, Integer) and column.whole_point else ""
    spelled = tuple(f"{int(index * step)}{point}" for index in codes)
    return replace(
        column,
        missing=(*column.missing, *spelled),
        learned=(*column.learned, "missing codes"),
    )


def suspect_codes(
    edges: Sequence[int],
    counts: NDArray[np.int64],
    occupied: NDArray[np.intp],
    enough: float,
    codes: Sequence[int],
) -> list[FarCodes]:
    """The codes at both ends that stand apart; `enough` is what a magnitude must hold to
    count as one that holds something.

    >>> edges, counts = (-128, -64, 0, 64, 128), np.array([80, 2, 90, 300])
    >>> suspect_codes(edges, counts, np.array([0, 2, 3]), 10.0, (-99, 99))
    [FarCodes(magnitude=0, indices=(-99,))]
    """
    if len(occupied) < 2:
        return []
    ends = {int(occupied[0]): int(occupied[1]), int(occupied[-1]): int(occupied[-2])}
    apart = [
        outer
        for outer, inner in ends.items()
        if stands_apart(counts, outer, inner, enough)
    ]
    listed = [FarCodes(outer, _codes_inside(edges, outer, codes)) for outer in apart]
    suspects = [code for code in listed if code.indices]
    # Codes alone are no column.
    return suspects if len(suspects) < len(occupied) else []


def _codes_inside(
    edges: Sequence[int], magnitude: int, codes: Sequence[int]
) -> tuple[int, ...]:
    low, high = edges[magnitude], edges[magnitude + 1]
    return tuple(index for index in codes if low <= index < high)


def stands_apart(
    counts: NDArray[np.int64], outer: int, inner: int, enough: float
) -> bool:
    """Whether magnitudes lie between two, and hold next to nothing together."""
    between = counts[min(outer, inner) + 1 : max(outer, inner)]
    return bool(between.size and between.sum() <= enough * math.sqrt(between.size))
