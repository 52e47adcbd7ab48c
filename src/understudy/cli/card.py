"""`understudy card`: which questions a release answers well. Free: only what was
released is looked at.
"""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.layout import report, report_json


@click.command(short_help="Which questions a release answers well.")
@click.argument("release", type=options.PATH_TYPE)
@click.option(
    "--of",
    "cliques",
    multiple=True,
    metavar="A,B,…",
    help="The marginal of these columns; may be repeated.",
)
@options.as_json
def card(release: Path, cliques: tuple[str, ...], as_json: bool) -> None:
    """For every column and pair of RELEASE: was it measured, how noisy is it, and how
    wrong can it be at most.

    The bound holds 95 times in 100 for any one marginal. It is computed from the
    release alone and spends nothing.
    """
    from understudy.releases.card.recoded_columns import recoding_lines
    from understudy.releases.release import load_release

    found = load_release(release).card
    if cliques:
        entries = [
            found.of([name.strip() for name in clique.split(",")]) for clique in cliques
        ]
        if as_json:
            report_json([entry.to_dict() for entry in entries])
            return
        for entry in entries:
            error = (
                "no bound"
                if entry.error is None
                else f"at most {100 * entry.error:.1f} % of rows in a wrong cell"
            )
            report(
                [
                    f"{' × '.join(entry.clique)}: {entry.verdict.value}"
                    + ("" if entry.error is None else f", {error}")
                ]
            )
        return
    if as_json:
        report_json(found.to_dict())
        return
    report([found.sentence(), *recoding_lines(found.evidence), "", *found.lines()])
