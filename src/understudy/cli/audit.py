"""`understudy audit`: how much loss can be proven from outside, beside what is claimed.
Spends nothing.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, settings
from understudy.cli.layout import report, report_json
from understudy.cli.paths import check_input
from understudy.cli.screen import Screen
from understudy.cli.stop import EXIT_FAILED
from understudy.text import format_count

if TYPE_CHECKING:
    from understudy.workflow.audit import Audit


@click.command(short_help="Try to refute a synthesizer's promise.")
@click.argument("file", type=options.PATH_TYPE, required=False)
@click.option(
    "--schema",
    type=options.PATH_TYPE,
    metavar="S",
    help="What is public about FILE; every column declared.",
)
@settings.synthesizer
@settings.setting
@options.epsilon
@options.delta
@options.neighbours
@options.accounting
@click.option(
    "--runs",
    type=click.IntRange(100, 5_000_000),
    default=50_000,
    show_default=True,
    metavar="N",
    help="Answers to each question on either table. More of them prove more.",
)
@click.option(
    "--canaries",
    type=click.IntRange(20, 4_000),
    default=500,
    show_default=True,
    help="Made rows beside FILE's.",
)
@click.option(
    "--ledger",
    type=options.PATH_TYPE,
    metavar="L",
    help="Where the look at FILE is noted. Default: FILE.ledger.",
)
@options.csv_options
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Seed of the canaries and their coins. Noise has no seed.",
)
@options.as_json
@click.pass_obj
def audit(
    screen: Screen,
    file: Path | None,
    schema: Path | None,
    synthesizer: str,
    set_options: tuple[str, ...],
    epsilon: str,
    delta: str | None,
    neighbours: str,
    accounting: str | None,
    runs: int,
    canaries: int,
    ledger: Path | None,
    delimiter: str | None,
    encoding: str | None,
    multiline: bool,
    seed: int | None,
    as_json: bool,
) -> int:
    """Prove a lower bound on what a synthesizer gives away, beside what it claims; exit
    code 1 if it gives away more.

    White-box, on a made table and its worst neighbour; with FILE also by one run on a
    copy of it with canaries in it, which is noted in its ledger and costs nothing: the
    answers are thrown away.
    """
    if file is not None:
        check_input(file)
    elif (
        schema is not None
        or ledger is not None
        or delimiter is not None
        or encoding is not None
        or multiline
    ):
        raise click.UsageError(
            "--schema, --ledger, --delimiter, --encoding and --multiline go with a"
            " FILE."
        )
    method = settings.choose_synthesizer(synthesizer, set_options)
    from understudy.workflow.audit import audit as look
    from understudy.workflow.open import open_source

    with screen.progress(), ExitStack() as files:
        table = None
        if file is not None:
            table = files.enter_context(
                open_source(
                    file, delimiter=delimiter, encoding=encoding, multiline=multiline
                )
            )
        found = look(
            table,
            schema,
            synthesizer=method,
            epsilon=epsilon,
            delta=delta,
            neighbours=neighbours,
            accounting=accounting,
            runs=runs,
            canaries=canaries,
            ledger=ledger,
            seed=seed,
            progress=screen.step,
        )
    if as_json:
        report_json(audit_facts(found))
    else:
        report(audit_lines(found))
    return EXIT_FAILED if found.is_violated else 0


def audit_facts(found: Audit) -> dict[str, object]:
    """An audit for a program."""
    verdict, once = found.verdict, found.canaries
    return {
        "synthesizer": found.synthesizer,
        "epsilon": found.budget.epsilon,
        "delta": found.budget.delta,
        "neighbours": str(found.neighbours),
        "violated": found.is_violated,
        "alpha": verdict.alpha,
        "white_box": {
            "questions": found.questions,
            "runs": found.runs,
            "not_judged": list(found.not_judged),
            "accounting": str(verdict.accounting),
            "claimed": verdict.claimed,
            "measured": verdict.measured,
            "measured_by_spread": verdict.by_spread,
            "epsilon": verdict.epsilon,
            "epsilon_by_spread": verdict.epsilon_by_spread,
            "violated": verdict.is_violated,
        },
        "one_run": (
            None
            if once is None
            else {
                "internal": True,
                "canaries": once.canaries,
                "guesses": once.guesses,
                "right": once.right,
                "epsilon": once.epsilon,
            }
        ),
        "sentences": found.sentences(),
    }


def audit_lines(found: Audit) -> list[str]:
    """An audit for a person."""
    heard = (
        f"{format_count(found.questions, 'question')}, {found.runs:,} answers to each"
        " on either of two neighbouring tables"
    )
    told = [
        f"{found.synthesizer}, {found.budget}, {found.neighbours}: {heard}.",
        *found.sentences(),
    ]
    if found.canaries is not None:
        told.append(
            "The one run read real rows: internal, not private, and noted in the"
            " ledger. Nothing was spent."
        )
    else:
        told.append("Nothing was read and nothing was spent.")
    if found.is_violated:
        told.append(
            "The promise does not hold. Do not release anything made with this"
            " configuration."
        )
    return told
