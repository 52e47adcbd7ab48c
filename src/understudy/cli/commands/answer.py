"""`understudy answer`: questions answered from a release, with intervals.
Nothing is spent: only what was released is used.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json


@click.command(short_help="Answers from a release, with intervals.")
@click.argument("release", type=options.PATH_TYPE)
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION…")
@options.as_json
def answer(release: Path, questions: tuple[str, ...], as_json: bool) -> None:
    """Estimate counts, shares, sums, means and quantiles from RELEASE, with a 95 %
    interval for the true answer. A question is `count where …`, `share where …` or SQL.

    Examples: understudy answer people.understudy "count where age > 60 and sex = 'F'"
    or "SELECT sex, AVG(age) FROM people GROUP BY sex"
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.queries.results import AnswerTable
    from understudy.releases.release import load_release

    loaded = load_release(release)
    answers = [loaded.answer(question) for question in questions]
    if as_json:
        report_json(
            [
                each.to_plain() if isinstance(each, AnswerTable) else asdict(each)
                for each in answers
            ]
        )
        return
    for each in answers:
        if isinstance(each, AnswerTable):
            report([*each.lines(), *([f"{each.counted}."] if each.counted else [])])
        else:
            report([f"{each.question}: {each}"])
