"""Which coarse steps of numbers noisy votes can tell. Post-processing: no row is read."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.curator.discovery.rows_beyond import limit_rows_anywhere
from understudy.curator.discovery.vote_noise import VoteNoise
from understudy.schema import Column, Integer
from understudy.tables import (
    EMPTY_CANDIDATE,
    NUMBER_CANDIDATES,
    PLAIN_STEPS,
    POINT_SUFFIX,
    TYPE_CANDIDATES,
    has_whole_point,
    kind_of_vote,
)

MAX_STEP_NOISE_SHARE, MAX_ROUND_NOISE_SHARE = Fraction(1, 25), Fraction(1, 5)
"""Parts of a column's numbers that the noise of a vote may hide where a coarse step is
to be believed, and one of ROUND_STEPS that nothing speaks against: what lies between
its multiples is rounded. Of numbers that nobody rounded a tenth are multiples of ten, so
that more may be hidden before chance explains that all seem to be.
"""

BETWEEN_STEPS_SIGMAS = 1.5
"""Standard deviations that the votes for whole numbers between tens may reach where
these are still believed to be rounded; of clocks, those for seconds; of decimals, those
for texts without the last one.
"""

ROUND_STEPS = frozenset(
    f"integer{step}{point}" for step in (10, 100, 1000) for point in ("", ".0")
)
"""Candidates of numbers that were rounded to tens, hundreds or thousands."""

BETWEEN_STEPS = ("integer", "integer2", "integer5")
"""Candidates of whole numbers that were not."""

BEYOND_ONE_SIGMAS = 2
"""Standard deviations by which the votes for whole numbers beyond one must exceed zero,
together, for a column of zeros and ones to have its bounds learned. Years beside zeros
divide their votes among the steps, so that none stands out alone; a flag that is taken
for such a column pays for its bounds and stays a flag.
"""


def find_hidden_steps(ballots: NDArray[np.int64], noise: VoteNoise) -> set[str]:
    """The coarse steps between whose multiples noise could hide too many cells."""
    share = hidden_share(ballots, noise)
    if share <= MAX_STEP_NOISE_SHARE:
        return set()
    if share <= MAX_ROUND_NOISE_SHARE and _seems_round(ballots, noise):
        return set(PLAIN_STEPS) - ROUND_STEPS
    return set(PLAIN_STEPS)


def _seems_round(ballots: NDArray[np.int64], noise: VoteNoise) -> bool:
    """Whether no votes speak for whole numbers between tens."""
    votes = dict(zip(TYPE_CANDIDATES, ballots.tolist(), strict=True))
    point = POINT_SUFFIX if has_whole_point(votes) else ""
    between = sum(votes[name + point] for name in BETWEEN_STEPS)
    error = noise.deviation * sqrt(len(BETWEEN_STEPS))
    return bool(between <= BETWEEN_STEPS_SIGMAS * error)


def elect_beyond_bits(ballots: NDArray[np.int64], noise: VoteNoise) -> str:
    """What a column is in whose votes nothing but zero and one stands out: a bit, unless
    the votes for other whole numbers say otherwise together. Ones beside which nothing
    speaks for zeros are answers or counts: as bits, zeros that nobody gave would be drawn.

    >>> ballots = np.zeros(len(TYPE_CANDIDATES), np.int64)
    >>> ballots[TYPE_CANDIDATES.index("zero")] = 2000
    >>> for name in BETWEEN_STEPS:
    ...     ballots[TYPE_CANDIDATES.index(name)] = 30
    >>> elect_beyond_bits(ballots, VoteNoise(10.0)), elect_beyond_bits(ballots, VoteNoise(20.0))
    ('integer', 'bit')
    """
    votes = dict(zip(TYPE_CANDIDATES, ballots.tolist(), strict=True))
    point = POINT_SUFFIX if has_whole_point(votes) else ""
    plain = "integer" + point
    names = [plain, *(coarse for coarse in PLAIN_STEPS if PLAIN_STEPS[coarse] == plain)]
    count = sum(votes[name] for name in names)
    least = BEYOND_ONE_SIGMAS * noise.deviation
    is_beyond = count > least * sqrt(len(names))
    zeros, ones = votes["zero" + point], votes["bit" + point]
    has_no_zeros = ones > noise.bar() and zeros <= least
    return "integer" if is_beyond or has_no_zeros else "bit"


def with_unseen_rows(
    column: Column, elected: str, ballots: NDArray[np.int64], noise: VoteNoise
) -> Column:
    """A column of bits with the rows that noise may hide, where no ones stand out
    either: other whole numbers may be among them as well.
    """
    if elected != "bit" or not isinstance(column, Integer):
        return column
    votes = dict(zip(TYPE_CANDIDATES, ballots.tolist(), strict=True))
    ones = [votes[name] for name in votes if kind_of_vote(name) == "bit"]
    if max(ones) > noise.bar():
        return column
    others = [votes[name] for name in NUMBER_CANDIDATES if kind_of_vote(name) != "zero"]
    return replace(column, beyond=limit_rows_anywhere(max(others), noise.deviation))


def hidden_share(ballots: NDArray[np.int64], noise: VoteNoise) -> float:
    """The part of a column's filled cells that the noise of a count could hide; zeros
    apart, which are multiples of every step.
    """
    # Candidates that nothing votes for are many: their noise would add up.
    standing = ballots > noise.bar()
    for name in (EMPTY_CANDIDATE, "zero", "zero" + POINT_SUFFIX):
        standing[TYPE_CANDIDATES.index(name)] = False
    filled = int(ballots[standing].sum())
    return noise.bar() / filled if filled else 1.0
