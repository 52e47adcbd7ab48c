"""`understudy card`: which marginals of a release are accurate. Nothing is spent: only
what was released is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json

if TYPE_CHECKING:
    from understudy.releases import CardEntry


@click.command(short_help="Which marginals of a release are accurate.")
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
    """For every column and pair of RELEASE: whether it was measured, its noise, and a
    bound on its error.

    The bound holds for any one marginal with probability 95 %. It is computed from the
    release alone and spends nothing.
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.releases.card.recoded_columns import recoding_lines
    from understudy.releases.release import load_release

    # Computed from the release: the card in its file is for readers without Understudy.
    quality = load_release(release).card
    if cliques:
        asked = [[name.strip() for name in clique.split(",")] for clique in cliques]
        _report_entries([quality.of(columns) for columns in asked], as_json=as_json)
        return
    if as_json:
        report_json(quality.to_dict())
        return
    recoded = recoding_lines(quality.evidence)
    report([quality.sentence(), *recoded, "", *quality.lines()])


def _report_entries(entries: list[CardEntry], *, as_json: bool) -> None:
    if as_json:
        report_json([entry.to_dict() for entry in entries])
    else:
        report([line for entry in entries for line in _entry_lines(entry)])


def _entry_lines(entry: CardEntry) -> list[str]:
    from understudy.releases.card.rendering import statistics_sentence

    line = f"{' × '.join(entry.clique)}: {entry.verdict.value}"
    if entry.error is None:
        return [line]
    line += f", at most {100 * entry.error:.1f} % of rows in a wrong cell"
    if entry.statistics is None:
        return [line]
    return [line, f"  {statistics_sentence(entry.statistics)}"]
