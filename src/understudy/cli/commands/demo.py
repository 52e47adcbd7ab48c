"""`understudy demo`: all steps of a release, on a real survey about marriages.

The survey is Fair, "A theory of extramarital affairs", Journal of Political Economy 86,
1978: 6,366 answers, shipped with statsmodels by permission of the author. The
questionnaire says which answers there were, so those are declared; how much time went
into affairs at most it does not say, so that bound is learned inside the budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options
from understudy.cli.terminal.layout import draw_bar, report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import explain_interruption
from understudy.text import align_columns, format_count, format_percent
from understudy.version import install_command

if TYPE_CHECKING:
    from understudy.evaluation.utility import MarginalComparison
    from understudy.releases import Release
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


@click.command(short_help="All steps of a release, on a sensitive survey.")
@click.argument("directory", type=options.PATH_TYPE, default=Path("demo"))
@click.option(
    "--epsilon",
    default="1",
    show_default=True,
    metavar="E",
    help="Privacy budget ε of the release.",
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
    # Asked without importing it, which takes seconds.
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
    # Shown in a pipe too: unlike other commands, the demo is run to be read.
    shown = screen if screen.is_watched or as_json else Screen.plain()
    files = DemoFiles(directory)
    with explain_interruption(
        lambda: (
            "interrupted. What was spent of the demo's own budget is in"
            f" {files.ledger}."
        )
    ):
        _run_demo(shown, files, epsilon, as_json)


@dataclass(frozen=True)
class DemoFiles:
    """Where the demo writes, all in one folder."""

    folder: Path

    @property
    def survey(self) -> Path:
        """The original table."""
        return self.folder / "survey.csv"

    @property
    def schema(self) -> Path:
        """What is public about it."""
        return self.folder / "survey.yaml"

    @property
    def output(self) -> Path:
        """The synthetic table."""
        return self.folder / "synthetic.csv"

    @property
    def release(self) -> Path:
        """All that was measured."""
        return self.folder / "survey.understudy"

    @property
    def ledger(self) -> Path:
        """The privacy budget of the survey."""
        return self.folder / "survey.ledger"

    def list_files(self) -> list[list[str]]:
        """Every file, and what to do with it."""
        return [
            [str(self.survey), "the original: keep it"],
            [str(self.schema), "what is public about it"],
            [str(self.output), "the synthetic table: hand it out"],
            [
                str(self.release),
                "the release: all that was measured; `understudy sample` reads it",
            ],
            [
                str(self.ledger),
                "the privacy budget: keep it, `understudy ledger show` reads it",
            ],
        ]


def _run_demo(screen: Screen, files: DemoFiles, epsilon: str, as_json: bool) -> None:
    """Every step that a custodian takes, shown as it is taken."""
    from understudy.cli.commands.synthesize import WrittenFiles, run_facts, show_run
    from understudy.workflow.compare import compare

    rows = write_survey(files.survey)
    _show_title(
        screen,
        "The original",
        f"{format_count(rows, 'answer')} about marriages and affairs → {files.survey}",
    )
    schema = _declare_schema(screen, files)
    _show_plan(screen, schema, epsilon)
    release, written_rows = _release_survey(screen, files, schema, epsilon)
    written = WrittenFiles(
        output=files.output,
        rows=written_rows,
        release=files.release,
        ledger=files.ledger,
    )
    show_run(screen, release, written)
    comparison = compare(
        files.survey, files.output, release.schema, ledger=files.ledger
    )
    _show_comparison(screen, comparison)
    _show_title(screen, "Files", "")
    screen.lines(align_columns(files.list_files()))
    if as_json:
        report_json(
            {
                **run_facts(release, written),
                "survey": files.survey,
                "schema": files.schema,
                "comparison": {
                    "internal": True,
                    "columns": {g.clique[0]: g.distance for g in comparison.columns},
                    "pairs": [[*g.clique, g.distance] for g in comparison.pairs],
                },
            }
        )


def _declare_schema(screen: Screen, files: DemoFiles) -> Schema:
    """Draft a schema, and declare what the questionnaire makes public."""
    from understudy.cli.commands.describe import DRAFT_REMINDER
    from understudy.schema import Schema
    from understudy.workflow.describe import describe

    _show_title(
        screen, "understudy describe", f"drafts what is public → {files.schema}"
    )
    declare_survey_answers(describe(files.survey)).save(files.schema)
    screen.line(
        f"The questionnaire lists the answers to {len(SURVEY_ANSWERS)} questions; the"
        " largest amount of `affairs` stays to be learned."
    )
    screen.line(DRAFT_REMINDER, style="dim")
    # Read back from the file, as a custodian's own run would.
    return Schema.load(files.schema)


def _show_plan(screen: Screen, schema: Schema, epsilon: str) -> None:
    """What the run will cost, before it costs anything."""
    from understudy.workflow.planning.plan import plan

    _show_title(screen, "understudy plan", "no data touched, nothing spent")
    planned = plan(schema, epsilon=epsilon)
    screen.line(
        f"{planned.synthesizer} would measure at least"
        f" {format_count(len(planned.marginals), 'marginal')} and spend"
        f" {planned.budget}, {format_percent(float(planned.discovery))} of it on"
        " what the schema leaves open."
    )


def _release_survey(
    screen: Screen, files: DemoFiles, schema: Schema, epsilon: str
) -> tuple[Release, int]:
    """The release and its files; also how many synthetic rows were written."""
    from understudy.workflow.run_options import RunOptions
    from understudy.workflow.synthesize import synthesize

    _show_title(screen, "understudy synthesize", "charge, draw, release")
    with screen.progress():
        release = synthesize(
            files.survey,
            schema,
            epsilon=epsilon,
            ledger=files.ledger,
            progress=screen.step,
            run=RunOptions(dataset="survey", notify=screen.keep_notice),
        )
        release.save(files.release)
        rows = release.write(files.output, progress=screen.step)
    return release, rows


def _show_comparison(screen: Screen, comparison: MarginalComparison) -> None:
    _show_title(
        screen,
        "A first comparison",
        "internal, not private: it reads the real rows, and the ledger records it",
    )
    screen.lines(comparison_lines(comparison))
    screen.line()
    screen.line(_explain_distances(comparison))


def write_survey(path: Path) -> int:
    """Write the survey as a CSV file; how many answers it has."""
    from statsmodels.datasets import fair

    from understudy.atomic import write_file_atomically

    table = fair.load_pandas().data
    names = [str(name) for name in table.columns]
    lines = [
        ",".join(names),
        *(
            # Enough digits for the survey's averages, and no noise of floats.
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
    # A draft may find whole numbers only, and declare another type.
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
        # The farthest pairs alone: there are dozens of others.
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
