"""Analyse copies: fit the same model on each, and combine as the release says."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
from understudy.inference.regression import (
    find_references,
    fit_regression,
    refuse_separated,
)
from understudy.text import align_columns, format_count, format_estimate, join_words

MAX_ERROR_OVER_LEAST = 100.0
"""A standard error beyond this many times the least over copies comes from a fit that
diverged (separation): copies of one table differ by far less.
"""


@dataclass(frozen=True, eq=False)
class CopyFit:
    """The coefficients of one fit and their covariance matrix; `references` are the
    labels that coefficients of labels are differences from, where the fit says so.
    """

    names: tuple[str, ...]
    estimates: NDArray[np.float64]
    covariance: NDArray[np.float64]
    references: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, eq=False, repr=False)
class CombinedAnalysis:
    """Coefficients with intervals that hold for the population, out of several copies.
    `left_out` are those that only some copies have.
    """

    names: tuple[str, ...]
    combined: CombinedEstimate
    fits: Sequence[CopyFit]
    level: float = 0.95
    left_out: tuple[str, ...] = ()

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
        rows = []
        for name, q, a, b in zip(
            self.names, self.combined.estimate, low, high, strict=True
        ):
            value, *ends = (format_estimate(x, (b - a) / 2) for x in (q, a, b))
            rows.append([name, value, f"({ends[0]}, {ends[1]})"])
        return "\n".join([*align_columns(rows, right=[1]), self._describe_rule()])

    def __repr__(self) -> str:
        return str(self)

    def _describe_rule(self) -> str:
        rule = self.combined.rule
        count = format_count(self.combined.copies, "copy", "copies")
        said = (
            f"{count}, {self.level:.0%} intervals by the rule for {rule.kind} copies."
        )
        if not self.left_out:
            return said
        return f"{said} Left out, because some copies lack it: {join_words(self.left_out)}."

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
    _check_level(level, "analyse")
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
    estimate  1.03  (-0.01, 2.08)
    3 copies, 95% intervals by the rule for partial copies.
    """
    try:
        known = CopyKind(kind)
    except ValueError:
        raise Refused(f"combine: `kind` is one of {', '.join(CopyKind)}") from None
    _check_level(level, "combine")
    rule = CombiningRule(kind=known, proper=proper, rows_ratio=rows_ratio, nest=nest)
    return _combine_fits([read_fit(fit) for fit in fits], rule, level)


def _check_level(level: float, verb: str) -> None:
    if not 0 < level < 1:
        raise Refused(f"{verb}: `level` lies between 0 and 1, such as 0.95")


def _combine_fits(
    fits: Sequence[CopyFit], rule: CombiningRule, level: float
) -> CombinedAnalysis:
    rule.check_copies(len(fits))
    _refuse_other_references(fits)
    # A level that one copy lacks has no coefficient there: only what all have combines.
    every = dict.fromkeys(name for fit in fits for name in fit.names)
    shared = [name for name in every if all(name in fit.names for fit in fits)]
    if not shared:
        raise Refused("combine: no coefficient is in every fit")
    aligned = [_take_coefficients(fit, shared) for fit in fits]
    _refuse_unusable(shared, aligned)
    combined = combine_estimates(
        np.array([fit.estimates for fit in aligned]),
        np.array([np.diag(fit.covariance) for fit in aligned]),
        rule,
    )
    left_out = tuple(name for name in every if name not in shared)
    return CombinedAnalysis(tuple(shared), combined, aligned, level, left_out)


def _refuse_other_references(fits: Sequence[CopyFit]) -> None:
    """Refuse coefficients of one name that mean different things in different copies."""
    first = fits[0].references
    for fit in fits[1:]:
        for name, label in fit.references.items():
            if first.get(name, label) != label:
                raise Refused(
                    f'combine: the first label of "{name}" has no row in some copies,'
                    " so that coefficients are differences from another one there."
                    f" Join rare labels, or name a frequent one: C({name},"
                    " Treatment(...))"
                )


def _take_coefficients(fit: CopyFit, names: Sequence[str]) -> CopyFit:
    places = [fit.names.index(name) for name in names]
    return CopyFit(
        tuple(names), fit.estimates[places], fit.covariance[np.ix_(places, places)]
    )


def _refuse_unusable(names: Sequence[str], fits: Sequence[CopyFit]) -> None:
    """Refuse estimates that are no numbers, and fits that diverged in some copies."""
    estimates = np.array([fit.estimates for fit in fits])
    variances = np.array([np.diag(fit.covariance) for fit in fits])
    # Written so that what is no number is refused too.
    is_usable = np.isfinite(estimates) & (variances >= 0)
    if not is_usable.all():
        raise Refused(
            f'combine: "{_name_worst(names, ~is_usable)}" has an estimate or a variance'
            " in some copy that is no number, or below 0"
        )
    # Separation sends a coefficient and its error to infinity; a callable need not say
    # so.
    limit = MAX_ERROR_OVER_LEAST**2 * variances.min(axis=0)
    has_diverged = ~np.isfinite(variances) | ((variances > limit) & (limit > 0))
    if has_diverged.any():
        raise Refused(
            f'combine: the fit of "{_name_worst(names, has_diverged)}" diverged in a'
            " copy (separation). Leave the term out or join its levels"
        )


def _name_worst(names: Sequence[str], is_bad: NDArray[np.bool_]) -> str:
    return names[int(np.flatnonzero(is_bad.any(axis=0))[0])]


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
            find_references(result),
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
            result = fit_regression(formula, frame, family)
            if family != "gaussian":
                refuse_separated(result)
        except Refused as refusal:
            raise Refused(f"analyse: {refusal}") from None
        return result

    return fit
