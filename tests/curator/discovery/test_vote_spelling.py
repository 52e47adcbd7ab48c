"""Spellings that votes tell although noise could hide cells of another one."""

from __future__ import annotations

from datetime import timedelta
from fractions import Fraction

import numpy as np
import pytest

from understudy.curator.discovery.vote_noise import VoteNoise
from understudy.curator.discovery.vote_spelling import spell_as_voted
from understudy.curator.discovery.vote_steps import MAX_STEP_NOISE_SHARE, hidden_share
from understudy.schema import Real, Time
from understudy.tables import TYPE_CANDIDATES

NOISE = VoteNoise(50.0)
"""Four of these are more than a twenty-fifth of 3,000 cells."""


def ballots_of(votes: dict[str, int]) -> np.ndarray:
    ballots = np.zeros(len(TYPE_CANDIDATES), np.int64)
    for candidate, count in votes.items():
        ballots[TYPE_CANDIDATES.index(candidate)] = count
    return ballots


@pytest.mark.parametrize(
    ("seconds", "resolution"), [(0, 60), (60, 60), (2900, 1), (290, 1)]
)
def test_clocks_without_seconds_get_none(seconds: int, resolution: int) -> None:
    """11:15:00 came back as 11:15:26 where noise might have hidden a few seconds."""
    votes = {"%H:%M:%S by 0:01:00": 3000 - seconds, "time": seconds}
    ballots = ballots_of(votes)
    assert hidden_share(ballots, NOISE) > MAX_STEP_NOISE_SHARE
    standing = [name for name, count in votes.items() if count > NOISE.bar()]
    clock = spell_as_voted(Time(name="x"), "time", standing, ballots, NOISE)
    assert isinstance(clock, Time)
    assert clock.resolution == timedelta(seconds=resolution)


@pytest.mark.parametrize(("shorter", "zeros"), [(0, True), (80, True), (270, False)])
def test_decimals_are_all_written_or_as_floats_are(shorter: int, zeros: bool) -> None:
    """302.50 came back as 302.5 at 3,000 rows."""
    ballots = ballots_of({"decimal2": 3000 - shorter, "decimal1": shorter})
    amount = Real(name="x", step=Fraction(1, 100))
    spelled = spell_as_voted(amount, "decimal2", ["decimal2"], ballots, NOISE)
    assert isinstance(spelled, Real)
    assert spelled.trailing_zeros is zeros
    loud = VoteNoise(80.0)
    unclear = spell_as_voted(amount, "decimal2", ["decimal2"], ballots, loud)
    assert isinstance(unclear, Real)
    assert unclear.trailing_zeros is None
