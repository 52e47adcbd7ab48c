"""Questions about private rows: one answer (`ask`), and a session of many (`session`).

All questions about a table share one run on its ledger, because the questions of a run
compose and runs add up plainly. The owner opens it once, with a budget; analysts have
limits inside it. Everything that can be refused is refused before the charge, in the
same words for every table with this schema.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from understudy.accounting.budget import Number
from understudy.accounting.cost import Accounting
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.question_run import (
    QUESTIONS_EVENT,
)
from understudy.queries.lookups import PublicTable
from understudy.queries.query import Query
from understudy.queries.results import AnswerTable
from understudy.releases.release import Release
from understudy.schema import Schema
from understudy.tables import describe_rows
from understudy.workflow.account import open_ledger
from understudy.workflow.asking.run_of_questions import (
    choose_key_accounting,
    no_run_error,
    open_question_run,
    refuse_foreign_release,
)
from understudy.workflow.asking.session import Session
from understudy.workflow.open import (
    TableLike,
    member_of,
    open_source,
    schema_for,
    without_notes,
)
from understudy.workflow.preflight import parse_budget, refuse_dropping
from understudy.workflow.resuming import describe_table
from understudy.workflow.rowcount import refuse_miscounted


def session(
    data: TableLike,
    schema: Schema | str | Path | None = None,
    *,
    ledger: str | Path | None = None,
    budget: Number | None = None,
    delta: Number | None = None,
    analyst: str = "",
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    release: Release | None = None,
    run: str = QUESTIONS_EVENT,
    accounting: Accounting | str | None = None,
    private_keys: bool = False,
    public: Sequence[PublicTable] = (),
) -> Session:
    """Questions to one table: they share one run on its ledger, opened with `budget`
    (the ε of all its questions together) if there is none. What a `release` of the same
    table answers exactly enough is free.

    A run that is opened with `private_keys` may group by labels that the schema does not
    list: half of its δ is for their thresholds. Questions may join `public` tables.

    >>> import tempfile
    >>> from understudy.queries import count
    >>> from understudy.schema import Boolean
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.csv")
    ...     _ = people.write_text("smoker\\n" + "yes\\n" * 300 + "no\\n" * 700)
    ...     declared = Schema(columns=(Boolean(name="smoker"),))
    ...     with session(people, declared, budget=1) as questions:
    ...         answer = questions.ask(count().where("smoker = true"), within=50)
    >>> answer.half_width <= 50
    True
    """
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    whole = None if budget is None else parse_budget(budget, delta)
    kind = None
    if accounting is not None:
        kind = member_of(Accounting, accounting, "accounting")
    source = open_source(data, schema=schema)
    described = without_notes(schema_for(source, schema))
    refuse_dropping(described, relation)
    unit_columns = [] if described.unit.id is None else [described.unit.id]
    source.check([*described, *unit_columns])
    where = source.ledger_path if ledger is None else Path(ledger)
    # Before an account is made that no question could be charged to.
    if budget is None and not where.exists():
        raise no_run_error(where.name)
    account = open_ledger(
        ledger, source, dataset=None, neighbours=relation, schema=described
    )
    try:
        refuse_foreign_release(release, account)
        table = describe_rows(source, described)
        refuse_miscounted(table, described, relation)
        return Session(
            table=table,
            schema=described,
            ledger=account,
            run=open_question_run(
                account,
                whole,
                run,
                describe_table(source),
                accounting=kind,
                private_keys=private_keys,
            ),
            analyst=analyst,
            release=release,
            public=public,
        )
    except BaseException:
        account.close()
        raise


def ask(
    data: TableLike,
    question: str | Query,
    schema: Schema | str | Path | None = None,
    *,
    within: float | None = None,
    epsilon: Number | None = None,
    ledger: str | Path | None = None,
    budget: Number | None = None,
    delta: Number | None = None,
    analyst: str = "",
    purpose: str = "",
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    release: Release | None = None,
    accounting: Accounting | str | None = None,
    private_keys: bool = False,
    public: Sequence[PublicTable] = (),
) -> AnswerTable:
    """Answer one question about private rows, as SQL or as a query, with an interval.

    `within` is the ± at 95 % that counts and sums must have, `epsilon` what the question
    may cost by itself. It is charged to the run of questions of the ledger, which
    `budget` opens the first time: the ε of all questions together. What was answered
    before is not charged again, and better precision costs the difference. What a
    `release` of the same table answers within the ± is free, and what it measured is
    pooled with what is measured now. A run opened with `private_keys` may group by
    labels that the schema does not list; if this question takes all of its budget, its
    accounting is by default the one in which labels of the fewest people show.

    >>> import tempfile
    >>> from understudy.queries import mean
    >>> from understudy.schema import Boolean, Integer
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     people = Path(folder, "people.csv")
    ...     _ = people.write_text("age,smoker\\n" + "40,yes\\n" * 300 + "50,no\\n" * 700)
    ...     columns = (Integer(name="age", min=0, max=99), Boolean(name="smoker"))
    ...     answer = ask(
    ...         people, mean("age").by("smoker"), Schema(columns=columns), epsilon=1, budget=2
    ...     )
    >>> [row.keys for row in answer.rows]
    [(False,), (True,), (None,)]
    """
    if accounting is None and private_keys and budget is not None:
        accounting = _choose_accounting(schema, budget, delta, epsilon, neighbours)
    with session(
        data,
        schema,
        ledger=ledger,
        budget=budget,
        delta=delta,
        analyst=analyst,
        neighbours=neighbours,
        release=release,
        accounting=accounting,
        private_keys=private_keys,
        public=public,
    ) as opened:
        return opened.ask(question, within=within, epsilon=epsilon, purpose=purpose)


def _choose_accounting(
    schema: Schema | str | Path | None,
    budget: Number,
    delta: Number | None,
    epsilon: Number | None,
    neighbours: Neighbours | str,
) -> Accounting | None:
    """The accounting of a run that one question uses up; None, the default, for others."""
    whole = parse_budget(budget, delta)
    if schema is None or epsilon is None or parse_budget(epsilon, delta) != whole:
        return None
    described = schema if isinstance(schema, Schema) else Schema.load(schema)
    relation = member_of(Neighbours, neighbours, "neighbour relation")
    return choose_key_accounting(whole, described.unit.max_rows, relation)
