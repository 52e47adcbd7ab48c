"""`understudy sample`: more synthetic rows from a release. Costs nothing: only what was
released is looked at.
"""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import options, pipes
from understudy.cli.paths import check_outputs
from understudy.cli.terminal.layout import report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import explain_interruption
from understudy.text import format_count


@click.command(short_help="More rows from a release, at no cost.")
@click.argument("release", type=options.PATH_TYPE)
@click.option(
    "-n",
    "--rows",
    type=click.IntRange(min=0),
    metavar="N",
    help="Number of rows. Default: the release's noisy estimate.",
)
@click.option(
    "-o",
    "--output",
    type=options.TABLE_TYPE,
    required=True,
    metavar="OUT",
    help=(
        "File to write (.csv or .parquet), or - for CSV on stdout; or a folder for"
        " parts."
    ),
)
@click.option(
    "--partition-rows",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write OUT as a folder of Parquet files with at most N rows each.",
)
@options.seed
@click.option(
    "--given",
    multiple=True,
    metavar="COLUMN=VALUE",
    help=(
        "Fix a column to a value, or to a range of numbers or dates: age=18..30,"
        " `age=65..`. May be repeated; several of one column mean any of them."
    ),
)
@options.keep_formulas
@options.as_json
@options.verbosity
@click.pass_obj
@pipes.gives_piped_output(".csv")
def sample(
    screen: Screen,
    release: Path,
    rows: int | None,
    output: Path,
    seed: int | None,
    given: tuple[str, ...],
    partition_rows: int | None,
    keep_formulas: bool,
    as_json: bool,
) -> None:
    """Write synthetic rows of RELEASE. Repeat it as often as you like: it reads no real
    row and spends nothing.
    """
    # Parsed before the release is read: wrong usage fails at once.
    fixed: dict[str, list[str]] = {}
    for text in given:
        name, value = _parse_given(text)
        fixed.setdefault(name, []).append(value)
    if partition_rows is None:  # else OUT is a folder
        check_outputs([output], inputs=[release], rows=output)
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.releases.release import load_release

    with explain_interruption(
        lambda: f"interrupted. {output} was not written; sampling spends nothing."
    ):
        loaded = load_release(release)
        with screen.progress():
            written = loaded.write(
                output,
                rows,
                seed=seed,
                given=fixed,
                partition_rows=partition_rows,
                guard_formulas=not keep_formulas,
                progress=screen.step,
            )
    if as_json:
        report_json(
            {
                "output": str(output),
                "rows": written,
                "guarantee": loaded.guarantee.sentence(),
            }
        )
        return
    screen.stage(
        "writing", f"{format_count(written, 'row')} → {pipes.name_output(output)}"
    )
    screen.line()
    screen.line(f"{loaded.guarantee.sentence()} Sampling spent nothing more.")


def _parse_given(text: str) -> tuple[str, str]:
    """A column and its value; the value may hold an equals sign, an empty one is one."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise click.BadParameter("write it as COLUMN=VALUE", param_hint="'--given'")
    return name, value
