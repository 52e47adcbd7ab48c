"""The noisy answers of a census, and how least squares takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
        if not self.scale:
            return EXACT_ANSWER_VARIANCE
        return noise_variance(self.law, self.scale)


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
