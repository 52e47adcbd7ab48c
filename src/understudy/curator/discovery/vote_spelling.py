"""How the values of a column are spelled, by the votes of its cells. Post-processing: no
row is read and nothing is paid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from understudy.curator.discovery.vote_noise import VoteNoise
from understudy.curator.discovery.vote_steps import (
    BETWEEN_STEPS_SIGMAS,
    MAX_ROUND_NOISE_SHARE,
    MAX_STEP_NOISE_SHARE,
    hidden_share,
)
from understudy.schema import Column, Date, Datetime, Integer, Real, Time
from understudy.tables import (
    LARGE_CANDIDATE,
    MOMENT_SPELLINGS,
    TYPE_CANDIDATES,
    MomentSpelling,
    choose_spelling,
    has_trailing_zeros,
    has_whole_point,
    seems_zero_filled,
)

LONGEST_RESOLUTIONS: dict[type[Column], timedelta] = {
    Datetime: timedelta(days=1),
    Time: timedelta(hours=1),
}
"""The coarsest resolution of moments and of times of day that is elected."""


def spell_as_voted(
    column: Column,
    elected: str,
    standing: Sequence[str],
    ballots: NDArray[np.int64],
    noise: VoteNoise,
) -> Column:
    """The column with the format, resolution and zeros that its cells are spelled with;
    `standing` are the candidates whose votes stand out.
    """
    votes = dict(zip(TYPE_CANDIDATES, ballots.tolist(), strict=True))
    hidden = hidden_share(ballots, noise)
    quiet = BETWEEN_STEPS_SIGMAS * noise.deviation
    if isinstance(column, Real):
        zeros = (
            has_trailing_zeros(elected, standing)
            if hidden <= MAX_STEP_NOISE_SHARE
            else seems_zero_filled(elected, votes, quiet)
        )
        column = replace(column, trailing_zeros=zeros)
    if isinstance(column, Integer | Real):
        # Of numbers that a program computed hardly any are whole, and votes for these
        # are noise: then the point is that of all floats.
        is_computed = elected in ("real", LARGE_CANDIDATE)
        margin = noise.bar() if is_computed else 0.0
        return column.with_whole_point(has_whole_point(votes, margin))
    if not isinstance(column, Date | Datetime | Time) or elected == "date":
        return column
    spelling = _spell_moments(elected, standing, votes, hidden, quiet)
    if isinstance(column, Date):
        return replace(column, format=spelling.format)
    # A clock that shows nothing but midnights has hours all the same.
    longest = LONGEST_RESOLUTIONS[type(column)]
    resolution = min(spelling.resolution, longest)
    return replace(column, format=spelling.format, resolution=resolution)


def _spell_moments(
    elected: str,
    standing: Sequence[str],
    votes: dict[str, int],
    hidden: float,
    quiet: float,
) -> MomentSpelling:
    """The spelling of moments or times of day. Of clocks whose seconds nobody left out a
    sixtieth shows none, so that more cells may be hidden than of numbers, if no votes
    speak for seconds: `quiet` is what noise may reach in one count.
    """
    stood = {name: votes[name] for name in standing}
    spelling = choose_spelling(elected, stood, is_resolution_clear=True)
    finer = [
        votes[name]
        for name, other in MOMENT_SPELLINGS.items()
        if (other.kind, other.format) == (spelling.kind, spelling.format)
        and other.resolution < spelling.resolution
    ]
    seems_coarse = sum(finer) <= quiet * sqrt(len(finer))
    is_clear = hidden <= MAX_STEP_NOISE_SHARE or (
        hidden <= MAX_ROUND_NOISE_SHARE and seems_coarse
    )
    return choose_spelling(elected, stood, is_resolution_clear=is_clear)
