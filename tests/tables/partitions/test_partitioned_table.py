"""Rows in partitions give the integers of rows in one table, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import understudy as us
from understudy.queries.statistics import ColumnFactor, Statistic
from understudy.tables import Table, describe_rows, open_table
from understudy.tables.carriers.local import LocalCarrier
from understudy.tables.partitions.codes import EncodedPart
from understudy.tables.partitions.partitioned_table import PartitionedTable
from understudy.tables.partitions.questions import (
    PART_PRIMITIVES,
    PartQuestion,
    PartReading,
)
from understudy.tables.partitions.units import SpreadUnits
from understudy.tables.streams.row_blobs import (
    MAX_BLOB_BYTES,
    pack_rows,
    pack_schema,
    read_rows,
)
from understudy.testing.table_conformance import check_table

COLUMNS = """\
columns:
  age: {type: integer, min: 0, max: 90}
  height: {type: real, min: 0, max: 3, step: 0.1}
  pay: {type: real, min: 0, max: 100, step: 0.01}
  born: {type: date, min: 1900-01-01, max: 2020-12-31}
  seen: {type: datetime, min: 2020-01-01, max: 2021-01-01, zone: UTC, resolution: 1s}
  sex: {type: categorical, values: [F, M]}
  smoker: boolean
"""
RULES = "rules:\n  - age >= 18 or smoker = false\n"
ROWS = {
    "age": [34, None, -5, 12, 2**31 - 1] * 40,
    "height": [1.8, float("nan"), float("inf"), None, 0.1 + 0.2] * 40,
    "pay": [Decimal("12.50"), None, Decimal("-3.99"), Decimal("99.99"), Decimal("0.00")] * 40,
    "born": [date(1990, 5, 1), None, date(1, 1, 1), date(9999, 12, 31), date(2020, 1, 1)] * 40,
    "seen": [datetime(2020, 3, 1, 10), None, datetime(1990, 1, 1), datetime(2020, 12, 31, 23, 59, 59, 999999), datetime(2020, 1, 1)] * 40,
    "sex": ["F", None, "", "Ω", "M"] * 40,
    "smoker": [True, None, False, True, True] * 40,
    "person": [f"p{i // 3}" if i % 11 else None for i in range(200)],
}  # fmt: skip
TABLE = pa.table(
    ROWS,
    schema=pa.schema(
        [
            ("age", pa.int64()),
            ("height", pa.float64()),
            ("pay", pa.decimal128(10, 2)),
            ("born", pa.date32()),
            ("seen", pa.timestamp("us", "UTC")),
            ("sex", pa.string()),
            ("smoker", pa.bool_()),
            ("person", pa.string()),
        ]
    ),
)
UNITS = "  person: {type: identifier}\nunit: {id: person, max_rows: 3}\n"


def carry(table: Any, parts: int) -> LocalCarrier:
    """The rows in partitions, the last of them empty."""
    size = -(-table.num_rows // max(parts - 1, 1))
    blobs = [
        list(pack_rows(table.slice(i * size, size).to_batches(), table.schema))
        for i in range(parts)
    ]
    return LocalCarrier(blobs, pack_schema(table.schema))


def partition(table: Any, schema: us.Schema, parts: int = 4) -> Table:
    source = replace(open_table(table), _carrier=carry(table, parts))
    described = describe_rows(source, schema)
    assert isinstance(described, PartitionedTable)
    return described


@pytest.mark.parametrize(
    ("parts", "rules"),
    [(1, RULES), (3, "broken: drop\n" + RULES), (3, "broken: missing\n" + RULES)],
)
def test_odd_cells_give_the_integers_of_a_frame(parts: int, rules: str) -> None:
    names = ["age", "height", "sex", "smoker"] if parts == 3 else TABLE.column_names
    schema = select(us.Schema.parse(COLUMNS + rules), names)
    twin = Table(open_table(TABLE), schema)
    assert check_table(partition(TABLE, schema, parts), twin) > 15


def select(schema: us.Schema, names: list[str]) -> us.Schema:
    kept = tuple(column for column in schema.columns if column.name in names)
    return replace(schema, columns=kept)


def test_units_lie_in_one_partition() -> None:
    columns = ["age", "sex", "person"]
    schema = select(us.Schema.parse(COLUMNS + UNITS), columns)
    shuffled = TABLE.take(np.random.default_rng(1).permutation(TABLE.num_rows))
    table = partition(shuffled, schema)
    twin = Table(open_table(TABLE), schema)
    check_table(table, twin)


def test_every_primitive_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are asked of partitions, and those of codes that are kept there."""
    asked = set()
    plain = PartQuestion.answer_part

    def answer_part(question: PartQuestion, blobs: Iterable[bytes]) -> bytes:
        asked.add(question.primitive)
        return plain(question, blobs)

    monkeypatch.setattr(PartQuestion, "answer_part", answer_part)
    closed = select(us.Schema.parse(COLUMNS + UNITS), ["age", "sex", "person"])
    opened = replace(closed, columns=(us.Integer(name="age"), *closed.columns[1:]))
    for schema in (closed, opened):
        check_table(partition(TABLE, schema, 2), Table(open_table(TABLE), schema))
    table = partition(TABLE, opened, 2)
    [rows] = table.counts([()])
    assert rows == table.sparse_counts(("sex",))[1].sum()
    assert asked == set(PART_PRIMITIVES)


def test_a_unit_with_too_many_rows_is_bounded_across_partitions() -> None:
    schema = us.Schema.parse(
        "columns:\n  age: {type: integer, min: 0, max: 90}\n  person: identifier\n"
        "unit: {id: person, max_rows: 2}\n"
    )
    rows = pa.table(
        {"age": list(range(90)), "person": [f"p{i % 5}" for i in range(90)]}
    )
    table = partition(rows, schema)
    assert table.sizes().tolist() == [0, 5]
    # What reads the rows here keeps the same rows of each unit.
    counted = table.counts([("age",)])[0]
    read = table.records(["age"]).codes["age"]
    assert np.array_equal(np.bincount(read, minlength=len(counted)), counted)
    assert np.array_equal(
        table.with_schema(replace(schema, rules=())).counts([()])[0], 10
    )


def test_without_an_id_there_are_too_many_rows_of_a_unit() -> None:
    """The broken twin: partitions as they came, each bounded alone."""
    schema = us.Schema.parse(
        "columns:\n  age: {type: integer, min: 0, max: 90}\n  person: identifier\n"
        "unit: {id: person, max_rows: 2}\n"
    )
    rows = pa.table({"age": list(range(90)), "person": ["p"] * 90})
    table = partition(rows, schema)
    table._parts.__dict__["carrier"] = table._parts.source_carrier  # type: ignore[attr-defined]
    assert table.rows() > 2


def test_ids_that_read_alike_come_together() -> None:
    """Two spellings of bytes that are no text are one id, as they are in a file."""
    schema = us.Schema.parse(
        "columns:\n  person: identifier\nunit: {id: person, max_rows: 1}\n"
    )
    odd = pa.array([b"F\xff", b"F\xfe", b"F?"] * 9).view(pa.string())
    spread = SpreadUnits(schema, "salt", 8)
    table = pa.table({"person": odd})
    blobs = pack_rows(table.to_batches(), table.schema)
    assert len({group for group, _ in spread.change_part(blobs)}) == 1


def test_sums_by_cell_add_up() -> None:
    schema = select(us.Schema.parse(COLUMNS), ["age", "sex"])
    factor = ColumnFactor("age", 0, 2**40, -(2**40), 2)
    statistics = [Statistic(), Statistic(("age",), (factor,))]
    tables = partition(TABLE, schema, 3), Table(open_table(TABLE), schema)
    sums = [
        dict(
            zip(
                t.cell_sums(("sex",), statistics)[0].tolist(),
                zip(*t.cell_sums(("sex",), statistics)[1], strict=True),
                strict=True,
            )
        )
        for t in tables
    ]
    assert sums[0] == sums[1]
    values = [
        sorted(
            zip(*map(np.ndarray.tolist, t.cell_values(("sex",), "age")), strict=True)
        )
        for t in tables
    ]
    assert values[0] == values[1]
    edges = [-10, 0, 18, 65, 200]
    binned = [t.lattice_counts("age", edges).tolist() for t in tables]
    assert binned[0] == binned[1]


def test_blobs_are_small_whatever_the_batches() -> None:
    """An executor holds a hundred of them in each task (carriers/spark.py)."""
    numbers = np.random.default_rng(1).integers(0, 2**62, (3, 200_000))
    table = pa.table(list(numbers), names=["a", "b", "c"])
    blobs = list(pack_rows(table.to_batches(), table.schema))
    assert max(map(len, blobs)) < 1.01 * MAX_BLOB_BYTES
    assert next(read_rows(blobs)).equals(table)
    schema = us.Schema(
        columns=tuple(us.Integer(name=name, min=0, max=10**6) for name in "abc")
    )
    reading = PartReading(pack_schema(table.schema), schema, schema, "salt")
    coded = [blob for _, blob in EncodedPart(reading).change_part(blobs)]
    assert len(coded) > 1
    assert max(map(len, coded)) < 1.01 * MAX_BLOB_BYTES


def test_rows_of_a_blob_come_back() -> None:
    blobs = list(pack_rows(TABLE.to_batches(max_chunksize=7), TABLE.schema))
    assert (
        next(read_rows(blobs))
        .drop_columns("height")
        .equals(TABLE.drop_columns("height"))
    )
