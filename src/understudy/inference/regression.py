"""The one fitter of regressions: statsmodels on a frame of rows or of weighted cells.

Copies of a table, the comparison of a synthetic table with the original, and the cells of
a private release are all fitted here, so that a formula means the same everywhere.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.inference.libraries import (
    import_families,
    import_formulas,
    import_pandas,
)

REGRESSION_FAMILIES = ("gaussian", "binomial", "logit", "probit", "poisson")
"""Families of models that a formula can be fitted with; binomial and logit are one."""

MAX_ERROR_OVER_MEDIAN = 100.0
"""A standard error beyond this many times the median, over coefficients or over copies,
comes from a fit that diverged (separation).
"""

_BINARY_FAMILIES = frozenset({"binomial", "logit", "probit"})


def fit_regression(
    formula: str,
    frame: Any,
    family: str = "gaussian",
    *,
    weights: NDArray[np.float64] | None = None,
) -> Any:
    """The fitted statsmodels model of a formula (code to statsmodels: take none from a
    stranger). Rows in which a column is missing are left out.

    A response of two labels becomes 0 and 1, in the order of its categories or of the
    alphabet.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": [0, 1, 2, 3], "y": [1.0, 3.0, 5.0, 7.0]})
    >>> fit_regression("y ~ x", frame).params.round(6).tolist()
    [1.0, 2.0]
    """
    if family not in REGRESSION_FAMILIES:
        raise Refused(f"the family is one of {', '.join(REGRESSION_FAMILIES)}")
    formulas, families = import_formulas(), import_families()
    data = frame
    if family in _BINARY_FAMILIES:
        data = _with_binary_response(frame, formula, family)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if family == "gaussian" and weights is None:
                return formulas.ols(formula, data).fit()
            chosen = _make_family(families, family)
            model = formulas.glm(formula, data, family=chosen, freq_weights=weights)
            return model.fit()
    except Exception as error:
        # What statsmodels says may quote a cell.
        raise Refused(
            f"the formula cannot be fitted ({type(error).__name__}). Check its columns"
            " and family"
        ) from None


def _make_family(families: Any, family: str) -> Any:
    if family == "gaussian":
        return families.Gaussian()
    if family == "poisson":
        return families.Poisson()
    if family == "probit":
        # Through a generalised linear model, as R does: errors of the expected
        # information, not of the observed one.
        return families.Binomial(families.links.Probit())
    return families.Binomial()


def _with_binary_response(frame: Any, formula: str, family: str) -> Any:
    """The frame; a response of two labels or truth values becomes 0 and 1."""
    response = formula.split("~")[0].strip()
    if response not in frame:
        return frame
    column = frame[response]
    types = import_pandas().api.types
    if types.is_numeric_dtype(column) and not types.is_bool_dtype(column):
        return frame
    is_categorical = hasattr(column, "cat")
    levels = (
        list(column.cat.categories)
        if is_categorical
        else sorted(column.dropna().unique())
    )
    if len(levels) != 2:
        raise Refused(
            f'column "{response}" has {len(levels)} values; a {family} response has two'
        )
    numeric = column.astype(object).map({levels[0]: 0.0, levels[1]: 1.0}).astype(float)
    return frame.assign(**{response: numeric})
