"""Estimates and intervals for a population, from a private release alone.

A generalised linear model is fitted on the cells of a model of the formula's columns
(contrast_model.py), each cell weighted by its share. How the coefficients change with
the shares is known, so the uncertainty of the shares, from noise and from sampling,
becomes that of the coefficients (the delta method). No row is read and nothing is
spent.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from understudy.errors import Refused
from understudy.inference.contrast_model import (
    ContrastModel,
    fit_contrasts,
    list_unmeasured_pairs,
)
from understudy.inference.libraries import (
    import_families,
    import_formulas,
    import_pandas,
)
from understudy.models.estimates.residuals import PooledResiduals
from understudy.schema import Boolean, Lattice, Schema
from understudy.schema.predicates.comparable import scale_step_of

POPULATION_KINDS = ("sample", "census")
"""Whether the people in the table are a sample of the population, or all of it."""

INFERENCE_FAMILIES = ("gaussian", "binomial", "poisson")
"""Families whose link is canonical, for which the change of coefficients is simple."""


@dataclass(frozen=True, eq=False)
class PopulationEstimate:
    """Coefficients with intervals for the population.

    `naive_error` is what one synthetic table read as real rows would claim.
    """

    names: tuple[str, ...]
    estimates: NDArray[np.float64]
    covariance: NDArray[np.float64]
    naive_error: NDArray[np.float64]
    formula: str
    population: str
    level: float

    @property
    def error(self) -> NDArray[np.float64]:
        """Standard errors, of noise and of sampling together."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Both ends of the intervals."""
        width = float(ndtri((1 + self.level) / 2)) * self.error
        return self.estimates - width, self.estimates + width

    def to_frame(self) -> Any:
        """A pandas frame with one row a coefficient."""
        low, high = self.interval()
        width = float(ndtri((1 + self.level) / 2)) * self.naive_error
        return import_pandas().DataFrame(
            {
                "estimate": self.estimates,
                "std_error": self.error,
                "low": low,
                "high": high,
                "basis": "measured",
                "naive_low": self.estimates - width,
                "naive_high": self.estimates + width,
            },
            index=list(self.names),
        )

    def __str__(self) -> str:
        low, high = self.interval()
        width = max(len(name) for name in self.names)
        lines = [
            f"{name:<{width}}  {q:10.4g}  ({a:.4g}, {b:.4g})"
            for name, q, a, b in zip(self.names, self.estimates, low, high, strict=True)
        ]
        return "\n".join([*lines, self._describe_basis()])

    def _describe_basis(self) -> str:
        what = "sampling and noise" if self.population == "sample" else "noise"
        return (
            f"{self.formula}: {self.level:.0%} intervals that hold for {what}; every"
            " pair of the columns was measured."
        )

    def _repr_html_(self) -> str:
        low, high = self.interval()
        wide = float(ndtri((1 + self.level) / 2)) * self.naive_error
        rows = [
            f"<tr><th>{escape(name)}</th><td>{q:.4g}</td><td>{a:.4g} to {b:.4g}</td>"
            f"<td><s>{q - w:.4g} to {q + w:.4g}</s></td></tr>"
            for name, q, a, b, w in zip(
                self.names, self.estimates, low, high, wide, strict=True
            )
        ]
        head = (
            "<tr><th></th><th>estimate</th><th>interval</th>"
            "<th>one synthetic table read as real</th></tr>"
        )
        text = escape(self._describe_basis())
        return f"<table>{head}{''.join(rows)}</table><p>{text}</p>"


def infer_population(
    pooled: PooledResiduals,
    formula: str,
    *,
    family: str = "gaussian",
    population: str = "sample",
    level: float = 0.95,
) -> PopulationEstimate:
    """Coefficients of a formula for the population, from pooled measurements."""
    if family not in INFERENCE_FAMILIES:
        raise Refused(f"infer: the family is one of {', '.join(INFERENCE_FAMILIES)}")
    if population not in POPULATION_KINDS:
        raise Refused(f"infer: the population is {' or '.join(POPULATION_KINDS)}")
    if not 0 < level < 1:
        raise Refused("infer: `level` lies between 0 and 1, such as 0.95")
    columns = find_formula_columns(pooled.schema, formula)
    refuse_unmeasured(pooled, columns)
    model = fit_contrasts(pooled, columns, is_census=population == "census")
    frame, is_complete = make_cell_frame(pooled.schema, model)
    names, estimates, bread, scores = _fit_cells(
        formula, family, frame, model.shares, is_complete
    )
    influence = np.zeros((len(model.shares), len(names)))
    influence[is_complete] = scores @ bread.T
    # What an analyst would compute who takes n synthetic rows for real ones.
    kept = model.shares[is_complete][:, None]
    naive = bread @ ((scores * kept).T @ scores) @ bread.T / model.rows
    return PopulationEstimate(
        names=names,
        estimates=estimates,
        covariance=model.propagate(influence),
        naive_error=np.sqrt(np.diag(naive)),
        formula=formula,
        population=population,
        level=level,
    )


def find_formula_columns(schema: Schema, formula: str) -> tuple[str, ...]:
    """The columns that a formula names, in the schema's order."""
    words = set(re.findall(r"\w+", formula))
    quoted = set(re.findall(r"Q\([\"'](.+?)[\"']\)", formula))
    columns = tuple(name for name in schema if name in words | quoted)
    if not columns or "~" not in formula:
        raise Refused(
            "infer: write a formula of the release's columns, such as"
            ' "income ~ age + sex"'
        )
    return columns


def refuse_unmeasured(pooled: PooledResiduals, columns: tuple[str, ...]) -> None:
    """Refuse columns of which a pair was never measured: nothing is known of how they
    go together, and an interval would claim that they do not.
    """
    unmeasured = list_unmeasured_pairs(pooled, columns)
    if not unmeasured and all(pooled.is_measured((name,)) for name in columns):
        return
    named = ", ".join(f"{one} × {two}" for one, two in unmeasured[:5])
    raise Refused(
        f"infer: the release did not measure {named or 'a column of the formula'}, so no"
        " interval of this formula would hold. Leave a column out, or make a release"
        ' that measures all pairs (synthesizer "gaussian", workload "pairs")'
    )


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
        codec = schema.codecs[name]
        is_complete &= codec.is_value[code]
        values[name] = _cell_values(schema, name)[code]
    return pandas.DataFrame(values)[is_complete], is_complete


def _cell_values(schema: Schema, name: str) -> NDArray[Any]:
    """What each code of a column stands for in a regression."""
    column, codec = schema[name], schema.codecs[name]
    if isinstance(column, Lattice):
        scale = float(scale_step_of(column))
        middle = (codec.first_indices + codec.last_indices) / 2
        return np.asarray(middle * scale)
    if isinstance(column, Boolean):
        return np.arange(codec.size).astype(np.float64)
    return np.array(codec.labels(), dtype=object)


def _fit_cells(
    formula: str,
    family: str,
    frame: Any,
    shares: NDArray[np.float64],
    is_complete: NDArray[np.bool_],
) -> tuple[
    tuple[str, ...], NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]
]:
    """Names, coefficients, inverse information and the score of each complete cell."""
    weights = shares[is_complete]
    data = _with_binary_response(frame, formula, family)
    formulas, families = import_formulas(), import_families()
    kinds = {
        "gaussian": families.Gaussian,
        "binomial": families.Binomial,
        "poisson": families.Poisson,
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = formulas.glm(
                formula, data, family=kinds[family](), freq_weights=weights
            )
            result = fitted.fit()
    except Exception as error:
        raise Refused(
            f"infer: the formula cannot be fitted ({type(error).__name__}). Check its"
            " columns and family"
        ) from None
    design = np.asarray(fitted.exog)
    mean = np.asarray(result.fittedvalues)
    spread = {
        "gaussian": np.ones_like(mean),
        "binomial": mean * (1 - mean),
        "poisson": mean,
    }[family]
    scores = design * (np.asarray(fitted.endog) - mean)[:, None]
    bread = np.linalg.inv((design * (weights * spread)[:, None]).T @ design)
    names = tuple(str(name) for name in fitted.exog_names)
    return names, np.asarray(result.params), bread, scores


def _with_binary_response(frame: Any, formula: str, family: str) -> Any:
    """The frame; a response of two labels becomes 0 and 1 in the order of the schema."""
    response = formula.split("~")[0].strip()
    if family != "binomial" or response not in frame:
        return frame
    column = frame[response]
    if column.dtype != object:
        return frame
    levels = list(dict.fromkeys(column))
    if len(levels) != 2:
        raise Refused(
            f'infer: column "{response}" has {len(levels)} labels; a binomial response'
            " has two"
        )
    return frame.assign(**{response: (column == levels[1]).astype(float)})
