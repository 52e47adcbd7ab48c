"""`understudy local`: collections in which every respondent randomises their own answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json
from understudy.cli.terminal.printer import write_line
from understudy.errors import Refused
from understudy.text import align_columns

if TYPE_CHECKING:
    from understudy.local.collector import Estimate
    from understudy.local.estimates import FrequencyTable, MeanEstimate

_plan = click.argument("plan", type=options.PATH_TYPE)
_level = click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    metavar="L",
    help="Confidence level of the intervals.",
)
_candidates = click.option(
    "--candidates",
    metavar="A,B",
    help="Values to estimate, for plans that list none.",
)


@click.group(
    cls=options.OrderedGroup,
    short_help="Local privacy: respondents randomise.",
)
def local() -> None:
    """Local differential privacy: every respondent randomises their own answer before it
    is sent, so nobody is trusted with it.
    """


@local.command("plan", short_help="Write the public plan of a collection.")
@click.argument("topic")
@click.option("--epsilon", metavar="E", help="ε of one donation.")
@click.option("--values", metavar="A,B", help="Possible answers.")
@click.option(
    "--bounds", nargs=2, metavar="LOW HIGH", help="Bounds of a number to average."
)
@click.option("--distribution", is_flag=True, help="With --bounds: its distribution.")
@click.option(
    "--max-bytes",
    type=click.IntRange(1, 64),
    metavar="N",
    help="Find frequent texts of at most N bytes.",
)
@click.option(
    "--respondents",
    type=click.IntRange(min=1),
    default=10_000,
    show_default=True,
    metavar="N",
    help="Expected number of respondents.",
)
@click.option(
    "--mechanism",
    default="auto",
    show_default=True,
    metavar="NAME",
    help="Mechanism, or auto for the one with the least error.",
)
@click.option(
    "--donations",
    type=click.IntRange(1, 10_000),
    default=1,
    show_default=True,
    metavar="N",
    help="Most donations of one respondent.",
)
@click.option(
    "--window",
    type=click.IntRange(1, 3650),
    default=1,
    show_default=True,
    metavar="DAYS",
    help="Days for which an answer is repeated.",
)
@click.option("--question", default="", metavar="TEXT", help="What is asked, in words.")
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    required=True,
    metavar="FILE",
    help="Plan file to write; it is public.",
)
@options.as_json
def plan_command(
    topic: str,
    epsilon: str | None,
    values: str | None,
    bounds: tuple[str, str] | None,
    distribution: bool,
    max_bytes: int | None,
    respondents: int,
    mechanism: str,
    donations: int,
    window: int,
    question: str,
    output: Path,
    as_json: bool,
) -> None:
    """Plan a collection on TOPIC: choose the mechanism with the least error, and write
    the public file that clients read.
    """
    # Imported late: --help and wrong usage must not wait for numpy.
    from understudy.atomic import write_file_atomically
    from understudy.local.choice import explain_choice, plan_collection

    if epsilon is None and mechanism != "two_coin":
        raise Refused("say --epsilon, the privacy cost of one answer. Nothing was done")
    made = plan_collection(
        topic,
        epsilon=epsilon or 0,
        values=[] if values is None else values.split(","),
        bounds=bounds or None,
        max_bytes=max_bytes,
        statistic="distribution" if distribution else "mean",
        respondents=respondents,
        mechanism=mechanism,
        max_donations=donations,
        window_days=window,
        question=question,
    )
    with write_file_atomically(output, private=False) as draft:
        draft.write_text(made.to_json() + "\n", encoding="utf-8")
    reason = explain_choice(made, respondents)
    total = made.epsilon * made.max_donations
    if as_json:
        facts = {"topic": topic, "mechanism": made.mechanism, "reason": reason}
        report_json({**facts, "epsilon": made.epsilon, "epsilon_of_all": total})
        return
    report(
        [
            f"{topic}: {reason}",
            f"A respondent gives away ε = {float(made.epsilon):.4g} a donation, and"
            f" {float(total):.4g} at most in all. Plan: {output}",
        ]
    )


@local.command(short_help="One private report, within a client's account.")
@_plan
@click.argument("value")
@click.option(
    "--account",
    type=options.PATH_TYPE,
    required=True,
    metavar="FILE",
    help="The client's own account; made if it is missing.",
)
@click.option(
    "--per-day", default="4", show_default=True, metavar="E", help="Cap on ε."
)
@click.option(
    "--per-topic", default="8", show_default=True, metavar="E", help="Cap on ε a topic."
)
def donate(plan: Path, value: str, account: Path, per_day: str, per_topic: str) -> None:
    """Print the report of VALUE under PLAN; `python -m understudy_client` does the same
    without this package.
    """
    import sqlite3

    from understudy.local.choice import read_plan
    from understudy_client import (
        UNPLACED_TEXT,
        Account,
        DonationRefused,
        read_number,
    )

    public = read_plan(plan)
    try:
        limits = read_number(per_day), read_number(per_topic)
    except ValueError:
        raise Refused(
            "--per-day and --per-topic are numbers. Nothing was sent"
        ) from None
    try:
        own = Account(account, epsilon_per_day=limits[0], epsilon_per_topic=limits[1])
        line = own.donate(public, value)
    except DonationRefused as error:
        raise Refused(f"{error}. Nothing was sent") from None
    except (OSError, ValueError, TypeError, sqlite3.Error):
        raise Refused(
            f"{account}: cannot be used as an account. Nothing was sent"
        ) from None
    if not public.has_place_for(value):
        write_line(f"{UNPLACED_TEXT}.", err=True)
    report([line])


@local.command(short_help="Count reports.")
@_plan
@click.argument("reports", type=options.PATH_TYPE, nargs=-1, required=True)
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    required=True,
    metavar="FILE",
    help="File of counts to write; `local estimate` reads it.",
)
@options.as_json
def collect(plan: Path, reports: tuple[Path, ...], output: Path, as_json: bool) -> None:
    """Count the lines of REPORTS that are reports of PLAN, and write the counts. Lines
    that are none are counted apart.
    """
    from understudy.local.choice import read_plan
    from understudy.local.collector import Collector

    collector = Collector(read_plan(plan))
    for path in reports:
        collector.add_file(path)
    collector.save(output)
    if as_json:
        counted = {"reports": collector.reports, "refused": collector.refused}
        report_json({"topic": collector.plan.topic, **counted})
        return
    report(
        [
            f"{collector.plan.topic}: {collector.reports:,} reports counted,"
            f" {collector.refused:,} lines refused. Counts: {output}"
        ]
    )


@local.command(short_help="Estimates with intervals.")
@click.argument("file", type=options.PATH_TYPE)
@click.argument("reports", type=options.PATH_TYPE, nargs=-1)
@_level
@_candidates
@click.option(
    "--count",
    type=click.IntRange(1, 1000),
    default=20,
    show_default=True,
    metavar="N",
    help="Frequent texts to find, for plans with --max-bytes.",
)
@options.as_json
def estimate(
    file: Path,
    reports: tuple[Path, ...],
    level: float,
    candidates: str | None,
    count: int,
    as_json: bool,
) -> None:
    """Estimate from FILE, a file of counts; or from a plan FILE and its REPORTS.

    Raw shares are unbiased and can be negative: analyse these. The display share is
    the nearest that could be (Norm-Sub), for pictures only.
    """
    from understudy.local.choice import read_plan
    from understudy.local.collector import Collector

    if reports:
        collector = Collector(read_plan(file))
        for path in reports:
            collector.add_file(path)
    else:
        collector = Collector.load(file)
    named = [] if candidates is None else candidates.split(",")
    found = collector.estimate(level=level, candidates=named, count=count)
    if as_json:
        report_json({"topic": collector.plan.topic, **found.to_dict()})
        return
    counted = f"{collector.reports:,} reports, {collector.refused:,} lines refused"
    report([f"{collector.plan.topic}: {counted}", *_describe_estimate(found)])


def _describe_estimate(found: Estimate) -> list[str]:
    from understudy.local.estimates import FrequencyTable, MeanEstimate

    if isinstance(found, FrequencyTable):
        return _describe_table(found)
    if isinstance(found, MeanEstimate):
        return [_describe_mean(found)]
    quartiles = [f"{found.quantile(part):.4g}" for part in (0.25, 0.5, 0.75)]
    return [
        _describe_mean(found.mean),
        f"quartiles for display: {', '.join(quartiles)}",
    ]


def _describe_mean(found: MeanEstimate) -> str:
    return (
        f"mean {found.mean:.4g}, {100 * found.level:g}% interval"
        f" {found.low:.4g} to {found.high:.4g}"
    )


def _describe_table(found: FrequencyTable) -> list[str]:
    shown = found.display_shares()
    rows = [["value", "share", f"{100 * found.level:g}% interval", "for display"]]
    for i, value in enumerate(found.values):
        interval = f"{found.low[i]:.4f} to {found.high[i]:.4f}"
        rows.append([value, f"{found.shares[i]:.4f}", interval, f"{shown[i]:.4f}"])
    return align_columns(rows, right=[1, 3])
