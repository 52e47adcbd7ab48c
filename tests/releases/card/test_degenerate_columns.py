"""A column whose cells do not fit is said to be lost, with the remedy; one that is
merely lopsided is not.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import understudy as us
from understudy.releases import MarginalVerdict, Release
from understudy.releases.card.degenerate_columns import (
    EMPTY_COLUMN_TEXT,
    DegenerateColumn,
    _judge_column,
    degenerate_column_lines,
)
from understudy.reports.report import Report
from understudy.schema import Categorical, Schema, codec_of

ROWS = 4000

MISFIT = """\
columns:
  sex: {type: categorical, values: [female, male]}
  spelled: {type: categorical, values: [female, male], other: else}
  first: {type: categorical, values: [female, male], nullable: false}
  age: {type: integer, min: 18, max: 40}
  old: {type: integer, min: 18, max: 40}
  weight: {type: real, decimals: 1, min: 0, max: 200}
"""

FITTING = """\
columns:
  sex: {type: categorical, values: [F, M]}
  age: {type: integer, min: 18, max: 90}
  flag: {type: integer, min: 0, max: 1, nullable: false}
  gain: {type: integer, min: 0, max: 60, nullable: false}
  seldom: {type: categorical, values: [x, y]}
"""


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    sex = rng.choice(["F", "M"], ROWS)
    return pl.DataFrame(
        {
            "sex": sex,
            "spelled": sex,
            "first": sex,
            "age": rng.integers(18, 91, ROWS),
            "old": rng.integers(60, 91, ROWS),
            "weight": [f"{x:.1f}".replace(".", ",") for x in rng.normal(75, 9, ROWS)],
            "flag": (rng.random(ROWS) < 0.95).astype(int),
            "gain": np.where(rng.random(ROWS) < 0.92, 0, rng.integers(1, 61, ROWS)),
            "seldom": [
                str(x) if u < 0.08 else None
                for x, u in zip(
                    rng.choice(["x", "y"], ROWS), rng.random(ROWS), strict=True
                )
            ],
        }
    )


def released(people: pl.DataFrame, text: str, ledger: Path) -> Release:
    return us.synthesize(
        people, Schema.parse(text), epsilon=4, synthesizer="independent", ledger=ledger
    )


def test_what_does_not_fit_is_lost_and_the_line_says_what_to_look_at(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    made = released(people, MISFIT, tmp_path / "l")
    told = "\n".join(degenerate_column_lines(made.card.degenerate_columns))
    assert (
        "sex, weight: nearly all rows are missing: are cells written as they are read"
        in told
    )
    assert "or is it empty in the file?" in told
    assert (
        "spelled: nearly all rows are `else`: does the schema spell its values as the file does?"
        in told
    )
    assert (
        "first: nearly all rows are `female`, where cells go that fit nowhere" in told
    )
    assert re.search(
        r"age: about \d\d % of rows are in the last bin \(40\): does the file hold larger values",
        told,
    )
    verdicts = {e.clique[0]: e.verdict for e in made.card if len(e.clique) == 1}
    assert {
        name for name, said in verdicts.items() if said is MarginalVerdict.LOST
    } == {
        "sex",
        "spelled",
        "old",
        "weight",
    }
    assert made.card.sentence().startswith("2 of 6 columns are good or usable")
    assert all(
        line in repr(made)
        for line in degenerate_column_lines(made.card.degenerate_columns)
    )
    page = Report.of_release(made)
    assert "nearly all rows are missing" in page.to_html()
    assert page.to_dict()["piles"] == list(
        degenerate_column_lines(made.card.degenerate_columns)
    )
    made.save(tmp_path / "r.understudy")
    assert (
        us.load_release(tmp_path / "r.understudy").card.degenerate_columns
        == made.card.degenerate_columns
    )


def test_what_is_lopsided_in_the_file_is_not_lost(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    """Flags, zeros and columns that are seldom filled are as they are, and counted
    well.
    """
    made = released(people, FITTING, tmp_path / "l")
    assert {name: pile.lost for name, pile in made.card.degenerate_columns.items()} == {
        "seldom": False
    }
    assert all(
        e.verdict in (MarginalVerdict.GOOD, MarginalVerdict.USABLE)
        for e in made.card
        if len(e.clique) == 1
    )


def test_numbers_with_a_comma_are_not_called_good_where_nobody_declared_them(
    people: pl.DataFrame, tmp_path: Path
) -> None:
    people.select("weight", "sex").write_csv(tmp_path / "p.csv", separator=";")
    made = us.synthesize(tmp_path / "p.csv", epsilon=1, synthesizer="independent")
    assert made.card.of(["weight"]).verdict is MarginalVerdict.LOST
    (line,) = degenerate_column_lines(made.card.degenerate_columns)
    assert line.startswith("weight: no value is shared by enough rows")
    assert made.sample()["weight"].null_count() == made.rows
    assert "numbers with a decimal point, dates as 2024-02-29" in line
    assert json.dumps(made.card.to_dict())


def test_noise_alone_makes_no_pile() -> None:
    codec = codec_of(Categorical(name="sex", values=("female", "male")))
    all_missing = np.array([0.0, 0.0, 1.0])
    assert _judge_column(codec, all_missing, error=0.5) == DegenerateColumn(
        EMPTY_COLUMN_TEXT, lost=True
    )
    assert _judge_column(codec, all_missing, error=0.6) is None


def test_a_frequent_first_value_raises_no_question() -> None:
    """A value of nine rows in ten is no sign of misspelt labels, whatever the noise."""
    column = Categorical(name="sex", values=("F", "M"), nullable=False)
    codec = codec_of(column)
    for error in (0.001, 0.01, 0.03, 0.05, 0.1, 0.3):
        for share in (0.9, 0.93):
            assert _judge_column(codec, np.array([share, 1 - share]), error) is None
    asked = _judge_column(codec, np.array([0.99, 0.01]), error=0.02)
    assert asked is not None
    assert "does the schema spell its values as the file does" in asked.said
    learned = replace(column, learned=("values",))
    shares = np.array([0.99, 0.01])
    assert _judge_column(codec_of(learned), shares, error=0.02) is None
