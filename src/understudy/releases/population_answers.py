"""What a release says of a population: estimates with intervals that count the noise, and
copies for tools that want tables. No row is read and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from understudy.inference.population import InferenceSettings, infer_population
from understudy.inference.population_estimate import PopulationEstimate
from understudy.inference.population_means import (
    estimate_difference,
    estimate_means,
    estimate_odds_ratio,
    estimate_proportions,
)
from understudy.releases.contents import ReleaseContents

if TYPE_CHECKING:
    pass


class PopulationAnswers(ReleaseContents):
    """Questions about the population that the people in the table are a `sample` of, or
    all of (`census`).

    All of them are refused where a set of columns was not measured that the answer
    depends on, unless `assume` says how strongly it may go together: the standard
    deviation of its contrasts, in logarithms of a share (1 is wide).
    """

    def infer(
        self,
        formula: str,
        *,
        family: str = "gaussian",
        population: str = "sample",
        level: float = 0.95,
        assume: float | None = None,
    ) -> PopulationEstimate:
        """Coefficients of a formula with intervals for the population, at no cost.

        They come from the measurements, not from synthetic rows: the noise is known, so
        the intervals hold. `family` is `gaussian`, `binomial` or `poisson`. The people in
        the table are a `sample` of the population, or all of it (`census`). Every pair
        of the formula's columns must have been measured, which the workload
        `model=<formula>` sees to; otherwise it is refused, or widened by `assume`.
        Numbers stand at the middle of their bins. A formula is code to statsmodels: take
        none from a stranger.
        """
        settings = InferenceSettings(population=population, level=level, assume=assume)
        return infer_population(
            self.evidence.least_squares, formula, family=family, settings=settings
        )

    def mean(
        self,
        column: str,
        *,
        by: str | Sequence[str] = (),
        population: str = "sample",
        level: float = 0.95,
        assume: float | None = None,
    ) -> PopulationEstimate:
        """The mean of a numeric column in the population, or in each group of `by`."""
        return estimate_means(
            self.evidence.least_squares,
            column,
            by=by,
            settings=InferenceSettings(
                population=population, level=level, assume=assume
            ),
        )

    def proportion(
        self,
        column: str,
        value: object,
        *,
        by: str | Sequence[str] = (),
        population: str = "sample",
        level: float = 0.95,
        assume: float | None = None,
    ) -> PopulationEstimate:
        """The proportion of people with this value among those that have one."""
        return estimate_proportions(
            self.evidence.least_squares,
            column,
            value,
            by=by,
            settings=InferenceSettings(
                population=population, level=level, assume=assume
            ),
        )

    def difference(
        self,
        column: str,
        *,
        by: str,
        between: tuple[object, object] | None = None,
        value: object = None,
        population: str = "sample",
        level: float = 0.95,
        assume: float | None = None,
    ) -> PopulationEstimate:
        """The mean of a column, or the proportion of `value`, in the second of two
        groups less that in the first.
        """
        return estimate_difference(
            self.evidence.least_squares,
            column,
            by=by,
            between=between,
            value=value,
            settings=InferenceSettings(
                population=population, level=level, assume=assume
            ),
        )

    def odds_ratio(
        self,
        column: str,
        *,
        by: str,
        between: tuple[object, object] | None = None,
        value: object = None,
        population: str = "sample",
        level: float = 0.95,
        assume: float | None = None,
    ) -> PopulationEstimate:
        """The odds of `value` against all others in the second of two groups, over those
        in the first.
        """
        return estimate_odds_ratio(
            self.evidence.least_squares,
            column,
            by=by,
            between=between,
            value=value,
            settings=InferenceSettings(
                population=population, level=level, assume=assume
            ),
        )
