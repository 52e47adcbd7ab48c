"""Decisions as a run of `adaptive` leaves them, on the columns of the small release."""

from __future__ import annotations

from dataclasses import replace

from understudy.decisions import Decision, Verdict

FAR_PAIR = Decision(
    stage="forest",
    clique=("sex", "age"),
    noisy_distance=410.0,
    distance=402.5,
    prior_variance=0.09,
    gain=350.0,
    part=0.6,
    verdict=Verdict.MEASURED,
)
NEAR_PAIR = replace(
    FAR_PAIR,
    clique=("age", "smoker"),
    distance=3.1,
    gain=0.0,
    part=0.0,
    verdict=Verdict.NO_GAIN,
)
UNASKED_COLUMN = replace(
    FAR_PAIR, stage="tree", clique=("age",), noisy_distance=None, gain=9.5, part=0.004
)
