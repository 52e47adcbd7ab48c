"""The same regression on both tables: do they lead to the same conclusions?

Karr et al., "A framework for evaluating the utility of data altered to protect
confidentiality", 2006: the overlap of two 95 % confidence intervals is the mean of the
shares that the intersection has of each; 1 where they are the same, negative where they
lie apart. The standardised difference is the distance of the estimates in standard
errors of the original's.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from understudy.findings import (
    BetterDirection,
    Finding,
    FindingPart,
    Unavailable,
    mean_of_parts,
)
from understudy.schema import Boolean, Lattice
from understudy.tables import Records
from understudy.version import install_command

MAX_ERROR_TO_MEDIAN = 100.0
"""A standard error so many times the median of all is a fit that came apart
(separation), not an estimate.
"""


@dataclass(frozen=True)
class CoefficientEstimate:
    """A coefficient with its standard error and 95 % confidence interval."""

    value: float
    error: float
    low: float
    high: float


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
    pandas = _import_pandas()
    columns = {}
    for name in records.codes:
        codec = records.codec(name)
        if isinstance(records.schema[name], Lattice | Boolean):
            columns[name] = records.numbers(name)
            continue
        labels = np.array(
            [*codec.labels()[: len(codec.bins) + codec.has_other], None], dtype=object
        )
        place = np.where(records.absent(name), len(labels) - 1, records.codes[name])
        columns[name] = pandas.Categorical(labels[place], categories=list(labels[:-1]))
    return pandas.DataFrame(columns)


def fit_formula(
    records: Records, formula: str, family: str = "gaussian"
) -> dict[str, CoefficientEstimate]:
    """Coefficients of a statsmodels formula on some rows; rows in which a column it
    names is missing are left out.

    `family` is `gaussian` (least squares), `logit`, `probit` or `poisson`. Logit and
    probit fit the probability of the second level.
    """
    smf, families = _import_statsmodels()
    data = frame_of_records(records)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = families[family]
            model = (
                smf.ols(formula, data)
                if made is None
                else smf.glm(_make_response_numeric(formula, data), data, family=made())
            )
            result = model.fit()
            bounds = np.asarray(result.conf_int())
    except Exception as error:
        # What statsmodels says may quote a cell.
        raise Unavailable(
            f"the formula cannot be fitted ({type(error).__name__}). Check its columns"
            " and family"
        ) from None
    numbers = zip(result.params, result.bse, bounds, strict=True)
    return {
        str(name): CoefficientEstimate(
            float(value), float(error), float(low), float(high)
        )
        for name, (value, error, (low, high)) in zip(
            result.params.index, numbers, strict=True
        )
    }


def compare_fits(
    original: Mapping[str, CoefficientEstimate],
    synthetic: Mapping[str, CoefficientEstimate],
) -> tuple[FindingPart, ...]:
    """Overlap and standardised difference of every coefficient, least overlap first."""
    parts = []
    typical = {
        id(side): float(np.median([e.error for e in side.values()]))
        for side in (original, synthetic)
    }
    for name in dict.fromkeys([*original, *synthetic]):
        if name not in original or name not in synthetic:
            parts.append(
                FindingPart(
                    name=name,
                    reason=(
                        f"the {'real' if name not in original else 'synthetic'} fit has"
                        " no such term"
                    ),
                )
            )
            continue
        here, there = original[name], synthetic[name]
        loose = [
            word
            for word, side, e in (
                ("real", original, here),
                ("synthetic", synthetic, there),
            )
            if not (np.isfinite(e.error) and e.error > 0)
            or e.error > MAX_ERROR_TO_MEDIAN * typical[id(side)]
        ]
        if loose:
            parts.append(
                FindingPart(
                    name=name,
                    reason=(
                        f"the {loose[0]} fit has no usable standard error (separation?)"
                    ),
                )
            )
            continue
        parts.append(
            FindingPart(
                name=name,
                value=interval_overlap((here.low, here.high), (there.low, there.high)),
                facts={
                    "std_diff": standardised_difference(
                        here.value, there.value, here.error
                    ),
                    "real": here.value,
                    "real_low": here.low,
                    "real_high": here.high,
                    "synthetic": there.value,
                    "synthetic_low": there.low,
                    "synthetic_high": there.high,
                },
            )
        )
    return tuple(
        sorted(parts, key=lambda part: part.value if part.value is not None else np.inf)
    )


def assess_estimates(
    real: Records,
    synthetic: Records,
    formula: str,
    *,
    family: str = "gaussian",
    index: int = 1,
) -> Finding:
    """Mean interval overlap of one formula's coefficients; the standardised differences
    are among the facts.
    """
    parts = compare_fits(
        fit_formula(real, formula, family), fit_formula(synthetic, formula, family)
    )
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
        },
    )


def _make_response_numeric(formula: str, data: Any) -> str:
    """The formula; a two-valued response of labels becomes 0 and 1 in the frame."""
    response = formula.split("~")[0].strip()
    if response in data and data[response].dtype == "category":
        codes = data[response].cat.codes
        data[response] = codes.where(codes >= 0).astype(float)
    return formula


def _import_pandas() -> Any:
    try:
        return import_module("pandas")
    except ImportError:
        raise Unavailable(
            f"pandas is not installed: {install_command('evaluate')}"
        ) from None


def _import_statsmodels() -> tuple[Any, dict[str, Any]]:
    try:
        import statsmodels.formula.api as smf
        from statsmodels.genmod.families import Binomial, Poisson, links
    except ImportError:
        raise Unavailable(
            f"statsmodels is not installed: {install_command('evaluate')}"
        ) from None
    return smf, {
        "gaussian": None,
        "logit": Binomial,
        "probit": lambda: Binomial(links.Probit()),
        "poisson": Poisson,
    }
