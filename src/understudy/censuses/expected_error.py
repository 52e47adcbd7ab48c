"""What a plan would give, before anything is spent: the noise of every query, and the
standard error of the least-squares tables, which no rows are needed for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Accounting, Sensitivity
from understudy.accounting.law import Law
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import scale_for
from understudy.censuses.design import CensusDesign
from understudy.censuses.least_squares import (
    EXACT_ANSWER_VARIANCE,
    HierarchyEstimate,
    LevelAnswer,
    estimate_tree,
)
from understudy.censuses.measurement_plan import spell_query
from understudy.models.estimates.noise_moments import noise_variance


@dataclass(frozen=True)
class ExpectedError:
    """One query of one level: its part of the budget, the deviation of its noise, and
    the standard error of one cell after least squares, on average over the units.
    """

    level: str
    query: str
    units: int
    share: Fraction
    noise_sd: float
    standard_error: float


def plan_scale(amount: Fraction, neighbours: Neighbours, max_rows: int = 1) -> Fraction:
    """σ of a query that costs this part of ρ: σ² = 1/amount under replace.

    >>> float(plan_scale(Fraction(1, 4), Neighbours.REPLACE))
    2.0
    """
    touched = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    rows = Fraction(max_rows)
    moved = Sensitivity(
        l1=touched * rows,
        l2_squared=touched * rows**2,
        l0=touched * max_rows,
        linf=rows,
    )
    return scale_for(Law.DISCRETE_GAUSSIAN, amount, moved, Accounting.ZCDP)


def expect_errors(
    design: CensusDesign, rho: Fraction, neighbours: Neighbours
) -> tuple[ExpectedError, ...]:
    """The expected error of every query of the plan, for this ρ."""
    levels = design.hierarchy.levels
    max_rows = design.schema.unit.max_rows
    deviations, answers = [], []
    for level, query, share in design.plan.steps():
        scale = plan_scale(share * rho, neighbours, max_rows)
        variance = noise_variance(Law.DISCRETE_GAUSSIAN, scale)
        deviations.append(float(np.sqrt(variance)))
        answers.append(_empty_answer(design, levels.index(level), query, variance))
    for each in design.invariants:
        if each.keep == "counts":
            place = levels.index(each.level)
            answers.append(
                _empty_answer(design, place, each.query, EXACT_ANSWER_VARIANCE)
            )
    gls = estimate_tree(design.hierarchy, design.lattice, answers)
    return _list_errors(design, gls, deviations)


def _empty_answer(
    design: CensusDesign, level: int, query: tuple[str, ...], variance: float
) -> LevelAnswer:
    # Variances do not depend on values: zeros that take no memory stand for them.
    shape = (design.hierarchy.count_units(level), *design.schema.sizes(query))
    return LevelAnswer(level, design.axes(query), np.broadcast_to(0.0, shape), variance)


def _list_errors(
    design: CensusDesign, gls: HierarchyEstimate, deviations: Sequence[float]
) -> tuple[ExpectedError, ...]:
    levels = design.hierarchy.levels
    errors = []
    for (level, query, share), deviation in zip(
        design.plan.steps(), deviations, strict=True
    ):
        place = levels.index(level)
        variance = gls.variances(place, design.axes(query)).mean()
        errors.append(
            ExpectedError(
                level,
                spell_query(query, design.columns),
                design.hierarchy.count_units(place),
                share,
                deviation,
                float(np.sqrt(variance)),
            )
        )
    return tuple(errors)
