"""Cells that break their own type: what a file or a frame can hold in a column, and the
column's declared type cannot.

Each is a column of Arrow's with two plain cells and a third that is either plain or
broken, built from its buffers because no library would make it otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from fractions import Fraction

import pyarrow as pa

from understudy.schema import Categorical, Column, Date, Datetime, Integer, Real, Time

TEXT = Categorical(name="x", values=("F", "M"), other="other")
NUMBER = Real(name="x", min=Fraction(0), max=Fraction(300), step=Fraction(1, 10))
MOMENT = Datetime(
    name="x",
    min=datetime(2000, 1, 1),
    max=datetime(2030, 12, 31),
    resolution=timedelta(hours=1),
)
DAY = Date(name="x", min=date(1900, 1, 1), max=date(2030, 12, 31))
CLOCK = Time(name="x", resolution=timedelta(minutes=15))
WHOLE = Integer(name="x", min=0, max=9)


@dataclass(frozen=True)
class Broken:
    """A column that can be broken: what it declares, what its cells are stored as, two
    plain cells, and the broken one.
    """

    name: str
    column: Column
    declared: pa.DataType
    stored: pa.DataType
    plain: tuple[object, object]
    odd: object

    def __str__(self) -> str:
        return self.name

    def array(self, last: object) -> pa.Array:
        """The column with this third cell."""
        values = [*self.plain, last]
        if pa.types.is_decimal(self.declared):
            raw = b"".join(
                int(v).to_bytes(self.declared.byte_width, "little", signed=True)
                for v in values
            )  # type: ignore[call-overload]
            return pa.Array.from_buffers(self.declared, 3, [None, pa.py_buffer(raw)])
        held = pa.array(values, self.stored)
        if pa.types.is_dictionary(self.declared):
            texts = pa.array([*dict.fromkeys(values)], self.stored).view(
                self.declared.value_type
            )
            places = [list(dict.fromkeys(values)).index(v) for v in values]
            return pa.DictionaryArray.from_arrays(
                pa.array(places, self.declared.index_type), texts
            )
        if pa.types.is_list(self.declared):
            return pa.ListArray.from_arrays(
                pa.array([0, 1, 2, 3], pa.int32()), held.view(self.declared.value_type)
            )
        if pa.types.is_struct(self.declared):
            return pa.StructArray.from_arrays(
                [held.view(self.declared.field(0).type)], ["a"]
            )
        return held.view(self.declared)

    def pair(self) -> tuple[pa.Table, pa.Table]:
        """Two tables that differ in one cell: both plain, and with the broken one."""
        return pa.table({"x": self.array(self.plain[0])}), pa.table(
            {"x": self.array(self.odd)}
        )


def _stamp(unit: str) -> tuple[int, int]:
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    return 1_709_287_200 * per, 1_688_918_400 * per


def _clock(unit: str) -> tuple[int, int]:
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    return 36_900 * per, 59_400 * per


BAD = b"\xff\xfe"
FAR = (2**62, -(2**63))
BROKEN = [
    *(Broken(str(t), TEXT, t, s, (b"F", b"M"), BAD) for t, s in (
        (pa.string(), pa.binary()), (pa.large_string(), pa.large_binary()), (pa.string_view(), pa.binary_view()),
        (pa.dictionary(pa.int8(), pa.string()), pa.binary()),
        (pa.list_(pa.string()), pa.binary()), (pa.struct({"a": pa.string()}), pa.binary()),
    )),
    *(Broken(f"{t} {far}", MOMENT, t, pa.int64(), _stamp(t.unit), far)
      for unit in ("s", "ms", "us", "ns") for t in (pa.timestamp(unit), pa.timestamp(unit, "Europe/Oslo")) for far in FAR),
    *(Broken(f"{t} {far}", CLOCK, t, pa.int64(), _clock(t.unit), far)
      for t in (pa.time64("us"), pa.time64("ns")) for far in (*FAR, -5, 86_400 * 10**9)),
    *(Broken(f"{t} {far}", CLOCK, t, pa.int32(), _clock(t.unit), far)
      for t in (pa.time32("s"), pa.time32("ms")) for far in (2**31 - 1, -5)),
    *(Broken(f"{t} {far}", TEXT, t, pa.int64(), (1, 2), far) for t in (pa.duration("s"), pa.duration("ns")) for far in FAR),
    *(Broken(f"date32 {far}", DAY, pa.date32(), pa.int32(), (3650, 7300), far) for far in (2**31 - 1, -(2**31))),
    *(Broken(f"date64 {far}", DAY, pa.date64(), pa.int64(), (86_400_000, 0), far) for far in (2**62, -(2**63))),
    *(Broken(f"{t} {far}", NUMBER, t, t, (715, 800), far)
      for t in (pa.decimal128(5, 1), pa.decimal128(38, 1)) for far in (2**127 - 1, -(2**127))),
    *(Broken(f"{t} {far}", NUMBER, t, t, (715, 800), far) for t in (pa.decimal256(50, 1),) for far in (2**255 - 1, -(2**255))),
    Broken("list of times", TEXT, pa.list_(pa.time64("us")), pa.int64(), (1, 2), -5),
    Broken("structure of moments", TEXT, pa.struct({"a": pa.timestamp("s")}), pa.int64(), (1, 2), 2**62),
]  # fmt: skip

HUGE = 170_141_183_460_469_231_731_687_303_715_884_105_727
IN_DUCKDB = {
    "hugeint": (WHOLE, "5::HUGEINT", f"-{HUGE}::HUGEINT - 1"),
    "hugeint above": (WHOLE, "5::HUGEINT", f"{HUGE}::HUGEINT"),
    "uhugeint": (WHOLE, "5::UHUGEINT", f"{2 * HUGE + 1}::UHUGEINT"),
    "list of hugeints": (WHOLE, "[5::HUGEINT]", f"[-{HUGE}::HUGEINT - 1]"),
    "moment": (MOMENT, "TIMESTAMP '2024-03-01 10:00:00'", "TIMESTAMP 'infinity'"),
    "first moment": (
        MOMENT,
        "TIMESTAMP '2024-03-01 10:00:00'",
        "TIMESTAMP '290309-12-22 (BC) 00:00:00'",
    ),
    "seconds": (MOMENT, "TIMESTAMP_S '2024-03-01 10:00:00'", "TIMESTAMP_S '-infinity'"),
    "instant": (
        MOMENT,
        "TIMESTAMPTZ '2024-03-01 10:00:00+00'",
        "TIMESTAMPTZ 'infinity'",
    ),
    "day": (DAY, "DATE '2024-03-01'", "DATE '-infinity'"),
    "clock": (CLOCK, "TIME '10:15:00'", "TIME '24:00:00'"),
    "interval": (TEXT, "INTERVAL 1 DAY", "INTERVAL '178000000' YEARS"),
}
"""The same for a relation of DuckDB: a column, a plain cell and an odd one, in SQL."""
