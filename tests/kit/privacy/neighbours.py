"""Neighbouring tables made by an adversary, for every kind of source: the rows in plain
Python, and how each source is built of them.

A table is a list of rows; a row is a dict of Python values, or the bytes of a line that
only a CSV file can hold. `CHANGES` are the odd rows. Sources in `SOURCES` fix their
storage types, so that a row can change nothing but cells. `STORAGE_PAIRS` are tables
whose storage types some library inferred from the rows.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import numpy as np
import pandas
import polars
import pyarrow
from pyarrow import parquet

from kit.privacy.odd import (
    CATEGORIES,
    DATES,
    KEYS,
    MISSING,
    MOMENTS,
    NUMBERS,
    ODD,
    QUOTED,
    RAGGED,
)
from understudy.accounting.neighbours import Neighbours
from understudy.tables import open_table

Row = Mapping[str, object]
Line = Row | bytes
"""A row, or a line of a CSV file as it is."""

STORED = pyarrow.schema(
    {
        "id": pyarrow.string(),
        "sex": pyarrow.string(),
        "city": pyarrow.string(),
        "age": pyarrow.int64(),
        "weight": pyarrow.float64(),
        "born": pyarrow.date32(),
        "seen": pyarrow.timestamp("us"),
        "smoker": pyarrow.bool_(),
        "remarks": pyarrow.string(),
    }
)
NAMES = list(STORED.names)


def person(number: int, **cells: object) -> Row:
    """Somebody, with other cells where they are given."""
    plain = {
        "id": str(number),
        "sex": "FM"[number % 2],
        "city": ("Oslo", "Rome", "Oslo", "Bern")[number % 4],
        "age": 20 + (7 * number) % 60,
        "weight": 50.5 + (11 * number) % 40,
        "born": date(1950, 1, 1) + timedelta(days=97 * number),
        "seen": datetime(2024, 1, 1, 8) + timedelta(hours=31 * number),
        "smoker": number % 3 == 0,
        "remarks": "came by bus",
    }
    return {**plain, **cells}


def people(count: int, *, rows_each: int = 1) -> list[Row]:
    """So many people; with `rows_each`, some have one row and some as many as this, of
    different ages.
    """
    return [
        person(i, age=20 + (7 * i + 23 * j) % 60)
        for i in range(count)
        for j in range(1 + i % rows_each)
    ]


# Odd rows


@dataclass(frozen=True)
class Change:
    """What one person's rows look like. `where` says which sources can hold them: any,
    csv, typed or object.
    """

    name: str
    rows: tuple[Line, ...]
    where: str = "any"

    def __str__(self) -> str:
        return self.name


NEWCOMER = 990
"""The number of whoever joins; nobody else has it."""


def odd_cells(where: str, **cells: Iterable[object]) -> list[Change]:
    """One row for each odd value of each column."""
    return [
        Change(f"{name} = {value!r:.40}", (person(NEWCOMER, **{name: value}),), where)
        for name, values in cells.items()
        for value in values
    ]


def lines(texts: Iterable[bytes]) -> list[Change]:
    return [Change(f"line {text!r:.40}", (text,), "csv") for text in texts]


LONG_LABEL = "x" * 5000
NOT_IN_PARQUET = "\ud800"

ANYWHERE = [
    Change("a plain row", (person(NEWCOMER),)),
    Change("a copy of somebody", (person(0),)),
    Change("nothing but empty cells", (dict.fromkeys(NAMES),)),
    *odd_cells(
        "any",
        sex=[
            None,
            "",
            "Z",
            LONG_LABEL,
            "=1+1",
            'say "hi"',
            "x, y",
            "\N{SNOWMAN}" * 40,
            "other",
            "NULL",
            "f",
        ],
    ),
    *odd_cells(
        "any",
        city=[None, "Paris", "elsewhere", " Oslo", "two\u2028lines", "\u202eOslo"],
    ),
    *odd_cells("any", age=[None, 0, -1, 121, 2**62, -(2**62), 2**63 - 1, -(2**63)]),
    *odd_cells(
        "any",
        weight=[
            None,
            float("nan"),
            float("inf"),
            float("-inf"),
            1e308,
            -1e308,
            1e-308,
            0.0,
            -0.0,
            71.23456789,
        ],
    ),
    *odd_cells(
        "any",
        born=[
            None,
            date(1, 1, 1),
            date(9999, 12, 31),
            date(1582, 10, 10),
            date(2024, 2, 29),
        ],
    ),
    *odd_cells(
        "any",
        seen=[
            None,
            datetime(1, 1, 1),
            datetime(9999, 12, 31, 23, 59, 59, 999999),
            datetime(1677, 9, 21),
        ],
    ),
    *odd_cells("any", smoker=[None]),
    *odd_cells("any", remarks=[None, LONG_LABEL, "a\\", "a'b;--", "{}"]),
    *odd_cells("any", id=[None, "", "0", "x" * 300]),
]
"""Rows that every source can hold."""

IN_CSV = [
    *odd_cells(
        "csv",
        sex=CATEGORIES,
        city=CATEGORIES,
        age=[*NUMBERS, *ODD, *MISSING],
        weight=NUMBERS,
        born=DATES,
    ),
    *odd_cells(
        "csv",
        seen=MOMENTS,
        smoker=ODD,
        id=KEYS,
        remarks=['he said"', '"', "a\tb", "a;b"],
    ),
    *lines(
        [
            *RAGGED,
            *QUOTED,
            b"",
            b"\r",
            b"\x00" * 9,
            b"\xff" * 50,
            b",".join([b"1"] * 9),
            ",".join(NAMES).encode(),
        ]
    ),
]
"""Rows of text: a header again, half quotes, too many cells, bytes of no encoding."""


class Mute:
    """An object that cannot be written down."""

    def __repr__(self) -> str:
        return "Mute()"

    def __str__(self) -> str:
        raise RuntimeError("no words")


IN_OBJECTS = [
    *odd_cells(
        "object",
        sex=[
            3,
            2.5,
            b"F",
            ["F"],
            {"F": 1},
            True,
            NOT_IN_PARQUET,
            Mute(),
            date(2024, 1, 1),
            pandas.NA,
        ],
    ),
    *odd_cells(
        "object",
        age=[
            "young",
            "40",
            40.5,
            2**70,
            Decimal("40.000"),
            b"40",
            [40],
            Mute(),
            pandas.NaT,
            np.float32(40),
        ],
    ),
    *odd_cells(
        "object",
        weight=["heavy", Decimal("71.123456789012345"), 10**400, "1/2", 1 + 2j],
    ),
    *odd_cells(
        "object",
        born=[
            "2024-02-30",
            20240101,
            datetime(2024, 1, 1, 5),
            pandas.Timestamp("2024-01-01", tz="UTC"),
            "5",
        ],
    ),
    *odd_cells(
        "object",
        smoker=["yes", 2, "maybe", np.bool_(True), 0.0],
        city=[("Oslo",), frozenset({"Oslo"}), object],
    ),
]
"""Cells of a wrong type in columns of Python objects."""

CHANGES = [*ANYWHERE, *IN_CSV, *IN_OBJECTS]


def crowd(rows: int, **cells: object) -> Change:
    """One person with so many rows, which differ."""
    return Change(
        f"{rows} rows of one id"
        + "".join(f", {name} = {value!r:.20}" for name, value in cells.items()),
        tuple(
            person(NEWCOMER, age=20 + 5 * i, sex="FM"[i % 2], **cells)
            for i in range(rows)
        ),
    )


CROWDS = [
    crowd(1),
    crowd(2),
    crowd(9),
    crowd(40),
    crowd(9, weight=None),
    crowd(3, city=LONG_LABEL),
    crowd(9, id=None),
]
"""What one person can do where the unit is an id."""

PLACES = ("first", "middle", "last")


def neighbour(
    rows: Sequence[Line],
    change: Change,
    relation: Neighbours,
    place: str,
    *,
    by_id: bool = False,
) -> list[Line]:
    """The table with one person more, or with one person's rows exchanged for theirs."""
    at = {"first": 0, "middle": len(rows) // 2, "last": len(rows)}[place]
    if relation is Neighbours.ADD_REMOVE or not rows:
        return [*rows[:at], *change.rows, *rows[at:]]
    gone = rows[min(at, len(rows) - 1)]
    assert not isinstance(gone, bytes)
    leaves = [
        row is gone
        or (by_id and not isinstance(row, bytes) and row["id"] == gone["id"])
        for row in rows
    ]
    before = [row for row, left in zip(rows[:at], leaves, strict=False) if not left]
    after = [row for row, left in zip(rows[at:], leaves[at:], strict=True) if not left]
    return [*before, *change.rows, *after]


# Sources of fixed storage types

Source = Callable[[Sequence[Line], Path], object]
"""Rows made into a table, in a folder where it may lie."""


def cell_text(value: object) -> str:
    """A value as a CSV file holds it."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def csv_line(row: Line, delimiter: str, *, always_quoted: bool) -> bytes:
    if isinstance(row, bytes):
        return row
    texts = [cell_text(value) for value in row.values()]
    special = {delimiter, '"', "\r", "\n"}
    shown = [
        '"' + t.replace('"', '""') + '"' if always_quoted or special & set(t) else t
        for t in texts
    ]
    return delimiter.join(shown).encode("utf-8", "surrogatepass")


def csv_bytes(
    rows: Sequence[Line],
    *,
    delimiter: str = ",",
    end: bytes = b"\n",
    always_quoted: bool = False,
) -> bytes:
    header = delimiter.join(NAMES).encode()
    body = [csv_line(row, delimiter, always_quoted=always_quoted) for row in rows]
    return end.join([header, *body]) + end


def csv_file(name: str = "people.csv", **dialect: object) -> Source:
    def build(rows: Sequence[Line], folder: Path) -> object:
        data = csv_bytes(rows, **dialect)  # type: ignore[arg-type]
        (folder / name).write_bytes(
            gzip.compress(data, mtime=0) if name.endswith(".gz") else data
        )
        return folder / name

    return build


def in_latin(rows: Sequence[Line], folder: Path) -> object:
    path = folder / "people.csv"
    path.write_bytes(csv_bytes(rows))
    return open_table(path, encoding="latin-1")


def multiline(rows: Sequence[Line], folder: Path) -> object:
    path = folder / "people.csv"
    path.write_bytes(csv_bytes(rows))
    return open_table(path, multiline=True)


def stored(rows: Sequence[Line]) -> pyarrow.Table:
    """The rows in an Arrow table of fixed types."""
    return pyarrow.Table.from_pylist([dict(row) for row in rows], schema=STORED)  # type: ignore[arg-type]


def in_arrow_backed_pandas(rows: Sequence[Line]) -> pandas.DataFrame:
    return stored(rows).to_pandas(types_mapper=pandas.ArrowDtype)


def in_nullable_pandas(rows: Sequence[Line]) -> pandas.DataFrame:
    kinds = {
        "age": "Int64",
        "weight": "Float64",
        "smoker": "boolean",
        "seen": "datetime64[us]",
    }
    kinds |= dict.fromkeys(("id", "sex", "city", "remarks"), "string")
    return (
        stored(rows)
        .to_pandas(date_as_object=True)
        .astype({"age": object})
        .assign(
            **{
                name: pandas.array(stored(rows)[name].to_pylist(), dtype=kind)
                for name, kind in kinds.items()
            }
        )
    )


def in_object_pandas(rows: Sequence[Line]) -> pandas.DataFrame:
    """Every column Python objects."""
    columns = {name: [dict(row)[name] for row in rows] for name in NAMES}  # type: ignore[arg-type]
    return pandas.DataFrame(
        {name: pandas.Series(values, dtype=object) for name, values in columns.items()}
    )


def in_object_polars(rows: Sequence[Line]) -> polars.DataFrame:
    columns = {name: [dict(row)[name] for row in rows] for name in NAMES}  # type: ignore[arg-type]
    return polars.DataFrame(
        [
            polars.Series(name, values, dtype=polars.Object)
            for name, values in columns.items()
        ]
    )


def parquet_of_pandas(rows: Sequence[Line], folder: Path) -> object:
    in_nullable_pandas(rows).to_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def parquet_of_arrow(rows: Sequence[Line], folder: Path) -> object:
    parquet.write_table(stored(rows), folder / "people.parquet")
    return folder / "people.parquet"


def parquet_of_polars(rows: Sequence[Line], folder: Path) -> object:
    polars.from_arrow(stored(rows)).write_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def parquet_of_duckdb(rows: Sequence[Line], folder: Path) -> object:
    duckdb.from_arrow(stored(rows)).write_parquet(str(folder / "people.parquet"))
    return folder / "people.parquet"


CSV_SOURCES: dict[str, Source] = {
    "csv": csv_file(),
    "csv, semicolons": csv_file(delimiter=";", always_quoted=True),
    "csv, tabs": csv_file("people.tsv", delimiter="\t"),
    "csv, carriage returns": csv_file(end=b"\r\n"),
    "csv, gzip": csv_file("people.csv.gz"),
    "csv, latin-1": in_latin,
    "csv, multiline": multiline,
}
TYPED_SOURCES: dict[str, Source] = {
    "parquet of pandas": parquet_of_pandas,
    "parquet of pyarrow": parquet_of_arrow,
    "parquet of polars": parquet_of_polars,
    "parquet of duckdb": parquet_of_duckdb,
    "pandas, nullable": lambda rows, _: in_nullable_pandas(rows),
    "pandas, arrow": lambda rows, _: in_arrow_backed_pandas(rows),
    "polars": lambda rows, _: polars.from_arrow(stored(rows)),
    "pyarrow": lambda rows, _: stored(rows),
    "duckdb": lambda rows, _: duckdb.from_arrow(stored(rows)),
}
OBJECT_SOURCES: dict[str, Source] = {
    "pandas, objects": lambda rows, _: in_object_pandas(rows),
    "polars, objects": lambda rows, _: in_object_polars(rows),
}
SOURCES = CSV_SOURCES | TYPED_SOURCES | OBJECT_SOURCES
"""Every kind of table, its storage types fixed."""


def holds(source: str, change: Change) -> bool:
    """Whether a source can hold such rows at all."""
    if source == "csv, multiline" and change.where == "csv":
        return not any(
            isinstance(row, bytes) or '"' in "".join(map(cell_text, row.values()))
            for row in change.rows
        )
    fits = {
        "any": True,
        "csv": source in CSV_SOURCES,
        "object": source in OBJECT_SOURCES,
    }
    return fits[change.where]


# Tables whose storage types were inferred from their rows


@dataclass(frozen=True)
class StoragePair:
    """Two neighbouring tables of one source in which a library inferred the types.
    `column` is the one whose type hangs by a row.
    """

    name: str
    column: str
    here: Sequence[Row]
    there: Sequence[Row]
    build: Source

    def __str__(self) -> str:
        return self.name


def inferred_pandas(rows: Sequence[Line]) -> pandas.DataFrame:
    return pandas.DataFrame([dict(row) for row in rows], columns=NAMES)  # type: ignore[arg-type]


def inferred_arrow(rows: Sequence[Line]) -> pyarrow.Table:
    return pyarrow.table({name: [dict(row)[name] for row in rows] for name in NAMES})  # type: ignore[arg-type]


def inferred_polars(rows: Sequence[Line]) -> polars.DataFrame:
    return polars.DataFrame(
        {name: [dict(row)[name] for row in rows] for name in NAMES}, strict=False
    )  # type: ignore[arg-type]


def narrowed(rows: Sequence[Line]) -> pandas.DataFrame:
    """Whole numbers in as few bits as they need."""
    made = inferred_pandas(rows)
    return made.assign(age=pandas.to_numeric(made["age"], downcast="unsigned"))


def write_pandas(made: pandas.DataFrame, folder: Path) -> object:
    made.to_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def write_arrow(made: pyarrow.Table, folder: Path) -> object:
    parquet.write_table(made, folder / "people.parquet")
    return folder / "people.parquet"


def write_polars(made: polars.DataFrame, folder: Path) -> object:
    made.write_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def sniffed_csv(rows: Sequence[Line], folder: Path) -> duckdb.DuckDBPyRelation:
    (folder / "sniffed.csv").write_bytes(csv_bytes(rows))
    return duckdb.read_csv(str(folder / "sniffed.csv"))


def parquet_of_sniffed(rows: Sequence[Line], folder: Path) -> object:
    sniffed_csv(rows, folder).write_parquet(str(folder / "people.parquet"))
    return folder / "people.parquet"


INFERRED: dict[str, Source] = {
    "pandas": lambda rows, _: inferred_pandas(rows),
    "pandas, narrowed": lambda rows, _: narrowed(rows),
    "pandas, convert_dtypes": lambda rows, _: inferred_pandas(rows).convert_dtypes(),
    "pandas, category": lambda rows, _: inferred_pandas(rows).astype(
        {"sex": "category", "city": "category"}
    ),
    "pyarrow": lambda rows, _: inferred_arrow(rows),
    "pyarrow, dictionaries": lambda rows, _: inferred_arrow(rows).set_column(
        1, "sex", inferred_arrow(rows)["sex"].dictionary_encode()
    ),
    "polars": lambda rows, _: inferred_polars(rows),
    "duckdb": sniffed_csv,
    "parquet of pandas": lambda rows, folder: write_pandas(
        inferred_pandas(rows), folder
    ),
    "parquet of pandas, narrowed": lambda rows, folder: write_pandas(
        narrowed(rows), folder
    ),
    "parquet of pyarrow": lambda rows, folder: write_arrow(
        inferred_arrow(rows), folder
    ),
    "parquet of polars": lambda rows, folder: write_polars(
        inferred_polars(rows), folder
    ),
    "parquet of duckdb": parquet_of_sniffed,
}
PLAINLY = people(6)
WITHOUT_AGES = [person(i, age=None, sex="F") for i in range(6)]
IN_DECIMALS = [person(i, weight=Decimal(f"{50 + i}.5")) for i in range(6)]
HANGING: list[tuple[str, str, Sequence[Row], Row]] = [
    ("an empty age", "age", PLAINLY, person(6, age=None)),
    ("an empty smoker", "smoker", PLAINLY, person(6, smoker=None)),
    ("an empty weight", "weight", PLAINLY, person(6, weight=None)),
    ("an empty day", "born", PLAINLY, person(6, born=None)),
    ("an empty moment", "seen", PLAINLY, person(6, seen=None)),
    ("an empty label", "sex", PLAINLY, person(6, sex=None)),
    ("the first age of all", "age", WITHOUT_AGES, person(6)),
    ("an age of two bytes", "age", PLAINLY, person(6, age=700)),
    ("an age of eight bytes", "age", PLAINLY, person(6, age=2**40)),
    ("half a year", "age", PLAINLY, person(6, age=40.5)),
    (
        "a weight of more digits",
        "weight",
        IN_DECIMALS,
        person(6, weight=Decimal("51.125")),
    ),
    (
        "a weight before the point of more digits",
        "weight",
        IN_DECIMALS,
        person(6, weight=Decimal("123456.5")),
    ),
    (
        "a whole weight",
        "weight",
        [person(i, weight=70 + i) for i in range(6)],
        person(6, weight=70.5),
    ),
    (
        "a moment of finer unit",
        "seen",
        PLAINLY,
        person(6, seen=datetime(2024, 1, 1, 1, 1, 1, 123456)),
    ),
    ("the first row of all", "age", [], person(6)),
]
"""What hangs by a row: its name, the column, the table, and the row."""


def can_infer(name: str, what: str) -> bool:
    """Whether the library makes a table of such rows at all: Arrow's refuse to mix
    whole numbers, halves and texts.
    """
    return not (what == "half a year" and "pyarrow" in name)


STORAGE_PAIRS = [
    StoragePair(f"{source}: {what}", column, here, [*here, odd], build)
    for source, build in INFERRED.items()
    for what, column, here, odd in HANGING
    if can_infer(source, what)
]
"""Neighbours whose storage types differ by one row, for every source that infers its
types.
"""
