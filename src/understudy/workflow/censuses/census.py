"""A census release, from rows to consistent tables of every unit: check, read what is
declared invariant, reserve, measure every level, estimate.

Refused before anything is spent: a plan, a hierarchy or invariants that cannot be, an
answer larger than the ledger holds, and bounds that contradict each other or what is
declared invariant. Whether that happens depends on what is public or declared so, never
on other rows. From the reservation on everything is computed from noisy answers and
invariants, so a failed fit is repeated by resuming, at no new cost.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from understudy.accounting.aftermath import CENSUS_EVENT, account_for_failure
from understudy.accounting.budget import Number
from understudy.accounting.cost import Accounting
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.run import LedgerRun
from understudy.censuses.design import CensusDesign
from understudy.censuses.invariants import describe_bounds, describe_invariants
from understudy.censuses.level_measurement import LevelMeasurement
from understudy.censuses.release import CensusRelease, ExactCounts, estimate_census
from understudy.censuses.top_down import MapFamilies
from understudy.censuses.workers.process_families import check_workers, fit_on_processes
from understudy.censuses.workers.spark_families import map_on_spark
from understudy.curator.mechanisms.geounits import UnitHistogram
from understudy.notices import Notice, NoticeKind, collect_notices, post_notice
from understudy.releases import BudgetStatement, BudgetStep, Guarantee
from understudy.schema import Schema
from understudy.schema.disclosed import describe_declared
from understudy.synthesizers import Progress, ignore_progress
from understudy.tables import describe_rows
from understudy.workflow.account import open_ledger
from understudy.workflow.censuses.census_check import (
    CheckedCensus,
    adopt_delta,
    check_census,
    read_exact_counts,
)
from understudy.workflow.censuses.census_measuring import (
    measure_households,
    measure_levels,
    open_histogram,
    refuse_without_answers,
)
from understudy.workflow.open import TableLike
from understudy.workflow.resuming import (
    RESUMED_NOTICE,
    describe_table,
    resume_run,
)
from understudy.workflow.run_options import DEFAULT_RUN_OPTIONS, RunOptions


def census(
    data: TableLike,
    schema: Schema | str | Path,
    design: Mapping[str, Any] | None = None,
    *,
    rho: Number | None = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    neighbours: Neighbours | str = Neighbours.REPLACE,
    accounting: Accounting | str = Accounting.ZCDP,
    method: str = "gls",
    ledger: str | Path | None = None,
    resume: str | None = None,
    workers: int = 1,
    spark: Any = None,
    progress: Progress = ignore_progress,
    run: RunOptions = DEFAULT_RUN_OPTIONS,
) -> CensusRelease:
    """Release consistent tables of persons for every unit of a geographic hierarchy.

    `design` says what the part `census` of a schema file says: the hierarchy, the
    measurement plan and the invariants; without it, it is read from the schema file.
    The budget is a `rho` of zero-concentrated differential privacy or an `epsilon`, at
    this `delta`; all of it is charged to the ledger before noise is drawn. An `epsilon`
    can be accounted in Gaussian differential privacy (`accounting="gdp"`), whose noise
    is the rounded Gaussian and a little narrower. `method` is
    `gls`, which estimates from all levels at once, or `topdown`, which estimates each
    unit from its own answers. `resume` takes up a run that was cut off. Parents are fitted
    side by side by several `workers`, processes of this machine, or by those of a
    `spark` session.

    >>> import duckdb
    >>> people = duckdb.sql(
    ...     "SELECT ['north', 'south'][1 + i % 2] AS state, ['f', 'm'][1 + i % 3 % 2] AS sex"
    ...     " FROM range(600) t(i)"
    ... )
    >>> schema = Schema.parse('''
    ... columns:
    ...   state: {type: categorical, values: [north, south], nullable: false}
    ...   sex: {type: categorical, values: [f, m], nullable: false}
    ... ''')
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     release = census(
    ...         people,
    ...         schema,
    ...         {"hierarchy": {"columns": ["state"]},
    ...          "invariants": [{"level": "state", "query": "total", "keep": "counts"}]},
    ...         rho=1,
    ...         ledger=Path(folder, "people.ledger"),
    ...     )
    >>> release.counts("state").tolist(), int(release.counts("nation", "sex").sum())
    ([300, 300], 600)
    """
    check_workers(workers)
    map_on_cluster = None if spark is None else map_on_spark(spark)
    checked = check_census(
        data,
        schema,
        design,
        rho=rho,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        method=method,
        accounting=accounting,
    )
    name = resume or run.run_id or secrets.token_hex(8)
    path = Path(ledger) if ledger is not None else checked.source.ledger_path
    new_run = name if resume is None else ""
    with (
        account_for_failure(path, new_run),
        collect_notices(run.notify),
        open_ledger(
            ledger,
            checked.source,
            dataset=run.dataset,
            neighbours=checked.neighbours,
            schema=checked.design.schema,
        ) as account,
    ):
        _post_dropped_rows(checked)
        if resume is not None and delta is None:
            # A δ that is left out is that of the run, not the default of a new one.
            checked = adopt_delta(
                checked, account.resume(resume).budget.delta, rho=rho, epsilon=epsilon
            )
        measured = _measure_census(account, checked, name, resume, delta, run, progress)
    progress("fitting", 0.0)
    with account_for_failure(path, name), ExitStack() as stack:
        map_families: MapFamilies = map_on_cluster or map
        if workers > 1:
            map_families = stack.enter_context(fit_on_processes(workers))
        estimate = estimate_census(
            measured.design,
            measured.measurements,
            measured.exact,
            households=measured.households,
            method=method,
            map_families=map_families,
        )
    progress("fitting", 1.0)
    return CensusRelease(
        design=measured.design,
        guarantee=_make_guarantee(checked),
        statement=measured.statement,
        measurements=measured.measurements,
        exact=measured.exact,
        estimate=estimate,
        method=method,
        household_measurements=measured.households,
        lost_answers=measured.lost,
    )


@dataclass(frozen=True, eq=False)
class _MeasuredCensus:
    """What left the curator, and what it cost; the design is without what was lost."""

    design: CensusDesign
    measurements: tuple[LevelMeasurement, ...]
    households: tuple[LevelMeasurement, ...]
    lost: tuple[str, ...]
    exact: ExactCounts
    statement: BudgetStatement


def _measure_census(
    account: Ledger,
    checked: CheckedCensus,
    name: str,
    resume: str | None,
    delta: Number | None,
    options: RunOptions,
    progress: Progress,
) -> _MeasuredCensus:
    """Everything that is asked of the rows."""
    table = describe_rows(checked.source, checked.design.schema)
    # Before the exact facts are read: that they contradict a bound tells of them too. A
    # resumed run notes them again, for it may be resumed with other invariants.
    _note_invariants(account, checked)
    # Read before the reservation: a contradiction is refused for free. Counting is not
    # charged, and nothing but what is declared invariant is looked at.
    counting = open_histogram(checked, table, None)
    exact = read_exact_counts(checked, counting)
    if resume is None:
        run = account.reserve(
            checked.budget,
            event=CENSUS_EVENT,
            filter=checked.filter,
            analyst=options.analyst,
            purpose=options.purpose,
            run_id=name,
            table=describe_table(checked.source),
        )
    else:
        run = resume_run(
            account,
            name,
            checked.source,
            budget=checked.budget,
            is_delta_given=delta is not None,
            accounting=checked.accounting,
        )
    with account_for_failure(account.path, name):
        histogram = open_histogram(checked, table, run)
        persons = measure_levels(checked, histogram, progress)
        linked = measure_households(checked, histogram.context)
        refuse_without_answers(checked.design, persons, linked)
        run.finish()
        statement = _make_statement(checked, histogram, account, run)
    lost = (*persons.lost, *linked.lost)
    _post_notices(resume, lost)
    return _MeasuredCensus(
        checked.design.without_answers(lost),
        persons.measured,
        linked.measured,
        lost,
        exact,
        statement,
    )


def _post_dropped_rows(checked: CheckedCensus) -> None:
    """Say which rows a protected household leaves no place for: persons of facilities
    have no household, and may have no key.
    """
    households, unit = checked.design.households, checked.design.schema.unit
    if households is not None and unit.id == households.key:
        post_notice(
            Notice(
                NoticeKind.LEFT_OUT,
                f"Rows without a {unit.id} belong to nobody whom the guarantee protects,"
                " and are counted nowhere, in exact counts neither. Give persons outside"
                f" of households a {unit.id} of their own.",
                (households.key,),
            )
        )


def _post_notices(resume: str | None, lost: Sequence[str]) -> None:
    """What whoever resumes a run has to know."""
    if resume is not None:
        post_notice(RESUMED_NOTICE)
    if lost:
        post_notice(
            Notice(
                NoticeKind.RESUMED,
                f"Paid for and lost when the run was cut off: {', '.join(lost)}. The"
                " tables are made of the other answers.",
            )
        )


def _note_invariants(account: Ledger, checked: CheckedCensus) -> None:
    """Write down which exact facts may leave beside the noisy ones."""
    facts = describe_invariants(checked.design.invariants)
    if facts:
        account.note("census", f"exact by declaration: {', '.join(facts)}")


def _make_guarantee(checked: CheckedCensus) -> Guarantee:
    schema = checked.design.schema
    facts = describe_invariants(checked.design.invariants)
    if checked.neighbours is Neighbours.REPLACE and schema.unit.id is None:
        facts = ("the number of rows", *facts)
    units = checked.design.hierarchy.unit_count
    public = [*describe_declared(schema), f"the hierarchy of {units:,} units"]
    public += describe_bounds(checked.design.invariants)
    public += [f"which units make up each {area}" for area in checked.design.areas]
    if checked.design.households is not None:
        public.append(str(checked.design.households))
    return Guarantee(
        epsilon=checked.budget.epsilon,
        delta=checked.budget.delta,
        accounting=checked.accounting,
        amount=checked.filter.total,
        neighbours=checked.neighbours,
        unit=schema.unit.noun,
        max_rows=schema.unit.max_rows,
        invariants=facts,
        public=tuple(public),
    )


def _make_statement(
    checked: CheckedCensus, histogram: UnitHistogram, account: Ledger, run: LedgerRun
) -> BudgetStatement:
    """What the run was charged, query by query."""
    total = checked.filter.total
    steps = tuple(
        BudgetStep(asked=asked, cost=cost, share=cost.amount / total)
        for asked, cost in histogram.context.payments.charges
    )
    return BudgetStatement(
        dataset=account.dataset,
        epsilon=checked.budget.epsilon,
        delta=checked.budget.delta,
        steps=steps,
        ledger=account.head,
        run=run.id,
        day=datetime.now(UTC).date(),
    )
