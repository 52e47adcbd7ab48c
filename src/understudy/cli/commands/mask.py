"""`understudy mask`: copies of a table in which columns are drawn from models of them.
Disclosure control without differential privacy.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.cli import options
from understudy.cli.mask_request import MaskRequest
from understudy.cli.paths import check_outputs, check_table_input
from understudy.cli.terminal.layout import report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import explain_interruption
from understudy.errors import Refused
from understudy.text import format_count, format_percent

if TYPE_CHECKING:
    from understudy.evaluation.risk.matching import Matches
    from understudy.imputation.masked_table import MaskedTable
    from understudy.imputation.tuning import MaskTuning


@click.command(short_help="Masked copies by multiple imputation (no DP).")
@click.argument("file", type=options.TABLE_TYPE)
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
    metavar="NAME",
    help=(
        "cart (default), norm+logit, normrank+logit, da-mi or copula. With --tune:"
        " the one to try, in place of cart, norm+logit and da-mi."
    ),
)
@click.option(
    "--column-method",
    "methods",
    multiple=True,
    metavar="COLUMN=NAME",
    help=(
        "Method of one column: cart, norm, normrank, logit, polr or sample. May be"
        " repeated."
    ),
)
@click.option(
    "--predictors",
    multiple=True,
    metavar="COLUMN=A,B",
    help=(
        "What a column is drawn from. Default: those kept and those replaced before"
        " it. May be repeated."
    ),
)
@click.option(
    "--copies",
    type=click.IntRange(min=1),
    metavar="M",
    help="Number of copies. Default: 5; with --tune, 3, 5 and 20 are tried.",
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
    "--imputations",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Impute missing cells N times, and mask each imputation --copies times.",
)
@click.option(
    "--smooth",
    is_flag=True,
    help="With cart: draw numbers from a density of each leaf, not its own values.",
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
@click.option(
    "--alpha",
    type=click.FloatRange(min=0),
    metavar="A",
    help=(
        "With da-mi, for ordered labels, in place of --keep-labels: A times the"
        " label's place plus standard normal noise is shown."
    ),
)
@click.option(
    "--tune",
    is_flag=True,
    help="Try methods and strengths of masks; write the copies of the best one.",
)
@click.option(
    "--risk-target",
    type=click.FloatRange(0, 1),
    default=0.05,
    show_default=True,
    metavar="R",
    help="With --tune: largest share of people found, and mean chance to find one.",
)
@click.option(
    "--formula",
    "formulas",
    multiple=True,
    metavar="Y~X",
    help=(
        "With --tune: an analysis that must keep its intervals: least squares, or"
        " logit:Y~X, probit:Y~X, poisson:Y~X. May be repeated."
    ),
)
@click.option(
    "--radius",
    multiple=True,
    metavar="COLUMN=N",
    help="Distance within which an intruder's numbers match; may be repeated.",
)
@click.option(
    "--picture",
    type=options.PATH_TYPE,
    metavar="FILE",
    help="With --tune: where risk against utility is drawn (SVG, internal).",
)
@click.option(
    "--risk-list",
    type=options.PATH_TYPE,
    metavar="FILE",
    help="Where the risk of each person is listed (CSV, for the custodian alone).",
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
    /,
    file: Path,
    output: Path,
    picture: Path | None,
    risk_list: Path | None,
    csv: options.CsvOptions,
    as_json: bool,
    **settings: Any,
) -> None:
    """Write copies of FILE in which columns that could identify a person are drawn from
    models given the others. This is NOT differential privacy: nothing bounds what can be
    inferred, and kept columns are real cells.
    """
    # All paths before the first row is read: masking may take minutes.
    check_table_input(file)
    if output.exists():
        raise Refused(f"{output}: is there already. Name another folder.")
    check_outputs([picture, risk_list], inputs=[file, settings["schema"]])
    request = MaskRequest(**settings)
    request.check_tuning(has_picture=picture is not None)
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.evaluation.risk.matching import match_radii
    from understudy.workflow.open import open_source

    with (
        explain_interruption(
            lambda: f"interrupted. {output} was not written; masking spends nothing."
        ),
        open_source(file, **csv.to_dict()) as source,
    ):
        tuned = request.tune_masks(source, screen) if request.tune else None
        if tuned is not None and picture is not None:
            _write_picture(tuned, picture)
        # Tuning has made the copies it recommends: they are written, not drawn again.
        masked = (
            request.make_copies(source) if tuned is None else tuned.recommend_copies()
        )
        match_radii(masked.original.schema, masked.replaced_columns, request.radii)
        masked.write(output)
        found = None
        # Where every column is drawn, no row of a copy stands for a person: nothing to
        # match.
        if request.risk and masked.is_aligned:
            found = masked.match_copies(radius=request.radii)
        if risk_list is not None:
            from understudy.imputation.record_risks import list_risks

            list_risks(masked, radius=request.radii).write(risk_list)
    if as_json:
        report_json(_collect_facts(output, masked, found, tuned))
        return
    if tuned is not None:
        screen.lines(tuned.list_lines())
        screen.line(tuned.describe_choice())
    _say_result(screen, output, masked, found)


def _write_picture(tuned: MaskTuning, path: Path) -> None:
    from understudy.atomic import write_file_atomically

    # Computed from real rows: the custodian's alone.
    with write_file_atomically(path, private=True) as draft:
        draft.write_text(tuned.picture(), "utf-8")


def _collect_facts(
    output: Path,
    masked: MaskedTable,
    found: Matches | None,
    tuned: MaskTuning | None,
) -> dict[str, object]:
    facts: dict[str, object] = {
        "output": output,
        "rows": masked.original.rows,
        "copies": masked.copies,
        "replaced": list(masked.replaced_columns),
        "kept": list(masked.kept_columns),
        "rows_that_break_rules": masked.broken_rows,
        "guarantee": masked.guarantee.sentence(),
    }
    if found is not None:
        facts["mean_match_chance"] = float(found.own.mean())
        facts["true_match_rate"] = found.true_rate
    if tuned is not None:
        facts["tuning"] = tuned.to_dict()
    return facts


def _say_result(
    screen: Screen, output: Path, masked: MaskedTable, found: Matches | None
) -> None:
    count = format_count(masked.copies, "copy", "copies")
    screen.stage("masking", f"{count} of {masked.original.rows:,} rows → {output}")
    if found is not None:
        screen.line(
            f"Somebody who knows a person's {', '.join(masked.replaced_columns)} picks"
            f" the right row with a chance of {format_percent(float(found.own.mean()))}"
            f" on average; {format_percent(found.true_rate)} are found for certain."
        )
    if masked.broken_rows:
        screen.line(
            f"{format_count(masked.broken_rows, 'row')} of the copies break a rule of"
            " the schema: no draw fitted what is kept."
        )
    screen.line(masked.guarantee.sentence())
    screen.line(
        "Hand out the whole folder: `us.analyse(folder, formula)` combines the copies."
    )
