"""The algorithm, its options and the workload: options that `synthesize`, `plan` and
`audit` share.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from understudy.synthesizers import Synthesizer


def complete_synthesizers(
    _context: click.Context, _option: click.Parameter, begun: str
) -> list[str]:
    """Names of algorithms that begin as typed, for a shell that completes words."""
    from understudy.synthesizers import SYNTHESIZER_CLASSES

    return [name for name in SYNTHESIZER_CLASSES if name.startswith(begun)]


synthesizer = click.option(
    "--synthesizer",
    shell_complete=complete_synthesizers,
    default="adaptive",
    show_default=True,
    metavar="NAME",
    help="Algorithm; `understudy synthesizers` lists them.",
)
setting = click.option(
    "--set",
    "set_options",
    multiple=True,
    metavar="OPTION=VALUE",
    help=(
        "An option of the algorithm, such as cells=100000. May be repeated; `understudy"
        " synthesizers NAME` explains them."
    ),
)

workload = click.option(
    "--workload",
    multiple=True,
    metavar="TARGET",
    help=(
        "Marginals that should be accurate: label=COLUMN, pairs=COLUMN,"
        " group=COLUMN,COLUMN, ranges=COLUMN,…, pairs, columns, or triples (the"
        " default); model=COLUMN~COLUMN+COLUMN measures all that a regression needs,"
        " moments=COLUMN~COLUMN the sums that least squares of unbinned numbers needs."
        " Append *2 to double a target's weight. May be repeated."
    ),
)


def choose_synthesizer(name: str, settings: Sequence[str]) -> Synthesizer:
    """The algorithm with its options; wrong names and values are refused before a file
    is opened.
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.synthesizers import make

    options: dict[str, object] = {}
    for setting in settings:
        option, equals, value = (part.strip() for part in setting.partition("="))
        if not (option and equals):
            raise click.BadParameter(
                "write OPTION=VALUE, such as cells=100000", param_hint="--set"
            )
        # Which of two values was meant cannot be known.
        if option in options:
            raise click.BadParameter(f"`{option}` is set twice", param_hint="--set")
        options[option] = value
    return make(name, **options)
