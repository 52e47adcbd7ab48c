"""Everything that a census asks of rows: each query of the plan, charged before noise is
drawn.

A run that was killed is taken up where it stopped. What it had paid for and not yet
stored is lost: a lost draw is never repeated for free, and a second payment would leave
too little for the queries that follow. So that answer is left out, and tables are made
of the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from understudy.accounting.run import LedgerRun
from understudy.censuses.design import CensusDesign
from understudy.censuses.household_estimate import mark_kinds
from understudy.censuses.level_measurement import LevelMeasurement
from understudy.censuses.measurement_plan import HOUSEHOLD_PREFIX, name_answer
from understudy.curator import MechanismContext, Payments
from understudy.curator.mechanisms.geounits import UnitHistogram
from understudy.curator.mechanisms.households import HouseholdHistogram
from understudy.errors import BudgetExceeded
from understudy.measurements import Clique
from understudy.synthesizers import Progress, ignore_progress
from understudy.tables import Table
from understudy.workflow.censuses.census_check import CheckedCensus


def open_histogram(
    checked: CheckedCensus, table: Table, run: LedgerRun | None
) -> UnitHistogram:
    """The histogram behind the curator; without a run nothing can be measured on it."""
    design = checked.design
    # Replayed answers pass the filter again, which therefore starts at zero.
    unspent = replace(checked.filter, spent=Fraction(0), spent_delta=Fraction(0))
    payments = Payments(run, unspent, depends_on=checked.context_digest)  # type: ignore[arg-type]
    context = MechanismContext(
        table=table,
        payments=payments,
        neighbours=checked.neighbours,
        accounting=checked.accounting,
        epsilon=checked.budget.epsilon,
        max_rows=design.schema.unit.max_rows,
    )
    return UnitHistogram(
        context,
        design.schema,
        design.hierarchy.columns,
        design.columns,
        design.hierarchy.code_leaves(design.schema),
    )


@dataclass(frozen=True, eq=False)
class PlanAnswers:
    """The answers to a plan, and the names of those that were paid for and lost."""

    measured: tuple[LevelMeasurement, ...] = ()
    lost: tuple[str, ...] = ()


def measure_levels(
    checked: CheckedCensus, histogram: UnitHistogram, progress: Progress
) -> PlanAnswers:
    """Every query of every level, in the order of the plan."""
    design = checked.design
    progress("measuring", 0.0)
    asked = [
        (level, query, share * design.person_share)
        for level, query, share in design.plan.steps()
    ]
    answers = _ask_queries(checked, histogram, asked, progress)
    progress("measuring", 1.0)
    return answers


def _ask_queries(
    checked: CheckedCensus,
    histogram: UnitHistogram,
    asked: Sequence[tuple[str, Clique, Fraction]],
    progress: Progress = ignore_progress,
    prefix: str = "",
) -> PlanAnswers:
    """The answers to these queries, each for its share of the budget."""
    measured, lost = [], []
    for done, (level, query, share) in enumerate(asked):
        progress("measuring", done / len(asked))
        place, amount = checked.levels[level], share * checked.filter.total
        # An earlier process of the run may have been killed before it stored this one.
        if histogram.pass_over_lost(place, query, amount=amount):
            lost.append(name_answer(level, query, histogram.columns, prefix))
            continue
        answer = histogram.measure_units(place, query, amount=amount)
        measured.append(
            LevelMeasurement(
                answer.level,
                answer.clique,
                answer.values,
                float(answer.scale),
                histogram.context.law,
            )
        )
    return PlanAnswers(tuple(measured), tuple(lost))


def measure_households(
    checked: CheckedCensus, context: MechanismContext
) -> PlanAnswers:
    """Every query about households, where the design declares them."""
    design, households = checked.design, checked.design.households
    if households is None:
        return PlanAnswers()
    histogram = HouseholdHistogram(
        context,
        design.schema,
        design.hierarchy.columns,
        households.table_columns,
        design.hierarchy.code_leaves(design.schema),
        key=households.key,
        max_persons=households.max_persons,
        kinds=mark_kinds(design, households),
    )
    asked = [
        (level, query, share * households.share)
        for level, query, share in households.plan.steps()
    ]
    return _ask_queries(checked, histogram, asked, prefix=HOUSEHOLD_PREFIX)


def refuse_without_answers(
    design: CensusDesign, persons: PlanAnswers, linked: PlanAnswers
) -> None:
    """Refuse a resumed run of which nothing was stored before it was killed."""
    is_short = design.households is not None and not linked.measured
    if not persons.measured or is_short:
        raise BudgetExceeded(
            "census: what this run paid for was lost when it was cut off, and nothing"
            " is left to make tables of: begin a new run. Nothing was spent"
        )
