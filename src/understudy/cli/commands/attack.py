"""`understudy attack`: what goes wrong without noise, shown on made data; and what your
own published statistics give away.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.cli import options
from understudy.cli.paths import check_input, check_outputs
from understudy.cli.terminal.layout import report, report_json
from understudy.text import align_columns

if TYPE_CHECKING:
    from understudy.attacks.finding import AttackFinding

FIGURE_SUFFIXES = (".svg", ".html", ".json")
CommandFunction = Callable[..., Any]


@click.group(
    short_help="Attacks that teach: what goes wrong without noise.",
    invoke_without_command=True,
)
@click.pass_context
def attack(context: click.Context) -> None:
    """Attacks that teach and test. Each runs in seconds on made data, says what it
    found, and draws it.

    Without a name, lists them.
    """
    if context.invoked_subcommand is None:
        rows = [
            [name, command.get_short_help_str(100)]
            for name, command in attack.commands.items()
        ]
        report(
            [
                *align_columns(rows),
                "",
                "understudy attack NAME runs one; -o FILE.svg keeps its figure.",
            ]
        )


output = click.option(
    "-o",
    "--output",
    type=options.PATH_TYPE,
    metavar="FILE",
    help="Also write the figure: .svg, .html or .json.",
)
seed = click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the made-up data.",
)


def _epsilon_option(default: str) -> Callable[[CommandFunction], CommandFunction]:
    return click.option(
        "--epsilon",
        default=default,
        show_default=True,
        metavar="E",
        help="ε of the protected case, in all.",
    )


@attack.command(short_help="Seven people from fourteen published statistics.")
@_epsilon_option("1")
@output
@options.as_json
def census(epsilon: str, output: Path | None, as_json: bool) -> None:
    """Reconstruct a census block of seven people with a constraint solver, and see
    noise stop it.
    """
    check_figure_output(output)
    from understudy.attacks import census as room

    report_finding(
        room.run_census_attack(epsilon=_exact_epsilon(epsilon)), output, as_json
    )


@attack.command(short_help="How few ages a median and a mean leave.")
@output
@options.as_json
def ages(output: Path | None, as_json: bool) -> None:
    """Count the triples of ages that a published median of 30 and mean of 44 leave."""
    check_figure_output(output)
    from understudy.attacks import census as room

    report_finding(room.run_ages_attack(), output, as_json)


@attack.command(
    short_help=(
        "Every question asked: no table far from the truth agrees with all answers."
    )
)
@click.option("--people", type=click.IntRange(4, 13), default=12, show_default=True)
@seed
@output
@options.as_json
def exhaustive(people: int, seed: int, output: Path | None, as_json: bool) -> None:
    """Dinur and Nissim's bound: with all 2ⁿ counts answered to within E, at most 4E
    places stay unknown.
    """
    check_figure_output(output)
    from understudy.attacks import decoding as room

    errors = tuple(range(people // 4 + 1))
    report_finding(
        room.run_exhaustive_attack(people=people, errors=errors, seed=seed),
        output,
        as_json,
    )


@attack.command(short_help="A few hundred noisy counts, decoded by a linear program.")
@click.option("--people", type=click.IntRange(8, 256), default=128, show_default=True)
@_epsilon_option("1")
@seed
@output
@options.as_json
def decode(
    people: int, epsilon: str, seed: int, output: Path | None, as_json: bool
) -> None:
    """Reconstruct a secret bit of each of n people from 4n random counts with bounded
    errors.
    """
    check_figure_output(output)
    from understudy.attacks import decoding as room

    report_finding(
        room.run_decoding_attack(
            people=people, epsilon=_exact_epsilon(epsilon), seed=seed
        ),
        output,
        as_json,
    )


@attack.command(
    "differencing", short_help="Two harmless counts whose difference is one person."
)
@output
@options.as_json
def subtract_counts(output: Path | None, as_json: bool) -> None:
    """Subtract two published counts, one of them without John."""
    check_figure_output(output)
    from understudy.attacks import differencing as room

    report_finding(room.run_differencing_attack(), output, as_json)


@attack.command(
    "floating-point", short_help="Low bits of textbook noise that prove a count."
)
@_epsilon_option("1")
@seed
@output
@options.as_json
def floating_point(epsilon: str, seed: int, output: Path | None, as_json: bool) -> None:
    """Prove counts from the low bits of textbook Laplace noise, and fail on the
    curator's.
    """
    check_figure_output(output)
    from understudy.attacks import floating as room

    report_finding(
        room.run_floating_point_attack(epsilon=_exact_epsilon(epsilon), seed=seed),
        output,
        as_json,
    )


@attack.command(short_help="Names come back through birth date, sex and ZIP code.")
@seed
@output
@options.as_json
def linkage(seed: int, output: Path | None, as_json: bool) -> None:
    """Join records without names with a voter roll, in a made city."""
    check_figure_output(output)
    from understudy.attacks import linkage as room

    report_finding(room.run_linkage_attack(seed=seed), output, as_json)


@attack.command(short_help="A few films somebody rated name their record.")
@seed
@output
@options.as_json
def scoreboard(seed: int, output: Path | None, as_json: bool) -> None:
    """Find people's records among made ratings from a few things known about them."""
    check_figure_output(output)
    from understudy.attacks import scoreboard as room

    report_finding(room.run_scoreboard_attack(seed=seed), output, as_json)


@attack.command(short_help="Your own published statistics: how many tables fit them?")
@click.argument("tables", type=options.PATH_TYPE, required=False)
@click.option(
    "--example",
    is_flag=True,
    help="Print the census block as a file to start from, and do nothing else.",
)
@click.option(
    "--limit",
    type=click.IntRange(1, 100_000),
    default=10_000,
    show_default=True,
    help="Stop after this many tables.",
)
@output
@options.as_json
def reconstruct(
    tables: Path | None, example: bool, limit: int, output: Path | None, as_json: bool
) -> None:
    """Find every table of people that fits the statistics listed in TABLES, a YAML
    file.

    Counts, sums, means and medians of groups of at most 40 people; docs/attacks.md
    describes the file.
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.attacks import puzzle as room

    # Nothing is checked: an example needs no file.
    if example:
        report(room.census_block_text().splitlines())
        return
    if tables is None:
        raise click.UsageError(
            "Name a file of published statistics, or see one with --example."
        )
    # Before the search, which may take minutes.
    check_input(tables)
    check_figure_output(output, tables)
    from understudy.attacks import census as solving

    report_finding(
        solving.reconstruct_tables(room.load_puzzle(tables), limit=limit)[0],
        output,
        as_json,
        # Found out about people who may be real: only the owner may read the file.
        private=True,
    )


def check_figure_output(output: Path | None, *inputs: Path) -> None:
    """Refuse a file that cannot be written before anything is computed."""
    from understudy.errors import Refused

    if output is not None and output.suffix.lower() not in FIGURE_SUFFIXES:
        raise Refused(
            f"{output}: figures are written as {', '.join(FIGURE_SUFFIXES)}. Nothing"
            " was written."
        )
    check_outputs([output], inputs=inputs)


def report_finding(
    finding: AttackFinding, output: Path | None, as_json: bool, *, private: bool = False
) -> None:
    """Say what was found, draw it, and keep it where that was asked for; `private`
    where it was found out about real people.
    """
    from understudy.atomic import write_file_atomically
    from understudy.attacks.svg import figure_to_svg, finding_to_html

    facts = {
        "attack": finding.name,
        "title": finding.title,
        "text": list(finding.text),
        **finding.facts,
    }
    if output is not None:
        written = {
            ".svg": lambda: figure_to_svg(finding.figure),
            ".html": lambda: finding_to_html(finding),
            ".json": lambda: _dump_json(facts),
        }
        with write_file_atomically(output, private=private) as draft:
            draft.write_text(written[output.suffix.lower()](), encoding="utf-8")
    if as_json:
        report_json(facts)
        return
    from understudy.cli.terminal.plot import plot_figure

    report([finding.title, "", *finding.text, ""])
    plot_figure(finding.figure)
    if output is not None:
        report(["", f"→ {output}"])


def _dump_json(facts: object) -> str:
    import json

    return json.dumps(facts, ensure_ascii=False, indent=2) + "\n"


def _exact_epsilon(epsilon: str) -> Fraction:
    from understudy.accounting.budget import Budget

    # The accounting of the budget reads it exactly: 0.1 is no binary fraction.
    return Budget.of(epsilon, 0).epsilon
