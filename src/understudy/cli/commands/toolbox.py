"""`understudy toolbox`: algorithms on private rows, charged to a ledger's run of
questions like `understudy ask`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json

if TYPE_CHECKING:
    from understudy.accounting.cost import Cost
    from understudy.workflow.asking.session import Session


@click.group(short_help="Algorithms on private rows, paid from a budget.")
def toolbox() -> None:
    """Algorithms on private rows: regressions and more, each charged to the ledger's run
    of questions before a row is read.
    """


_ASKING_OPTIONS = (
    options.as_json,
    options.neighbours,
    options.purpose,
    options.analyst,
    options.accounting,
    options.delta,
    options.questions_budget,
    options.ledger_option("Ledger to charge. Default: FILE.ledger beside the file."),
    click.option("--epsilon", metavar="E", required=True, help="What it may cost."),
    options.schema_option("Schema of the table.", required=True),
)
"""The last is listed first in a command's help."""


def asking_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of a question, and the session that they open as `session`."""

    @wraps(command)
    def run(
        file: Path,
        schema: Path,
        ledger: Path | None,
        budget: str | None,
        delta: str | None,
        accounting: str | None,
        analyst: str,
        neighbours: str,
        private_keys: bool = False,
        **keywords: Any,
    ) -> Any:
        # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
        from understudy.workflow.asking.questions import session

        with session(
            file,
            schema,
            ledger=ledger,
            budget=budget,
            delta=delta,
            accounting=accounting,
            analyst=analyst,
            neighbours=neighbours,
            private_keys=private_keys,
        ) as opened:
            return command(session=opened, **keywords)

    for option in _ASKING_OPTIONS:
        run = option(run)
    return run


@toolbox.command(short_help="Least squares with intervals that hold.")
@click.argument("file", type=options.TABLE_TYPE)
@click.argument("formula")
@asking_options
@click.option("--where", metavar="CONDITION", help="Only rows that meet it.")
@options.population
@options.level
def regress(
    session: Session,
    formula: str,
    epsilon: str,
    where: str | None,
    population: str,
    level: float,
    purpose: str,
    as_json: bool,
) -> None:
    """Fit FORMULA ("visits ~ age + sex") to the rows of FILE by noisy moments."""
    from understudy.workflow.toolbox.regress import regress as fit

    found = fit(
        session,
        formula,
        epsilon=epsilon,
        where=where,
        population=population,
        level=level,
        purpose=purpose,
    )
    _show(session, found.to_dict(), found.lines(), found.cost, as_json)


@toolbox.command(short_help="Centres of clusters by k-means.")
@click.argument("file", type=options.TABLE_TYPE)
@click.argument("columns")
@click.option("--clusters", type=int, required=True, metavar="K", help="How many.")
@asking_options
@click.option(
    "--method",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="grid, lloyd, hybrid (a grid, then one round) or auto.",
)
@click.option(
    "--rounds", type=int, default=5, show_default=True, help="Rounds of lloyd."
)
def cluster(
    session: Session,
    columns: str,
    clusters: int,
    epsilon: str,
    method: str,
    rounds: int,
    purpose: str,
    as_json: bool,
) -> None:
    """Find K clusters of the rows of FILE in COLUMNS of numbers (age,visits)."""
    from understudy.workflow.toolbox.cluster import cluster as find

    found = find(
        session,
        [name.strip() for name in columns.split(",")],
        clusters=clusters,
        epsilon=epsilon,
        method=method,
        rounds=rounds,
        purpose=purpose,
    )
    _show(session, found.to_dict(), found.lines(), found.cost, as_json)


@toolbox.command("cluster-release", short_help="The same of a release, for nothing.")
@click.argument("release", type=options.PATH_TYPE)
@click.argument("columns")
@click.option("--clusters", type=int, required=True, metavar="K", help="How many.")
@options.as_json
def cluster_release(release: Path, columns: str, clusters: int, as_json: bool) -> None:
    """Find K clusters of the synthetic rows of RELEASE in COLUMNS of numbers."""
    from understudy.releases.release import load_release
    from understudy.workflow.toolbox.cluster_release import cluster_release as find

    names = [name.strip() for name in columns.split(",")]
    found = find(load_release(release), names, clusters=clusters)
    if as_json:
        report_json({**found.to_dict(), "cost": None})
        return
    report([*found.lines(), "Free: a release was paid for before."])


@toolbox.command(short_help="The most frequent combinations of items.")
@click.argument("file", type=options.TABLE_TYPE)
@click.argument("columns")
@click.option("--top", type=int, required=True, metavar="K", help="How many itemsets.")
@asking_options
@click.option(
    "--most-items", type=int, default=3, show_default=True, help="Items of a set."
)
@click.option(
    "--least-items", type=int, default=1, show_default=True, help="Items of a set."
)
def itemsets(
    session: Session,
    columns: str,
    top: int,
    epsilon: str,
    most_items: int,
    least_items: int,
    purpose: str,
    as_json: bool,
) -> None:
    """Find the K most frequent itemsets of the rows of FILE in COLUMNS of labels, or of
    yes and no (bread,milk,tea), with their supports.
    """
    from understudy.workflow.toolbox.find_itemsets import find_itemsets

    found = find_itemsets(
        session,
        [name.strip() for name in columns.split(",")],
        top=top,
        epsilon=epsilon,
        most_items=most_items,
        least_items=least_items,
        purpose=purpose,
    )
    _show(session, found.to_dict(), found.lines(), found.cost, as_json)


@toolbox.command(short_help="Counts against an estimate, measured where it is off.")
@click.argument("file", type=options.TABLE_TYPE)
@click.argument("questions", nargs=-1, required=True)
@asking_options
@click.option(
    "--failures",
    type=int,
    default=5,
    show_default=True,
    help="How many tests may fail: counts that are measured.",
)
@click.option(
    "--threshold",
    type=int,
    metavar="ROWS",
    help="How far off an estimate may be. Default: the noise of a test.",
)
def online(
    session: Session,
    questions: tuple[str, ...],
    epsilon: str,
    failures: int,
    threshold: int | None,
    purpose: str,
    as_json: bool,
) -> None:
    """Answer QUESTIONS that count rows, in SQL and in this order, by the sparse vector
    with multiplicative weights: from an estimate where a test finds it close, measured
    where not. All is charged before the first.
    """
    from understudy.workflow.asking.online import ask_online

    found = ask_online(
        session,
        questions,
        epsilon=epsilon,
        failures=failures,
        threshold=threshold,
        purpose=purpose,
    )
    _show(session, found.to_dict(), found.lines(), found.cost, as_json)


@toolbox.command(short_help="A median with noise that fits the rows.")
@click.argument("file", type=options.TABLE_TYPE)
@click.argument("column")
@asking_options
@options.private_keys
@click.option(
    "--propose",
    type=float,
    metavar="B",
    help=(
        "Release it only if one row moves it by at most B, by propose-test-release; the"
        " run must have been opened with --private-keys. Default: smooth sensitivity."
    ),
)
def median(
    session: Session,
    column: str,
    epsilon: str,
    propose: float | None,
    purpose: str,
    as_json: bool,
) -> None:
    """The median of COLUMN, with noise by how far one row moves it near these rows."""
    from understudy.workflow.toolbox.medians import propose_median, smooth_median

    if propose is None:
        found = smooth_median(session, column, epsilon=epsilon, purpose=purpose)
    else:
        found = propose_median(
            session, column, sensitivity=propose, epsilon=epsilon, purpose=purpose
        )
    lines = [*found.lines(), *_list_pure_notes(session, epsilon)]
    _show(session, found.to_dict(), lines, found.cost, as_json)


@toolbox.command(short_help="Edges, degrees or triangles of a graph.")
@click.argument("file", type=options.TABLE_TYPE)
@click.argument("statistic")
@click.option("--source", required=True, metavar="COLUMN", help="One end of an edge.")
@click.option("--target", required=True, metavar="COLUMN", help="The other end.")
@asking_options
@click.option(
    "--max-degree",
    type=int,
    metavar="D",
    help="Make edges or degrees private for nodes; edges of a node beyond D do not count.",
)
def graph(
    session: Session,
    statistic: str,
    source: str,
    target: str,
    epsilon: str,
    max_degree: int | None,
    purpose: str,
    as_json: bool,
) -> None:
    """STATISTIC (edges, degrees or triangles) of the graph whose edges are the rows of
    FILE.
    """
    from understudy.workflow.toolbox.graphs import measure_graph

    found = measure_graph(
        session,
        statistic,
        source=source,
        target=target,
        epsilon=epsilon,
        max_degree=max_degree,
        purpose=purpose,
    )
    is_pure = statistic == "triangles"
    notes = _list_pure_notes(session, epsilon) if is_pure else []
    _show(session, found.to_dict(), [*found.lines(), *notes], found.cost, as_json)


def _list_pure_notes(session: Session, epsilon: str) -> list[str]:
    """That another accounting has less noise, where a mechanism is ε-private whatever
    the accounting is.
    """
    from understudy.accounting.cost import Accounting
    from understudy.workflow.toolbox.medians import find_pure_epsilon

    if session.accounting is Accounting.PURE:
        return []
    bought = float(find_pure_epsilon(session, epsilon))
    return [
        f"Its noise is that of a pure ε of {bought:.2g}: a run that is opened with"
        f" --accounting pure has that of {epsilon}."
    ]


def _show(
    session: Session,
    facts: dict[str, object],
    lines: list[str],
    cost: Cost | None,
    as_json: bool,
) -> None:
    """A result, what was charged for it, and which rows were counted."""
    from understudy.accounting.budget import spell_value
    from understudy.accounting.filter import ACCOUNTING_SYMBOLS

    counted = session.schema.unit.counted_rows
    if as_json:
        paid = None if cost is None else float(cost.amount)
        report_json({**facts, "cost": paid, "counted": counted})
        return
    account = "Free (stored: it was answered before)."
    if cost is not None:
        symbol = ACCOUNTING_SYMBOLS[cost.accounting]
        account = f"Charged: {symbol} = {spell_value(cost.amount)} (measured)."
    report([*lines, account, *([f"{counted}."] if counted else [])])
