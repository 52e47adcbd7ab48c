"""`understudy explain`: why each marginal of a release was measured, or was not. Nothing
is spent: the decisions are part of what was released.
"""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.paths import check_outputs
from understudy.cli.terminal.layout import report, report_json
from understudy.errors import Refused

PICTURE_SUFFIX = ".svg"


@click.command(short_help="Why each marginal of a release was measured, or not.")
@click.argument("release", type=options.PATH_TYPE)
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    metavar="OUT",
    help="Also draw the expected gains as a picture: .svg.",
)
@options.as_json
def explain(release: Path, output: Path | None, as_json: bool) -> None:
    """For every candidate of every stage of RELEASE: its noisy distance from the model,
    its expected gain in rows, its part of the budget left, and the decision.

    Decisions were computed from answers that the run paid for; showing them spends
    nothing. Synthesizers other than `adaptive` record none.
    """
    if output is not None and output.suffix.lower() != PICTURE_SUFFIX:
        raise Refused(
            f"{output}: pictures are written as {PICTURE_SUFFIX}. Nothing was written."
        )
    check_outputs([output], inputs=[release])
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.atomic import write_file_atomically
    from understudy.releases.release import load_release

    explanation = load_release(release).explanation
    if output is not None:
        with write_file_atomically(output, private=False) as draft:
            draft.write_text(explanation.to_svg(), encoding="utf-8")
    if as_json:
        report_json(explanation.to_dict())
        return
    report(explanation.lines())
    if output is not None:
        report(["", f"→ {output}"])
