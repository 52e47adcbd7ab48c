"""A run, from rows to release: reserve, discover, measure, estimate, release.

Everything that can be refused is refused before the ledger is touched. Once the run's
whole (ε, δ) is reserved it stays spent, whatever happens; what fails from there on says
so (accounting/aftermath.py).
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np

from understudy.accounting.aftermath import account_for_failure
from understudy.accounting.budget import DEFAULT_DELTA, Budget
from understudy.accounting.cost import Accounting
from understudy.accounting.filter import Filter
from understudy.accounting.neighbours import Neighbours
from understudy.curator import (
    Curator,
    CuratorView,
    MechanismContext,
    Payments,
    check_epsilon,
    discovery_shares,
    needs_delta,
)
from understudy.errors import Refused
from understudy.measurements import Measurements
from understudy.models.progress import watch_fits
from understudy.models.rules.satisfiability import refuse_contradictions
from understudy.releases import BudgetStatement, BudgetStep, Guarantee, Release
from understudy.releases.contents import environment
from understudy.releases.file.document import MAX_RELEASE_COLUMNS
from understudy.releases.output.frames import FRAME_KINDS
from understudy.schema import BrokenRowPolicy, Schema, schema_to_dict
from understudy.schema.disclosed import (
    LOST_COLUMN_NOTE,
    describe_declared,
    describe_learned,
)
from understudy.synthesizers import Progress, Synthesizer, ignore_progress, make
from understudy.synthesizers.base import (
    DROPPED_NOTE,
    MISCOUNTED_NOTE,
    NOTE_PREFIXES,
    RESUMED_NOTE,
)
from understudy.synthesizers.options import option_text
from understudy.synthesizers.workload import (
    WorkloadTarget,
    check_targets,
    parse_targets,
    range_partitions,
    workload_of,
)
from understudy.tables import Table, TableSource
from understudy.workflow.account import announce_account, open_ledger
from understudy.workflow.open import (
    describe_left_out,
    member_of,
    open_source,
    refuse_tiny,
    schema_for,
    without_notes,
)
from understudy.workflow.public_prior import (
    describe_public_table,
    measure_public_distances,
    refuse_unlike,
)
from understudy.workflow.resuming import UNCHECKED_ROWS_NOTE, describe_table, resume_run
from understudy.workflow.rowcount import describe_miscount, refuse_miscounted

THRESHOLD_DELTA_SHARE = Fraction(1, 10)
"""Part of δ set aside for thresholds, where any are needed."""

RANGE_BINS_SHARE = Fraction(1, 10)
"""Part of the budget for the coarser bins of ranges, where a run is about nothing else.
"""

DEFAULT_SYNTHESIZER = "adaptive"

SpendingProgress = Callable[[float], None]
"""Told the part of a run's budget that was charged so far, from 0 to 1."""


def ignore_spending(share: float) -> None:
    """Spending nobody watches."""


def synthesize(
    data: object,
    schema: Schema | str | Path | None = None,
    *,
    epsilon: object,
    delta: object = None,
    synthesizer: str | Synthesizer = DEFAULT_SYNTHESIZER,
    ledger: str | Path | None = None,
    dataset: str | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    accounting: Accounting | str | None = None,
    workload: str | Sequence[str] = (),
    public: object = None,
    analyst: str = "",
    resume: str | None = None,
    run_id: str | None = None,
    seed: int | None = None,
    progress: Progress = ignore_progress,
    spending: SpendingProgress = ignore_spending,
) -> Release:
    """Release a differentially private synthetic table.

    `data` is a CSV or Parquet path, or a pandas, polars, pyarrow or DuckDB frame.
    Without a `schema`, types, values and bounds are learned inside the budget.
    `workload` says what the release should be good at (synthesizers/workload.py lists
    the forms); all triples of columns without it. `public` is a table of other people
    with the same columns that may be seen by everybody: a prior. The whole (ε, δ) is
    charged to the ledger before any noise is drawn; without one, an uncapped
    `<file>.ledger` records the running total. `seed` seeds the sampling of synthetic
    rows, never the noise. `resume` takes up a run that was cut off: stored answers are
    used again and the rest is asked of the rows as they are now, of which only the
    table's name, kind and columns are compared (workflow/resuming.py). Whatever fails
    once the budget is reserved says so and names the run: an UnderstudyError in its
    text and as `error.run`, other errors in a note. `progress` is told every stage;
    just before, while the run still spends, `spending` is told which part of its budget
    the account has charged.

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
    method = synthesizer if isinstance(synthesizer, Synthesizer) else make(synthesizer)
    if seed is not None and (
        isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0
    ):
        raise Refused("A seed is a whole number from 0 up. Nothing was spent.")
    rng = np.random.default_rng(seed)
    if not method.reads_rows:
        return _release_without_rows(data, schema, method, rng, progress)
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    budget = Budget.of(epsilon, DEFAULT_DELTA if delta is None else delta)
    source = open_source(data)
    described = without_notes(schema_for(source, schema))
    chosen = member_of(Accounting, accounting, "accounting") if accounting else None
    filter = filter_for(budget, described, method, chosen)
    refuse_early(described, method, filter, budget.epsilon)
    method.check_neighbours(relation)
    refuse_dropping(described, relation)
    wanted = parse_targets(workload)
    check_targets(wanted, described)
    prior = (
        None
        if public is None
        else open_source(public).without_formula_guards(described)
    )
    if prior is not None:
        refuse_unlike(prior, described, source)
    source.check(
        [*described, *([described.unit.id] if described.unit.id is not None else [])]
    )
    if gone := describe_left_out(source, described, given=schema is not None):
        progress(
            f"{DROPPED_NOTE}: {gone}", 0.0
        )  # for who makes the release; it is not in it
    made_with = environment()
    name = (
        resume
        if resume is not None
        else secrets.token_hex(8)
        if run_id is None
        else run_id
    )
    if ledger is None and (news := announce_account(source)):
        progress(news, 0.0)  # for who makes the release; it is not in it
    with open_ledger(
        ledger, source, dataset=dataset, neighbours=relation, schema=described
    ) as book:
        # Not before: an account that protects the number of rows refuses the relation
        # that makes it public.
        table = Table(source, described)
        refuse_miscounted(table, described, relation)
        run = None
        if resume is not None:
            run = resume_run(
                book, resume, source, budget=budget, delta=delta, accounting=chosen
            )
            budget, filter = (
                run.budget,
                replace(run.filter, spent=Fraction(0), spent_delta=Fraction(0)),
            )
            progress(f"{RESUMED_NOTE}: {UNCHECKED_ROWS_NOTE}", 0.0)
        with account_for_failure(book.path, name):
            if run is None:
                event, facts = f"synthesize {method.name}", describe_table(source)
                run = book.reserve(
                    budget,
                    event=event,
                    filter=filter,
                    analyst=analyst,
                    run_id=name,
                    table=facts,
                )
            room = MechanismContext(
                table=table,
                payments=Payments(
                    run,
                    filter,
                    depends_on=_context_digest(
                        described, method, _further_options(wanted, prior)
                    ),
                ),
                neighbours=relation,
                accounting=filter.accounting,
                epsilon=budget.epsilon,
                max_rows=described.unit.max_rows,
            )
            custody = Curator(room, described)
            notes: list[str] = []

            def report_stage(stage: str, done: float) -> None:
                if stage.startswith(NOTE_PREFIXES):
                    notes.append(f"{stage[:1].upper()}{stage[1:]}.")
                spending(
                    float(
                        sum(cost.amount for _, cost in custody.charges) / filter.total
                    )
                )
                progress(stage, done)

            measurements = discover_and_measure(
                custody, method, report_stage, wanted=wanted, public=prior
            )
            if off := describe_miscount(custody.schema, measurements):
                report_stage(f"{MISCOUNTED_NOTE}: {off}", 1.0)
            run.finish()
            head = book.head
            book.close()  # a fit may take long, and needs no account
            progress("fitting", 0.0)
            with watch_fits(progress):
                model = method.estimate(custody.schema, measurements, rng)
            progress("fitting", 1.0)
            return Release(
                guarantee=_make_guarantee(
                    custody, described, budget, filter, method, prior
                ),
                schema=custody.schema,
                measurements=measurements,
                model=model,
                statement=_make_statement(
                    custody, budget, filter, dataset=book.dataset, head=head, run=run.id
                ),
                synthesizer=method.name,
                options=_synthesizer_options(method) | _further_options(wanted, prior),
                environment=made_with,
                frame=_frame_kind(source),
                notes=tuple(dict.fromkeys(notes)),
            )


def discover_and_measure(
    custody: Curator,
    method: Synthesizer,
    progress: Progress,
    *,
    wanted: Sequence[WorkloadTarget] = (),
    public: TableSource | None = None,
) -> Measurements:
    """Everything of a run that is paid for: discovery, bins for ranges, how far a
    public table is off, then what the synthesizer measures.

    A rehearsal performs the same.
    """
    discovery_delta = (
        custody.delta_left / 2 if method.needs_delta else custody.delta_left
    )
    share = sum(discovery_shares(custody.schema), Fraction(0))
    custody.discover(share=share, delta=discovery_delta, progress=progress)
    custody.hand_over()
    return measure_closed_schema(
        custody, method, progress, wanted=wanted, public=public
    )


def measure_closed_schema(
    custody: Curator,
    method: Synthesizer,
    progress: Progress,
    *,
    wanted: Sequence[WorkloadTarget] = (),
    public: TableSource | None = None,
) -> Measurements:
    """What is paid for once the schema is closed."""
    schema = custody.schema
    bins = range_partitions(schema, wanted)
    if bins:
        part = sum(w.weight for w in wanted if w.what == "ranges") / sum(
            w.weight for w in wanted
        )
        share = RANGE_BINS_SHARE * Fraction(part).limit_denominator(100)
        custody.keep(
            custody.measure(
                [clique for clique, _ in bins],
                share=share,
                maps=[axes for _, axes in bins],
            )
        )
    if public is not None:
        custody.keep(measure_public_distances(custody, public))
    custody.hand_over()
    progress("measuring", 0.0)
    with watch_fits(progress):  # some algorithms fit after every round
        measurements = method.measure(
            CuratorView(custody), workload_of(schema, wanted), progress
        )
    progress("measuring", 1.0)
    return measurements


def filter_for(
    budget: Budget, schema: Schema, method: Synthesizer, accounting: Accounting | None
) -> Filter:
    """What the run may spend; part of δ is set aside where thresholds are needed."""
    thresholds = needs_delta(schema) or method.needs_delta
    return Filter.of(
        budget,
        accounting=accounting,
        threshold_delta=(
            budget.delta * THRESHOLD_DELTA_SHARE if thresholds else Fraction(0)
        ),
    )


def refuse_early(
    schema: Schema, method: Synthesizer, filter: Filter, epsilon: Fraction
) -> None:
    """Everything that can be known to fail fails here, before anything is spent."""
    if len(schema) == 0:
        raise Refused(
            "No column is left to release: all are identifiers, text or left out."
            " Change the schema. Nothing was spent"
        )
    if len(schema.columns) > MAX_RELEASE_COLUMNS:
        raise Refused(
            f"A release has at most {MAX_RELEASE_COLUMNS:,} columns. Leave some out"
            " with a schema, or split the table. Nothing was spent"
        )
    refuse_contradictions(schema)
    refuse_tiny(filter, schema.unit.max_rows)
    if needs_delta(schema) and filter.delta <= 0:
        raise Refused(
            "Values that nobody declared have to be learned, and that cannot be done"
            " with δ = 0. Declare them in a schema (understudy describe), or allow a"
            " small δ such as 1e-9. Nothing was spent"
        )
    if needs_delta(schema) or method.needs_delta:
        check_epsilon(epsilon, filter.accounting)
    method.check(schema, delta=filter.delta)


def refuse_dropping(schema: Schema, neighbours: Neighbours) -> None:
    """Under replace the number of rows is exact, and rows that are left out would show
    in it.
    """
    if (
        neighbours is Neighbours.REPLACE
        and schema.broken is BrokenRowPolicy.DROP
        and schema.named_breaches
    ):
        raise Refused(
            "broken: drop changes the number of rows, which the replace relation makes"
            " public. Choose missing or keep, or protect by add_remove. Nothing was"
            " spent"
        )


def _release_without_rows(
    data: object,
    schema: Schema | str | Path | None,
    method: Synthesizer,
    rng: np.random.Generator,
    progress: Progress,
) -> Release:
    """A release for which no row is read: only the schema."""
    if schema is None:
        raise Refused(
            f"{method.name} reads no rows, so it needs a schema that says everything:"
            " pass one. Nothing was spent"
        )
    described = without_notes(
        schema if isinstance(schema, Schema) else Schema.load(schema)
    )
    if not described.is_closed:
        name = next(n for n in described if not described[n].is_closed)
        raise Refused(
            f"{name}: {method.name} reads no rows, so the schema must declare this"
            " column's domain. Nothing was spent"
        )
    refuse_contradictions(described)
    method.check(described, delta=Fraction(0))
    progress("fitting", 1.0)
    return Release(
        guarantee=Guarantee.without_data(public=describe_declared(described)),
        schema=described,
        measurements=Measurements(),
        model=method.estimate(described, Measurements(), rng),
        statement=BudgetStatement(),
        synthesizer=method.name,
        options=_synthesizer_options(method),
        frame=_frame_kind(open_source(data)),
    )


def _synthesizer_options(
    method: Synthesizer,
) -> dict[str, str | int | float | bool | None]:
    """How the synthesizer was set, as a release can write it down and `make` reads it
    again.
    """
    settings = {field.name: getattr(method, field.name) for field in fields(method)}
    plain = (str, int, float, bool, type(None))
    return {
        name: value if isinstance(value, plain) else option_text(value)
        for name, value in settings.items()
    }


def _further_options(
    wanted: Sequence[WorkloadTarget], public: TableSource | None
) -> dict[str, str | int | float | bool | None]:
    """What else a run was told, as a release can write it down; no synthesizer has an
    option of these names.
    """
    found: dict[str, str | int | float | bool | None] = {}
    if wanted:
        found["workload"] = "; ".join(map(str, wanted))
    return found if public is None else found | {"public_table": public.title}


def _context_digest(
    schema: Schema, method: Synthesizer, told: Mapping[str, object]
) -> str:
    """What every answer of a run depends on besides its own question: a digest of the
    schema as given, and of what the run was told.
    """
    facts = [
        schema_to_dict(schema),
        method.name,
        _synthesizer_options(method),
        *([told] if told else []),
    ]
    return sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _make_guarantee(
    custody: Curator,
    described: Schema,
    budget: Budget,
    filter: Filter,
    method: Synthesizer,
    public: TableSource | None,
) -> Guarantee:
    schema, relation = custody.schema, custody.neighbours
    exact = (
        ("the number of rows",)
        if relation is Neighbours.REPLACE and schema.unit.id is None
        else ()
    )
    clipped = [
        f"{name}: {column.note}"
        for name, column in ((name, schema[name]) for name in schema)
        if column.note == LOST_COLUMN_NOTE or ("bins" in column.learned and column.note)
    ]
    return Guarantee(
        epsilon=budget.epsilon,
        delta=budget.delta,
        accounting=filter.accounting,
        amount=filter.total,
        neighbours=relation,
        unit=schema.unit.noun,
        max_rows=schema.unit.max_rows,
        invariants=exact,
        # The schema as it was given: discovery has filled the holes since.
        public=(
            *describe_declared(described),
            *method.public_declarations,
            *(() if public is None else (describe_public_table(public, schema),)),
        ),
        learned=(*describe_learned(schema), *custody.notes, *clipped),
    )


def _make_statement(
    custody: Curator,
    budget: Budget,
    filter: Filter,
    *,
    dataset: str,
    head: str,
    run: str,
) -> BudgetStatement:
    steps = tuple(
        BudgetStep(asked=asked, cost=cost, share=cost.amount / filter.total)
        for asked, cost in custody.charges
    )
    return BudgetStatement(
        dataset=dataset,
        epsilon=budget.epsilon,
        delta=budget.delta,
        steps=steps,
        ledger=head,
        run=run,
        day=datetime.now(UTC).date(),
    )


def _frame_kind(source: TableSource) -> str | None:
    """The kind of frame that came in, to give the same back; a file has none."""
    return source.kind if source.kind in FRAME_KINDS else None
