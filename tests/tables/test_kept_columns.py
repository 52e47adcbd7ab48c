"""Columns that are kept in memory: the same cells and sums as queries of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from kit.queries.corpus import PEOPLE_SCHEMA, list_questions, make_people
from understudy.curator.questions import ExactStatistics
from understudy.queries import bins, count, mean, total, variance
from understudy.queries.plan import QueryPlan, plan_query
from understudy.queries.sql.reader import read_sql
from understudy.queries.statistics import Statistic
from understudy.schema import Schema
from understudy.tables import Table, open_table
from understudy.tables.cell_sums import CellSumQuery

DIRTY_SCHEMA = Schema.parse(
    """
columns:
  age: {type: integer, min: 0, max: 99, missing: ["-7", "999"]}
  score: {type: integer, min: 10, max: 20, nullable: false}
  far: {type: integer, min: 0, max: 9, outside: missing}
  weight: {type: real, min: 0, max: 5, step: 0.5}
  sex: {type: categorical, values: [F, M], other: else}
  smoker: {type: boolean}
  born: {type: date, min: 2000-01-01, max: 2000-03-01}
"""
)


def make_dirty_rows(rows: int = 300) -> pl.DataFrame:
    """Texts of all kinds: values, missing codes, values out of bounds and nonsense."""
    rng = np.random.default_rng(3)
    cells = {
        "age": ["5", "42", "42.0", "-7", "999", "120", "-3", "", "old", None],
        "score": ["10", "15", "20", "99", "-1", "", "none", None],
        "far": ["0", "9", "10", "-5", "", None, "x"],
        "weight": ["0", "2.5", "2.6", "7", "-1", "heavy", None],
        "sex": ["F", "M", "D", "", None],
        "smoker": ["yes", "no", "TRUE", "0", "perhaps", None],
        "born": ["2000-01-01", "2000-02-29", "1999-12-31", "2001-01-01", "soon", None],
    }
    return pl.DataFrame(
        {
            name: [some[i] for i in rng.integers(0, len(some), rows)]
            for name, some in cells.items()
        },
        schema=dict.fromkeys(cells, pl.String),
    )


def frozen_table(rows: pl.DataFrame, schema: Schema) -> Table:
    return Table(open_table(rows).freeze_rows(), schema)


def sums_twice(
    table: Table, plan: QueryPlan
) -> tuple[list[list[int]], list[list[int]]]:
    """The statistics of a plan by queries, and then by columns that were kept."""
    wanted = [s for s in plan.statistics if isinstance(s, Statistic)]
    described = table.with_schema(plan.cells.schema)
    asked = described._codes.find_codecs(plan.cells.clique)
    kept = described._kept
    kept.sum_cells(described.schema, asked, wanted)
    found = kept.sum_cells(described.schema, asked, wanted)
    assert found is not None
    query = CellSumQuery(described.schema, asked, table._rows.source).sql(
        table._rows.relation, wanted
    )
    rows = table._rows.source.engine.run(query, doing="adding up")
    width = len(plan.cells.clique)
    by_query = {tuple(map(int, r[:width])): [int(v) for v in r[width:]] for r in rows}
    places, sums = found
    codes = np.unravel_index(places, plan.cells.sizes or (1,))
    by_kept = {
        tuple(int(axis[i]) for axis in codes[:width]): [column[i] for column in sums]
        for i in range(len(places))
    }
    return sorted(map(list, _flat(by_query))), sorted(map(list, _flat(by_kept)))


def _flat(found: dict[tuple[int, ...], list[int]]) -> Sequence[tuple[int, ...]]:
    return [(*cell, *sums) for cell, sums in found.items()]


QUESTIONS = [
    *[
        make.by(*keys).where(condition)
        for make, keys, condition in product(
            (count(), count("age"), mean("age"), total("weight"), variance("score")),
            ((), ("sex",), ("smoker", "far")),
            ("age > 40 or age is missing", "weight < 2.5"),
        )
    ],
    total("far"),
    count().by("sex").where("born > 2000-01-31"),
    mean("age").by(bins("age", 0, 18, 65)),
    total("score").by("sex"),
]


def test_dirty_cells_count_as_they_do_in_queries() -> None:
    table = frozen_table(make_dirty_rows(), DIRTY_SCHEMA)
    for query in QUESTIONS:
        by_query, by_kept = sums_twice(table, plan_query(query, DIRTY_SCHEMA))
        assert by_kept == by_query, str(query)


def test_the_corpus_has_the_same_statistics_from_columns_that_are_kept() -> None:
    """Every twelfth question, through the curator's own sums."""
    frame = make_people(300)
    plain = Table(open_table(frame), PEOPLE_SCHEMA)
    frozen = frozen_table(frame, PEOPLE_SCHEMA)
    kept = 0
    for text in list_questions()[::12]:
        plan = plan_query(read_sql(text, PEOPLE_SCHEMA), PEOPLE_SCHEMA)
        places = [
            place
            for place, each in enumerate(plan.statistics)
            if isinstance(each, Statistic)
        ]
        own, other = ExactStatistics(plain, plan), ExactStatistics(frozen, plan)
        kept += frozen._kept._columns is not None
        for place in places:
            assert own.by_group(place) == other.by_group(place), text
    assert kept > 10


def test_rows_of_a_unit_are_those_that_were_kept_of_it() -> None:
    """At most two rows of each person, the same in every question."""
    schema = Schema.parse(
        """
unit: {id: who, max_rows: 2}
columns:
  who: {type: identifier}
  x: {type: integer, min: 0, max: 9}
"""
    )
    rows = pl.DataFrame({"who": [i % 20 for i in range(100)], "x": range(100)})
    table = frozen_table(rows.with_columns(pl.col("x") % 10), schema)
    plan = plan_query(total("x").by("x"), schema)
    by_query, by_kept = sums_twice(table, plan)
    assert by_kept == by_query
    assert sum(row[-1] > 0 for row in by_kept) > 3
    assert table.rows() == 40


def test_a_file_that_may_change_is_asked_each_time(tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pl.DataFrame({"x": [1, 2, 3]}).write_parquet(path)
    schema = Schema.parse("columns: {x: {type: integer, min: 0, max: 9}}")
    plan = plan_query(count(), schema)
    live = Table(open_table(path), schema)
    kept = live.with_schema(plan.cells.schema)._kept
    assert [kept.sum_cells(schema, {}, [Statistic()]) for _ in range(3)] == [None] * 3
    frozen = Table(open_table(path).freeze_rows(), schema)
    # One question alone is counted by a query; the second reads all columns.
    found = [frozen._kept.sum_cells(schema, {}, [Statistic()]) for _ in range(2)]
    assert found[0] is None
    assert found[1] is not None
    assert found[1][1] == [[3]]


def test_sums_beyond_64_bits_are_left_to_queries() -> None:
    schema = Schema.parse(
        "columns: {x: {type: integer, min: 4611686018427387000, max: 4611686018427387009}}"
    )
    rows = pl.DataFrame({"x": [4611686018427387005] * 5})
    table = frozen_table(rows, schema)
    plan = plan_query(total("x"), schema)
    wanted = [s for s in plan.statistics if isinstance(s, Statistic)]
    assert [table._kept.sum_cells(schema, {}, wanted) for _ in range(2)] == [None, None]
    exact = ExactStatistics(table, plan).by_group(0)
    assert exact == [5 * 4611686018427387005]


def test_only_columns_that_are_alike_are_used() -> None:
    """Other labels, other bounds: another column, whatever it is called."""
    own = Schema.parse(
        "columns: {town: {type: categorical, values: [A, B]}, x: {type: integer, min: 0,"
        " max: 3}}"
    )
    other = Schema.parse(
        "columns: {town: {type: categorical, values: [B, A]}, x: {type: integer, min: 0,"
        " max: 9}}"
    )
    table = frozen_table(pl.DataFrame({"town": ["A", "B", "B"], "x": [1, 5, 9]}), own)
    table._kept.sum_cells(own, {}, [Statistic()])
    for query in (count().by("town"), total("x")):
        plan = plan_query(query, other)
        described = table.with_schema(plan.cells.schema)
        wanted = [s for s in plan.statistics if isinstance(s, Statistic)]
        codecs = plan.cells.codecs
        assert table._kept.sum_cells(described.schema, codecs, wanted) is None
    assert ExactStatistics(table, plan).by_group(0) == [15]


def test_columns_without_a_declared_domain_disturb_no_question() -> None:
    """A question that fails from the second one on would fail behind its charge."""
    schema = Schema.parse(
        "columns: {town: {type: categorical}, sex: {type: categorical, values: [F, M]},"
        " age: {type: integer}}"
    )
    rows = pl.DataFrame({"town": ["A", "B"], "sex": ["F", "M"], "age": [5, 7]})
    table = frozen_table(rows, schema)
    for _ in range(2):
        plan = plan_query(count("sex").by("sex"), schema)
        assert ExactStatistics(table, plan).by_group(0) == [1, 1, 0]
