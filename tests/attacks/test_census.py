"""The census block: one table, two without 4A, thousands with noise; and the thirty
triples.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from understudy.attacks.census import (
    add_noise,
    reconstruct_tables,
    run_ages_attack,
    run_census_attack,
    widen_statistics,
)
from understudy.attacks.puzzle import census_block, parse_puzzle
from understudy.attacks.solver import solve_puzzle


def test_the_whole_story():
    found = run_census_attack(limit=1_000)
    assert found.facts["exact"] == 1
    assert found.facts["without_4A"] == 2
    assert found.facts["private"] == "more than 1,000"
    assert found.facts["slack"] == {"0.25": "2", "0.5": "71", "1": "more than 1,000"}
    assert found.facts["people"][0] == "8 F B single"


def test_slack_only_adds_tables():
    block = census_block()
    tables = [
        set(solve_puzzle(widen_statistics(block, Fraction(k, 4)), limit=5_000).tables)
        for k in range(3)
    ]
    assert tables[0] < tables[1] < tables[2]


def test_the_curators_noise_keeps_the_truth_among_the_candidates():
    """But for once in seventy million (7 counts and 7 sums at 1e-9 each); and noise is
    fresh and wide.
    """
    block = census_block()
    truth = solve_puzzle(block).tables[0]
    first, second = (
        add_noise(block, truth, Fraction(1)),
        add_noise(block, truth, Fraction(1)),
    )
    assert [s.total for s in first.statements] != [s.total for s in second.statements]
    for statement in first.statements:
        members = [block.values[v] for k, v in truth if statement.cells[k, v]]
        assert statement.count[0] <= len(members) <= statement.count[1]
        assert statement.total[0] <= sum(members) <= statement.total[1]
        assert statement.total[1] - statement.total[0] > 2 * 125


def test_thirty_triples_not_forty():
    found = run_ages_attack().facts
    assert (found["all"], found["both"], found["both_different"]) == (317_750, 30, 29)


def test_a_table_of_ones_own():
    puzzle = parse_puzzle(
        "columns: {smoker: boolean, sex: {type: categorical, values: [F, M]}}\n"
        "statistics: [{count: 2}, {id: smokers, where: smoker = true, count: 1}, {id: women, where: sex = 'F', count: 1}]"
    )
    found, solutions = reconstruct_tables(puzzle)
    assert len(solutions.tables) == 2
    assert found.facts["certain"] == []
    assert set(found.facts["without"]) == {"smokers", "women"}
    women = puzzle.without_statistics("smokers")
    assert "2 tables" not in reconstruct_tables(women)[0].text[0]


@pytest.mark.parametrize(("count", "said"), [(1, "1 table"), (3, "No table fits")])
def test_unique_and_contradictory(count, said):
    text = f"columns: {{smoker: boolean}}\nstatistics: [{{count: 1}}, {{id: s, where: smoker = true, count: {count}}}]"
    found, _ = reconstruct_tables(parse_puzzle(text))
    assert said in found.text[0]
