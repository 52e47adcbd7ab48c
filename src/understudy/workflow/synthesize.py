"""A run, from rows to release: check, reserve, discover, measure, estimate, release.

Everything that can be refused is refused before the ledger is charged
(workflow/preflight.py lists the refusals in order). Once the run's whole (ε, δ) is
reserved it stays spent, whatever happens; what fails from there on names the run and
what stays spent (accounting/aftermath.py).
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.random import Generator

from understudy.accounting.aftermath import account_for_failure
from understudy.accounting.budget import Number
from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger import Ledger
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.run import LedgerRun
from understudy.curator import Curator, MechanismContext, Payments
from understudy.decisions import Decision, collect_decisions
from understudy.measurements import Measurements
from understudy.models.model import PortableModel
from understudy.models.progress import watch_fits
from understudy.notices import Notice, NoticeSink, collect_notices, post_notice
from understudy.releases import BudgetStatement, Release
from understudy.releases.contents import environment
from understudy.releases.explanation.explanation import Explanation
from understudy.schema import Schema
from understudy.synthesizers import Progress, Synthesizer, ignore_progress
from understudy.tables import Table, TableSource, describe_rows
from understudy.workflow.account import announce_account, open_ledger
from understudy.workflow.measure import discover_and_measure
from understudy.workflow.notebook_progress import choose_progress
from understudy.workflow.open import TableLike, find_left_out
from understudy.workflow.preflight import (
    CheckedRun,
    RunDesign,
    check_run,
    check_seed,
    choose_synthesizer,
)
from understudy.workflow.record import (
    context_digest,
    frame_kind,
    make_guarantee,
    make_statement,
    run_options,
    synthesizer_options,
)
from understudy.workflow.resuming import RESUMED_NOTICE, describe_table, take_up_run
from understudy.workflow.rowcount import find_miscount, refuse_miscounted
from understudy.workflow.run_options import (
    DEFAULT_RUN_OPTIONS,
    RunOptions,
    SpendingProgress,
)
from understudy.workflow.small_tables import (
    count_rows_first,
    refuse_small_table,
)
from understudy.workflow.without_rows import release_without_rows

DEFAULT_SYNTHESIZER = "adaptive"

_STAGE_LOG = logging.getLogger("understudy")
"""One record for each stage, at INFO: numbers of columns and marginals, the budget and
the run. Never a value, and nothing that is not in the release or the ledger.
"""


def synthesize(
    data: TableLike,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: Number,
    delta: Number | None = None,
    synthesizer: str | Synthesizer = DEFAULT_SYNTHESIZER,
    options: Mapping[str, object] | None = None,
    ledger: str | Path | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    accounting: Accounting | str | None = None,
    workload: str | Sequence[str] = (),
    public: TableLike | None = None,
    resume: str | None = None,
    anyway: bool = False,
    seed: int | None = None,
    progress: Progress = ignore_progress,
    run: RunOptions = DEFAULT_RUN_OPTIONS,
) -> Release:
    """Release a differentially private synthetic table.

    `data` is a CSV or Parquet path, or a pandas, polars, pyarrow or DuckDB frame.
    Without a `schema`, types, values and bounds are learned inside the budget.
    `synthesizer` is one of `us.synthesizers`, with its `options`. `workload` says what
    the release should be good at (synthesizers/workload.py lists the forms); all triples
    of columns without it. `public` is a public table of other people with the same
    columns, used as a prior.

    The whole (ε, δ) is charged to the ledger before any noise is drawn; without one, an
    uncapped `<file>.ledger` records the running total. Whatever fails once the budget is
    reserved says so and names the run: an UnderstudyError in its text and as
    `error.run`, other errors in a note. `resume` takes up a run that was cut off: stored
    answers are used again and the rest is asked of the rows as they are now, of which
    only the table's name, kind and columns are compared (workflow/resuming.py).

    Where most columns are to be learned, the rows are counted first, for a fiftieth of
    ε. A table too small to learn them from stops there with TooFewRows, and the rest is
    not spent (workflow/small_tables.py); `anyway` goes on without counting.

    `seed` seeds the sampling of synthetic rows, never the noise. `progress` is called
    with every stage; without it, a notebook shows them below its cell. `run` holds what
    else concerns the ledger and whoever watches.

    >>> import tempfile
    >>> from understudy.schema import Boolean
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.csv")
    ...     _ = people.write_text("smoker\\n" + "yes\\n" * 300 + "no\\n" * 700)
    ...     declared = Schema(columns=(Boolean(name="smoker"),))
    ...     release = synthesize(people, declared, epsilon=1)
    >>> release.guarantee.sentence()
    'Private with ε = 1, δ = 1e-9 for adding or removing one row.'
    """
    method = choose_synthesizer(synthesizer, options)
    progress = choose_progress(progress)
    check_seed(seed)
    rng = np.random.default_rng(seed)
    if not method.reads_rows:
        return release_without_rows(data, schema, method, rng, progress)
    checked = check_run(
        data,
        schema,
        method,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        accounting=accounting,
        workload=workload,
        public=public,
    )
    columns = len(checked.design.schema)
    _STAGE_LOG.info("checked: %d columns, %s", columns, checked.design.budget)
    notices = _NoticeList(run.notify)
    name = _name_run(resume, run.run_id)
    path = Path(ledger) if ledger is not None else checked.source.ledger_path
    # Around everything from here on: also the ledger's announcement is a notice, and
    # what fails when the last of it is put away fails after the reservation.
    # A run that is taken up has its reservation already: what refuses it spends nothing.
    new_run = name if resume is None else ""
    with account_for_failure(path, new_run), collect_notices(notices.add_notice):
        left_out = find_left_out(
            checked.source, checked.design.schema, given=schema is not None
        )
        if left_out is not None:
            post_notice(left_out)
        if ledger is None and (news := announce_account(checked.source)):
            post_notice(news)
        with open_ledger(
            ledger,
            checked.source,
            dataset=run.dataset,
            neighbours=checked.design.neighbours,
            schema=checked.design.schema,
        ) as account:
            return _run_on_account(
                account,
                checked,
                name,
                resume=resume,
                is_delta_given=delta is not None,
                anyway=anyway,
                options=run,
                rng=rng,
                progress=progress,
                notices=notices,
            )


class _NoticeList:
    """The notices of a run, each once, passed on to whoever listens."""

    def __init__(self, listener: NoticeSink) -> None:
        self._listener = listener
        self.notices: list[Notice] = []

    def add_notice(self, notice: Notice) -> None:
        if notice not in self.notices:
            self.notices.append(notice)
            self._listener(notice)


def _run_on_account(
    account: Ledger,
    checked: CheckedRun,
    name: str,
    *,
    resume: str | None,
    is_delta_given: bool,
    anyway: bool,
    options: RunOptions,
    rng: Generator,
    progress: Progress,
    notices: _NoticeList,
) -> Release:
    """The run from its last refusals to its release, on an open ledger."""
    design, source = checked.design, checked.source
    # Versions are looked up before anything is paid: what may fail, fails for free.
    made_with = environment()
    # Only now, with the ledger open: an account that protects the number of rows has
    # refused the relation that makes it public.
    table = describe_rows(source, design.schema)
    refuse_miscounted(table, design.schema, design.neighbours)
    run = None
    if resume is not None:
        design, run = take_up_run(account, resume, checked, is_delta_given)
        post_notice(RESUMED_NOTICE)
    elif anyway:
        design = design.with_row_count(None)
    with account_for_failure(account.path, name):
        facts = describe_table(source)
        counted = count_rows_first(
            account, table, design, name, options=options, facts=facts
        )
        if counted is not None and run is None and not anyway:
            refuse_small_table(design, counted, run=name, account=account.path)
        if run is None:
            run = account.reserve(
                design.main_budget,
                event=f"synthesize {design.method.name}",
                filter=design.filter,
                analyst=options.analyst,
                purpose=options.purpose,
                run_id=name,
                table=facts,
            )
        _STAGE_LOG.info("reserved: %s, run %s", design.budget, name)
        curator = _open_curator(table, design, run, checked.public)
        decisions: list[Decision] = []
        with collect_decisions(decisions.extend):
            measurements = _measure_rows(
                curator, design, checked.public, progress, options.spending
            )
        run.finish()
        head = account.head
        account.close()  # a fit may take long, and needs no account
        # From measurements alone: a failed fit can be repeated without a row.
        model = _fit_model(curator.schema, design.method, measurements, rng, progress)
        row_count = None
        if counted is not None:
            row_count = counted.cost(design.filter.accounting)
        return _make_release(
            curator,
            design,
            checked,
            measurements,
            model,
            row_count=row_count,
            statement=make_statement(
                curator,
                budget=design.budget,
                filter=design.filter,
                dataset=account.dataset,
                head=head,
                run=run.id,
                row_count=row_count,
            ),
            environment=made_with,
            notices=tuple(notices.notices),
            explanation=Explanation.of(decisions),
        )


def _make_release(
    curator: Curator,
    design: RunDesign,
    checked: CheckedRun,
    measurements: Measurements,
    model: PortableModel,
    *,
    row_count: Cost | None,
    statement: BudgetStatement,
    environment: Mapping[str, str],
    notices: tuple[Notice, ...],
    explanation: Explanation,
) -> Release:
    """The release of a finished run."""
    guarantee = make_guarantee(
        curator,
        given=design.schema,
        budget=design.budget,
        filter=design.filter,
        method=design.method,
        public=checked.public,
        row_count=row_count,
    )
    options = synthesizer_options(design.method)
    return Release(
        guarantee=guarantee,
        schema=curator.schema,
        measurements=measurements,
        model=model,
        statement=statement,
        synthesizer=design.method.name,
        options=options | run_options(design.targets, checked.public),
        environment=environment,
        frame=frame_kind(checked.source),
        notices=notices,
        explanation=explanation,
    )


def _name_run(resume: str | None, run_id: str | None) -> str:
    """The run's name in the ledger: that of the run taken up, the one given, or one
    drawn at random.
    """
    if resume is not None:
        return resume
    return secrets.token_hex(8) if run_id is None else run_id


def _open_curator(
    table: Table, design: RunDesign, run: LedgerRun, public: TableSource | None
) -> Curator:
    """The curator of this run: the one place where rows, noise and payments meet."""
    options = run_options(design.targets, public)
    context = MechanismContext(
        table=table,
        payments=Payments(
            run,
            design.filter,
            depends_on=context_digest(design.schema, design.method, options),
        ),
        neighbours=design.neighbours,
        accounting=design.filter.accounting,
        epsilon=design.main_budget.epsilon,
        max_rows=design.schema.unit.max_rows,
    )
    return Curator(context, design.schema)


def _measure_rows(
    curator: Curator,
    design: RunDesign,
    public: TableSource | None,
    progress: Progress,
    spending: SpendingProgress,
) -> Measurements:
    """Everything the run is charged for, and whether it contradicts the declared number
    of rows.
    """

    def report_stage(stage: str, done: float) -> None:
        # What the account charged, not what the synthesizer says of itself.
        charged = sum(cost.amount for _, cost in curator.charges)
        spending(float(charged / design.filter.total))
        progress(stage, done)

    measurements = discover_and_measure(
        curator, design.method, report_stage, targets=design.targets, public=public
    )
    if miscount := find_miscount(curator.schema, measurements):
        post_notice(miscount)
    _STAGE_LOG.info("measured: %d marginals", len(measurements))
    return measurements


def _fit_model(
    schema: Schema,
    method: Synthesizer,
    measurements: Measurements,
    rng: Generator,
    progress: Progress,
) -> PortableModel:
    progress("fitting", 0.0)
    with watch_fits(progress):
        model = method.estimate(schema, measurements, rng)
    progress("fitting", 1.0)
    _STAGE_LOG.info("fitted: %s", method.name)
    return model
