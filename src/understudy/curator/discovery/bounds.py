"""Private bounds: where a column's values lie, without its smallest or largest value
ever being looked up.

Two noisy histograms on public grids. The first counts lattice indices by sign and
number of binary digits, which fits every column there is. Bins that stand out of the
noise are taken, and runs of bins next to them that seem to hold something. The second
cuts the outermost two into pieces (or counts all again, where only zeros stand out),
and drops the outer pieces that seem to hold far less than the others, and bins that it
does not confirm. What lies outside is clipped, and clipping moves rows, while bounds too
wide cost little: so within a bin it is absence that takes evidence, not presence.
For the same reason bounds reach to zero, or to the value beside it where none is zero,
if values of many magnitudes lie on one side of it or the bins towards it do not look
empty. Rare extremes do not stand out of
the noise and do not show, as privacy demands.
A number that means missing (-99, 9999) and stands apart from all others is counted by
itself in the second histogram, and bounds do not reach to it (far_codes.py).

Why it is private. Each row lies in at most one bin of each histogram, so one unit moves
each by at most the sensitivity of a histogram; the two prices add up. The grids are
public, the second being chosen from the first's noisy answer. Every bin is noised, the
empty ones too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from understudy.accounting.expected_error import noise_deviation
from understudy.accounting.law import Law
from understudy.accounting.pricing import price
from understudy.curator.context import MechanismContext
from understudy.curator.discovery.bin_pieces import (
    MAX_BOUND_PIECES,
    MIN_DENSITY_RATIO,
    BinPieces,
    count_empty_pieces,
    is_confirmed,
    is_shown,
    split_bin,
)
from understudy.curator.discovery.far_codes import FarCodes, stands_apart, suspect_codes
from understudy.curator.discovery.magnitudes import (
    MAGNITUDE_EDGES,
    ZERO_BIN,
    widen_range,
)
from understudy.curator.discovery.rows_beyond import find_rows_beyond
from understudy.curator.discovery.tail_bounds import find_heavy_tail_end
from understudy.models.estimates.support import ADJACENT_BIN_SIGMAS
from understudy.noise.tails import tails_of_law
from understudy.schema.columns.lattice import RowsBeyond

BESIDE_ZEROS_SIGMAS = 2.75
"""Standard deviations by which a run of magnitudes beside zeros must exceed zero where
nothing else stands out.
"""

FALSE_ALARM_CHANCE = Fraction(1, 1000)
"""Chance that an empty bin anywhere in the first histogram stands out of the noise."""

NEAR_ZERO_RATIO = 8
"""Times that the outermost magnitude must exceed the innermost for bounds to reach to
zero: they are a quarter wider then, at most.
"""


class LearnedBounds(NamedTuple):
    """Lattice indices between which nearly all values of a column lie, and those of
    numbers beyond them that mean missing.
    """

    low: int
    high: int
    codes: tuple[int, ...] = ()
    beyond: RowsBeyond | None = None


def learn_bounds(
    context: MechanismContext,
    column: str,
    *,
    amount: Fraction,
    codes: Sequence[int] = (),
) -> LearnedBounds | None:
    """Bounds of a column, and which of the `codes` lie beyond them; None where nothing
    stands out.
    """
    # Half the amount finds the magnitudes, half the places within the outermost two.
    counts, scale = _measure_histogram(context, column, MAGNITUDE_EDGES, amount / 2)
    occupied = np.flatnonzero(
        counts > stand_out_count(context.law, scale, cells=len(counts))
    )
    if occupied.size == 0:
        # The price is the same whatever the rows say: else it would tell of them.
        _measure_histogram(
            context,
            column,
            tuple(range(MAX_BOUND_PIECES + 1)),
            amount / 2,
        )
        return None
    magnitude_noise = noise_deviation(context.law, scale)
    enough = ADJACENT_BIN_SIGMAS * magnitude_noise
    suspects = suspect_codes(MAGNITUDE_EDGES, counts, occupied, enough, codes)
    apart = [code.magnitude for code in suspects]
    occupied = occupied[~np.isin(occupied, apart)]
    counts = counts.copy()
    counts[apart] = 0
    standing = int(occupied[0]), int(occupied[-1])
    taken = widen_range(counts, *standing, enough)
    if standing == (ZERO_BIN, ZERO_BIN) and not suspects:
        return _learn_beside_zeros(context, column, counts, amount / 2)
    ends = _measure_ends(context, column, standing, taken, suspects, amount / 2)
    lower, upper = (
        _drop_lone_end(pieces, counts, places, outer, enough)
        for pieces, places, outer in (
            (ends.lower, occupied, taken[0]),
            (ends.upper, occupied[::-1], taken[1]),
        )
    )
    first, low = lower or _place_end(ends.lower, counts, standing[0], taken[0], enough)
    last, beyond = upper or _place_end(
        ends.upper, counts, standing[1], taken[1], enough
    )
    low, high = _extend_to_zero(
        counts, (first, last), (low, max(low, beyond - 1)), enough
    )
    reached = low, high
    low, high = _extend_heavy_tails(counts, magnitude_noise, (first, last), reached)
    bounds = _join_unconfirmed(LearnedBounds(low, high), suspects, ends)
    hidden = find_rows_beyond(
        counts, magnitude_noise, (first, last), bounds[:2], reached
    )
    return bounds._replace(beyond=hidden)


def _learn_beside_zeros(
    context: MechanismContext, column: str, counts: NDArray[np.int64], amount: Fraction
) -> LearnedBounds:
    """Bounds of a column in which zeros alone stand out: of zeros there are no ends to
    find, so all magnitudes are counted again, and both counts decide together.

    Shares of which a quarter are not zero, spread over some magnitudes, came back as
    zeros alone where either count hid these.
    """
    again, scale = _measure_histogram(context, column, MAGNITUDE_EDGES, amount)
    # Both counts have the same noise, for the same amount.
    noise = noise_deviation(context.law, scale) * math.sqrt(2)
    enough = BESIDE_ZEROS_SIGMAS * noise
    both = counts + again
    bar = stand_out_count(context.law, scale, cells=len(both)) * math.sqrt(2)
    standing = [ZERO_BIN, *np.flatnonzero(both > bar).tolist()]
    taken = widen_range(both, min(standing), max(standing), enough)
    low, high = MAGNITUDE_EDGES[taken[0]], MAGNITUDE_EDGES[taken[1] + 1] - 1
    # Each row is in both counts.
    halves = both // 2
    beyond = find_rows_beyond(halves, noise / 2, taken, (low, high), (low, high))
    return LearnedBounds(low, high, beyond=beyond)


def _join_unconfirmed(
    bounds: LearnedBounds, suspects: Sequence[FarCodes], ends: BoundEnds
) -> LearnedBounds:
    """Bounds with the codes that the second histogram confirms; where it shows other
    values in their magnitude, bounds reach to its end.
    """
    for code, pieces in zip(suspects, ends.suspected, strict=True):
        confirmed = code.confirm(pieces.edges, pieces.counts, pieces.noise)
        if confirmed:
            bounds = bounds._replace(codes=(*bounds.codes, *confirmed))
        elif is_shown(pieces):
            low = min(bounds.low, pieces.edges[0])
            high = max(bounds.high, pieces.edges[-1] - 1)
            bounds = bounds._replace(low=low, high=high)
    # A bound that noise or a tail carried beyond a code would make it a value again.
    below = [index for index in bounds.codes if index < 0]
    above = [index for index in bounds.codes if index > 0]
    low = max([bounds.low, *(index + 1 for index in below)])
    high = min([bounds.high, *(index - 1 for index in above)])
    return bounds._replace(low=low, high=max(low, high))


class BoundEnds(NamedTuple):
    """The outermost bins on either side in pieces, and the bins of suspected codes."""

    lower: BinPieces
    upper: BinPieces
    suspected: tuple[BinPieces, ...]


def _measure_ends(
    context: MechanismContext,
    column: str,
    standing: tuple[int, int],
    taken: tuple[int, int],
    suspects: Sequence[FarCodes],
    amount: Fraction,
) -> BoundEnds:
    """The second histogram: the outermost bins on either side in pieces, and suspected
    codes by themselves.
    """
    lower, upper = (
        split_bin(outer, stands_out=outer == inner)
        for outer, inner in zip(taken, standing, strict=True)
    )
    suspected = [code.split_magnitude(MAGNITUDE_EDGES) for code in suspects]
    # One list of edges, so that one histogram asks about all of them.
    edges = tuple(sorted({*lower, *upper, *(e for some in suspected for e in some)}))
    fine, scale = _measure_histogram(context, column, edges, amount)
    noise = noise_deviation(context.law, scale)

    def pick_pieces(some: tuple[int, ...]) -> BinPieces:
        start = edges.index(some[0])
        return BinPieces(some, fine[start : start + len(some) - 1], noise)

    inner = pick_pieces(upper)
    return BoundEnds(
        pick_pieces(lower),
        BinPieces(upper[::-1], inner.counts[::-1], noise),
        tuple(map(pick_pieces, suspected)),
    )


def _drop_lone_end(
    pieces: BinPieces,
    counts: NDArray[np.int64],
    occupied: NDArray[np.intp],
    outermost: int,
    enough: float,
) -> tuple[int, int] | None:
    """The next bin that stands out, and its outer edge, where the outermost lies apart
    from all others and the second histogram does not show it; None elsewhere.

    One column in a thousand has a bin that stands out by noise alone, mostly far from
    its values: years from 1871 on would reach to nine billion.
    """
    if len(occupied) < 2 or outermost != occupied[0] or is_shown(pieces):
        return None
    outer, inner = int(occupied[0]), int(occupied[1])
    if not stands_apart(counts, outer, inner, enough):
        return None
    return inner, MAGNITUDE_EDGES[inner if outer < inner else inner + 1]


def _place_end(
    pieces: BinPieces,
    counts: NDArray[np.int64],
    standing: int,
    outermost: int,
    enough: float,
) -> tuple[int, int]:
    """The bin in which bounds end on one side, and the edge at which they do."""
    if outermost == standing or is_confirmed(pieces):
        return outermost, pieces.edges[count_empty_pieces(pieces)]
    # A bin that did not stand out in the first histogram and is not there in the second
    # is noise: bounds end with the next one that holds enough.
    inward = 1 if outermost < standing else -1
    inner = range(outermost + inward, standing, inward)
    held = next((bin for bin in inner if counts[bin] > enough), standing)
    return held, MAGNITUDE_EDGES[held if inward > 0 else held + 1]


def _extend_heavy_tails(
    counts: NDArray[np.int64],
    noise: float,
    occupied: tuple[int, int],
    bounds: tuple[int, int],
) -> tuple[int, int]:
    """Bounds that reach to the likely end of a heavy tail, on either side."""
    first, last = occupied
    low, high = bounds
    edges = np.array(MAGNITUDE_EDGES, np.float64)
    upper = find_heavy_tail_end(edges, counts, noise**2, first=first, last=last)
    end = len(counts) - 1
    lower = find_heavy_tail_end(
        -edges[::-1], counts[::-1], noise**2, first=end - last, last=end - first
    )
    if upper is not None:
        high = max(high, int(upper) - 1)
    if lower is not None:
        low = min(low, -int(lower))
    return low, high


def _extend_to_zero(
    counts: NDArray[np.int64],
    occupied: tuple[int, int],
    bounds: tuple[int, int],
    enough: float,
) -> tuple[int, int]:
    """Bounds that reach to zero where all values lie on one side of it and seem to
    begin near it; to the value next to it where zero itself does not hold `enough`.
    """
    first, last = occupied
    low, high = bounds
    # Zero has a bin of its own: whoever counts from one on has none.
    nearest = 0 if counts[ZERO_BIN] > enough else 1
    taken = counts[first : last + 1]
    if MAGNITUDE_EDGES[first] > 0 and reaches_zero(taken, counts[:first]):
        return nearest, high
    behind = counts[last + 1 :][::-1]
    if MAGNITUDE_EDGES[last + 1] <= 0 and reaches_zero(taken[::-1], behind):
        return low, -nearest
    return low, high


def reaches_zero(taken: NDArray[np.int64], before: NDArray[np.int64]) -> bool:
    """Whether bounds on one side of zero should reach to it: where that makes them
    hardly wider, or the two bins towards zero do not look empty.

    `taken` are the counts of the bins within the bounds from the nearest to zero on,
    each twice as wide as the one before; `before` those of the bins that come before.

    >>> even, nothing = np.array([40, 80]), np.array([0, 0])
    >>> reaches_zero(even, np.array([10, 20])), reaches_zero(even, nothing)
    (True, False)
    """
    if 2 ** (len(taken) - 1) >= NEAR_ZERO_RATIO:
        return True
    # One magnitude alone (years, dates) says nothing about where values begin.
    if len(taken) < 2 or len(before) < 2:
        return False
    # Spread evenly, the next bin towards zero holds half as much and the one after it a
    # quarter; the second counts half, as it should.
    towards_zero = before[-1] + before[-2] / 2
    evenly = taken[0] * (1 / 2 + 1 / 8)
    return bool(towards_zero > MIN_DENSITY_RATIO * evenly)


def _measure_histogram(
    context: MechanismContext,
    column: str,
    edges: tuple[int, ...],
    amount: Fraction,
) -> tuple[NDArray[np.int64], Fraction]:
    """Noisy counts of a column's lattice indices by bin, and the scale of the noise."""
    sensitivity = context.unit_vector()
    scale = context.scale(amount, sensitivity)
    request = {
        "mechanism": "bounds",
        "column": column,
        "law": context.law,
        "scale": scale,
        "edges": edges,
    }
    answer = context.payments.pay(
        request,
        price(context.law, scale, sensitivity, context.accounting),
        lambda: context.table.lattice_counts(column, edges),
        lambda exact: {"counts": context.add_noise(exact, scale)},
    )
    return answer["counts"].astype(np.int64), scale


def stand_out_count(law: Law, scale: Fraction, *, cells: int) -> int:
    """The count that noise alone exceeds in none of this many cells, but for a chance
    of FALSE_ALARM_CHANCE.
    """
    # Steps of an eighth: the count may be a little too large, never too small.
    at = 1
    law_tails = tails_of_law(law, scale)
    while Fraction(law_tails.tail(at, 64)[1], 1 << 64) > FALSE_ALARM_CHANCE / cells:
        at += max(1, at // 8)
    return at
