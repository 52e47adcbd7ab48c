"""`understudy census`: consistent tables of persons for every unit of a hierarchy."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.paths import check_outputs, check_table_input
from understudy.cli.terminal.layout import report, report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import explain_interruption
from understudy.errors import Refused
from understudy.text import format_percent

if TYPE_CHECKING:
    from understudy.censuses.expected_error import ExpectedError


@click.command(short_help="Consistent private tables for every unit of a hierarchy.")
@click.argument("file", type=options.PATH_TYPE)
@click.option(
    "--schema",
    type=options.PATH_TYPE,
    required=True,
    metavar="S",
    help="Schema file with a part `census`: hierarchy, plan and invariants.",
)
@click.option(
    "--rho", metavar="R", help="Privacy budget ρ of the run (zCDP), such as 1."
)
@click.option(
    "--epsilon", metavar="E", help="Privacy budget ε of the run, instead of ρ."
)
@options.delta
@click.option(
    "--neighbours",
    type=click.Choice(["add_remove", "replace"]),
    default="replace",
    show_default=True,
    help="Neighbouring tables; invariant counts need replace.",
)
@click.option(
    "--accounting",
    type=click.Choice(["zcdp", "gdp"]),
    default="zcdp",
    show_default=True,
    help="Discrete Gaussian noise by ρ, or rounded Gaussian noise by μ (with --epsilon).",
)
@click.option(
    "--method",
    type=click.Choice(["gls", "topdown"]),
    default="gls",
    show_default=True,
    help="Estimate from all levels at once, or each unit from its own answers.",
)
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Processes that fit places side by side.",
)
@click.option(
    "--plan",
    "only_plan",
    is_flag=True,
    help="Print the expected error of every level and query, and spend nothing.",
)
@click.option(
    "--ledger",
    type=options.PATH_TYPE,
    metavar="L",
    help="Ledger to charge. Default: FILE.ledger, without a cap.",
)
@options.analyst
@options.purpose
@click.option(
    "--resume",
    metavar="RUN",
    help="Resume a run that was interrupted, at no new privacy cost.",
)
@options.seed
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    metavar="DIR",
    help="Folder to write: microdata, tables, measurements and the card.",
)
@options.csv_options
@options.as_json
@options.verbosity
@click.pass_obj
def census(
    screen: Screen,
    file: Path,
    schema: Path,
    rho: str | None,
    epsilon: str | None,
    delta: str | None,
    neighbours: str,
    accounting: str,
    method: str,
    workers: int,
    only_plan: bool,
    ledger: Path | None,
    analyst: str,
    purpose: str,
    resume: str | None,
    seed: int | None,
    output: Path | None,
    csv: options.CsvOptions,
    as_json: bool,
) -> None:
    """Measure every level of a geographic hierarchy of FILE with differential privacy
    and write tables that add up: persons, tables, noisy measurements and a card.
    """
    if only_plan:
        budget = {"rho": rho, "epsilon": epsilon, "delta": delta}
        terms = {"neighbours": neighbours, "accounting": accounting}
        _print_plan(schema, budget, terms, as_json=as_json)
        return
    check_table_input(file)
    if output is None or output.exists():
        raise Refused("census: name a folder that is not there yet (-o DIR).")
    check_outputs([output], inputs=[file, schema, ledger])
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.accounting.aftermath import account_for_failure, describe_spending
    from understudy.workflow.censuses.census import census as release_census
    from understudy.workflow.censuses.census_saving import save_census
    from understudy.workflow.open import open_source
    from understudy.workflow.preflight import check_seed
    from understudy.workflow.run_options import RunOptions

    check_seed(seed)
    source = open_source(file, schema=schema, **csv.to_dict())
    account = ledger if ledger is not None else source.ledger_path
    run = resume or secrets.token_hex(8)

    def explain() -> str:
        spent = describe_spending(account, run)
        return f"interrupted. {spent} {output} was not written."

    with source, explain_interruption(explain), screen.progress():
        made = release_census(
            source,
            schema,
            rho=rho,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            accounting=accounting,
            method=method,
            workers=workers,
            ledger=ledger,
            resume=resume,
            progress=screen.step,
            run=RunOptions(
                analyst=analyst, purpose=purpose, run_id=run, notify=screen.keep_notice
            ),
        )
        with account_for_failure(account, run):
            screen.step("writing", 0.0)
            files = save_census(made, output, seed=seed)
    if as_json:
        facts = {"output": output, "run": run, "persons": made.persons, "files": files}
        facts["lost_answers"] = list(made.lost_answers)
        report_json({**facts, "guarantee": made.sentence()})
        return
    screen.stage("writing", f"{made.persons:,} persons, {len(files)} files → {output}")
    for note in screen.notes:
        screen.line(note)
    screen.line(made.sentence())
    screen.line(f"Run {run} in {account}. See {output / 'card.html'}")


def _print_plan(
    schema: Path, budget: dict[str, str | None], terms: dict[str, str], *, as_json: bool
) -> None:
    from understudy.releases.guarantee import format_amount
    from understudy.workflow.censuses.census_check import read_census_budget
    from understudy.workflow.censuses.census_plan import plan_census

    errors = plan_census(schema, **budget, **terms)  # type: ignore[arg-type]
    priced, _ = read_census_budget(**budget, accounting=terms["accounting"])
    if as_json:
        amounts = {"epsilon": float(priced.epsilon), "delta": float(priced.delta)}
        facts = [_error_facts(each) for each in errors]
        report_json({**amounts, "expected_errors": facts})
        return
    price = f"{format_amount('ε', priced.epsilon)}, {format_amount('δ', priced.delta)}"
    report([f"Private with {price} when it is run; planning spends nothing."])
    report([f"{'level':12} {'query':28} {'share':>7} {'noise sd':>9} {'error':>9}"])
    report(
        [
            f"{e.level:12} {e.query:28} {format_percent(float(e.share)):>7}"
            f" {e.noise_sd:9.2f} {e.standard_error:9.2f}"
            for e in errors
        ]
    )
    hidden = sum(float(e.share) for e in errors if not e.is_published)
    if hidden:
        report(
            [
                f"{format_percent(hidden)} of the budget measures queries that no"
                " published table shows."
            ]
        )


def _error_facts(error: ExpectedError) -> dict[str, object]:
    return {
        "level": error.level,
        "query": error.query,
        "share": float(error.share),
        "noise_sd": error.noise_sd,
        "standard_error": error.standard_error,
        "is_published": error.is_published,
    }
