"""Files of published statistics: read strictly, refused in one line."""

from __future__ import annotations

from fractions import Fraction

import pytest

from understudy.attacks.puzzle import census_block, load_puzzle, parse_puzzle
from understudy.errors import SchemaError

COLUMNS = "columns: {age: {type: integer, min: 0, max: 9}, sex: {type: categorical, values: [F, M]}}\n"


def read(statistics: str):
    return parse_puzzle(COLUMNS + f"statistics:\n{statistics}")


def test_digits_say_how_a_number_was_rounded():
    one, two, three = read(
        "- {count: 4, mean: 3.5, median: 3}\n- {where: sex = 'F', mean: 3.50, sum: 7}\n- {count: 4, within: 1, mean: 3}\n"
    ).statements
    assert one.mean == (Fraction("3.45"), Fraction("3.55"))
    assert one.median == (Fraction("2.5"), Fraction("3.5"))
    assert two.mean == (Fraction("3.495"), Fraction("3.505"))
    assert two.total == (7, 7)
    assert not two.has_count
    assert three.count == (3, 5)
    assert three.mean == (Fraction("1.5"), Fraction("4.5"))


def test_groups_are_what_the_predicate_says():
    puzzle = read(
        "- {count: 4}\n- {id: girls, where: sex = 'F' and age < 3, count: hidden}\n"
    )
    girls = puzzle.statements[1]
    assert girls.name == "girls"
    assert girls.count == (0, 2)
    assert girls.cells.sum() == 3
    assert puzzle.describe_person(0, 2) == "2 F"


def test_impossible_people_are_left_out():
    block = census_block()
    assert not block.possible[1, 14]
    assert block.possible[1, 15]
    assert block.kinds[1] == ("F", "B", "married")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("columns: {age: {type: integer, min: 0, max: 9}}", "no statistics"),
        (COLUMNS + "statistics: [{where: sex = 'F', count: 2}]", "how many people"),
        (COLUMNS + "statistics: [{count: 41}]", "up to 40"),
        (COLUMNS + "statistics: [{count: 3, mode: 2}]", "`mode` is not a key"),
        (COLUMNS + "statistics: [{count: 3, where: weight > 2}]", "weight"),
        (COLUMNS + "statistics: [{count: many}]", "count"),
        (
            COLUMNS + "statistics: [{id: a, count: 3}, {id: a, count: 3}]",
            "two have the id a",
        ),
        ("columns: {a: {type: integer}}\nstatistics: [{count: 3}]", "bounded integer"),
        (
            "columns: {a: boolean}\nstatistics: [{count: 3, mean: 2}]",
            "no column is a number",
        ),
        (
            "columns: {a: {type: integer, min: 0, max: 3}, b: {type: integer, min: 0, max: 3}}\nstatistics: [{count: 3}]",
            "one number per person",
        ),
        (
            "columns: {a: {type: integer, min: 0, max: 99999}}\nstatistics: [{count: 3}]",
            "step",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_line(text, said):
    with pytest.raises(SchemaError) as refused:
        parse_puzzle(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_missing_file(tmp_path):
    with pytest.raises(SchemaError, match="cannot be read"):
        load_puzzle(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(SchemaError, match="UTF-8"):
        load_puzzle(tmp_path / "latin.yaml")
