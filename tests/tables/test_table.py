"""The table: exact integers, whatever the rows hold."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from fractions import Fraction
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from understudy.errors import SchemaError, TableError
from understudy.schema import (
    Boolean,
    Categorical,
    Date,
    Integer,
    OutOfBoundsPolicy,
    Real,
    Schema,
    Text,
    UndeclaredColumn,
    codec_of,
    parse_predicate,
)
from understudy.tables import Table, open_table, row_codes
from understudy.tables.reading.encode import MAX_LABEL_CHARS
from understudy.tables.sql.engine import Engine

CLOSED = Schema(
    columns=(
        Integer(name="age", min=0, max=9, missing=("-7",)),
        Categorical(name="sex", values=("F", "M"), other="other"),
        Boolean(name="smoker", nullable=False),
        Text(name="remarks"),
    )
)

people = st.lists(
    st.tuples(
        st.one_of(st.none(), st.integers(-10, 20)),
        st.one_of(st.none(), st.sampled_from(["F", "M", "f", ""])),
        st.one_of(st.none(), st.booleans()),
    ),
    max_size=30,
)


def frame(rows) -> pl.DataFrame:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    kinds = {"age": pl.Int64, "sex": pl.String, "smoker": pl.Boolean}
    named = {
        n: pl.Series(list(c), dtype=t)
        for (n, t), c in zip(kinds.items(), columns, strict=True)
    }
    return pl.DataFrame(
        named | {"remarks": pl.Series(["canary"] * len(rows), dtype=pl.String)}
    )


@settings(max_examples=20, deadline=None)
@given(people, st.booleans())
def test_counts_are_those_of_a_loop_over_the_rows(rows, streamed):
    cliques = [
        (),
        ("age",),
        ("smoker", "sex"),
        ("sex", "age", "smoker"),
        ("age", "sex"),
    ]
    coded = [
        tuple(codec_of(CLOSED[n]).code(v) for n, v in zip(CLOSED, row, strict=True))
        for row in rows
    ]
    with pytest.MonkeyPatch.context() as patch, open_table(frame(rows)) as source:
        if streamed:
            patch.setattr(row_codes, "MAX_CODES_BYTES", -1)
        table = Table(source, CLOSED)
        assert table.encode() == (not streamed)
        for clique, counts in zip(cliques, table.counts(cliques), strict=True):
            expected = np.zeros(CLOSED.sizes(clique), np.int64)
            for row in coded:
                expected[tuple(row[list(CLOSED).index(n)] for n in clique)] += 1
            np.testing.assert_array_equal(counts, expected)
        codes, times = table.sparse_counts(("sex", "age"))
        dense = np.zeros(CLOSED.sizes(("sex", "age")), np.int64)
        dense[tuple(codes.T)] = times
        np.testing.assert_array_equal(dense, table.counts([("sex", "age")])[0])
        assert (table.rows(), table.count_units()) == (len(rows), len(rows))
        # In a private folder, written once.
        stored = list(source.engine.directory.glob("codes*.parquet"))
        assert len(stored) == streamed


def test_codes_without_room_are_made_at_each_count(monkeypatch, tmp_path):
    monkeypatch.setattr(row_codes, "MAX_CODES_BYTES", -1)
    with open_table(frame([(5, "F", True)] * 3)) as source:
        # Where the engine may not write, as on a disk that is full.
        source.engine.directory = tmp_path / "nowhere"
        table = Table(source, CLOSED)
        for _ in range(2):
            assert table.sparse_counts(("sex", "age"))[1].tolist() == [3]


@pytest.mark.parametrize("rows", [[], [(None, None, None)], [(5, "F", True)] * 3])
def test_empty_constant_and_single_tables(rows):
    with open_table(frame(rows)) as source:
        table = Table(source, CLOSED)
        assert int(table.counts([()])[0]) == len(rows)
        assert table.counts([("age",)])[0].shape == (12,)
        assert table.sum("age", 0, 9) == 5 * sum(r[0] is not None for r in rows)
        assert table.labels("sex")[0] == sorted({r[1] for r in rows if r[1]})
        assert table.lattice("age")[1].sum() == table.count_valid("age")
        assert len(table.sparse_counts(())[1]) == min(len(rows), 1)


def test_values_outside_the_domain_never_widen_it():
    rows = [(10**18, "unheard of", None), (-(10**18), "", True), (-7, "other", False)]
    with open_table(frame(rows)) as source:
        table = Table(source, CLOSED)
        age, sex, smoker = table.counts([("age",), ("sex",), ("smoker",)])
    assert age.tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]
    assert sex.tolist() == [0, 0, 2, 1]
    assert smoker.tolist() == [2, 1]


def test_an_open_schema_answers_what_discovery_asks():
    columns = (
        Integer(name="age", missing=("-7",)),
        Categorical(name="sex", missing=("f",)),
        UndeclaredColumn(name="smoker"),
    )
    rows = [
        (5, "F", True),
        (5, "M", None),
        (-7, "f", None),
        (None, "", False),
        (-3, None, None),
    ]
    with open_table(frame(rows)) as source:
        table = Table(source, Schema(columns=columns))
        labels, times = table.labels("sex")
        assert (labels, times.tolist()) == (["F", "M"], [1, 1])
        positions, times = table.lattice("age")
        assert (positions.tolist(), times.tolist()) == ([-3, 5], [1, 2])
        assert table.lattice_counts("age", [-4, 0, 5, 6]).tolist() == [1, 0, 2]
        assert table.lattice_counts("age", [0, 1, 2]).tolist() == [0, 0]
        assert table.lattice_counts("age", [-4, 6]).tolist() == [
            3
        ]  # a single bin, as the last step of a descent may ask for
        assert (table.sum("age", -1, 4), table.count_valid("age")) == (7, 3)
        assert table.votes(["smoker"]).sum() == 5
        with pytest.raises(SchemaError, match="not known yet"):
            table.counts([("age",)])
        closed = table.with_schema(CLOSED)
        assert closed.counts([("age",)])[0].sum() == 5


def test_labels_are_what_the_lookup_will_see():
    """Learned labels, once listed, take in every cell they were learned from."""
    data = pl.DataFrame(
        {
            "x": [1.0, 2.5, 3.0, None, float("nan")],
            "d": [date(2024, 1, i) for i in range(1, 6)],
        }
    )
    for name in ("x", "d"):
        with open_table(data) as source:
            labels, counts = Table(
                source, Schema(columns=(Categorical(name=name),))
            ).labels(name)
            learned = Schema(columns=(Categorical(name=name, values=tuple(labels)),))
            table = Table(source, learned).counts([(name,)])[0]
        assert table[: len(labels)].tolist() == counts.tolist()


def test_a_hundred_thousand_labels_are_listed():
    data = pl.DataFrame({"x": [f"label {i % 100_000}" for i in range(150_000)]})
    with open_table(data) as source:
        labels, counts = Table(source, Schema(columns=(Categorical(name="x"),))).labels(
            "x"
        )
    assert len(set(labels)) == 100_000
    assert (counts.sum(), counts.max()) == (150_000, 2)
    assert labels == sorted(labels)


def test_a_text_no_schema_could_list_is_no_label():
    with open_table(pl.DataFrame({"x": ["a\0b", "a"]})) as source:
        assert Table(source, Schema(columns=(Categorical(name="x"),))).labels("x")[
            0
        ] == ["a"]


def test_a_text_too_long_for_a_label_is_none():
    """Decided cell by cell, in characters: a row moves itself only."""
    longest = "ö" * MAX_LABEL_CHARS
    with open_table(pl.DataFrame({"x": [longest, f"{longest}ö", "a"]})) as source:
        assert Table(source, Schema(columns=(Categorical(name="x"),))).labels("x")[
            0
        ] == ["a", longest]


def test_sums_never_wrap():
    far = 2**62 - 1
    column = Integer(name="x")
    with open_table(pl.DataFrame({"x": [2**63 - 1] * 5})) as source:
        table = Table(source, Schema(columns=(column,)))
        assert table.sum("x", -far, far) == 5 * far > 2**63
        assert table.sum("x", 0, 10) == 50


def test_numbers_outside_the_bounds_count_as_missing_where_declared():
    column = Real(
        name="x", min=0, max=1, step=Fraction(1, 2), outside=OutOfBoundsPolicy.MISSING
    )
    with open_table(pl.DataFrame({"x": [0.5, 1.2, 1.3, -9.0, None]})) as source:
        table = Table(source, Schema(columns=(column,)))
        assert (table.count_valid("x"), table.sum("x", 0, 2)) == (2, 3)
        assert table.counts([("x",)])[0].tolist() == [0, 1, 1, 3]


def test_edges_over_the_whole_lattice_take_in_everything():
    edges = (*(-(2**k) for k in range(62, -1, -1)), 0, *(2**k for k in range(63)))
    values = [-(2**63), -(2**40), -1, 0, 1, 5, 2**63 - 1]
    with open_table(pl.DataFrame({"x": values})) as source:
        counts = Table(source, Schema(columns=(Integer(name="x"),))).lattice_counts(
            "x", edges
        )
    assert counts.sum() == len(values)
    assert len(counts) == 126


@pytest.mark.parametrize(
    ("ask", "says"),
    [
        (lambda t: t.labels("age"), '"age" is integer, so it has no labels'),
        (lambda t: t.sum("sex", 0, 1), '"sex" is categorical, so it has no numbers'),
        (lambda t: t.counts([("age", "age")]), "twice"),
        (lambda t: t.counts([("none",)]), '"none" is not in the schema'),
    ],
)
def test_what_makes_no_sense_is_refused(ask, says):
    with (
        open_table(frame([(1, "F", True)])) as source,
        pytest.raises((TableError, SchemaError), match=says),
    ):
        ask(Table(source, CLOSED))


def test_progress_is_told():
    told = []
    with open_table(frame([(1, "F", True)] * 5)) as source:
        Table(source, CLOSED).encode(lambda stage, done: told.append((stage, done)))
    assert told[-1] == ("encoding", 1.0)


@pytest.mark.slow
def test_a_table_larger_than_the_memory_of_the_engine_is_counted(tmp_path, monkeypatch):
    """2 million rows of text in 128 MB: what does not fit waits on disk."""
    from understudy.tables.sql import engine

    monkeypatch.setattr(engine, "DUCKDB_MEMORY_LIMIT", "128MB")
    path = tmp_path / "t.csv"
    block = "".join(f"{i % 50},{'x' * 60}{i % 997},{i}\n" for i in range(100_000))
    path.write_text("a,b,id\n" + block * 20)
    with open_table(path) as source:
        table = Table(
            source,
            Schema(
                columns=(
                    Integer(name="a", min=0, max=49),
                    Categorical(name="b"),
                    Integer(name="id"),
                )
            ),
        )
        assert table.rows() == 2_000_000
        assert table.sum("a", 0, 49) == 2_000_000 * 49 // 2
        assert len(table.labels("b")[0]) == 997


def test_pairs_of_one_table_agree_with_each_other():
    rng = np.random.default_rng(1)
    data = {f"c{i}": rng.integers(0, 5, 2_000) for i in range(6)}
    schema = Schema(
        columns=tuple(Integer(name=n, min=0, max=4, nullable=False) for n in data)
    )
    with open_table(pl.DataFrame(data)) as source:
        pairs = list(combinations(data, 2))
        for (a, b), table in zip(
            pairs, Table(source, schema).counts(pairs), strict=True
        ):
            expected = np.histogram2d(data[a], data[b], bins=[range(6), range(6)])[0]
            np.testing.assert_array_equal(table, expected)


def test_dates_of_another_era_are_clipped():
    data = pl.DataFrame(
        {"d": ["0001-01-01", "9999-12-31", "2024-06-01", "10000-01-01", "-0044-03-15"]}
    )
    column = Date(
        name="d",
        min=date(2024, 1, 1),
        max=date(2024, 12, 31),
        bins=(19723, 19875, 20089),
    )
    with open_table(data) as source:
        assert Table(source, Schema(columns=(column,))).counts([("d",)])[
            0
        ].tolist() == [1, 2, 2]


def test_what_was_counted_is_kept_within_its_space_and_cannot_be_changed(monkeypatch):
    """Asked again, in any order or twice at once, the answers are the same; they are
    read-only, because they may be given again.
    """
    schema = Schema(
        columns=tuple(
            Integer(name=name, min=0, max=3, nullable=False) for name in "abc"
        )
    )
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({name: rng.integers(0, 4, 50) for name in "abc"})
    pairs = list(combinations("abc", 2))
    monkeypatch.setattr(row_codes, "MAX_CACHED_CELLS", 40)  # two of the three pairs
    table = Table(open_table(rows), schema)
    first = table.counts(pairs)
    again = table.counts([pairs[2], pairs[0], pairs[2], pairs[1]])
    for counts, at in zip(again, (2, 0, 2, 1), strict=True):
        assert np.array_equal(counts, first[at])
        with pytest.raises(ValueError, match="read-only"):
            counts[0, 0] = 7
    assert len(table._codes._kept_marginals) == 2


def test_rows_are_encoded_again_only_where_a_column_changes(monkeypatch):
    done: list[str] = []
    stream = Engine.stream

    def noted(engine: Engine, query: str, *, doing: str) -> object:
        done.append(doing)
        return stream(engine, query, doing=doing)

    monkeypatch.setattr(Engine, "stream", noted)
    schema = Schema(columns=(Integer(name="a", min=0, max=9),))
    table = Table(open_table(pl.DataFrame({"a": [1, 4, 4]})), schema)
    before = table.counts([("a",)])[0]
    ruled = replace(schema, impossible=(parse_predicate("a = 7"),))
    assert table.with_schema(replace(schema)) is table
    assert np.array_equal(table.with_schema(ruled).counts([("a",)])[0], before)
    assert done == ["encoding rows"]
    binned = schema.with_column(replace(schema["a"], bins=(0, 5, 10)))
    counts = table.with_schema(ruled).with_schema(binned).counts([("a",)])[0]
    assert counts.tolist() == [3, 0, 0]
    assert done == ["encoding rows", "encoding rows"]
