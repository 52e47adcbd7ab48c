"""`understudy infer`: coefficients with intervals for the population, from a release."""

from __future__ import annotations

from pathlib import Path

import click

from understudy.cli import options
from understudy.cli.terminal.layout import report, report_json


@click.command(short_help="Regression with intervals that hold, at no cost.")
@click.argument("release", type=options.PATH_TYPE)
@click.argument("formula")
@click.option(
    "--family",
    default="gaussian",
    show_default=True,
    metavar="NAME",
    help="gaussian, binomial or poisson.",
)
@options.population
@options.level
@click.option(
    "--assume",
    type=click.FloatRange(0, 10, min_open=True),
    default=None,
    metavar="SIZE",
    help=(
        "How strongly columns may go together whose pair was not measured: the standard"
        " deviation of its contrasts in logarithms of a share (1 is wide). Without it"
        " such a formula is refused."
    ),
)
@options.as_json
def infer(
    release: Path,
    formula: str,
    family: str,
    population: str,
    level: float,
    assume: float | None,
    as_json: bool,
) -> None:
    """Fit FORMULA ("income ~ age + sex") from the measurements of RELEASE. No row is
    read and nothing is spent; intervals count the noise and the sampling.
    """
    # Imported late: --help and wrong usage must not wait for numpy and DuckDB.
    from understudy.releases.release import load_release

    found = load_release(release).infer(
        formula, family=family, population=population, level=level, assume=assume
    )
    if as_json:
        facts = found.to_dict()
        report_json(
            {
                "formula": formula,
                "population": population,
                "level": level,
                "coefficients": facts["estimates"],
                "unmeasured": facts["unmeasured"],
            }
        )
        return
    report(str(found).splitlines())
