"""Rows that break a rule are found by SQL as they are one by one, and are handled as
the schema says.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.schema import predicates as small
from understudy.schema import (
    BrokenRowPolicy,
    Identifier,
    NeverRule,
    Schema,
    Unit,
    holds_for_row,
)
from understudy.schema.predicates.ast import And, IfThen, Not, Or
from understudy.tables import Table, open_table

COLUMNS = tuple(small.COLUMNS.values())
RAW = {
    "age": ["0", "3", "7", "99", "-4", "", "old"],
    "dose": ["0", "1.5", "4", "-7", "2.26", "", "x"],
    "sex": ["F", "M", "else", "d", ""],
    "partner": ["M", "F", "none", "NA", "", "q"],
    "grade": ["low", "mid", "high", "", "none"],
    "goal": ["low", "mid", "high"],
    "married": ["yes", "no", "", "perhaps"],
    "start": ["2020-01-01", "2020-01-03", "2020-01-06", "1999-01-01", "", "soon"],
    "end": ["2020-01-01", "2020-01-03 12:00", "2020-01-06", "2020-01-02 13:00"],
}
rows = st.lists(
    st.fixed_dictionaries(
        {name: st.sampled_from(cells) for name, cells in RAW.items()}
    ),
    min_size=1,
    max_size=12,
)
predicates = st.recursive(
    st.one_of(small.single_tests(), small.pair_tests(), small.sums(), small.lists()),
    lambda part: st.one_of(
        st.builds(Not, part),
        st.builds(And, part, part),
        st.builds(Or, part, part),
        st.builds(IfThen, part, part),
    ),
    max_leaves=3,
)


@settings(max_examples=40, deadline=None)
@given(rows, predicates)
def test_sql_finds_the_rows_that_a_loop_finds(rows, predicate):
    schema = Schema(
        columns=COLUMNS,
        rules=(NeverRule(predicate=predicate),),
        broken=BrokenRowPolicy.DROP,
    )
    right = [holds_for_row(predicate, row, small.CODECS) for row in rows]
    table = Table(
        open_table(pl.DataFrame(rows, schema=dict.fromkeys(RAW, pl.String))), schema
    )
    assert table.broken() == sum(right)
    assert table.rows() == len(rows) - sum(right)


STAYS = Schema.parse("""
columns:
  arrived: {type: integer, min: 0, max: 9}
  left: {type: integer, min: 0, max: 9}
  ward: {type: categorical, values: [a, b]}
rules: [arrived <= left]
""")
PEOPLE = pl.DataFrame(
    {"arrived": [1, 5, None, 9], "left": [2, 4, 3, 9], "ward": ["a", "b", "a", "b"]}
)


def counts(broken: BrokenRowPolicy, frame=PEOPLE) -> list[list[int]]:
    table = Table(open_table(frame), replace(STAYS, broken=broken))
    return [found.tolist() for found in table.counts([("arrived",), ("ward",), ()])]


def test_rows_are_kept_dropped_or_emptied():
    assert counts(BrokenRowPolicy.KEEP) == [
        [0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1],
        [2, 2, 0],
        4,
    ]
    assert counts(BrokenRowPolicy.DROP) == [
        [0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1],
        [2, 1, 0],
        3,
    ]
    assert counts(BrokenRowPolicy.MISSING) == [
        [0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2],
        [2, 2, 0],
        4,
    ]


@pytest.mark.parametrize("kind", ["pandas", "pyarrow", "csv", "parquet"])
def test_every_container_is_read_alike(kind, tmp_path):
    frame: object = PEOPLE
    if kind == "pandas":
        frame = PEOPLE.to_pandas()
    elif kind == "pyarrow":
        frame = PEOPLE.to_arrow()
    else:
        frame = tmp_path / f"people.{kind}"
        (PEOPLE.write_csv if kind == "csv" else PEOPLE.write_parquet)(frame)
    assert counts(BrokenRowPolicy.DROP, frame) == counts(BrokenRowPolicy.DROP)
    assert counts(BrokenRowPolicy.MISSING, frame) == counts(BrokenRowPolicy.MISSING)


def test_units_are_bounded_first_so_one_unit_breaks_at_most_its_rows():
    """A patient with a hundred broken rows moves the count of broken rows by no more
    than max_rows.
    """
    schema = replace(
        STAYS,
        columns=(Identifier(name="who"), *STAYS.columns),
        unit=Unit(id="who", max_rows=3),
        broken=BrokenRowPolicy.DROP,
    )
    one = PEOPLE.with_columns(who=pl.lit("p"))
    many = pl.concat(
        [one.filter(pl.col("arrived") == 5)] * 100 + [one.with_columns(who=pl.lit("q"))]
    )
    table = Table(open_table(many), schema)
    assert 3 <= table.broken() <= 4
    assert table.rows() == 6 - table.broken()
    assert table.count_units() == 1


def test_what_is_left_to_learn_does_not_stop_a_rule():
    """Bounds and lists are not known yet; values are compared as they stand, and a type
    that is not known says nothing.
    """
    schema = Schema.parse("""
columns:
  arrived: {type: integer, bounds: learn}
  left: {type: integer, bounds: learn}
  ward: {type: categorical, values: learn}
rules: [arrived <= left, "if ward = 'b' then left > 5"]
broken: drop
""")
    assert Table(open_table(PEOPLE), schema).rows() == 3
    assert (
        Table(
            open_table(PEOPLE),
            Schema.parse(
                "columns: {arrived: , left: }\nrules: [arrived <= left]\nbroken: drop"
            ),
        ).rows()
        == 4
    )


def test_numbers_that_outgrow_the_database_break_nothing():
    schema = Schema.parse(f"""
columns: {{a: {{type: real, min: 0, max: 4}}, b: {{type: real, min: 0, max: 4}}}}
rules: [a < 1/{10**38 + 1} * b]
broken: drop
""")
    assert (
        Table(open_table(pa.table({"a": [1.0, 3.0], "b": [2.0, 2.0]})), schema).rows()
        == 2
    )


ORDERED = Schema.parse(
    "columns: {a: {type: integer, min: 0, max: 2}, b: {type: integer, min: 0, max: 2}}\nrules: [a <= b]"
)
PAIRS = [(a, b) for a in range(3) for b in range(3)]


def left(rows: list[tuple[int, int]], broken: BrokenRowPolicy) -> np.ndarray:
    frame = pl.DataFrame(rows, schema={"a": pl.Int64, "b": pl.Int64}, orient="row")
    with open_table(frame) as source:
        return Table(source, replace(ORDERED, broken=broken)).counts([("a", "b")])[0]


@pytest.fixture(scope="module")
def alone() -> dict[BrokenRowPolicy, dict[tuple[int, int], np.ndarray]]:
    """What is left of each row that there can be, where it is the only one."""
    return {
        broken: {row: left([row], broken) for row in PAIRS}
        for broken in BrokenRowPolicy
    }


@pytest.mark.parametrize("broken", BrokenRowPolicy)
def test_one_row_changes_what_is_left_by_one_row_at_most(broken, alone):
    for (a, b), found in alone[broken].items():
        assert found.sum() == (0 if broken is BrokenRowPolicy.DROP and a > b else 1)


@pytest.mark.parametrize("broken", BrokenRowPolicy)
@settings(max_examples=10, deadline=None)
@given(rows=st.lists(st.sampled_from(PAIRS), max_size=12))
def test_each_row_is_judged_alone(broken, alone, rows):
    """So what one row changes among others is what it is worth alone: dropping and
    emptying look at no other row.
    """
    assert (
        left(rows, broken)
        == sum((alone[broken][row] for row in rows), np.zeros((4, 4)))
    ).all()
