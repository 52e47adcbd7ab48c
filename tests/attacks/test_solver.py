"""The solver finds every table and no other: against brute force on small puzzles, and
on the census block.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement, product
from statistics import median

import numpy as np
import pytest

from understudy.attacks.puzzle import PublishedStatistic, Puzzle, census_block
from understudy.attacks.solver import solve_puzzle

BLOCK = [
    "8 F B single",
    "18 M W single",
    "24 F W single",
    "30 M W married",
    "36 F B married",
    "66 F B married",
    "84 M B married",
]
OTHER = [
    "2 F B single",
    "12 M W single",
    "24 F W married",
    "30 M B married",
    "36 F W single",
    "72 F B married",
    "90 M B married",
]


def fits(puzzle: Puzzle, table: tuple[tuple[int, int], ...]) -> bool:
    """The plain meaning of the statements."""
    for s in puzzle.statements:
        members = [puzzle.values[v] for k, v in table if s.cells[k, v]]
        if not s.count[0] <= len(members) <= s.count[1]:
            return False
        if s.total and not s.total[0] <= sum(members) <= s.total[1]:
            return False
        if (s.mean or s.median) and not members:
            return False
        if (
            s.mean
            and not s.mean[0] <= Fraction(sum(members), len(members)) <= s.mean[1]
        ):
            return False
        if s.median and not s.median[0] <= Fraction(median(members)) <= s.median[1]:
            return False
    return True


def brute(puzzle: Puzzle) -> set[tuple[tuple[int, int], ...]]:
    people = [
        (k, v)
        for v, k in product(range(len(puzzle.values)), range(len(puzzle.kinds)))
        if puzzle.possible[k, v]
    ]
    every = (
        t
        for n in range(puzzle.people + 1)
        for t in combinations_with_replacement(people, n)
    )
    return {t for t in every if fits(puzzle, t)}


def made(rng: np.random.Generator) -> Puzzle:
    """Random statements about random groups, most of them true of one hidden table."""
    kinds, values = (
        int(rng.integers(1, 4)),
        tuple(range(0, int(rng.integers(2, 6)) * 3, 3)),
    )
    possible = rng.random((kinds, len(values))) < 0.9
    possible[0, 0] = True
    people = np.argwhere(possible)
    n = int(rng.integers(1, 5))
    hidden = [tuple(people[i]) for i in rng.integers(0, len(people), n)]
    statements = [PublishedStatistic(name="all", cells=possible.copy(), count=(n, n))]
    for i in range(int(rng.integers(1, 5))):
        by_kind = rng.random() < 0.5
        shape = (kinds, 1) if by_kind else (kinds, len(values))
        cells = possible & (rng.random(shape) < 0.6)
        inside = [values[v] for k, v in hidden if cells[k, v]]
        slack = Fraction(int(rng.integers(0, 4)), 2)
        said = {"count": (len(inside), len(inside))} if rng.random() < 0.5 else {}
        if inside and rng.random() < 0.7:
            m = Fraction(sum(inside), len(inside))
            said["mean"] = (m - slack, m + slack)
        if inside and rng.random() < 0.7:
            m = Fraction(median(inside))
            said["median"] = (m - slack, m + slack)
        if rng.random() < 0.3:
            said["total"] = (
                Fraction(sum(inside)) - slack,
                Fraction(sum(inside)) + slack,
            )
        statements.append(PublishedStatistic(name=f"s{i}", cells=cells, **said))
    return Puzzle(
        kinds=tuple((str(k),) for k in range(kinds)),
        values=values,
        possible=possible,
        statements=tuple(statements),
        number="x",
    )


@pytest.mark.parametrize("seed", range(150))
def test_all_tables_and_no_other(seed):
    puzzle = made(np.random.default_rng(seed))
    found = solve_puzzle(puzzle)
    assert found.complete
    assert len(found.tables) == len(set(found.tables)), "a table is found once"
    assert set(found.tables) == brute(puzzle)


def test_the_block_has_one_solution():
    block = census_block()
    found = solve_puzzle(block)
    assert found.complete
    assert [[block.describe_person(*p) for p in table] for table in found.tables] == [
        BLOCK
    ]
    assert [block.describe_person(*p) for p in found.people_in_all_tables()] == BLOCK


def test_without_4a_there_are_two():
    block = census_block()
    found = solve_puzzle(block.without_statistics("4A"))
    assert found.complete
    assert [[block.describe_person(*p) for p in table] for table in found.tables] == [
        OTHER,
        BLOCK,
    ]
    assert found.people_in_all_tables() == ()


def test_suppressed_cells_are_not_needed():
    block = census_block()
    suppressed = [s.name for s in block.statements if s.mean is None]
    assert len(suppressed) == 7
    assert len(solve_puzzle(block.without_statistics(*suppressed)).tables) == 1


def test_a_limit_is_said():
    block = census_block().without_statistics("3B", "4A", "2C", "2D")
    found = solve_puzzle(block, limit=20)
    assert not found.complete
    assert found.count == "more than 20"
    assert not solve_puzzle(block, effort=5).complete


def test_contradictions_have_no_solution():
    block = census_block()
    women = block.statements[1]
    more = PublishedStatistic(
        name="9Z",
        cells=women.cells,
        count=women.count,
        mean=(Fraction(40), Fraction(40)),
    )
    from dataclasses import replace

    found = solve_puzzle(replace(block, statements=(*block.statements, more)))
    assert found.complete
    assert found.tables == ()
    assert found.people_in_all_tables() == ()
