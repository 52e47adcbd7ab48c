"""The model between central and local: a shuffler mixes reports before the server sees
them, and hides who sent which.

Feldman, McMillan, Talwar, "Hiding among the clones: a simple and nearly optimal
analysis of privacy amplification by shuffling", 2021, theorem 3.1. It holds for every
mechanism here, as long as the shuffler mixes reports of n honest respondents and is not
in league with the server. No shuffler is part of this package: these are the numbers to
decide with.
"""

from __future__ import annotations

from math import exp, log, sqrt

from understudy.errors import Refused

SHUFFLING_BISECTIONS = 60
"""Halvings of an interval of ε: beyond the precision of a float."""


def shuffled_epsilon(epsilon: float, respondents: int, delta: float) -> float:
    """ε of the shuffled reports of an ε-locally private mechanism, at this δ, where one
    respondent's value is replaced.

    >>> round(shuffled_epsilon(1.0, 1_000_000, 1e-9), 4)
    0.0283
    """
    if epsilon > _largest_epsilon(respondents, delta):
        # Too few respondents to hide among: the local promise is all there is.
        return epsilon
    growth = exp(epsilon)
    mixing = 8 * sqrt(growth * log(4 / delta) / respondents) + 8 * growth / respondents
    return min(epsilon, log(1 + (growth - 1) / (growth + 1) * mixing))


def local_epsilon(epsilon: float, respondents: int, delta: float) -> float:
    """The largest local ε whose shuffled reports are (ε, δ)-private.

    >>> round(local_epsilon(1.0, 1_000_000, 1e-9), 2)
    7.63
    """
    if epsilon <= 0 or not 0 < delta < 1 or respondents < 1:
        raise Refused("ε and δ are positive, δ is below 1, and somebody responds")
    low, high = epsilon, max(epsilon, _largest_epsilon(respondents, delta))
    for _ in range(SHUFFLING_BISECTIONS):
        middle = (low + high) / 2
        if shuffled_epsilon(middle, respondents, delta) <= epsilon:
            low = middle
        else:
            high = middle
    return low


def _largest_epsilon(respondents: int, delta: float) -> float:
    """The condition of the theorem."""
    return log(max(respondents / (16 * log(2 / delta)), 1))
