"""`understudy answer`: one question, answered from a release with an interval. Free:
only what was released is looked at.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.layout import report, report_json


@click.command(short_help="A question answered from a release, with an interval.")
@click.argument("release", type=options.PATH_TYPE)
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION…")
@options.as_json
def answer(release: Path, questions: tuple[str, ...], as_json: bool) -> None:
    """Estimate `count where …` or `share where …` from RELEASE, with an interval that
    holds the truth 95 times in 100.

    Example: understudy answer people.understudy "count where age > 60 and sex = 'F'"
    """
    from understudy.releases.release import load_release

    loaded = load_release(release)
    found = [loaded.answer(question) for question in questions]
    if as_json:
        report_json([asdict(one) for one in found])
        return
    report([f"{one.question}: {one}" for one in found])
