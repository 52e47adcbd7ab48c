"""The noisy answers of a census, and how least squares takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.accounting.law import Law
from understudy.censuses.controlled_rounding import Integers
from understudy.censuses.lattice import AxisSet
from understudy.censuses.least_squares import EXACT_ANSWER_VARIANCE, LevelAnswer
from understudy.measurements import Clique
from understudy.models.estimates.noise_moments import noise_variance


@dataclass(frozen=True, eq=False)
class LevelMeasurement:
    """The noisy marginals of all units of a level, exactly as they were drawn."""

    level: str
    query: Clique
    values: Integers
    scale: float
    law: Law = Law.DISCRETE_GAUSSIAN

    @property
    def variance(self) -> float:
        """The variance of the noise on each cell."""
        return find_answer_variance(self.law, self.scale)


def find_answer_variance(law: Law, scale: float | Fraction) -> float:
    """The variance of an answer's noise, as least squares takes it.

    >>> find_answer_variance(Law.DISCRETE_GAUSSIAN, 2.0)
    4.0
    >>> find_answer_variance(Law.DISCRETE_GAUSSIAN, 0.02)
    1e-10
    """
    if not scale:
        return EXACT_ANSWER_VARIANCE
    # Narrow noise on integers is nearly always 0, and doubles make its variance so.
    return max(noise_variance(law, scale), EXACT_ANSWER_VARIANCE)


def to_answers(
    measurements: Sequence[LevelMeasurement],
    levels: Sequence[str],
    find_axes: Callable[[Clique], AxisSet],
) -> list[LevelAnswer]:
    """Noisy answers as least squares takes them."""
    return [
        LevelAnswer(
            levels.index(each.level),
            find_axes(each.query),
            each.values,
            each.variance,
        )
        for each in measurements
    ]
