"""The one fitter of regressions: statsmodels on a frame of rows or of weighted cells.

Copies of a table, the comparison of a synthetic table with the original, and the cells of
a private release are all fitted here, so that a formula means the same everywhere.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from understudy.errors import Refused
from understudy.inference.libraries import (
    import_families,
    import_formulas,
    import_pandas,
)

REGRESSION_FAMILIES = ("gaussian", "binomial", "logit", "probit", "poisson")
"""Families of models that a formula can be fitted with; binomial and logit are one."""

MAX_PREDICTOR_ERROR = 100.0
"""Standard error of a row's linear predictor beyond which a fit has diverged: odds that
are known within a factor of e^100 are not known. Where labels separate it is in the
thousands.
"""

MIN_OWN_PART = 1e-10
"""Part of a predictor's length that must lie outside the others: what rounding leaves of
a combination of them is a thousandth of it.
"""

MAX_ROUNDING = 1e-9
"""Difference between two computations of one number, as a share of it, that rounding
explains.
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

    def fit(model: Any) -> Any:
        _refuse_response(model.endog, family)
        _refuse_collinear(model.exog, model.exog_names)
        return model.fit()

    return _use_model(formula, frame, family, fit, weights=weights)


def _use_model(
    formula: str,
    frame: Any,
    family: str,
    use: Callable[[Any], Any],
    *,
    weights: NDArray[np.float64] | None = None,
) -> Any:
    """What a function makes of the statsmodels model of a formula, not yet fitted."""
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
                return use(formulas.ols(formula, data))
            chosen = _make_family(families, family)
            return use(formulas.glm(formula, data, family=chosen, freq_weights=weights))
    except Refused:
        raise
    except Exception as error:
        # What statsmodels says may quote a cell.
        raise Refused(
            f"the formula cannot be fitted ({type(error).__name__}). Check its columns"
            " and family"
        ) from None


def _refuse_response(response: NDArray[np.float64], family: str) -> None:
    """Refuse a response that the family has no likelihood for: a fit would be anything."""
    if family in _BINARY_FAMILIES and ((response < 0) | (response > 1)).any():
        raise Refused(
            f"the response of a {family} regression is 0 or 1, yes or no, or has two"
            " labels. Make it so in the formula, such as I(response == 2) ~ …"
        )
    if family == "poisson" and (response < 0).any():
        raise Refused("the response of a poisson regression is a count, from 0 up")


def refuse_row_statistics(result: Any, formula: str, frame: Any, family: str) -> None:
    """Refuse a formula whose value in a cell depends on the other cells: `center(age)`
    would take the mean of the cells, whatever their shares.
    """
    model = result.model
    if len(model.endog) < len(frame):
        raise Refused(
            "a term of the formula has no value in some cells, such as the root of a"
            " negative number. Write it so that it has one everywhere"
        )
    # The first cell many times: means, deviations and quantiles all move.
    uneven = np.concatenate([np.arange(len(frame)), np.zeros(len(frame), np.int64)])
    again = _use_model(formula, frame.iloc[uneven], family, lambda unfitted: unfitted)
    moved = [
        np.abs(after[: len(before)] - before).max(initial=0.0)
        > MAX_ROUNDING * np.abs(before).max(initial=1.0)
        for before, after in ((model.exog, again.exog), (model.endog, again.endog))
    ]
    if any(moved):
        raise Refused(
            "a term of the formula is computed from all rows (center, standardize,"
            " np.mean, bs with df), and a release has none. Write the number, such as"
            " I(age - 45) or bs(age, knots=[30, 50])"
        )


def _refuse_collinear(design: NDArray[np.float64], names: Sequence[str]) -> None:
    """Refuse predictors of which one is a combination of others: a fit would split one
    coefficient among them as it likes.
    """
    lengths = np.sqrt((design**2).sum(axis=0))
    scaled = design / np.where(lengths > 0, lengths, 1.0)
    factor, order = qr(scaled, mode="r", pivoting=True, check_finite=False)
    # A table may have fewer rows than predictors: then the last ones have no part.
    own = np.zeros(design.shape[1])
    own[: min(factor.shape)] = np.abs(np.diag(factor))
    if (own < MIN_OWN_PART).any():
        name = names[int(order[int(np.argmin(own))])]
        raise Refused(
            f'the term "{name}" is a combination of the others, so its coefficient is'
            " not determined. Leave it out"
        )


def refuse_separated(result: Any) -> None:
    """Refuse a fit in which the predictors tell some labels or zeros for certain: its
    coefficients grow without bound, and it stops somewhere.
    """
    design = np.asarray(result.model.exog, np.float64)
    covariance = np.asarray(result.cov_params(), np.float64)
    variance = ((design @ covariance) * design).sum(axis=1)
    # Written so that a variance that is no number is refused too.
    if not bool((variance <= MAX_PREDICTOR_ERROR**2).all()):
        raise Refused(
            "the fit diverged: the predictors tell some outcomes for certain"
            " (separation). Leave a term out or join its levels"
        )


def find_references(result: Any) -> Mapping[str, object]:
    """What the coefficients of each column of labels are differences from: one label, or
    all of them in codings without a reference. Nothing of a fit without a formula.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"x": ["a", "b", "a", "b"], "y": [1.0, 2.0, 1.5, 2.5]})
    >>> find_references(fit_regression("y ~ x", frame))
    {'x': 'a'}
    """
    data = getattr(getattr(result, "model", None), "data", None)
    # Named anew in statsmodels 0.15.
    information = getattr(data, "model_spec", None) or getattr(
        data, "design_info", None
    )
    codings = getattr(information, "term_codings", {})
    factors = getattr(information, "factor_infos", {})
    found: dict[str, object] = {}
    for part in chain.from_iterable(codings.values()):
        for factor, contrast in part.contrast_matrices.items():
            labels = factors[factor].categories
            if len(labels) > len(contrast.column_suffixes):
                found[factor.name()] = _find_reference(labels, contrast.matrix)
    return found


def _find_reference(labels: Sequence[object], coding: NDArray[np.float64]) -> object:
    """The label that no column of a coding marks; all of them if each is marked."""
    unmarked = [
        label for label, row in zip(labels, coding, strict=True) if not row.any()
    ]
    return unmarked[0] if unmarked else tuple(labels)


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
