"""`understudy schema`: schemas from and for other tools, and which columns a public table
says belong together.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.paths import check_input, check_outputs, check_table_input
from understudy.cli.terminal.layout import report, report_json
from understudy.cli.terminal.screen import Screen

SCHEMA_REMINDER = (
    "What a schema states becomes public by being used. Where a tool took it from the"
    " rows, write `learn` instead."
)

SCHEMA_FORMATS = click.Choice(
    ["understudy", "csvw", "frictionless", "sdv", "dpsynth", "nist", "smartnoise"]
)


@click.group(short_help="Schemas from and for other tools.")
def schema() -> None:
    """Schemas from and for other tools."""


@schema.command(short_help="Turn one description of a table into another.")
@click.argument("file", type=options.PATH_TYPE)
@click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    required=True,
    metavar="OUT",
    help="The file to write.",
)
@click.option(
    "--from",
    "source",
    type=SCHEMA_FORMATS,
    help="Format of FILE. Default: detected from its content.",
)
@click.option(
    "--to",
    "target",
    type=SCHEMA_FORMATS,
    default="understudy",
    show_default=True,
    help="Format of OUT.",
)
@click.option(
    "--table", metavar="NAME", help="Which table, where FILE describes several."
)
@options.as_json
@click.pass_obj
def convert(
    screen: Screen,
    file: Path,
    output: Path,
    source: str | None,
    target: str,
    table: str | None,
    as_json: bool,
) -> None:
    """Turn FILE, a description of a table in one tool's words, into another's. What
    cannot be said is listed. No row is read.
    """
    check_input(file)
    check_outputs([output], inputs=[file])
    from understudy.schema.formats import load_format, save_format

    found = load_format(file, source, table=table)
    lost = save_format(found.schema, output, target)
    if as_json:
        facts = {
            "output": output,
            "from": found.format,
            "to": target,
            "columns": len(found.schema.columns),
        }
        report_json(
            {**facts, "notes": [*found.notes, *lost], "reminder": SCHEMA_REMINDER}
        )
        return
    # In a pipe too: what was left out is what this command reports.
    report([*found.notes, *lost])
    screen.line(
        f"{len(found.schema.columns)} columns, {found.format} → {target}: {output}",
        style="bold",
    )
    screen.line(SCHEMA_REMINDER)


@schema.command(short_help="Cliques for mst, chosen on a public table.")
@click.argument("public", type=options.PATH_TYPE)
@options.schema_option("Schema file of the columns.", required=True)
@click.option("--pairs-only", is_flag=True, help="Leave triples of adjacent edges out.")
@click.option(
    "--limit",
    type=click.IntRange(min=4),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Cells of the model that the cliques make.",
)
def cliques(public: Path, schema: Path, pairs_only: bool, limit: int) -> None:
    """Which columns belong together, by a PUBLIC table of the same kind: mutual
    information, its spanning tree, triples of adjacent edges, pruned. Printed as JSON,
    as `synthesize --synthesizer mst --set public=JSON` takes it. Never name the table
    that is to be protected: its rows would be read without a charge.
    """
    check_table_input(public)
    check_input(schema)
    from understudy.workflow.public_cliques import select_public_cliques

    chosen = select_public_cliques(public, schema, triples=not pairs_only, limit=limit)
    report([json.dumps(chosen)])
