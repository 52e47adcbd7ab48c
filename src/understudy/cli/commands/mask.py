"""`understudy mask`: copies of a table in which columns are drawn from models of them.
Disclosure control without differential privacy.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.paths import check_table_input
from understudy.cli.terminal.layout import report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import explain_interruption
from understudy.errors import Refused
from understudy.text import format_count, format_percent

if TYPE_CHECKING:
    from understudy.imputation.mask_strength import MaskStrength


@click.command(short_help="Masked copies by multiple imputation (no DP).")
@click.argument("file", type=options.PATH_TYPE)
@click.option(
    "--schema",
    type=options.PATH_TYPE,
    metavar="SCHEMA",
    help="Schema with roles: quasi-identifiers are replaced.",
)
@click.option(
    "--replace",
    "replaced",
    metavar="A,B",
    help="Columns to replace, in this order. Default: the quasi-identifiers.",
)
@click.option("--full", is_flag=True, help="Replace every column.")
@click.option(
    "--method",
    default="cart",
    show_default=True,
    metavar="NAME",
    help="cart, norm+logit, normrank+logit or da-mi.",
)
@click.option(
    "--copies",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="M",
    help="Number of copies.",
)
@click.option(
    "--leaf-rows",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="With cart: fewest people in a leaf. More is safer.",
)
@click.option(
    "--noise-copies",
    type=click.IntRange(min=0),
    metavar="K",
    help="With da-mi: noisy copies of each number. More keep it nearer.",
)
@click.option(
    "--noise-variance",
    type=click.FloatRange(min=0, min_open=True),
    metavar="V",
    help="With da-mi: variance of each noisy copy, in variances of the column.",
)
@click.option(
    "--keep-labels",
    type=click.FloatRange(0, 1, max_open=True),
    metavar="P",
    help="With da-mi: probability with which a label's mask shows it.",
)
@click.option("--simple", is_flag=True, help="Keep the models' parameters fixed.")
@click.option(
    "--risk/--no-risk",
    default=True,
    show_default=True,
    help="Match the original rows with the copies, and say how many are found.",
)
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    required=True,
    metavar="FOLDER",
    help="Folder to write: one CSV file a copy, and how they were made.",
)
@options.csv_options
@options.as_json
@options.verbosity
@click.pass_obj
def mask(
    screen: Screen,
    file: Path,
    schema: Path | None,
    replaced: str | None,
    full: bool,
    method: str,
    copies: int,
    leaf_rows: int,
    noise_copies: int | None,
    noise_variance: float | None,
    keep_labels: float | None,
    simple: bool,
    risk: bool,
    output: Path,
    csv: options.CsvOptions,
    as_json: bool,
) -> None:
    """Write copies of FILE in which columns that could identify a person are drawn from
    models given the others. This is NOT differential privacy: nothing bounds what can be
    inferred, and kept columns are real cells.
    """
    check_table_input(file)
    if output.exists():
        raise Refused(f"{output}: is there already. Name another folder.")
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.workflow.mask import mask as make_copies
    from understudy.workflow.open import open_source

    with (
        explain_interruption(
            lambda: f"interrupted. {output} was not written; masking spends nothing."
        ),
        open_source(file, **csv.to_dict()) as source,
    ):
        masked = make_copies(
            source,
            schema=schema,
            replaced=None if replaced is None else replaced.split(","),
            full=full,
            method=method,
            copies=copies,
            proper=not simple,
            leaf_rows=leaf_rows,
            strength=_read_strength(noise_copies, noise_variance, keep_labels),
        )
        masked.write(output)
        found = masked.match_copies() if risk and masked.kept_columns else None
    facts: dict[str, object] = {
        "output": output,
        "rows": masked.original.rows,
        "copies": copies,
        "replaced": list(masked.replaced_columns),
        "kept": list(masked.kept_columns),
        "guarantee": masked.guarantee.sentence(),
    }
    if found is not None:
        facts["mean_match_chance"] = float(found.own.mean())
        facts["true_match_rate"] = found.true_rate
    if as_json:
        report_json(facts)
        return
    count = format_count(copies, "copy", "copies")
    screen.stage("masking", f"{count} of {masked.original.rows:,} rows → {output}")
    if found is not None:
        screen.line(
            f"Somebody who knows a person's {', '.join(masked.replaced_columns)} picks"
            f" the right row with a chance of {format_percent(float(found.own.mean()))}"
            f" on average; {format_percent(found.true_rate)} are found for certain."
        )
    screen.line(masked.guarantee.sentence())
    screen.line(
        "Hand out the whole folder: `us.analyse(folder, formula)` combines the copies."
    )


def _read_strength(
    noise_copies: int | None, noise_variance: float | None, keep_labels: float | None
) -> MaskStrength | None:
    """The strength of masks; None where nothing was said about it."""
    from understudy.imputation.mask_strength import MaskStrength

    given = {
        "copies": noise_copies,
        "variance": noise_variance,
        "keep": keep_labels,
    }
    said = {name: value for name, value in given.items() if value is not None}
    return MaskStrength(**said) if said else None  # type: ignore[arg-type]
