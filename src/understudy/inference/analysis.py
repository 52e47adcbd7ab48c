"""Analyse copies: fit the same model on each, and combine as the release says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from understudy.errors import Refused
from understudy.inference.combining_rules import (
    CombinedEstimate,
    CombiningRule,
    CopyKind,
    JointTest,
    check_all_zero,
    combine_estimates,
)
from understudy.inference.copies import refuse_unruled_copies
from understudy.inference.libraries import import_pandas
from understudy.inference.regression import MAX_ERROR_OVER_MEDIAN, fit_regression


@dataclass(frozen=True, eq=False)
class CopyFit:
    """The coefficients of one fit and their covariance matrix."""

    names: tuple[str, ...]
    estimates: NDArray[np.float64]
    covariance: NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class CombinedAnalysis:
    """Coefficients with intervals that hold for the population, out of several copies."""

    names: tuple[str, ...]
    combined: CombinedEstimate
    fits: Sequence[CopyFit]
    level: float = 0.95

    def to_frame(self) -> Any:
        """A pandas frame with one row a coefficient."""
        low, high = self.combined.interval(self.level)
        return import_pandas().DataFrame(
            {
                "estimate": self.combined.estimate,
                "std_error": self.combined.error,
                "low": low,
                "high": high,
                "degrees": self.combined.degrees,
                "p_value": self.combined.p_values(),
            },
            index=list(self.names),
        )

    def check_all_zero(self, names: Sequence[str]) -> JointTest:
        """The test of the hypothesis that these coefficients are all 0."""
        unknown = [name for name in names if name not in self.names]
        if unknown or not names:
            raise Refused(f"combine: name coefficients among {', '.join(self.names)}")
        places = [self.names.index(name) for name in names]
        return check_all_zero(
            np.array([fit.estimates[places] for fit in self.fits]),
            np.array([fit.covariance[np.ix_(places, places)] for fit in self.fits]),
            self.combined.rule,
        )

    def __str__(self) -> str:
        low, high = self.combined.interval(self.level)
        width = max(len(name) for name in self.names)
        lines = [
            f"{name:<{width}}  {q:10.4g}  ({a:.4g}, {b:.4g})"
            for name, q, a, b in zip(
                self.names, self.combined.estimate, low, high, strict=True
            )
        ]
        return "\n".join([*lines, self._describe_rule()])

    def __repr__(self) -> str:
        return str(self)

    def _describe_rule(self) -> str:
        rule = self.combined.rule
        return (
            f"{self.combined.copies} copies, {self.level:.0%} intervals by the rule for"
            f" {rule.kind} copies."
        )

    def _repr_html_(self) -> str:
        table: str = self.to_frame().to_html(float_format="{:.4g}".format)
        return f"{table}<p>{escape(self._describe_rule())}</p>"


def analyse(
    copies: object,
    formula: str | None = None,
    *,
    family: str = "gaussian",
    estimator: Callable[[Any], Any] | None = None,
    level: float = 0.95,
) -> CombinedAnalysis:
    """Fit a model on every copy and combine the fits by the rule of the release.

    `copies` is the folder that `understudy mask` wrote, or what `mask` returned. Give a
    statsmodels `formula` (code to statsmodels: take none from a stranger) and its
    `family`, or an `estimator`: a function of a pandas frame that returns an estimate
    and its variance, or a fitted statsmodels model.

    >>> import pandas as pd
    >>> from understudy.inference.copies import SyntheticCopies
    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=200)
    >>> frames = [pd.DataFrame({"x": x, "y": 2 * x + rng.normal(size=200)}) for _ in range(3)]
    >>> copies = SyntheticCopies.of_frames(frames, CombiningRule(kind=CopyKind.PARTIAL))
    >>> analyse(copies, "y ~ x").names
    ('Intercept', 'x')
    """
    if (formula is None) == (estimator is None):
        raise Refused("analyse: give either a formula or an estimator")
    if not 0 < level < 1:
        raise Refused("analyse: `level` lies between 0 and 1, such as 0.95")
    several = refuse_unruled_copies(copies)
    # Before a file is read: a set that no rule can combine is of no use.
    several.rule.check_copies(len(several))
    if formula is not None:
        estimator = make_formula_estimator(formula, family)
    assert estimator is not None
    return _combine_fits(
        [read_fit(estimator(frame)) for frame in several], several.rule, level
    )


def combine(
    fits: Sequence[Any],
    *,
    kind: str,
    proper: bool = True,
    rows_ratio: float = 1.0,
    nest: int = 1,
    level: float = 0.95,
) -> CombinedAnalysis:
    """Combine fits that were made by hand, one a copy: pairs of an estimate and its
    variance, or fitted statsmodels models.

    `kind` says how the copies were made: `partial`, `full`, `full-between`, `nested` or
    `imputed`. `analyse` takes it from the release, where it cannot be mistaken.

    >>> print(combine([(1.0, 0.04), (1.6, 0.05), (0.5, 0.045)], kind="partial"))
    estimate       1.033  (-0.0105, 2.077)
    3 copies, 95% intervals by the rule for partial copies.
    """
    try:
        known = CopyKind(kind)
    except ValueError:
        raise Refused(f"combine: `kind` is one of {', '.join(CopyKind)}") from None
    rule = CombiningRule(kind=known, proper=proper, rows_ratio=rows_ratio, nest=nest)
    return _combine_fits([read_fit(fit) for fit in fits], rule, level)


def _combine_fits(
    fits: Sequence[CopyFit], rule: CombiningRule, level: float
) -> CombinedAnalysis:
    rule.check_copies(len(fits))
    # A level that one copy lacks has no coefficient there: only what all have combines.
    shared = [name for name in fits[0].names if all(name in fit.names for fit in fits)]
    if not shared:
        raise Refused("combine: no coefficient is in every fit")
    aligned = [_take_coefficients(fit, shared) for fit in fits]
    _refuse_diverged(shared, aligned)
    combined = combine_estimates(
        np.array([fit.estimates for fit in aligned]),
        np.array([np.diag(fit.covariance) for fit in aligned]),
        rule,
    )
    return CombinedAnalysis(tuple(shared), combined, aligned, level)


def _take_coefficients(fit: CopyFit, names: Sequence[str]) -> CopyFit:
    places = [fit.names.index(name) for name in names]
    return CopyFit(
        tuple(names), fit.estimates[places], fit.covariance[np.ix_(places, places)]
    )


def _refuse_diverged(names: Sequence[str], fits: Sequence[CopyFit]) -> None:
    errors = np.sqrt([np.diag(fit.covariance) for fit in fits])
    # Separation sends a coefficient and its error to infinity; the fit does not say so.
    limit = MAX_ERROR_OVER_MEDIAN * np.median(errors, axis=0)
    diverged = ~np.isfinite(errors) | (errors > limit)
    if diverged.any():
        worst = names[int(np.flatnonzero(diverged.any(axis=0))[0])]
        raise Refused(
            f'combine: the fit of "{worst}" diverged in a copy (separation). Leave the'
            " term out or join its levels"
        )


def read_fit(result: Any) -> CopyFit:
    """The coefficients in what an estimator returned."""
    params = getattr(result, "params", None)
    if params is not None:
        covariance = result.cov_params()
        names = getattr(params, "index", None)
        labels = range(len(params)) if names is None else names
        return CopyFit(
            tuple(str(label) for label in labels),
            np.asarray(params, dtype=np.float64),
            np.asarray(covariance, dtype=np.float64),
        )
    try:
        estimate, variance = result
        estimates = np.atleast_1d(np.asarray(estimate, dtype=np.float64))
        variances = np.asarray(variance, dtype=np.float64)
    except (TypeError, ValueError):
        raise Refused(
            "combine: a fit is a pair of an estimate and its variance, or a fitted"
            " statsmodels model"
        ) from None
    # A single variance, or one for each estimate, is the diagonal of a covariance.
    if variances.ndim < 2:
        variances = np.diag(np.atleast_1d(variances))
    if variances.shape != (len(estimates), len(estimates)):
        raise Refused("combine: give one variance for each estimate")
    count = len(estimates)
    names = (
        ("estimate",)
        if count == 1
        else tuple(f"estimate {i + 1}" for i in range(count))
    )
    return CopyFit(names, estimates, variances)


def make_formula_estimator(formula: str, family: str) -> Callable[[Any], Any]:
    """The function that fits a formula of this family on a frame."""

    def fit(frame: Any) -> Any:
        try:
            return fit_regression(formula, frame, family)
        except Refused as refusal:
            raise Refused(f"analyse: {refusal}") from None

    return fit
