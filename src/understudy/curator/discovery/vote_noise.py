"""How far the noise of a vote reaches. Post-processing: no row is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from understudy.accounting.expected_error import noise_deviation, noise_half_width
from understudy.accounting.law import Law

VOTE_NOISE_SIGMAS = 4
"""Votes for a candidate that may be noise alone, in standard deviations."""

VOTE_NOISE_LEVEL = 1 - 2e-5
"""Part of the noisy counts that stay below these votes, whatever the law of the noise:
of a column's hundred counts, one in a thousand columns has one beyond.
"""


@dataclass(frozen=True)
class VoteNoise:
    """The noise of one count of votes: its standard deviation, and how many times as
    far as VOTE_NOISE_SIGMAS of these its tail reaches.
    """

    deviation: float
    tail: float = 1.0

    @classmethod
    def of(cls, law: Law, scale: Fraction) -> VoteNoise:
        """The noise of this law and scale.

        >>> round(VoteNoise.of(Law.DISCRETE_LAPLACE, Fraction(20)).tail, 1)
        1.9
        """
        deviation = noise_deviation(law, scale)
        widest = noise_half_width(law, scale, VOTE_NOISE_LEVEL)
        normal = VOTE_NOISE_SIGMAS * deviation
        return cls(deviation, max(widest / normal, 1.0) if normal else 1.0)

    def bar(self, counts: int = 1) -> float:
        """Votes that noise alone hardly reaches in the sum of a number of counts."""
        # A sum of k counts is √k times as noisy as one, and its tail is nearly normal.
        excess = 1 + (self.tail - 1) / counts
        return VOTE_NOISE_SIGMAS * self.deviation * sqrt(counts) * excess
