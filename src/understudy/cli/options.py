"""Options that several commands share, worded once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

# Not exists=True: Click's own message has two lines and does not say what was not spent.
PATH_TYPE = click.Path(path_type=Path)
"""A path; whether it is there is said by our own errors, in one line."""

NEIGHBOUR_CHOICES = ("add_remove", "replace")
ACCOUNTING_CHOICES = ("pure", "gdp", "zcdp")

as_json = click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print JSON on stdout, and nothing else.",
)
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

Command = TypeVar("Command", bound=Callable[..., Any])


def _read_delimiter(
    _context: click.Context, _option: click.Parameter, value: str | None
) -> str | None:
    # A shell makes a tab hard to type.
    return "\t" if value in TAB_SPELLINGS else value


def csv_options(command: Command) -> Command:
    """How a CSV file is read, where it is not as most are: --delimiter, --encoding and
    --multiline.
    """
    # Decorators apply from the last to the first, and help lists them in order.
    for option in (
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
    ):
        command = option(command)
    return command
