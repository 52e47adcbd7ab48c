"""Least squares from the moments that a release holds: numbers at full resolution, where
cells know a number only by its bin.
"""

from __future__ import annotations

import numpy as np

from understudy.errors import Refused
from understudy.inference.population import InferenceSettings
from understudy.inference.population_estimate import MEASURED_BASIS, PopulationEstimate
from understudy.measurements import Measurements, MomentMeasurement
from understudy.queries.noise_intervals import NoiseScale
from understudy.schema import Schema
from understudy.toolbox.moments import MomentPlan, MomentTerm, plan_moments
from understudy.toolbox.regression import RegressionEstimate, fit_moments


def estimate_from_moments(
    measurements: Measurements,
    schema: Schema,
    formula: str,
    settings: InferenceSettings,
) -> PopulationEstimate | None:
    """The coefficients of a formula; None if no moments of its columns were measured, or
    the noise leaves them near singular, where no interval from them would hold.
    """
    found = find_moments(measurements, schema, formula)
    if found is None:
        return None
    measured, plan = found
    fitted = fit_moments(
        plan,
        measured.values,
        [NoiseScale(measured.law, scale) for scale in measured.scales],
        population=settings.population,
        level=settings.level,
        sampling_factor=schema.unit.sampling_factor,
    )
    return (
        _describe_fit(fitted, plan, formula, schema.unit.clustered_noun)
        if fitted.is_determined
        else None
    )


def find_moments(
    measurements: Measurements, schema: Schema, formula: str
) -> tuple[MomentMeasurement, MomentPlan] | None:
    """The moments with the least noise that hold those of a formula."""
    if not measurements.moments:
        return None
    try:
        wanted = plan_moments(formula, schema)
    except Refused:
        # Functions, joint terms, labels as a response: cells may still answer.
        return None
    fitting = []
    for measured in measurements.moments:
        part = plan_moments(measured.formula, schema).select(wanted)
        if part is not None:
            fitting.append((measured, part))
    # The first scale is that of the number of rows, and the others go with it.
    return min(fitting, key=lambda each: each[0].scales[0], default=None)


def _describe_fit(
    fitted: RegressionEstimate, plan: MomentPlan, formula: str, unit: str
) -> PopulationEstimate:
    names = tuple(_name_term(term) for term in plan.terms[:-1])
    return PopulationEstimate(
        names=names,
        estimates=fitted.estimates,
        covariance=fitted.covariance,
        naive_error=np.asarray(fitted.sampling_error),
        title=formula,
        population=fitted.population,
        level=fitted.level,
        basis=(MEASURED_BASIS,) * len(names),
        by_moments=True,
        unit=unit,
    )


def _name_term(term: MomentTerm) -> str:
    """A term as statsmodels names it, so that both ways give the same names."""
    column, equals, label = term.name.partition("=")
    return f"{column}[T.{label}]" if term.condition is not None and equals else column
