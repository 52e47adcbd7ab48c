"""Reconstruction of a census block: seven people from fourteen published statistics,
and how noise stops it.

Garfinkel, Abowd, Martindale, "Understanding database reconstruction attacks on public
data", 2019. Every number here comes from a search that was exhausted, or is said to be
more than what was found.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np

from understudy.accounting.expected_error import noise_half_width
from understudy.accounting.law import Law
from understudy.attacks.finding import AttackFinding, Bar, Bars
from understudy.attacks.puzzle import PublishedStatistic, Puzzle, Range, census_block
from understudy.attacks.solver import (
    MAX_SOLUTION_TABLES,
    PeopleTable,
    Solutions,
    solve_puzzle,
)
from understudy.noise import draw_noise

MAX_AGE_YEARS = 125
"""Nobody is older."""

MAX_LISTED_TABLES = 20
"""Tables that are written out for a program."""

DEMO_SLACK_YEARS = (Fraction(1, 4), Fraction(1, 2), Fraction(1))
"""Years by which each mean and median may be off, in the demonstration."""


def run_census_attack(
    *, epsilon: Fraction = Fraction(1), limit: int = 2_000
) -> AttackFinding:
    """One solution from exact statistics, two without 4A, thousands once the numbers
    are noisy.

    >>> run_census_attack(limit=50).facts["exact"]
    1
    """
    block = census_block()
    exact = solve_puzzle(block)
    fewer = solve_puzzle(block.without_statistics("4A"))
    widened = [
        solve_puzzle(widen_statistics(block, slack), limit=limit)
        for slack in DEMO_SLACK_YEARS
    ]
    # The truth is the one solution of the exact statistics.
    private = solve_puzzle(add_noise(block, exact.tables[0], epsilon), limit=limit)
    people = [block.describe_person(*person) for person in exact.tables[0]]
    known = "1: everybody is known"
    bars = [
        Bar("all 14 statistics, exact", len(exact.tables), known),
        Bar("without statistic 4A", len(fewer.tables)),
    ]
    for slack, found in zip(DEMO_SLACK_YEARS, widened, strict=True):
        bars.append(_solutions_bar(f"means and medians ± {float(slack):g}", found))
    bars.append(_solutions_bar(f"ε = {float(epsilon):g} for all of them", private))
    return AttackFinding(
        name="census",
        title="Seven people, fourteen statistics, one solution",
        text=(
            f"Exact statistics leave {exact.count} table: {', '.join(people)}.",
            f"Had statistic 4A (black women) been held back, {fewer.count} tables"
            " would fit.",
            "Were means and medians only known to ± 0.25, 0.5 and 1 year:"
            f" {widened[0].count}, then {widened[1].count}, then {widened[2].count}.",
            f"With discrete Laplace noise, ε = {float(epsilon):g} over all counts"
            f" and sums, {private.count} tables fit: nobody is known.",
        ),
        figure=Bars(
            title="Tables that fit what was published",
            axis="tables (log scale)",
            bars=tuple(bars),
            log=True,
            top=10**4,
        ),
        facts={
            "people": people,
            "exact": len(exact.tables),
            "without_4A": len(fewer.tables),
            "slack": {
                f"{float(slack):g}": found.count
                for slack, found in zip(DEMO_SLACK_YEARS, widened, strict=True)
            },
            "epsilon": float(epsilon),
            "private": private.count,
        },
    )


def _solutions_bar(label: str, solutions: Solutions) -> Bar:
    return Bar(
        label,
        len(solutions.tables),
        solutions.count,
        safe=True,
    )


def widen_statistics(puzzle: Puzzle, slack: Fraction) -> Puzzle:
    """The same statistics, each mean and median known only up to `slack`. Counts stay
    exact.
    """

    def widen_range(known: Range | None) -> Range | None:
        return None if known is None else (known[0] - slack, known[1] + slack)

    return replace(
        puzzle,
        statements=tuple(
            replace(
                s,
                mean=widen_range(s.mean),
                median=widen_range(s.median),
            )
            for s in puzzle.statements
        ),
    )


def add_noise(puzzle: Puzzle, truth: PeopleTable, epsilon: Fraction) -> Puzzle:
    """What an attacker knows when counts and sums carry noise of the curator's own
    sampler.

    ε is shared by all published counts and sums. One person moves a count by 1 and a
    sum by at most the largest value. The attacker believes each number up to the
    half-width that holds it with probability 1 - 10⁻⁹, so the truth is among the tables
    but for one time in seventy million. Medians are left out: a private median rules no
    table out.
    """
    asked = [each for each in puzzle.statements if each.mean is not None]
    # A count and a sum of each group.
    share = epsilon / (2 * len(asked))
    largest = max(abs(value) for value in puzzle.values)
    statements = []
    for statement in asked:
        members = [
            puzzle.values[value]
            for kind, value in truth
            if statement.cells[kind, value]
        ]
        count_low, count_high = _draw_noisy_range(len(members), Fraction(1) / share)
        total = _draw_noisy_range(sum(members), Fraction(largest) / share)
        # The attacker also knows that a block of this size has no hundreds of people.
        low, high = max(0, int(count_low)), min(int(count_high), 2 * len(truth))
        statements.append(
            PublishedStatistic(
                name=statement.name,
                cells=statement.cells,
                count=(low, max(low, high)),
                total=total,
            )
        )
    return replace(puzzle, statements=tuple(statements))


def _draw_noisy_range(exact: int, scale: Fraction) -> Range:
    """A noisy number, and the range of true ones that an attacker then believes in."""
    # The curator's own sampler: exact, and not seeded.
    value = exact + int(draw_noise(Law.DISCRETE_LAPLACE, scale, (1,))[0])
    width = noise_half_width(Law.DISCRETE_LAPLACE, scale, 1 - 1e-9)
    return Fraction(value - width), Fraction(value + width)


def run_ages_attack(*, median: int = 30, mean: int = 44) -> AttackFinding:
    """How few triples of ages a median and a mean leave: 30 of 317,750.

    >>> run_ages_attack().facts["both"]
    30
    """
    ages = np.arange(1, MAX_AGE_YEARS + 1)
    a, b, c = (
        g.ravel()
        for g in np.meshgrid(
            ages,
            ages,
            ages,
            indexing="ij",
        )
    )
    # Each triple once, whoever of the three is named first.
    in_order = (a <= b) & (b <= c)
    a, b, c = a[in_order], b[in_order], c[in_order]
    differ = (a < b) & (b < c)
    has_median, has_mean = b == median, a + b + c == 3 * mean
    fits = has_median & has_mean
    both, apart = int(fits.sum()), int((fits & differ).sum())
    first, last = a[fits], c[fits]
    rows = (
        Bar("any three different ages", comb(MAX_AGE_YEARS, 3)),
        Bar(f"a median of {median}", int((has_median & differ).sum())),
        Bar(f"a mean of {mean}", int((has_mean & differ).sum())),
        Bar("both", both, f"{both}, {apart} if no two are alike"),
    )
    return AttackFinding(
        name="ages",
        title=f"Three men, a median of {median} and a mean of {mean}",
        text=(
            (
                f"Three different ages from 1 to {MAX_AGE_YEARS} can be chosen in"
                f" {comb(MAX_AGE_YEARS, 3):,} ways."
            ),
            (
                f"A published median of {median} and mean of {mean} leave {both}"
                f" triples, from ({first.min()}, {median}, {last.max()}) to"
                f" ({first.max()}, {median}, {last.min()}); {apart} if no two are"
                " alike."
            ),
        ),
        figure=Bars(
            title="Triples of ages that are left",
            axis="triples (log scale)",
            bars=rows,
            log=True,
        ),
        facts={"all": comb(MAX_AGE_YEARS, 3), "both": both, "both_different": apart},
    )


def reconstruct_tables(
    puzzle: Puzzle, *, limit: int = MAX_SOLUTION_TABLES
) -> tuple[AttackFinding, Solutions]:
    """How many tables fit published statistics, and who is in all of them."""
    found = solve_puzzle(puzzle, limit=limit)
    certain: list[str] = []
    if found.complete:
        certain = [
            puzzle.describe_person(*person) for person in found.people_in_all_tables()
        ]
    known = [f"Known for sure: {', '.join(certain)}."] if certain else []
    bars = [Bar("all statistics", len(found.tables), found.count)]
    if found.complete:
        bars += _bars_without_each(puzzle, limit)
    finding = AttackFinding(
        name="reconstruct",
        title="What these statistics give away",
        text=(_solutions_verdict(found, len(certain)), *known),
        figure=Bars(
            title="Tables that fit",
            axis="tables (log scale)",
            bars=tuple(bars),
            log=True,
        ),
        facts={
            "solutions": len(found.tables),
            "complete": found.complete,
            "certain": certain,
            "tables": [
                [puzzle.describe_person(*person) for person in table]
                for table in found.tables[:MAX_LISTED_TABLES]
            ],
            "without": {
                bar.label.removeprefix("without "): bar.note for bar in bars[1:]
            },
        },
    )
    return finding, found


def _solutions_verdict(found: Solutions, certain: int) -> str:
    """What the number of tables means for the people in them."""
    if not found.complete:
        return (
            f"{found.count} tables fit; the search was stopped there, so nothing is"
            " said about single people."
        )
    if not found.tables:
        return (
            "No table fits: the statistics contradict each other, or are noisier than"
            " they are said to be."
        )
    if len(found.tables) == 1:
        return "Exactly 1 table fits: everybody is known."
    people = len(found.tables[0])
    return f"{found.count} tables fit; {certain} of {people} people are in all of them."


def _bars_without_each(puzzle: Puzzle, limit: int) -> list[Bar]:
    """How many tables would fit, had one of the statistics not been published."""
    bars = []
    for statement in puzzle.statements:
        fewer = puzzle.without_statistics(statement.name)
        # Without a total the number of people, and so of tables, has no end.
        if fewer.has_total:
            found = solve_puzzle(
                fewer,
                limit=min(limit, 1_000),
                effort=20_000,
            )
            count, is_safe = len(found.tables), len(found.tables) > 1
            label = f"without {statement.name}"
            bars.append(
                Bar(
                    label,
                    count,
                    found.count,
                    safe=is_safe,
                )
            )
    return bars
