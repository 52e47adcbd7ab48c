"""`understudy ask`: one answer about private rows, charged to a ledger's run of
questions; `understudy price`: what it would cost, without rows.
"""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json


@click.command(short_help="One answer about private rows, paid from a budget.")
@click.argument("file", type=options.TABLE_TYPE)
@click.argument("question")
@options.schema_option("Schema of the table.", required=True)
@options.question_within
@options.question_epsilon
@options.ledger_option("Ledger to charge. Default: FILE.ledger beside the file.")
@options.questions_budget
@options.delta
@options.accounting
@options.private_keys
@options.answering_release
@options.public_tables
@options.analyst
@options.purpose
@options.neighbours
@options.as_json
def ask(
    file: Path,
    question: str,
    schema: Path,
    within: float | None,
    epsilon: str | None,
    ledger: Path | None,
    budget: str | None,
    delta: str | None,
    accounting: str | None,
    private_keys: bool,
    release: Path | None,
    public: tuple[Path, ...],
    analyst: str,
    purpose: str,
    neighbours: str,
    as_json: bool,
) -> None:
    """Answer QUESTION, one SELECT, about the rows of FILE, with a 95 % interval for each
    number.

    Example: understudy ask people.csv "SELECT sex, COUNT(*) FROM people GROUP BY sex"
    --schema people.yaml --within 50 --budget 1
    """
    _check_precision(within, epsilon)
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.queries.lookups import PublicTable
    from understudy.releases.release import load_release
    from understudy.workflow.asking.questions import ask as ask_question

    answer = ask_question(
        file,
        question,
        schema,
        within=within,
        epsilon=epsilon,
        ledger=ledger,
        budget=budget,
        delta=delta,
        accounting=accounting,
        private_keys=private_keys,
        public=[PublicTable.load(file) for file in public],
        analyst=analyst,
        purpose=purpose,
        neighbours=neighbours,
        release=None if release is None else load_release(release),
    )
    if as_json:
        cost, taken = (
            None if each is None else float(each.amount)
            for each in (answer.cost, answer.limit_cost)
        )
        report_json(
            {
                "basis": answer.basis,
                "cost": cost,
                "limit_cost": taken,
                "counted": answer.counted,
                "columns": answer.to_plain(),
            }
        )
        return
    report([*answer.lines(), answer.account_line()])


@click.command(short_help="Privacy cost and precision of a question. Reads no rows.")
@click.argument("schema", type=options.PATH_TYPE)
@click.argument("question")
@options.question_within
@options.question_epsilon
@options.delta
@options.ledger_option(
    "Ledger with a run of questions: what is left, and what was answered before."
)
@options.answering_release
@options.public_tables
@click.option(
    "--analyst", default="", metavar="NAME", help="Whose limit the ledger is asked for."
)
@click.option(
    "--try",
    "is_tried",
    is_flag=True,
    help=(
        "Also answer it on made-up rows that fit the schema. Free; the numbers mean"
        " nothing."
    ),
)
@options.neighbours
@options.as_json
def price(
    schema: Path,
    question: str,
    within: float | None,
    epsilon: str | None,
    delta: str | None,
    ledger: Path | None,
    release: Path | None,
    public: tuple[Path, ...],
    analyst: str,
    is_tried: bool,
    neighbours: str,
    as_json: bool,
) -> None:
    """Privacy cost and precision of `ask` with the same QUESTION. Reads SCHEMA only, and
    spends nothing.
    """
    _check_precision(within, epsilon)
    from understudy.queries.lookups import PublicTable
    from understudy.releases.release import load_release
    from understudy.workflow.asking.prices import price as price_question
    from understudy.workflow.asking.simulated_table import try_question

    tables = [PublicTable.load(file) for file in public]
    priced = price_question(
        schema,
        question,
        within=within,
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        analyst=analyst,
        neighbours=neighbours,
        public=tables,
        release=None if release is None else load_release(release),
    )
    tried = None
    if is_tried:
        tried = try_question(
            schema,
            question,
            within=within,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            public=tables,
        )
    if as_json:
        made_up = {} if tried is None else {"made_up": tried.to_plain()}
        report_json({**priced.to_dict(), **made_up})
        return
    lines = [] if tried is None else ["", *tried.lines(), tried.account_line()]
    report([*priced.lines(), *lines])


def _check_precision(within: float | None, epsilon: str | None) -> None:
    # Wrong usage has its own exit code, so it is not left to the refusals.
    if (within is None) == (epsilon is None):
        raise click.UsageError("say either --within or --epsilon")
