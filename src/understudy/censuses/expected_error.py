"""What a plan would give, before anything is spent: the noise of every query, and the
standard error of the least-squares tables, which no rows are needed for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from understudy.accounting.cost import Accounting, Sensitivity
from understudy.accounting.household_sensitivity import find_household_sensitivity
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.pricing import default_law, scale_for
from understudy.censuses.design import CensusDesign
from understudy.censuses.hierarchy import Hierarchy
from understudy.censuses.lattice import AxisSet, MarginalLattice
from understudy.censuses.least_squares import (
    EXACT_ANSWER_VARIANCE,
    LevelAnswer,
    join_variances,
)
from understudy.censuses.level_measurement import find_answer_variance
from understudy.censuses.measurement_plan import spell_query
from understudy.censuses.streamed_estimate import vary_tree
from understudy.measurements import Clique


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
    is_published: bool = True
    """Whether a table that is written shows it."""


def plan_scale(
    amount: Fraction,
    neighbours: Neighbours,
    max_rows: int = 1,
    accounting: Accounting = Accounting.ZCDP,
) -> Fraction:
    """σ of a query that costs this part of ρ: σ² = 1/amount under replace; of μ² = 2ρ
    it is the same σ.

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
    return scale_for(default_law(accounting), amount, moved, accounting)


def plan_noise(
    design: CensusDesign,
    total: Fraction,
    neighbours: Neighbours,
    accounting: Accounting = Accounting.ZCDP,
) -> tuple[list[PlannedNoise], list[PlannedNoise]]:
    """The noise of every query about persons and of every one about households."""
    max_rows = design.schema.unit.max_rows
    persons = []
    for level, query, share in design.plan.steps():
        part = share * design.person_share
        scale = plan_scale(part * total, neighbours, max_rows, accounting)
        sizes = design.schema.sizes(query)
        persons.append(
            (AskedQuery(level, query, design.axes(query), sizes, part), scale)
        )
    households = design.households
    if households is None:
        return persons, []
    is_unit = design.schema.unit.id == households.key
    moved = find_household_sensitivity(neighbours, is_unit=is_unit)
    linked = []
    for level, query, share in households.plan.steps():
        part = share * households.share
        scale = scale_for(default_law(accounting), part * total, moved, accounting)
        sizes = households.find_sizes(query, design.schema)
        asked = AskedQuery(level, query, households.find_axes(query), sizes, part)
        linked.append((asked, scale))
    return persons, linked


def expect_errors(
    design: CensusDesign,
    total: Fraction,
    neighbours: Neighbours,
    accounting: Accounting = Accounting.ZCDP,
) -> tuple[ExpectedError, ...]:
    """The expected error of every query of the plan, for this ρ or μ² in all."""
    law = default_law(accounting)
    persons, linked = plan_noise(design, total, neighbours, accounting)
    queries = [(asked, find_answer_variance(law, scale)) for asked, scale in persons]
    exact = [
        AskedQuery(each.level, each.query, design.axes(each.query), sizes, Fraction(0))
        for each in design.invariants
        if each.keep == "counts"
        for sizes in [design.schema.sizes(each.query)]
    ]
    errors = _list_errors(design.hierarchy, design.lattice, queries, exact)
    shown = [set(query) for query in design.published_queries]
    named = [
        replace(
            each.to_error(spell_query(each.asked.query, design.columns)),
            is_published=any(set(each.asked.query) <= query for query in shown),
        )
        for each in errors
    ]
    of_households = [(each, find_answer_variance(law, scale)) for each, scale in linked]
    return (*named, *_expect_household_errors(design, of_households))


def _expect_household_errors(
    design: CensusDesign, queries: Sequence[tuple[AskedQuery, float]]
) -> list[ExpectedError]:
    """The same of the tables of households, where there are any."""
    households = design.households
    if households is None:
        return []
    errors = _list_errors(design.hierarchy, design.household_lattice, queries, [])
    return [
        each.to_error(
            f"households: {spell_query(each.asked.query, households.table_columns)}"
        )
        for each in errors
    ]


@dataclass(frozen=True)
class AskedQuery:
    """A query of a level, where it stands in its table, and its part of the budget."""

    level: str
    query: Clique
    axes: AxisSet
    sizes: tuple[int, ...]
    share: Fraction


PlannedNoise = tuple[AskedQuery, Fraction]
"""A query of a level and the scale of its noise."""


@dataclass(frozen=True)
class _QueryError:
    asked: AskedQuery
    units: int
    noise_sd: float
    standard_error: float

    def to_error(self, query: str) -> ExpectedError:
        return ExpectedError(
            self.asked.level,
            query,
            self.units,
            self.asked.share,
            self.noise_sd,
            self.standard_error,
        )


def _list_errors(
    hierarchy: Hierarchy,
    lattice: MarginalLattice,
    queries: Sequence[tuple[AskedQuery, float]],
    exact: Sequence[AskedQuery],
) -> list[_QueryError]:
    """Standard errors after least squares over all levels."""
    known = [*queries, *((each, EXACT_ANSWER_VARIANCE) for each in exact)]
    answers = [_empty_answer(hierarchy, each, variance) for each, variance in known]
    _, variances = vary_tree(hierarchy, lattice, answers)
    errors = []
    for asked, variance in queries:
        place = hierarchy.levels.index(asked.level)
        after = join_variances(lattice, asked.axes, variances[place]).mean()
        units = hierarchy.count_units(place)
        errors.append(
            _QueryError(asked, units, float(np.sqrt(variance)), float(np.sqrt(after)))
        )
    return errors


def _empty_answer(
    hierarchy: Hierarchy, asked: AskedQuery, variance: float
) -> LevelAnswer:
    # Variances do not depend on values: zeros that take no memory stand for them.
    level = hierarchy.levels.index(asked.level)
    shape = (hierarchy.count_units(level), *asked.sizes)
    return LevelAnswer(level, asked.axes, np.broadcast_to(0.0, shape), variance)
