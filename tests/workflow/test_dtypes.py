"""A column comes back in the storage type that its owner declares: every kind of frame
and file, every type, with and without missing cells, through a whole run. Without a
declaration it comes back in the widest type of its kind, whatever the table stores.
"""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from understudy.schema import Schema
from understudy.tables import open_table
from understudy.workflow.describe import describe
from understudy.workflow.synthesize import synthesize

BERN = ZoneInfo("Europe/Zurich")
EACH = "independent"
"""Types do not depend on what holds between columns, and forty columns at this budget
have much between them.
"""

SCHEMA = """
columns:
  whole: {type: integer, min: 0, max: 50}
  part: {type: real, min: 0, max: 9, decimals: 2}
  flag: boolean
  word: {type: categorical, values: [low, mid, high], ordered: true}
  day: {type: date, min: 2020-01-01, max: 2020-02-20}
  moment: {type: datetime, min: 2020-01-01, max: 2020-01-02, resolution: 30min}
  instant: {type: datetime, zone: Europe/Zurich, min: 2020-01-01, max: 2020-01-02, resolution: 30min}
  clock: {type: time, resolution: 1h}
"""
VALUES = {
    "whole": [3, 50, 0],
    "part": [Decimal("1.25"), Decimal("9.00"), Decimal("0.10")],
    "flag": [True, False, True],
    "word": ["low", "high", "mid"],
    "day": [date(2020, 1, 5), date(2020, 2, 20), date(2020, 1, 1)],
    "moment": [
        datetime(2020, 1, 1, 3, 30),
        datetime(2020, 1, 1),
        datetime(2020, 1, 1, 23),
    ],
    "instant": [
        datetime(2020, 1, 1, h, tzinfo=UTC).astimezone(BERN) for h in (1, 2, 3)
    ],
    "clock": [time(3), time(23), time(0)],
}
ARROW = {
    "whole": [
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint64",
        "float32",
        "float64",
        "string",
        "large_string",
    ],
    "part": ["float32", "float64", "decimal128(9, 2)", "decimal128(38, 4)", "string"],
    "flag": ["bool_", "string"],
    "word": [
        "string",
        "large_string",
        "string_view",
        "dictionary<int8>",
        "dictionary<int32>",
    ],
    "day": ["date32", "date64", "timestamp[s]", "timestamp[ns]"],
    "moment": ["timestamp[s]", "timestamp[ms]", "timestamp[us]", "timestamp[ns]"],
    "instant": [
        "timestamp[us, Europe/Zurich]",
        "timestamp[ms, UTC]",
        "timestamp[ns, Europe/Zurich]",
    ],
    "clock": ["time32[s]", "time32[ms]", "time64[us]", "time64[ns]"],
}
POLARS = {
    "whole": [
        pl.Int8,
        pl.Int16,
        pl.Int32,
        pl.Int64,
        pl.UInt8,
        pl.UInt64,
        pl.Float64,
        pl.Decimal(9, 0),
    ],
    "part": [pl.Float32, pl.Float64, pl.Decimal(9, 2), pl.Decimal(20, 4)],
    "flag": [pl.Boolean],
    "word": [pl.String, pl.Categorical, pl.Enum(["low", "mid", "high"])],
    "day": [pl.Date, pl.Datetime("us"), pl.Datetime("ms")],
    "moment": [pl.Datetime("us"), pl.Datetime("ms"), pl.Datetime("ns")],
    "instant": [pl.Datetime("us", "Europe/Zurich"), pl.Datetime("ms", "UTC")],
    "clock": [pl.Time],
}
PANDAS = {
    "whole": [
        "Int8",
        "Int16",
        "Int64",
        "UInt8",
        "UInt64",
        "Float64",
        "float64",
        "int64[pyarrow]",
        "category",
        "object",
    ],
    "part": [
        "float32",
        "float64",
        "Float32",
        "Float64",
        "double[pyarrow]",
        "decimal128(9, 2)[pyarrow]",
        "object",
    ],
    "flag": ["boolean", "bool[pyarrow]", "object"],
    "word": [
        "str",
        "string",
        "object",
        "category",
        "ordered",
        "string[pyarrow]",
        "large_string[pyarrow]",
    ],
    "day": [
        "datetime64[s]",
        "datetime64[us]",
        "datetime64[ns]",
        "date32[day][pyarrow]",
        "object",
    ],
    "moment": [
        "datetime64[s]",
        "datetime64[ms]",
        "datetime64[us]",
        "datetime64[ns]",
        "timestamp[us][pyarrow]",
    ],
    "instant": [
        "datetime64[us, Europe/Zurich]",
        "datetime64[ns, UTC]",
        "timestamp[us, tz=Europe/Zurich][pyarrow]",
    ],
    "clock": ["time64[us][pyarrow]", "object"],
}
SOLID = {"whole": ["int8", "int16", "int64", "uint8", "uint32"], "flag": ["bool"]}
"""numpy's own types, which hold no missing cell."""


def arrow_type(word):
    if word.startswith("dictionary"):
        return pa.dictionary(getattr(pa, word[11:-1])(), pa.string(), ordered=True)
    if word.startswith("timestamp"):
        unit, _, zone = word[10:-1].partition(", ")
        return pa.timestamp(unit, tz=zone or None)
    if word.startswith("time"):
        return getattr(pa, word[:6])(word[7:-1])
    if word.startswith("decimal"):
        return pa.decimal128(*map(int, word[11:-1].split(", ")))
    return getattr(pa, word)()


def spelled(name, kind):
    """A column's values as a text column holds them."""
    return (
        [str(v).lower() if isinstance(v, bool) else str(v) for v in VALUES[name]]
        if kind in TEXTS
        else VALUES[name]
    )


TEXTS = {"string", "large_string", "string_view"}


def arrow_column(name, word, missing):
    values = [*spelled(name, word), *[None] * missing] * 30
    if word == "float32" or word == "float64":
        values = [None if v is None else float(v) for v in values]
    plain = pa.array(values, pa.string()) if word.startswith("dictionary") else None
    return (
        plain.cast(arrow_type(word))
        if plain is not None
        else pa.array(values).cast(arrow_type(word))
    )


def schema_for(columns):
    """The schema of a frame whose columns are called `name as type`."""
    described = dict(
        line.strip().split(": ", 1)
        for line in SCHEMA.splitlines()
        if line.startswith("  ")
    )
    lines = [
        f"  {json.dumps(column)}: {described[column.split(' as ')[0]]}"
        for column in columns
    ]
    return Schema.parse("\n".join(["columns:", *lines]))


def stored_alike(schema, data):
    """The schema with every storage type declared that the table itself has."""
    with open_table(data) as source:
        return replace(
            schema,
            columns=tuple(
                replace(c, dtype=source.dtypes.get(c.name)) for c in schema.columns
            ),
        )


def released(frame, columns, tmp_path):
    """What a run gives back for a frame, with so little noise that every value comes
    back.
    """
    schema = stored_alike(schema_for(columns), frame)
    return synthesize(
        frame, schema, epsilon=5_000, synthesizer=EACH, ledger=tmp_path / "l"
    )


def through_parquet(release, tmp_path, read, write):
    """A sample that the release wrote as Parquet, and the same that the library wrote,
    as the library reads them.
    """
    release.write(tmp_path / "ours.parquet", 200, seed=1)
    write(tmp_path / "theirs.parquet")
    return read(tmp_path / "ours.parquet"), read(tmp_path / "theirs.parquet")


def plainly_texts(schema):
    """A file has one type for texts, however long they are, and one width for places in
    a dictionary.
    """
    places = [
        pa.dictionary(pa.int8(), pa.string(), ordered=True),
        pa.dictionary(pa.int32(), pa.string(), ordered=True),
    ]
    words = {
        pa.large_string(): pa.string(),
        pa.string_view(): pa.string(),
        places[0]: places[1],
    }
    return pa.schema(
        [field.with_type(words.get(field.type, field.type)) for field in schema]
    )


def values_of(column):
    return {
        v
        for v in column
        if v is not None and v is not pd.NaT and v is not pd.NA and v == v
    }


@pytest.mark.parametrize("missing", [0, 1])
def test_pyarrow(missing, tmp_path):
    table = pa.table(
        {
            f"{n} as {w}": arrow_column(n, w, missing)
            for n, words in ARROW.items()
            for w in words
        }
    )
    release = released(table, table.column_names, tmp_path)
    sample = release.sample(200, seed=1)
    back = through_parquet(
        release, tmp_path, pq.read_table, lambda path: pq.write_table(sample, path)
    )
    assert back[0].schema.remove_metadata() == plainly_texts(back[1].schema)
    for name in table.column_names:
        assert sample.schema.field(name).type == table.schema.field(name).type, name
        assert values_of(sample.column(name).to_pylist()) >= values_of(
            table.column(name).to_pylist()
        ), name


@pytest.mark.parametrize("missing", [0, 1])
def test_polars(missing, tmp_path):
    columns = []
    for name, dtypes in POLARS.items():
        natural = {"part": pl.Decimal(9, 2), "day": pl.Date}.get(name)
        base = pl.Series(name, [*VALUES[name], *[None] * missing] * 30, dtype=natural)
        for dtype in dtypes:
            series = (
                base
                if name != "instant"
                else base.dt.convert_time_zone(dtype.time_zone)
            )
            columns.append(series.cast(dtype).alias(f"{name} as {dtype}"))
    frame = pl.DataFrame(columns)
    release = released(frame, frame.columns, tmp_path)
    sample = release.sample(200, seed=1)
    back = through_parquet(release, tmp_path, pl.read_parquet, sample.write_parquet)
    assert back[0].schema == back[1].schema
    for name in frame.columns:
        assert sample.schema[name] == frame.schema[name], name
        assert values_of(sample[name].to_list()) >= values_of(frame[name].to_list()), (
            name
        )


def pandas_column(name, dtype, missing):
    values = [*VALUES[name], *[None] * missing] * 30
    if dtype == "ordered":
        return pd.Series(
            pd.Categorical(values, categories=["low", "mid", "high"], ordered=True)
        )
    if dtype.endswith("[pyarrow]"):
        kind = dtype.removesuffix("[pyarrow]")
        words = {"double": "float64", "bool": "bool_", "date32[day]": "date32"}
        word = words.get(kind, kind).replace("tz=", "")
        return pd.Series(
            pd.array(
                arrow_column(name, word, missing), dtype=pd.ArrowDtype(arrow_type(word))
            )
        )
    if dtype == "object":
        return pd.Series(values, dtype=object)
    if dtype == "category":
        return pd.Series(values, dtype="Int64" if name == "whole" else "str").astype(
            "category"
        )
    if name == "part":
        values = [None if v is None else float(v) for v in values]
    if name == "instant":
        return pd.to_datetime(pd.Series(values), utc=True).astype(dtype)
    if name in ("day", "moment"):
        return pd.to_datetime(pd.Series(values)).astype(dtype)
    return pd.Series(values, dtype=dtype)


@pytest.mark.parametrize("missing", [0, 1])
def test_pandas(missing, tmp_path):
    # A Parquet file cannot have names that differ only in case.
    words = {
        f"{n} as {d if d[0].islower() else f'nullable {d}'}": (n, d)
        for n, dtypes in PANDAS.items()
        for d in dtypes
    }
    frame = pd.DataFrame(
        {name: pandas_column(*case, missing) for name, case in words.items()}
    )
    release = released(frame, frame.columns, tmp_path)
    sample = release.sample(200, seed=1)
    back = through_parquet(release, tmp_path, pd.read_parquet, sample.to_parquet)
    for name in frame.columns:
        assert back[0][name].dtype == back[1][name].dtype, name
    for name in frame.columns:
        if (
            "category" in name or "ordered" in name
        ):  # the schema lists the categories, and whether they have an order
            assert str(sample[name].dtype) == "category", name
        else:
            assert sample[name].dtype == frame[name].dtype, name
        assert values_of(sample[name].tolist()) >= values_of(frame[name].tolist()), name
    word = sample["word as ordered"].dtype
    assert (list(word.categories), word.ordered) == (["low", "mid", "high"], True)


def test_no_cell_decides_the_type_that_comes_back(tmp_path):
    """One empty or odd cell changes a pandas column's own type, and nothing of the
    release.
    """
    schema = schema_for(["whole as x", "flag as x", "word as x", "part as x"])
    rows = [(3, True, "low", 1), (5, False, "mid", 2)] * 30
    for odd in ((None, None, None, None), ("x", "x", 7, None)):
        frames = [pd.DataFrame(r, columns=list(schema)) for r in (rows, [*rows, odd])]
        assert (frames[0].dtypes != frames[1].dtypes).any(), "the test has teeth"
        found = [
            synthesize(
                f, schema, epsilon=5_000, synthesizer=EACH, ledger=tmp_path / "l"
            ).schema
            for f in frames
        ]
        assert [c.dtype for c in found[0].columns] == [
            c.dtype for c in found[1].columns
        ]


def test_numpys_own_types_hold_what_they_can(tmp_path):
    """Where no cell can be missing whole numbers and truth values come back as they are
    declared.
    """
    frame = pd.DataFrame(
        {
            f"{n} as {d}": pandas_column(n, d, 0)
            for n, dtypes in SOLID.items()
            for d in dtypes
        }
    )
    schema = stored_alike(schema_for(frame.columns), frame)
    whole = replace(
        schema, columns=tuple(replace(c, nullable=False) for c in schema.columns)
    )
    sample = synthesize(
        frame, whole, epsilon=5_000, synthesizer=EACH, ledger=tmp_path / "l"
    ).sample(200, seed=1)
    assert (sample.dtypes == frame.dtypes).all()


def test_without_a_declaration_storage_is_as_wide_as_its_kind(tmp_path):
    """Bits, units, decimals and dictionaries of the table leave no trace: only what the
    schema says does.
    """
    narrow = pa.table(
        {
            f"{name} as {words[0]}": arrow_column(name, words[0], 1)
            for name, words in ARROW.items()
        }
    )
    wide = pa.table(
        {
            f"{name} as {ARROW[name][0]}": arrow_column(name, words[-1], 0)
            for name, words in ARROW.items()
        }
    )
    schema = schema_for(narrow.column_names)
    found = [
        synthesize(t, schema, epsilon=5_000, synthesizer=EACH, ledger=tmp_path / "l")
        for t in (narrow, wide)
    ]
    assert {column.dtype for release in found for column in release.schema.columns} == {
        None
    }
    assert found[0].sample(50, seed=1).schema == found[1].sample(50, seed=1).schema


DUCKDB = {
    "whole": ["TINYINT", "INTEGER", "UBIGINT", "DOUBLE", "VARCHAR"],
    "part": ["DECIMAL(9,2)", "FLOAT", "DOUBLE"],
    "flag": ["BOOLEAN"],
    "word": ["VARCHAR", "ENUM('low', 'mid', 'high')"],
    "day": ["DATE", "TIMESTAMP"],
    "moment": ["TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"],
    "instant": ["TIMESTAMP WITH TIME ZONE"],
    "clock": ["TIME"],
}


def test_duckdb(tmp_path):
    table = pa.table({name: pa.array([*VALUES[name], None] * 30) for name in VALUES})
    casts = [
        f'CAST({n} AS {k}) AS "{n} as {k.split("(")[0]}"'
        for n, kinds in DUCKDB.items()
        for k in kinds
    ]
    relation = duckdb.arrow(table).query("t", f"SELECT {', '.join(casts)} FROM t")
    sample = released(relation, relation.columns, tmp_path).sample(100, seed=1)
    for name, before, after in zip(
        relation.columns, relation.types, sample.types, strict=True
    ):
        if "DECIMAL" in name:  # a relation's name for its type leaves the precision out
            assert str(after).startswith("DECIMAL"), name
        else:
            assert str(after) == str(before), name


def test_parquet_in_and_out(tmp_path):
    """Types as Parquet itself states them: an integer's width, a decimal's precision,
    what a clock counts.

    Nanoseconds of instants and of clocks are cut to microseconds, and so is their type.
    """
    odd = (
        "dictionary",
        "date64",
        "time32",
        "string_view",
        "time64[ns]",
        "timestamp[ns, ",
    )
    words = {
        f"{n} as {w}": (n, w)
        for n, listed in ARROW.items()
        for w in listed
        if not w.startswith(odd)
    }
    table = pa.table({name: arrow_column(*case, 1) for name, case in words.items()})
    pq.write_table(table, tmp_path / "in.parquet")
    released(tmp_path / "in.parquet", table.column_names, tmp_path).write(
        tmp_path / "out.parquet", 200, seed=1
    )
    before, after = (
        duckdb.sql(f"SELECT * FROM '{tmp_path}/{f}.parquet'") for f in ("in", "out")
    )
    assert before.columns == after.columns
    for name, one, two in zip(before.columns, before.types, after.types, strict=True):
        assert str(one) == str(two), name


@pytest.mark.parametrize("missing", [0, 1])
def test_parquet_keeps_what_pandas_and_polars_state_in_it(missing, tmp_path):
    """Categories, zones, units and nullable types are no types of Parquet, and come
    back all the same.
    """
    cases = {"whole": "Int16", "flag": "boolean", "part": "Float32", "word": "category"}
    frame = pd.DataFrame(
        {f"{n} as {d}": pandas_column(n, d, missing) for n, d in cases.items()}
    )
    frame["instant as x"] = pandas_column(
        "instant", "datetime64[ms, Europe/Zurich]", missing
    )
    frame["moment as x"] = pandas_column("moment", "datetime64[ms]", missing)
    frame.to_parquet(tmp_path / "in.parquet")
    released(tmp_path / "in.parquet", frame.columns, tmp_path).write(
        tmp_path / "out.parquet", 200, seed=1
    )
    before, after = (
        pd.read_parquet(tmp_path / f"{name}.parquet") for name in ("in", "out")
    )
    assert after["word as category"].dtype == pd.CategoricalDtype(
        ["low", "mid", "high"], ordered=True
    )
    for name in frame.columns.drop("word as category"):
        assert after[name].dtype == before[name].dtype, name
    ours, theirs = (
        pl.read_parquet_schema(tmp_path / f"{name}.parquet") for name in ("out", "in")
    )
    assert ours == theirs


def test_csv_in_and_out(tmp_path):
    """A CSV file has texts: they are written as they were read, decimals and empty
    cells too.
    """
    words = {
        n: [str(v).lower() if isinstance(v, bool) else str(v) for v in vs]
        for n, vs in VALUES.items()
    }
    words["instant"] = [v.isoformat(" ") for v in VALUES["instant"]]
    rows = list(zip(*([*w, ""] for w in words.values()), strict=True)) * 30
    (tmp_path / "in.csv").write_text(
        "\n".join([",".join(words), *(",".join(row) for row in rows)]) + "\n"
    )
    released(tmp_path / "in.csv", words, tmp_path).write(
        tmp_path / "out.csv", 300, seed=1
    )
    found = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    for name, right in words.items():
        assert set(found[name].to_list()) >= {*right, None}, name


def test_several_missing_codes_are_kept_apart(tmp_path):
    """N, -7 and the empty cell are three ways to be missing, in files and, where the
    type can hold them, in frames.
    """
    (tmp_path / "in.csv").write_text(
        "\n".join(["wage", *["5", "N", "-7", '""'] * 50]) + "\n"
    )
    schema = Schema.parse(
        'columns: {wage: {type: integer, min: 0, max: 9, missing: ["N", "-7"]}}'
    )
    release = synthesize(
        tmp_path / "in.csv", schema, epsilon=50, synthesizer=EACH, ledger=tmp_path / "l"
    )
    release.write(tmp_path / "out.csv", 200, seed=1)
    lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
    counts = {word: lines.count(word) for word in ("5", "N", "-7", "")}
    counts[""] += lines.count('""')
    assert all(abs(count - 50) < 10 for count in counts.values())
    frame = release.sample(200, seed=1, kind="pandas")["wage"]
    assert str(frame.dtype) == "Int64"
    assert abs((frame == -7).sum() - 50) < 10
    assert abs(frame.isna().sum() - 100) < 15
    assert np.isin(frame.dropna(), [5, -7, *range(10)]).all()


def test_without_a_schema_instants_stay_instants(tmp_path):
    """Cells that say how far their clock is from UTC come back as moments that say so."""
    lines = [
        f"2024-01-{day:02d}T{hour:02d}:30:00+02:00"
        for day in range(1, 29)
        for hour in range(24)
    ]
    (tmp_path / "in.csv").write_text("\n".join(["seen", *lines * 2]) + "\n")
    release = synthesize(
        tmp_path / "in.csv", epsilon=1_000, synthesizer=EACH, ledger=tmp_path / "l"
    )
    assert release.schema["seen"].zone == "UTC"
    release.write(tmp_path / "out.csv", 200, seed=1)
    found = pd.to_datetime(pd.read_csv(tmp_path / "out.csv")["seen"].dropna())
    assert str(found.dt.tz) == "UTC"
    assert found.between("2023-12-31 20:00Z", "2024-01-29 02:00Z").mean() > 0.9


@pytest.mark.parametrize("unit", ["ms", "us"])
def test_a_draft_declares_what_a_parquet_file_states(unit, tmp_path):
    """Units, zones, categories and widths come back once their owner has declared them:
    that is what a draft is for.
    """
    hours = pd.date_range(
        "2024-01-01", periods=600, freq="h", tz="Europe/Paris"
    ).as_unit(unit)
    frame = pd.DataFrame(
        {
            "seen": hours,
            "word": pd.Categorical(["a", "b"] * 300),
            "n": pd.array([1, 2] * 300, "Int8"),
        }
    )
    frame.to_parquet(tmp_path / "in.parquet")
    drafted = describe(tmp_path / "in.parquet")
    release = synthesize(
        tmp_path / "in.parquet",
        drafted,
        epsilon=100,
        synthesizer=EACH,
        ledger=tmp_path / "l",
    )
    release.write(tmp_path / "out.parquet", 100, seed=1)
    release.write(tmp_path / "parts", 100, seed=1, partition_rows=60)
    for path in ("out.parquet", "parts"):
        found = pd.read_parquet(tmp_path / path).dtypes.astype(str).to_dict()
        assert found == {
            "seen": f"datetime64[{unit}, Europe/Paris]",
            "word": "category",
            "n": "Int8",
        }
    assert "the storage types of seen, word, n" in release.guarantee.public
