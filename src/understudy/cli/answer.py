"""`understudy answer`: counts and shares estimated from a release, with intervals.
Nothing is spent: only what was released is used.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json


@click.command(short_help="Counts and shares from a release, with intervals.")
@click.argument("release", type=options.PATH_TYPE)
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION…")
@options.as_json
def answer(release: Path, questions: tuple[str, ...], as_json: bool) -> None:
    """Estimate `count where …` or `share where …` from RELEASE, with a 95 % interval for
    the true answer.

    Example: understudy answer people.understudy "count where age > 60 and sex = 'F'"
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.releases.release import load_release

    loaded = load_release(release)
    answers = [loaded.answer(question) for question in questions]
    if as_json:
        report_json([asdict(each) for each in answers])
        return
    report([f"{each.question}: {each}" for each in answers])
