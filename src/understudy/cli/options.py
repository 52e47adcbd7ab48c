"""Options that several commands share, worded once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any

import click

from understudy.databases.address import is_address, parse_address

# Not exists=True: Click's own message has two lines and does not say what was not spent.
PATH_TYPE = click.Path(path_type=Path)
"""A path; whether it is there is said by our own errors, in one line."""


class TablePath(click.Path):
    """A path of a table, or the address of one in a database."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:
        """The address, which shows no password, or the path."""
        if is_address(value):
            return parse_address(value)
        return super().convert(value, param, ctx)


TABLE_TYPE = TablePath(path_type=Path)
"""A table: a path, or an address such as postgresql://host/database?table=NAME."""

NEIGHBOUR_CHOICES = ("add_remove", "replace")
ACCOUNTING_CHOICES = ("pure", "gdp", "zcdp")


class OrderedGroup(click.Group):
    """Commands in the order in which a custodian needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """As they were added."""
        return list(self.commands)


as_json = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON on stdout, and nothing else.",
)


def _set_verbosity(
    context: click.Context, option: click.Parameter, value: bool
) -> None:
    if not value:
        return
    # The context remembers which of the two was seen first.
    chosen = context.meta.setdefault("understudy.verbosity", option.name)
    if chosen != option.name:
        raise click.UsageError("--quiet and --verbose exclude each other")
    if option.name == "quiet":
        context.obj.silence()
    else:
        context.obj.time_stages()


def verbosity(command: Callable[..., Any]) -> Callable[..., Any]:
    """--quiet and --verbose, which set the command's screen and are not handed on."""
    for flags, words in VERBOSITY_OPTIONS.items():
        command = click.option(
            *flags,
            is_flag=True,
            expose_value=False,
            callback=_set_verbosity,
            help=words,
        )(command)
    return command


VERBOSITY_OPTIONS = {
    ("-v", "--verbose"): (
        "Write a line to stderr as each stage begins, in a pipe too."
    ),
    ("-q", "--quiet"): "Show nothing but errors and what goes to stdout.",
}
"""The last is listed first in a command's help."""

epsilon = click.option(
    "--epsilon",
    required=True,
    metavar="E",
    help="Privacy budget ε of the run, such as 1 or 0.5. Smaller is more private.",
)
delta = click.option(
    "--delta",
    metavar="D",
    help="Privacy budget δ of the run. Default: 1e-9; 0 for pure ε-DP.",
)
neighbours = click.option(
    "--neighbours",
    type=click.Choice(NEIGHBOUR_CHOICES),
    default="add_remove",
    show_default=True,
    help=(
        "Neighbouring tables: one row added or removed, or one row replaced (then the"
        " number of rows is public)."
    ),
)
accounting = click.option(
    "--accounting",
    type=click.Choice(ACCOUNTING_CHOICES),
    help=(
        "Privacy accounting of the run: pure ε-DP, Gaussian DP (default if δ > 0) or"
        " zCDP."
    ),
)
seed = click.option(
    "--seed",
    type=click.IntRange(min=0),
    help="Seed of the sampling of synthetic rows. Privacy noise has no seed.",
)

analyst = click.option(
    "--analyst",
    default="",
    metavar="NAME",
    help="Who asks for this, as the ledger writes it down.",
)
purpose = click.option(
    "--purpose",
    default="",
    metavar="TEXT",
    help="What it is for, in a sentence.",
)

population = click.option(
    "--population",
    default="sample",
    show_default=True,
    metavar="KIND",
    help="The people in the table are a sample of it, or all of it (census).",
)

level = click.option(
    "--level",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="How often intervals are to hold.",
)

question_within = click.option(
    "--within",
    type=click.FloatRange(0, min_open=True),
    metavar="W",
    help="How exact counts and sums must be: ±W with 95 % confidence.",
)
question_epsilon = click.option(
    "--epsilon",
    metavar="E",
    help="Instead of --within: the ε that this question may cost by itself.",
)
questions_budget = click.option(
    "--budget",
    metavar="E",
    help=(
        "ε of all questions together: opens the ledger's run of questions if there is"
        " none yet."
    ),
)
private_keys = click.option(
    "--private-keys",
    is_flag=True,
    help=(
        "When the run is opened: half of its δ lets questions group by labels that the"
        " schema does not list."
    ),
)
public_tables = click.option(
    "--public",
    type=PATH_TYPE,
    multiple=True,
    help=(
        "CSV file of a public table that questions may join, by its first column; it is"
        " called as the file is."
    ),
)
answering_release = click.option(
    "--release",
    type=PATH_TYPE,
    metavar="R",
    help=(
        "Release of the same table: what it answers within the ± asked for is free, and"
        " what it measured is pooled with what is measured now."
    ),
)


def schema_option(words: str, *, required: bool = False) -> Callable[..., Any]:
    """--schema, with what this command uses it for."""
    return click.option(
        "--schema", type=PATH_TYPE, metavar="S", required=required, help=words
    )


def ledger_option(words: str, *, required: bool = False) -> Callable[..., Any]:
    """--ledger, with what this command writes to it."""
    return click.option(
        "--ledger", type=PATH_TYPE, metavar="L", required=required, help=words
    )


keep_formulas = click.option(
    "--keep-formulas",
    is_flag=True,
    help=(
        "Write texts that a spreadsheet would run as formulas to a .csv file as they"
        " are. Default: with a leading apostrophe."
    ),
)

TAB_SPELLINGS = ("tab", "\\t")
"""Ways to type a tab."""

SPACE_SPELLING = "space"
"""How to type a space without quotes."""


def _read_delimiter(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    # A shell makes a tab hard to type.
    return "\t" if value in TAB_SPELLINGS else value


def _read_thousands(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    return " " if value == SPACE_SPELLING else value


@dataclass(frozen=True, kw_only=True)
class CsvOptions:
    """How a CSV file is read, where it is not as most are; which sheet of a workbook."""

    delimiter: str | None
    encoding: str | None
    multiline: bool
    decimal: str | None
    thousands: str | None
    sheet: str | None

    def __bool__(self) -> bool:
        return any(self.to_dict().values())

    def to_dict(self) -> dict[str, Any]:
        """The options as keywords of `open_source`."""
        return asdict(self)


def csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of CSV files, which a command gets together as `csv`."""
    names = [field.name for field in fields(CsvOptions)]

    @wraps(command)
    def run(*arguments: Any, **keywords: Any) -> Any:
        csv = CsvOptions(**{name: keywords.pop(name) for name in names})
        return command(*arguments, csv=csv, **keywords)

    for option in CSV_OPTIONS:
        run = option(run)
    return run


CSV_OPTIONS = (
    click.option(
        "--sheet",
        metavar="NAME",
        help="Sheet of an Excel file that has several.",
    ),
    click.option(
        "--thousands",
        metavar="CHAR",
        callback=_read_thousands,
        help=(
            "Separator of thousands in the numbers of a CSV file: , . ' _ or space."
            " Default: none."
        ),
    ),
    click.option(
        "--decimal",
        metavar="CHAR",
        help="Decimal mark of the numbers of a CSV file: , or a point (default).",
    ),
    click.option(
        "--multiline",
        is_flag=True,
        help=(
            "Quoted cells of a CSV file may hold line breaks. Then stray quotes can"
            " merge lines; by default each line is a row."
        ),
    ),
    click.option(
        "--encoding",
        metavar="NAME",
        help="Encoding of a CSV file, such as latin-1. Default: utf-8.",
    ),
    click.option(
        "--delimiter",
        metavar="CHAR",
        callback=_read_delimiter,
        help=(
            "Delimiter of a CSV file: one character, or tab. Default: detected from"
            " the header line."
        ),
    ),
)
"""The last is listed first in a command's help."""
