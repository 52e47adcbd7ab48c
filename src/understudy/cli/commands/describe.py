"""`understudy describe`: a draft of what is public about a table, for its owner to
edit.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from understudy.cli import options, pipes
from understudy.cli.paths import check_outputs, check_table_input, name_output
from understudy.cli.terminal.layout import report_json
from understudy.cli.terminal.screen import Screen
from understudy.cli.terminal.stop import explain_interruption
from understudy.errors import Refused
from understudy.text import align_columns

if TYPE_CHECKING:
    from understudy.schema import Column, Schema

DRAFT_REMINDER = (
    "The draft was made from the rows. Using it makes it public: read it as something"
    " you are about to publish."
)


@click.command(short_help="Draft what is public about a table.")
@click.argument("file", type=options.TABLE_TYPE)
@click.option(
    "--public-domains",
    is_flag=True,
    help="The values in FILE are public knowledge: declare values and bounds.",
)
@click.option(
    "--rare-below",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    metavar="ROWS",
    help="With --public-domains: values and extremes of fewer rows are not written.",
)
@click.option(
    "--accept-rules",
    is_flag=True,
    help="Declare the rules that all rows keep; by default they are comments in SCHEMA.",
)
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    metavar="SCHEMA",
    help="Schema file to write (.yaml), or - for stdout. Default: people.yaml for"
    " people.csv.",
)
@click.option(
    "--overwrite",
    is_flag=True,
    help="Replace SCHEMA if it exists; what was edited in it is lost.",
)
@options.csv_options
@options.as_json
@options.verbosity
@click.pass_obj
@pipes.needs_output_of_pipe
@pipes.takes_piped_table("file")
@pipes.gives_piped_output(".yaml")
def describe(
    screen: Screen,
    file: Path,
    public_domains: bool,
    rare_below: int,
    accept_rules: bool,
    output: Path | None,
    overwrite: bool,
    csv: options.CsvOptions,
    as_json: bool,
) -> None:
    """Draft a schema of FILE: the type of each column, what is public about it, what
    would be learned and what to fill in.
    """
    check_table_input(file)
    if output is None:
        output = name_output(file, ".yaml")
    check_outputs([output], inputs=[file])
    # A schema that was edited is work, and may declare what rows do not show.
    if output.exists() and not overwrite:
        raise Refused(
            f"{output}: exists already. Name another file, or say --overwrite. Nothing"
            " was written."
        )
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.schema.yaml.file import write_private_text
    from understudy.workflow.describe import draft_table
    from understudy.workflow.open import open_source

    with explain_interruption(
        lambda: f"interrupted. {output} was not written; describing spends nothing."
    ):
        with open_source(file, **csv.to_dict()) as source:
            draft = draft_table(
                source, public_domains=public_domains, rare_below=rare_below
            )
        if accept_rules:
            draft.accept_rules().save(output)
        else:
            write_private_text(draft.to_text(), output)
    suggested = [str(rule) for rule in draft.suggestions.rules]
    if as_json:
        report_json(
            {
                "output": output,
                "columns": draft_facts(draft.schema),
                "rules": suggested,
                "rules_accepted": accept_rules,
                "reminder": DRAFT_REMINDER,
            }
        )
    else:
        show_draft(screen, draft.schema, output)
        show_suggestions(screen, suggested, accepted=accept_rules)


def draft_facts(draft: Schema) -> list[dict[str, object]]:
    """The columns of a draft, for a program."""
    from understudy.schema import open_domains

    open_ = {hole.column: hole.what for hole in open_domains(draft)}
    return [
        {
            "name": column.name,
            "type": column.type,
            "role": str(column.role),
            "released": column.is_modelled,
            "open": open_.get(column.name),
            "note": column.note,
        }
        for column in draft.columns
    ]


def show_draft(screen: Screen, draft: Schema, output: Path) -> None:
    """A draft for a person at a terminal."""
    # To stderr, as all that is shown: stdout is empty without --json.
    screen.lines(
        align_columns([[c.name, c.type, _column_state(c)] for c in draft.columns])
    )
    screen.line()
    screen.line(f"Draft → {pipes.name_output(output)}", style="bold")
    screen.line(DRAFT_REMINDER)


def show_suggestions(screen: Screen, rules: list[str], *, accepted: bool) -> None:
    """The rules that all rows keep, for a person at a terminal."""
    if not rules:
        return
    screen.line()
    if accepted:
        screen.line("Declared, because all rows keep them:")
    else:
        screen.line(
            "All rows keep these rules. They are comments in the draft, and not used"
            " unless you accept them (--accept-rules, or by hand):"
        )
    screen.lines([f"  {rule}" for rule in rules])


def _column_state(column: Column) -> str:
    """What is public about a column, and what a run would learn of it."""
    from understudy.schema import Categorical, UndeclaredColumn

    if not column.is_modelled:
        return f"left out: {column.note}" if column.note else "left out"
    if column.is_closed:
        return "public: all of it"
    if isinstance(column, UndeclaredColumn):
        return "type will be learned, or fill it in"
    what = "values" if isinstance(column, Categorical) else "bounds"
    note = f"; {column.note}" if column.note else ""
    return f"{what} will be learned, or fill them in{note}"
