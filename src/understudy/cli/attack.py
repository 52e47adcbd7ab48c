"""`understudy attack`: what goes wrong without noise, shown on made data; and what your own published statistics give away."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from understudy.cli import options
from understudy.cli.layout import report, report_json
from understudy.cli.paths import check_input, check_outputs
from understudy.text import aligned

if TYPE_CHECKING:
    from understudy.attacks.finding import Finding

KINDS = (".svg", ".html", ".json")
Command = Callable[..., Any]


@click.group(short_help="Attacks that teach: what goes wrong without noise.", invoke_without_command=True)
@click.pass_context
def attack(context: click.Context) -> None:
    """Attacks that teach and test. Each runs in seconds on made data, says what it found, and draws it.

    Without a name, lists them.
    """
    if context.invoked_subcommand is None:
        rows = [[name, command.get_short_help_str(100)] for name, command in attack.commands.items()]
        report([*aligned(rows), "", "understudy attack NAME runs one; -o FILE.svg keeps its figure."])


output = click.option(
    "-o", "--output", type=options.FILE, metavar="FILE", help="Also write the figure: .svg, .html or .json."
)
seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Seed of the made data.")


def _epsilon(default: str) -> Callable[[Command], Command]:
    return click.option(
        "--epsilon", default=default, show_default=True, metavar="E", help="ε of the protected case, in all."
    )


@attack.command(short_help="Seven people from fourteen published statistics.")
@_epsilon("1")
@output
@options.as_json
def census(epsilon: str, output: Path | None, as_json: bool) -> None:
    """Reconstruct a census block of seven people with a constraint solver, and see noise stop it."""
    check(output)
    from understudy.attacks import census as room

    tell(room.census(epsilon=_exact(epsilon)), output, as_json)


@attack.command(short_help="How few ages a median and a mean leave.")
@output
@options.as_json
def ages(output: Path | None, as_json: bool) -> None:
    """Count the triples of ages that a published median of 30 and mean of 44 leave."""
    check(output)
    from understudy.attacks import census as room

    tell(room.ages(), output, as_json)


@attack.command(short_help="Every question asked: no table far from the truth agrees with all answers.")
@click.option("--people", type=click.IntRange(4, 13), default=12, show_default=True)
@seed
@output
@options.as_json
def exhaustive(people: int, seed: int, output: Path | None, as_json: bool) -> None:
    """Dinur and Nissim's bound: with all 2ⁿ counts answered to within E, at most 4E places stay unknown."""
    check(output)
    from understudy.attacks import decoding as room

    errors = tuple(range(people // 4 + 1))
    tell(room.exhaustive(people=people, errors=errors, seed=seed), output, as_json)


@attack.command(short_help="A few hundred noisy counts, decoded by a linear program.")
@click.option("--people", type=click.IntRange(8, 256), default=128, show_default=True)
@_epsilon("1")
@seed
@output
@options.as_json
def decode(people: int, epsilon: str, seed: int, output: Path | None, as_json: bool) -> None:
    """Reconstruct a secret bit of each of n people from 4n random counts with bounded errors."""
    check(output)
    from understudy.attacks import decoding as room

    tell(room.decoding(people=people, epsilon=_exact(epsilon), seed=seed), output, as_json)


@attack.command(short_help="Two harmless counts whose difference is one person.")
@output
@options.as_json
def differencing(output: Path | None, as_json: bool) -> None:
    """Subtract two published counts, one of them without John."""
    check(output)
    from understudy.attacks import differencing as room

    tell(room.differencing(), output, as_json)


@attack.command("floating-point", short_help="Low bits of textbook noise that prove a count.")
@_epsilon("1")
@seed
@output
@options.as_json
def floating_point(epsilon: str, seed: int, output: Path | None, as_json: bool) -> None:
    """Prove counts from the low bits of textbook Laplace noise, and fail on the curator's."""
    check(output)
    from understudy.attacks import floating as room

    tell(room.floating_point(epsilon=_exact(epsilon), seed=seed), output, as_json)


@attack.command(short_help="Names come back through birth date, sex and ZIP code.")
@seed
@output
@options.as_json
def linkage(seed: int, output: Path | None, as_json: bool) -> None:
    """Join records without names with a voter roll, in a made city."""
    check(output)
    from understudy.attacks import linkage as room

    tell(room.linkage(seed=seed), output, as_json)


@attack.command(short_help="A few films somebody rated name their record.")
@seed
@output
@options.as_json
def scoreboard(seed: int, output: Path | None, as_json: bool) -> None:
    """Find people's records among made ratings from a few things known about them."""
    check(output)
    from understudy.attacks import scoreboard as room

    tell(room.scoreboard(seed=seed), output, as_json)


@attack.command(short_help="Your own published statistics: how many tables fit them?")
@click.argument("tables", type=options.FILE, required=False)
@click.option("--example", is_flag=True, help="Print the census block as a file to start from, and do nothing else.")
@click.option("--limit", type=click.IntRange(1, 100_000), default=10_000, show_default=True, help="Stop after so many.")
@output
@options.as_json
def reconstruct(tables: Path | None, example: bool, limit: int, output: Path | None, as_json: bool) -> None:
    """Find every table of people that fits the statistics listed in TABLES, a YAML file.

    Counts, sums, means and medians of groups of at most 40 people; docs/attacks.md describes the file.
    """
    from understudy.attacks import puzzle as room

    if example:
        report(room.census_block_text().splitlines())
        return
    if tables is None:
        raise click.UsageError("Name a file of published statistics, or see one with --example.")
    check_input(tables)
    check(output, tables)
    from understudy.attacks import census as solving

    tell(solving.reconstruct(room.load_puzzle(tables), limit=limit)[0], output, as_json, private=True)


def check(output: Path | None, *inputs: Path) -> None:
    """Refuse a file that cannot be written before anything is computed."""
    from understudy.errors import Refused

    if output is not None and output.suffix.lower() not in KINDS:
        raise Refused(f"{output}: figures are written as {', '.join(KINDS)}. Nothing was written.")
    check_outputs([output], inputs=inputs)


def tell(finding: Finding, output: Path | None, as_json: bool, *, private: bool = False) -> None:
    """Say what was found, draw it, and keep it where that was asked for; `private` where it was found out about real people."""
    from understudy.atomic import whole
    from understudy.attacks.svg import page, svg

    facts = {"attack": finding.name, "title": finding.title, "text": list(finding.text), **finding.facts}
    if output is not None:
        written = {".svg": lambda: svg(finding.figure), ".html": lambda: page(finding), ".json": lambda: _json(facts)}
        with whole(output, private=private) as draft:
            draft.write_text(written[output.suffix.lower()](), encoding="utf-8")
    if as_json:
        report_json(facts)
        return
    from understudy.cli.plot import plot

    report([finding.title, "", *finding.text, ""])
    plot(finding.figure)
    if output is not None:
        report(["", f"→ {output}"])


def _json(facts: object) -> str:
    import json

    return json.dumps(facts, ensure_ascii=False, indent=2) + "\n"


def _exact(epsilon: str) -> Fraction:
    from understudy.accounting.budget import Budget

    return Budget.of(epsilon, 0).epsilon
