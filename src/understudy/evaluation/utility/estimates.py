"""The same regression on both tables: do they lead to the same conclusions?

Karr et al., "A framework for evaluating the utility of data altered to protect
confidentiality", 2006: the overlap of two 95 % confidence intervals is the mean of the
shares that the intersection has of each; 1 if they are the same, negative if they lie
apart. The standardised difference is the distance of the estimates in standard
errors of the original's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from understudy.errors import Refused
from understudy.findings import (
    BetterDirection,
    Finding,
    FindingPart,
    Unavailable,
    mean_of_parts,
)
from understudy.inference.combining_rules import CombiningRule, combine_estimates
from understudy.inference.libraries import import_pandas
from understudy.inference.regression import find_references, fit_regression
from understudy.schema import Boolean, Lattice
from understudy.tables import Records

MAX_ERROR_OVER_MEDIAN = 100.0
"""A standard error beyond this many times the median of a fit's coefficients comes from
one that diverged (separation).
"""

OTHER_REFERENCE_REASON = (
    "a first label without rows: coefficients are differences from another label there"
)
"""Why coefficients of the same name are not compared."""


@dataclass(frozen=True)
class CoefficientEstimate:
    """A coefficient with its standard error and 95 % confidence interval; `references`
    are the labels that coefficients of the fit are differences from.
    """

    value: float
    error: float
    low: float
    high: float
    references: Mapping[str, object] = field(default_factory=dict)


def interval_overlap(one: tuple[float, float], two: tuple[float, float]) -> float:
    """Overlap of two intervals, each given as (low, high).

    >>> interval_overlap((0.0, 2.0), (1.0, 3.0)), interval_overlap((0.0, 1.0), (0.0, 1.0))
    (0.5, 1.0)
    """
    shared = min(one[1], two[1]) - max(one[0], two[0])
    return (shared / (one[1] - one[0]) + shared / (two[1] - two[0])) / 2


def standardised_difference(original: float, synthetic: float, error: float) -> float:
    """Distance of two estimates in standard errors of the original's.

    >>> standardised_difference(1.0, 1.5, 0.25)
    2.0
    """
    return abs(original - synthetic) / error


def frame_of_records(records: Records) -> Any:
    """Rows as a pandas frame of plain values: numbers, truth values as 0 and 1, labels
    as categories; missing cells stay missing.
    """
    try:
        pandas = import_pandas()
    except Refused as refusal:
        raise Unavailable(str(refusal)) from None
    columns = {}
    for name in records.codes:
        codec = records.codec(name)
        if isinstance(records.schema[name], Lattice | Boolean):
            columns[name] = records.numbers(name)
            continue
        # A label of its own for missing cells, which pandas then takes for no category.
        labels = np.array(
            [*codec.labels()[: len(codec.bins) + codec.has_other], None], dtype=object
        )
        place = np.where(records.absent(name), len(labels) - 1, records.codes[name])
        # A level without rows would get a coefficient that is rounding alone.
        codes = np.unique(place[place < len(labels) - 1])
        columns[name] = pandas.Categorical(
            labels[place], categories=list(labels[codes])
        )
    return pandas.DataFrame(columns)


def fit_formula(
    records: Records, formula: str, family: str = "gaussian"
) -> dict[str, CoefficientEstimate]:
    """Coefficients of a statsmodels formula on some rows; rows in which a column it
    names is missing are left out.

    `family` is `gaussian` (least squares), `logit`, `probit` or `poisson`. Logit and
    probit fit the probability of the second level.
    """
    try:
        result = fit_regression(formula, frame_of_records(records), family)
    except Refused as refusal:
        raise Unavailable(str(refusal)) from None
    bounds = np.asarray(result.conf_int())
    references = find_references(result)
    estimates = {}
    for i, name in enumerate(result.params.index):
        low, high = bounds[i]
        estimates[str(name)] = CoefficientEstimate(
            value=float(result.params.iloc[i]),
            error=float(result.bse.iloc[i]),
            low=float(low),
            high=float(high),
            references=references,
        )
    return estimates


def compare_fits(
    original: Mapping[str, CoefficientEstimate],
    synthetic: Mapping[str, CoefficientEstimate],
) -> tuple[FindingPart, ...]:
    """Overlap and standardised difference of every coefficient, least overlap first."""
    parts = []
    for name in dict.fromkeys([*original, *synthetic]):
        reason = ""
        for word, fit in (("real", original), ("synthetic", synthetic)):
            reason = reason or _explain_unusable(word, fit, name)
        if not reason and original[name].references != synthetic[name].references:
            reason = OTHER_REFERENCE_REASON
        if reason:
            parts.append(FindingPart(name=name, reason=reason))
        else:
            parts.append(_coefficient_part(name, original[name], synthetic[name]))

    def rank(part: FindingPart) -> float:
        return np.inf if part.value is None else part.value

    return tuple(sorted(parts, key=rank))


def _explain_unusable(
    word: str, fit: Mapping[str, CoefficientEstimate], name: str
) -> str:
    """Why a coefficient of a fit cannot be compared; empty if it can."""
    if name not in fit:
        return f"the {word} fit has no such term"
    error = fit[name].error
    # Under perfect separation a standard error grows without bound.
    typical = float(np.median([estimate.error for estimate in fit.values()]))
    is_usable = np.isfinite(error) and 0 < error <= MAX_ERROR_OVER_MEDIAN * typical
    if is_usable:
        return ""
    return f"the {word} fit has no usable standard error (separation?)"


def _coefficient_part(
    name: str, real: CoefficientEstimate, synthetic: CoefficientEstimate
) -> FindingPart:
    # In errors of the real fit alone: a noisy synthetic one must not excuse itself.
    difference = standardised_difference(real.value, synthetic.value, real.error)
    return FindingPart(
        name=name,
        value=interval_overlap((real.low, real.high), (synthetic.low, synthetic.high)),
        facts={
            "std_diff": difference,
            "real": real.value,
            "real_low": real.low,
            "real_high": real.high,
            "synthetic": synthetic.value,
            "synthetic_low": synthetic.low,
            "synthetic_high": synthetic.high,
        },
    )


def combine_copies(
    fits: Sequence[Mapping[str, CoefficientEstimate]], rule: CombiningRule
) -> dict[str, CoefficientEstimate]:
    """The coefficients that every copy's fit has, combined by the copies' rule."""
    references = [fit[name].references for fit in fits for name in fit]
    if any(found != references[0] for found in references):
        raise Unavailable(f"some copies have {OTHER_REFERENCE_REASON}")
    shared = [name for name in fits[0] if all(name in fit for fit in fits)]
    combined = combine_estimates(
        np.array([[fit[name].value for name in shared] for fit in fits]),
        np.array([[fit[name].error ** 2 for name in shared] for fit in fits]),
        rule,
    )
    low, high = combined.interval()
    return {
        name: CoefficientEstimate(
            value=float(combined.estimate[i]),
            error=float(combined.error[i]),
            low=float(low[i]),
            high=float(high[i]),
            references=references[0],
        )
        for i, name in enumerate(shared)
    }


def assess_estimates(
    real: Records,
    synthetic: Records,
    formula: str,
    *,
    family: str = "gaussian",
    index: int = 1,
    copies: Sequence[Records] = (),
    rule: CombiningRule | None = None,
) -> Finding:
    """Mean interval overlap of one formula's coefficients; the standardised differences
    are among the facts. With a `rule`, further `copies` are fitted and combined.
    """
    fit = fit_formula(synthetic, formula, family)
    if rule is not None:
        fits = [fit, *(fit_formula(copy, formula, family) for copy in copies)]
        fit = combine_copies(fits, rule)
    parts = compare_fits(fit_formula(real, formula, family), fit)
    value = mean_of_parts(parts)
    if value is None:
        raise Unavailable("no coefficient has an interval in both fits")
    differences = [part.facts["std_diff"] for part in parts if part.is_computed]
    return Finding(
        name=f"estimates_{index}",
        title=f"Interval overlap: {formula} ({family})",
        family="estimates",
        value=value,
        better=BetterDirection.HIGHER,
        best=1.0,
        note=(
            "1: the same 95 % intervals; below 0: they lie apart. Standardised"
            " differences are in standard errors of the real fit."
        ),
        parts=parts,
        facts={
            "formula": formula,
            "model": family,
            "mean_std_diff": float(np.mean(differences)),  # type: ignore[arg-type]
            "copies": 1 if rule is None else 1 + len(copies),
        },
    )
