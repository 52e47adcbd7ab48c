"""What a release says of a population: estimates with intervals that count the noise, and
copies for tools that want tables. No row is read and nothing is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from understudy.errors import Refused
from understudy.inference.copies import SyntheticCopies
from understudy.inference.population import InferenceSettings, infer_population
from understudy.inference.population_estimate import PopulationEstimate
from understudy.inference.population_means import (
    estimate_difference,
    estimate_means,
    estimate_odds_ratio,
    estimate_proportions,
)
from understudy.inference.posterior_copies import PosteriorCopies
from understudy.releases.contents import ReleaseContents
from understudy.releases.moment_estimates import estimate_from_moments, find_moments
from understudy.releases.output.frames import to_frame
from understudy.schema import Schema

_UNDETERMINED_MOMENTS = (
    "Moments of these columns were measured, and their noise is too large beside them:"
    " ask for a release with a larger ε, or with moments of fewer columns"
)


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
        Numbers stand at the middle of their bins, unless the workload had
        `moments=<formula>`: then least squares of these columns takes them as they are.
        A formula is code to statsmodels: take none from a stranger.
        """
        settings = InferenceSettings(population=population, level=level, assume=assume)
        if family == "gaussian":
            found = self._fit_moments(formula, settings)
            if found is not None:
                return found
        try:
            return infer_population(
                self.evidence.least_squares, formula, family=family, settings=settings
            )
        except Refused as refusal:
            if find_moments(self.measurements, self.schema, formula) is None:
                raise
            raise Refused(f"{refusal}. {_UNDETERMINED_MOMENTS}") from None

    def _fit_moments(
        self, formula: str, settings: InferenceSettings
    ) -> PopulationEstimate | None:
        return estimate_from_moments(self.measurements, self.schema, formula, settings)

    def mean(
        self,
        column: str,
        *,
        by: str | Sequence[str] = (),
        population: str = "sample",
        level: float = 0.95,
        assume: float | None = None,
    ) -> PopulationEstimate:
        """The mean of a numeric column in the population, or in each group of `by`; of the
        numbers themselves where the workload had moments of it.
        """
        settings = InferenceSettings(population=population, level=level, assume=assume)
        if not by:
            found = self._fit_moments(f'Q("{column}") ~ 1', settings)
            if found is not None:
                return replace(found, names=(column,), title=f"mean of {column}")
        return estimate_means(
            self.evidence.least_squares, column, by=by, settings=settings
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

    def copies(
        self,
        count: int = 20,
        *,
        columns: Sequence[str] | None = None,
        rows: int | None = None,
        seed: int | None = None,
        population: str = "sample",
        assume: float | None = None,
    ) -> SyntheticCopies:
        """Noise-aware copies of some columns (all by default), for tools that want
        tables: `us.analyse` and `us.combine` on them give intervals that hold.

        Each is drawn from what the measurements say, noise included, so copies differ by
        more than the chance of their rows. One of them alone is a synthetic table like
        any other. At least 20 are needed; they are pandas frames, made when asked for.
        """
        names = tuple(self.schema) if columns is None else tuple(columns)
        drawn = PosteriorCopies.of(
            self.evidence.least_squares,
            names,
            count=count,
            rows=rows,
            seed=seed,
            settings=InferenceSettings(population=population, assume=assume),
        )
        # Without rules and units: codes of the cells that are drawn keep to them.
        plain = self.schema.with_row_units()
        held = Schema(columns=tuple(plain[name] for name in drawn.model.columns))
        densities = self.evidence.bin_densities

        def load(i: int) -> Any:
            # Its own stream for each copy, apart from the stream of its codes: any copy
            # can be made again, alone and in any order.
            rng = np.random.default_rng([drawn.seed, i, 1])
            codes = drawn.draw_codes(i)
            return to_frame(held, codes, kind="pandas", rng=rng, densities=densities)

        return SyntheticCopies(
            count=count,
            rule=drawn.rule,
            load=load,
            promise=self.guarantee.sentence(),
            facts={"rows": drawn.rows, "columns": list(drawn.model.columns)},
        )
