"""`understudy demo`: the whole way on a real survey that people answered about their
marriages.

The survey is Fair, "A theory of extramarital affairs", Journal of Political Economy 86,
1978: 6,366 answers, shipped with statsmodels by permission of the author. The
questionnaire says which answers there were, so those are declared; how much time went
into affairs at most it does not say, so that bound is bought.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.layout import draw_bar, report_json
from understudy.cli.screen import Screen
from understudy.cli.stop import CommandStopped, is_interruption
from understudy.text import align_columns, format_count, format_percent
from understudy.version import install_command

if TYPE_CHECKING:
    from understudy.evaluation.utility import MarginalComparison
    from understudy.schema import Schema

SURVEY_ANSWERS: dict[str, tuple[str, ...]] = {
    "rate_marriage": ("1", "2", "3", "4", "5"),
    "age": ("17.5", "22", "27", "32", "37", "42"),
    "yrs_married": ("0.5", "2.5", "6", "9", "13", "16.5", "23"),
    "children": ("0", "1", "2", "3", "4", "5.5"),
    "religious": ("1", "2", "3", "4"),
    "educ": ("9", "12", "14", "16", "17", "20"),
    "occupation": ("1", "2", "3", "4", "5", "6"),
    "occupation_husb": ("1", "2", "3", "4", "5", "6"),
}
"""The answers that were printed on the form: public, whoever ticked them."""


@click.command(short_help="The whole way, on a sensitive survey.")
@click.argument("directory", type=options.PATH_TYPE, default=Path("demo"))
@click.option(
    "--epsilon", default="1", show_default=True, metavar="E", help="ε of the release."
)
@options.as_json
@click.pass_obj
def demo(screen: Screen, directory: Path, epsilon: str, as_json: bool) -> None:
    """Release a sensitive survey privately, from CSV to a first comparison, into
    DIRECTORY (default: demo).
    """
    from understudy.accounting.budget import Budget
    from understudy.atomic import PRIVATE_FOLDER_MODE
    from understudy.errors import Refused

    Budget.of(epsilon)
    if find_spec("statsmodels") is None:
        raise Refused(
            "The demo's survey comes with statsmodels:"
            f" {install_command('evaluate')}. Nothing was spent."
        )
    try:
        directory.mkdir(mode=PRIVATE_FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise Refused(
            f"{directory}: cannot be made ({error.strerror}). Nothing was spent."
        ) from None
    # The demo is a show: it is told in a pipe too.
    shown = screen if screen.is_watched or as_json else Screen.plain()
    try:
        _run_demo(shown, directory, epsilon, as_json)
    except BaseException as error:
        if is_interruption(error):
            raise CommandStopped(
                "interrupted. What was spent of the demo's own budget is in"
                f" {directory}/survey.ledger."
            ) from None
        raise


def _run_demo(screen: Screen, directory: Path, epsilon: str, as_json: bool) -> None:
    from understudy.cli.describe import DRAFT_REMINDER
    from understudy.cli.synthesize import WrittenFiles, run_facts, show_run
    from understudy.schema import Schema
    from understudy.workflow.compare import compare
    from understudy.workflow.describe import describe
    from understudy.workflow.plan import plan
    from understudy.workflow.run_options import RunOptions
    from understudy.workflow.synthesize import synthesize

    survey, schema_file = directory / "survey.csv", directory / "survey.yaml"
    output, release_file, book = (
        directory / "synthetic.csv",
        directory / "survey.understudy",
        directory / "survey.ledger",
    )

    rows = write_survey(survey)
    _show_title(
        screen,
        "The original",
        f"{format_count(rows, 'answer')} about marriages and affairs → {survey}",
    )

    _show_title(screen, "understudy describe", f"drafts what is public → {schema_file}")
    declare_survey_answers(describe(survey)).save(schema_file)
    schema = Schema.load(schema_file)
    screen.line(
        f"The questionnaire lists the answers to {len(SURVEY_ANSWERS)} questions; the"
        " largest amount of `affairs` stays to be learned."
    )
    screen.line(DRAFT_REMINDER, style="dim")

    _show_title(screen, "understudy plan", "no data touched, nothing spent")
    made_plan = plan(schema, epsilon=epsilon)
    screen.line(
        f"{made_plan.synthesizer} would measure at least"
        f" {format_count(len(made_plan.marginals), 'marginal')} and spend"
        f" {made_plan.budget}, {format_percent(float(made_plan.discovery))} of it on"
        " what the schema leaves open."
    )

    _show_title(screen, "understudy synthesize", "charge, draw, release")
    with screen.progress():
        release = synthesize(
            survey,
            schema,
            epsilon=epsilon,
            ledger=book,
            progress=screen.step,
            run=RunOptions(dataset="survey", notify=screen.keep_notice),
        )
        release.save(release_file)
        written = release.write(output, progress=screen.step)
    files = WrittenFiles(output=output, rows=written, release=release_file, ledger=book)
    show_run(screen, release, files)

    found = compare(survey, output, release.schema, ledger=book)
    _show_title(
        screen,
        "A first comparison",
        "internal, not private: it reads the real rows, and the ledger notes it",
    )
    screen.lines(comparison_lines(found))
    screen.line()
    screen.line(_explain_distances(found))
    _show_title(screen, "Files", "")
    screen.lines(
        align_columns(_list_files(survey, schema_file, output, release_file, book))
    )
    if as_json:
        report_json(
            {
                **run_facts(release, files),
                "survey": survey,
                "schema": schema_file,
                "comparison": {
                    "internal": True,
                    "columns": {gap.clique[0]: gap.distance for gap in found.columns},
                    "pairs": [[*gap.clique, gap.distance] for gap in found.pairs],
                },
            }
        )


def write_survey(path: Path) -> int:
    """Write the survey as a CSV file; how many answers it has."""
    from statsmodels.datasets import fair

    from understudy.atomic import write_file_atomically

    table = fair.load_pandas().data
    names = [str(name) for name in table.columns]
    lines = [
        ",".join(names),
        *(
            ",".join(f"{cell:.7g}" for cell in row)
            for row in table.itertuples(index=False)
        ),
    ]
    with write_file_atomically(path, private=True) as draft:
        draft.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return len(table)


def declare_survey_answers(draft: Schema) -> Schema:
    """The draft with what the form itself makes public filled in: the answers one could
    tick, and that all were answered.
    """
    from understudy.schema import Categorical, Real

    for name, answers in SURVEY_ANSWERS.items():
        draft = draft.with_column(
            Categorical(name=name, values=answers, ordered=True, nullable=False)
        )
    affairs = draft["affairs"]
    if isinstance(affairs, Real):
        draft = draft.with_column(replace(affairs, min=Fraction(0), nullable=False))
    return draft


def comparison_lines(found: MarginalComparison, most: int = 5) -> list[str]:
    """Columns and the farthest pairs, with bars that are full at distance 0.5."""
    rows = [["distance of columns", "", ""]]
    rows += [
        [gap.clique[0], f"{gap.distance:.3f}", draw_bar(2 * gap.distance)]
        for gap in found.columns
    ]
    rows += [["", "", ""], ["farthest pairs", "", ""]]
    rows += [
        [" × ".join(gap.clique), f"{gap.distance:.3f}", draw_bar(2 * gap.distance)]
        for gap in found.worst_pairs(most)
    ]
    return align_columns(rows)


def _explain_distances(found: MarginalComparison) -> str:
    return (
        f"0 is the same, 1 has nothing in common. Columns are {found.mean_column:.3f}"
        f" off on average, pairs {found.mean_pair:.3f}: of a hundred rows"
        f" {100 * found.mean_pair:.0f} are in a wrong cell of a table of two columns."
    )


def _show_title(screen: Screen, title: str, what: str) -> None:
    screen.line()
    screen.line(f"{title}   {what}".rstrip(), style="bold magenta")


def _list_files(
    survey: Path, schema: Path, output: Path, release: Path, book: Path
) -> list[list[str]]:
    return [
        [str(survey), "the original: keep it"],
        [str(schema), "what is public about it"],
        [str(output), "the synthetic table: hand it out"],
        [
            str(release),
            "the release: all that was measured; `understudy sample` reads it",
        ],
        [str(book), "the account: keep it, `understudy ledger show` reads it"],
    ]
