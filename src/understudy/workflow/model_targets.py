"""Workload targets `model=…` and `moments=…`: checked before a run, measured before its
synthesizer, and the intervals that a run would give.

A weight asks a synthesizer to prefer a marginal; it may still leave a weak pair out, and
then no interval of the formula holds. So everything that a formula depends on is
measured here, by marginals of the curator like any other, and the synthesizer finds it
among what is known already.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from understudy.curator import Curator
from understudy.errors import Refused
from understudy.inference.contrast_model import MAX_FORMULA_CELLS, refuse_large_formula
from understudy.inference.population import infer_population
from understudy.measurements import Clique, Measurements, MomentMeasurement
from understudy.measurements.regression_formula import RegressionFormula
from understudy.models.estimates.residuals import PooledResiduals
from understudy.notices import Notice, NoticeKind, post_notice
from understudy.schema import Schema
from understudy.synthesizers.budget_split import (
    cell_count,
    size_weights,
    split_by_cells,
    too_large_notice,
)
from understudy.synthesizers.workload import WorkloadTarget
from understudy.toolbox.moments import plan_moments

MODEL_SHARE = Fraction(1, 2)
"""Part of the budget for what models need, in a workload of models alone; with other
targets, in proportion to their weights. The other half goes on as the synthesizer likes,
and much of it to the same pairs.
"""

_NO_MOMENT_FORECAST = "moments of numbers are not simulated"


@dataclass(frozen=True)
class IntervalForecast:
    """How wide the intervals of a formula were in a dry run on simulated rows: half
    widths for each coefficient, and without noise; or why there are none.
    """

    formula: str
    family: str
    names: tuple[str, ...] = ()
    half_widths: tuple[float, ...] = ()
    without_noise: tuple[float, ...] = ()
    reason: str = ""


def check_model_targets(targets: Sequence[WorkloadTarget], schema: Schema) -> None:
    """Refuse formulas whose columns have more cells than can be modelled, as far as the
    schema says how many.
    """
    for formula in _list_formulas(targets, schema):
        if not all(schema[name].is_closed for name in formula.columns):
            continue
        try:
            refuse_large_formula(schema, formula.columns)
        except Refused as refusal:
            raise Refused(
                f"workload model: {refusal}, or name the target moments=. Nothing was"
                " spent"
            ) from None
    for target in targets:
        if target.what == "moments":
            _check_moments(target.formula, schema)


def _check_moments(formula: str, schema: Schema) -> None:
    columns = RegressionFormula.parse(formula, list(schema)).columns
    if not all(schema[name].is_closed for name in columns):
        return
    try:
        plan_moments(formula, schema)
    except Refused as refusal:
        raise Refused(f"workload moments: {refusal}") from None


def measure_model_cliques(curator: Curator, targets: Sequence[WorkloadTarget]) -> None:
    """Measure every column and pair that a formula of the workload depends on."""
    cliques = _list_cliques(targets, curator.schema)
    cliques, large = split_by_cells(curator.schema, cliques, MAX_FORMULA_CELLS)
    if large:
        # Only a schema that was learned in the run comes to this.
        post_notice(too_large_notice(MAX_FORMULA_CELLS, large))
    if not cliques:
        return
    sizes = [cell_count(curator.schema, clique) for clique in cliques]
    measured = curator.measure(
        cliques,
        share=_find_share(targets, "model"),
        weights=size_weights(sizes, curator.accounting),
    )
    curator.keep(measured)


def measure_moment_targets(
    curator: Curator, targets: Sequence[WorkloadTarget]
) -> tuple[MomentMeasurement, ...]:
    """Measure the moments of every formula that asks for them."""
    wanted = [target for target in targets if target.what == "moments"]
    plans = []
    for target in wanted:
        try:
            plans.append(plan_moments(target.formula, curator.schema))
        except Refused as refusal:
            # Only a schema that was learned in the run comes to this.
            text = f"No moments of {target.formula}: {refusal}."
            post_notice(Notice(NoticeKind.TOO_LARGE, text))
    if not plans:
        return ()
    share = _find_share(targets, "moments") / len(plans)
    return tuple(curator.moments(plan, share=share) for plan in plans)


def _find_share(targets: Sequence[WorkloadTarget], what: str) -> Fraction:
    """The part of the budget for one kind of targets, by its weight."""
    own = sum(target.weight for target in targets if target.what == what)
    weight = sum(target.weight for target in targets)
    # A fraction with a small denominator: shares of the budget are exact.
    part = Fraction(own / weight).limit_denominator(100)
    # However small its weight, a formula is measured.
    return MODEL_SHARE * max(part, Fraction(1, 100))


def forecast_intervals(
    schema: Schema, measured: Measurements, targets: Sequence[WorkloadTarget]
) -> tuple[IntervalForecast, ...]:
    """The intervals of every formula of a workload, from the answers of a dry run."""
    pooled = PooledResiduals.of(schema, measured)
    cells = [
        _forecast_formula(schema, pooled, formula)
        for formula in _list_formulas(targets, schema)
    ]
    # Simulated rows have cells and no numbers within them.
    moments = [
        IntervalForecast(each.formula, "gaussian", reason=_NO_MOMENT_FORECAST)
        for each in targets
        if each.what == "moments"
    ]
    return (*cells, *moments)


def _forecast_formula(
    schema: Schema, pooled: PooledResiduals, formula: RegressionFormula
) -> IntervalForecast:
    family = _guess_family(schema, formula)
    try:
        found = infer_population(pooled, formula.text, family=family)
    except Refused as refusal:
        return IntervalForecast(formula.text, family, reason=str(refusal))
    low, high = found.interval()
    naive_low, naive_high = found.naive_interval()
    return IntervalForecast(
        formula.text,
        family,
        names=found.names,
        half_widths=tuple(((high - low) / 2).tolist()),
        without_noise=tuple(((naive_high - naive_low) / 2).tolist()),
    )


def _guess_family(schema: Schema, formula: RegressionFormula) -> str:
    """Logistic for a response of two values, least squares for any other: a target does
    not say which the analyst will use.
    """
    values = schema.codecs[formula.response[0]].is_value.sum()
    return "binomial" if values == 2 else "gaussian"


def _list_formulas(
    targets: Sequence[WorkloadTarget], schema: Schema
) -> list[RegressionFormula]:
    return [
        RegressionFormula.parse(target.formula, list(schema))
        for target in targets
        if target.what == "model"
    ]


def _list_cliques(targets: Sequence[WorkloadTarget], schema: Schema) -> list[Clique]:
    """The cliques of all formulas that vary, each once."""
    found = [
        clique
        for formula in _list_formulas(targets, schema)
        for clique in formula.cliques()
        if math.prod(schema.sizes(clique)) > 1
    ]
    return list(dict.fromkeys(found))
