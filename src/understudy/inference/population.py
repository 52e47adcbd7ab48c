"""Regressions for a population, from a private release alone.

A generalised linear model is fitted on the cells of a model of the formula's columns
(contrast_model.py), each cell weighted by its share. How the coefficients change with
the shares is known, so the uncertainty of the shares, from noise and from sampling,
becomes that of the coefficients (the delta method). No row is read and nothing is
spent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.inference.contrast_model import (
    ContrastModel,
    fit_contrasts,
    list_unmeasured,
)
from understudy.inference.libraries import import_pandas
from understudy.inference.population_estimate import (
    MEASURED_BASIS,
    MODELLED_BASIS,
    PopulationEstimate,
)
from understudy.inference.regression import fit_regression, refuse_row_statistics
from understudy.inference.sparse_ends import Refit, find_stretches
from understudy.inference.unmeasured_triples import spread_by_triples
from understudy.measurements import Clique
from understudy.measurements.regression_formula import RegressionFormula
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Boolean, Date, Datetime, Lattice, Schema, Time
from understudy.schema.predicates.comparable import scale_step_of
from understudy.text import join_words

POPULATION_KINDS = ("sample", "census")
"""Whether the people in the table are a sample of the population, or all of it."""

INFERENCE_FAMILIES = ("gaussian", "binomial", "logit", "poisson")
"""Families whose link is canonical, for which the change of coefficients is simple."""

TIME_UNIT_MICROSECONDS = 3_600_000_000
DATE_UNIT_MICROSECONDS = 24 * TIME_UNIT_MICROSECONDS

CLOCK_DAYS = "days since 1970-01-01"
"""What a date or a moment counts as: microseconds would give coefficients of 1e-12."""

MAX_NOISE_RATIO = 3.0
"""Error beside that of sampling from which noise makes an estimate modelled. Shares are
positive and noisy counts are not, so noise in cells with hardly any rows biases: by 0.2
standard errors at most where the ratio is below 2.5, by 0.6 where it is 5
(benchmarks/coverage.py).
"""

MIN_MODELLED_PART = 0.01
"""Part of a variance that comes from an assumption from which an estimate is called
modelled: less moves no interval visibly.
"""


MAX_REFIT_STEPS = 100
"""Steps of a fit that starts at the estimates; five are usual."""

MAX_REFIT_MOVE = 2.0
"""Largest change of a linear predictor in a step: further out its curvature differs."""

REFIT_TOLERANCE = 1e-6
"""Change of the linear predictors that ends the steps."""


@dataclass(frozen=True, kw_only=True)
class InferenceSettings:
    """For whom intervals are, how often they hold, and how large an association may be
    that was not measured: the standard deviation of its contrasts in logarithms of a
    share, or None to refuse.
    """

    population: str = "sample"
    level: float = 0.95
    assume: float | None = None

    def __post_init__(self) -> None:
        if self.population not in POPULATION_KINDS:
            raise Refused(f"infer: the population is {' or '.join(POPULATION_KINDS)}")
        if not 0 < self.level < 1:
            raise Refused("infer: `level` lies between 0 and 1, such as 0.95")
        if self.assume is not None and not 0 < self.assume <= MAX_ASSUMED_DEVIATION:
            raise Refused(
                "infer: `assume` is the size that an association may have which was not"
                f" measured: above 0 and at most {MAX_ASSUMED_DEVIATION:g}, such as 1"
            )


MAX_ASSUMED_DEVIATION = 10.0
"""Largest assumed deviation of a contrast: already a factor of 20,000 between shares."""


def infer_population(
    pooled: PooledResiduals,
    formula: str,
    *,
    family: str = "gaussian",
    settings: InferenceSettings | None = None,
) -> PopulationEstimate:
    """Coefficients of a formula for the population, from pooled measurements."""
    chosen = settings or InferenceSettings()
    if family not in INFERENCE_FAMILIES:
        raise Refused(f"infer: the family is one of {', '.join(INFERENCE_FAMILIES)}")
    try:
        read = RegressionFormula.parse(formula, list(pooled.schema))
        model, unmeasured = model_columns(pooled, read.cliques(), chosen)
        regression = CellRegression.of(pooled.schema, model, formula, family)
    except Refused as refusal:
        raise Refused(f"infer: {refusal}") from None
    return finish_estimate(
        model,
        regression.names,
        regression.estimates,
        regression.influence(),
        settings=chosen,
        title=formula + describe_clocks(pooled.schema, model.columns),
        unmeasured=unmeasured,
        binned=list_binned(pooled.schema, model.columns),
        # Means are as linear as what was measured; logarithms are not.
        refit=None if family == "gaussian" else regression.refit,
    )


def model_columns(
    pooled: PooledResiduals, cliques: Sequence[Clique], settings: InferenceSettings
) -> tuple[ContrastModel, tuple[Clique, ...]]:
    """The model of all columns of some cliques, and which of them were not measured:
    refused unless something is assumed about these.
    """
    wanted = {name for clique in cliques for name in clique}
    columns = tuple(name for name in pooled.schema if name in wanted)
    unmeasured = tuple(list_unmeasured(pooled, cliques))
    # An assumption can replace an association, but not the shares of a single column.
    alone = list_unmeasured(pooled, [(name,) for name in columns])
    if alone:
        raise Refused(
            f"the release did not measure column {alone[0][0]}, so nothing can be said"
            " of it. Leave it out"
        )
    if unmeasured and settings.assume is None:
        raise Refused(_describe_unmeasured(unmeasured))
    model = fit_contrasts(
        pooled,
        columns,
        is_census=settings.population == "census",
        assumed=unmeasured,
        # Without an assumption `assumed` is empty, and this number is not used.
        assumed_deviation=settings.assume or 1.0,
    )
    return model, unmeasured


def _describe_unmeasured(unmeasured: Sequence[Clique]) -> str:
    """Why nothing can be said: the intervals would claim that these columns do not go
    together.
    """
    named = ", ".join(" × ".join(clique) for clique in unmeasured[:5])
    return (
        f"the release did not measure {named}, so no interval of this formula would"
        ' hold. Ask for a release with the workload "model=" and this formula, leave a'
        " column out, or widen the intervals by what you assume (assume=1)"
    )


def finish_estimate(
    model: ContrastModel,
    names: tuple[str, ...],
    estimates: NDArray[np.float64],
    influence: NDArray[np.float64],
    *,
    settings: InferenceSettings,
    title: str,
    unmeasured: tuple[Clique, ...],
    binned: Clique = (),
    is_ratio: bool = False,
    refit: Refit | None = None,
) -> PopulationEstimate:
    """Estimates with the uncertainty that the model's shares give them. `refit` gives
    them from other shares, where their ends are to be looked for (sparse_ends.py).
    """
    parts = model.find_assumed_parts(influence)
    # What an analyst would compute who takes n synthetic rows for real ones.
    naive = (influence**2 * model.shares[:, None]).sum(axis=0) / model.rows
    found = PopulationEstimate(
        names=names,
        estimates=estimates,
        covariance=model.propagate(influence),
        bias_covariance=spread_by_triples(model, influence),
        naive_error=np.sqrt(naive),
        title=title,
        population=settings.population,
        level=settings.level,
        basis=(MEASURED_BASIS,) * len(names),
        unmeasured=unmeasured,
        smoothed=model.found.smoothed,
        unit=model.unit,
        binned=binned,
        is_ratio=is_ratio,
        stretches=(
            None
            if refit is None
            else find_stretches(model, influence, settings.level, refit)
        ),
    )
    # Units of several rows vary more than rows, and a census not at all.
    factor = model.sampling_rows / model.rows or 1.0
    is_noisy = found.error > MAX_NOISE_RATIO * np.sqrt(naive * factor)
    is_modelled = (parts > MIN_MODELLED_PART) | found.is_leaning | is_noisy
    basis = [MODELLED_BASIS if modelled else MEASURED_BASIS for modelled in is_modelled]
    return replace(found, basis=tuple(basis), is_noisy=is_noisy)


def make_cell_frame(
    schema: Schema, model: ContrastModel
) -> tuple[Any, NDArray[np.bool_]]:
    """The complete cells of a model as a pandas frame, and which cells they are: a
    label, or the middle of a bin; rows with a missing cell have no place in a regression.
    """
    pandas = import_pandas()
    codes = np.indices(model.shape).reshape(len(model.shape), -1)
    is_complete = np.ones(len(model.shares), np.bool_)
    values: dict[str, Any] = {}
    for name, code in zip(model.columns, codes, strict=True):
        is_value = schema.codecs[name].is_value
        is_complete &= is_value[code]
        held = list_cell_values(schema, name)
        values[name] = held[code]
        if held.dtype == object:
            # −1 is the code of a missing category in pandas; those rows are dropped
            # below.
            ranks = np.where(is_value[code], code, -1)
            values[name] = pandas.Categorical.from_codes(ranks, held[is_value])
    return pandas.DataFrame(values)[is_complete], is_complete


def list_cell_values(schema: Schema, name: str) -> NDArray[Any]:
    """What each code of a column stands for in a regression."""
    column, codec = schema[name], schema.codecs[name]
    if isinstance(column, Lattice):
        scale = float(scale_step_of(column) / _find_clock_unit(column))
        # Nothing is known within a bin: its middle is right where rows lie evenly.
        middle = (codec.first_indices + codec.last_indices) / 2
        return np.asarray(middle * scale)
    if isinstance(column, Boolean):
        return np.arange(codec.size).astype(np.float64)
    return np.array(codec.labels(), dtype=object)


def _find_clock_unit(column: Lattice) -> int:
    """Microseconds in what a clock counts here: days, or hours of a day; 1 for numbers."""
    match column:
        case Date() | Datetime():
            return DATE_UNIT_MICROSECONDS
        case Time():
            return TIME_UNIT_MICROSECONDS
        case _:
            return 1


def list_binned(schema: Schema, columns: Sequence[str]) -> Clique:
    """The columns of numbers, dates and times that have bins of several values."""
    codecs = schema.codecs
    return tuple(
        name
        for name in columns
        if isinstance(schema[name], Lattice)
        and bool((codecs[name].last_indices > codecs[name].first_indices).any())
    )


def describe_clocks(schema: Schema, columns: Sequence[str]) -> str:
    """In what dates and times among some columns are counted, for a title."""
    said = [
        f"{name} in {'hours' if isinstance(schema[name], Time) else CLOCK_DAYS}"
        for name in columns
        if isinstance(schema[name], Date | Datetime | Time)
    ]
    return f" ({join_words(said)})" if said else ""


@dataclass(frozen=True, eq=False)
class CellRegression:
    """A regression on the complete cells of a model, weighted by their shares."""

    names: tuple[str, ...]
    estimates: NDArray[np.float64]
    design: NDArray[np.float64]
    response: NDArray[np.float64]
    weights: NDArray[np.float64]
    is_complete: NDArray[np.bool_]
    family: str

    @classmethod
    def of(
        cls, schema: Schema, model: ContrastModel, formula: str, family: str
    ) -> CellRegression:
        """Fit a formula on the cells of a model."""
        frame, is_complete = make_cell_frame(schema, model)
        weights = model.shares[is_complete]
        result = fit_regression(formula, frame, family, weights=weights)
        refuse_row_statistics(result, formula, frame, family)
        fitted = result.model
        return cls(
            names=tuple(str(name) for name in fitted.exog_names),
            estimates=np.asarray(result.params, np.float64),
            design=np.asarray(fitted.exog),
            response=np.asarray(fitted.endog),
            weights=weights,
            is_complete=is_complete,
            family=family,
        )

    def influence(self) -> NDArray[np.float64]:
        """How the coefficients change with the share of each cell."""
        mean, spread = _INVERSE_LINKS[self.family](self.design @ self.estimates)
        # The coefficients solve Σ p · score = 0, so by the implicit function theorem
        # they change with p by information⁻¹ · score.
        scores = self.design * (self.response - mean)[:, None]
        information = (self.design * (self.weights * spread)[:, None]).T @ self.design
        found = np.zeros((len(self.is_complete), len(self.names)))
        # Cells with a missing value are no part of the fit and have no influence.
        try:
            found[self.is_complete] = np.linalg.solve(information, scores.T).T
        except np.linalg.LinAlgError:
            raise Refused(
                "the fit diverged: the predictors tell some outcomes for certain"
                " (separation). Leave a term out"
            ) from None
        return found

    def refit(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The coefficients from other shares of the cells, by damped Newton steps."""
        weights, found = shares[self.is_complete], self.estimates
        for _ in range(MAX_REFIT_STEPS):
            mean, spread = _INVERSE_LINKS[self.family](self.design @ found)
            pull = self.design.T @ (weights * (self.response - mean))
            information = (self.design * (weights * spread)[:, None]).T @ self.design
            # Extreme shares may leave a coefficient without rows.
            step = np.linalg.lstsq(information, pull, rcond=None)[0]
            longest = float(np.abs(self.design @ step).max())
            found = found + step * (MAX_REFIT_MOVE / max(longest, MAX_REFIT_MOVE))
            if longest < REFIT_TOLERANCE:
                break
        return np.asarray(found)


Moments = tuple[NDArray[np.float64], NDArray[np.float64]]


def _identity_moments(predictor: NDArray[np.float64]) -> Moments:
    return predictor, np.ones_like(predictor)


def _logistic_moments(predictor: NDArray[np.float64]) -> Moments:
    mean = 1 / (1 + np.exp(-predictor))
    return mean, mean * (1 - mean)


def _exponential_moments(predictor: NDArray[np.float64]) -> Moments:
    mean = np.exp(predictor)
    return mean, mean


_INVERSE_LINKS: dict[str, Callable[[NDArray[np.float64]], Moments]] = {
    "gaussian": _identity_moments,
    "binomial": _logistic_moments,
    "logit": _logistic_moments,
    "poisson": _exponential_moments,
}
"""The mean and its slope at a linear predictor."""
