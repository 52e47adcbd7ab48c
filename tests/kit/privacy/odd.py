"""Two hundred rows that could change more than themselves: each is added to a plain
table, or replaces a row of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kit.privacy.runs import NAMES, OTHER, PLAIN, csv


@dataclass(frozen=True)
class Pair:
    """Two neighbouring files, and the columns on which their difference could show.
    `moved` is how many rows differ at most.
    """

    kind: str
    number: int
    here: bytes
    there: bytes
    columns: tuple[str, ...]
    moved: int

    def __str__(self) -> str:
        return f"{self.kind} {self.number}"


ROWS = [PLAIN, OTHER, PLAIN, OTHER, OTHER]


def cell(column: str, text: str) -> list[str]:
    """A plain row with another text in one cell, quoted where a file needs it."""
    row = list(PLAIN)
    row[NAMES.index(column)] = (
        '"' + text.replace('"', '""') + '"' if set(text) & set(',"\r\n') else text
    )
    return row


CATEGORIES = [
    "Z", "é", "🦄", "x, y", 'say "hi"', "x" * 5000, " F", "f", "NULL", "other", "elsewhere", "=1+1", "-1", "\u202eF", "two\u2028lines",
    "F" * 64,
]  # fmt: skip
NUMBERS = [
    "1000", "-1", "9" * 30, "-" + "9" * 30, "1e308", "1e400", "-1e400", "inf", "-inf", "nan", "0.5", "1e-400", "-0", "121", "9"
    * 400, "4611686018427387904",
]  # fmt: skip
MISSING = ["", "NA", "NaN", "null", "None", "?", "-", " "]
ODD = [
    "abc",
    "2020-01-01",
    "true",
    "0x1F",
    "1_000",
    "1,5",
    "½",
    "٣",
    "12 kg",
    "++1",
    "1e",
    "'42",
]
DATES = [
    "0001-01-01", "9999-12-31", "2020-02-30", "31/12/2020", "2020-13-01", "1582-10-10", "-5000-01-01", "99999-01-01",
    "2020-1-1", "20200101", "2024-02-29", "1899-12-31", "2031-01-01",
]  # fmt: skip
MOMENTS = [
    "2024-01-01T24:00:00", "2024-01-01 25:00", "2024-03-31 02:30:00", "2024-01-01 10:00:00+14:00", "2024-01-01 10:00:00-99:00",
    "1970-01-01", "9999-12-31 23:59:59", "2016-12-31 23:59:60", "24:00:00", "10:15", "10:15:00.123456",
]  # fmt: skip
KEYS = ["9", "7", "", "0", "x" * 300, "-1", "7 ", "٧", "8.0", "null"]
RAGGED = [
    b"9", b"9,F", b",,,,,,,,,", b",,,,,,,,,,,,,,", b"9,F,Oslo", b"9," * 500, b"," * 9 + b"x", b"F,M,F,M", b"9;F;Oslo;3",
    b"9\tF\tOslo", b"9,F,Oslo,42,71.5,1980-05-05,2024-03-01 10:00:00,10:15:00,true,a,b,c", b"   ", b",",
]  # fmt: skip
QUOTED = [
    b'"', b'""', b'"""', b'9,"F"x,Oslo', b'9,F","Oslo', b'9,x"F,Oslo', b'"9","F","Oslo","42"', b'9,"F""",Oslo', b"9,'F','Oslo'",
    b"9,\x00,Oslo", b"9,\xff\xfe,Oslo", b"\xef\xbb\xbf9,F,Oslo", b"9,F\x1a,Oslo", b"9,\\,Oslo", b'9,\\"F,Oslo', b"#9,F,Oslo",
    b"9,F,\xe2\x80\xa8", b'9,"F,Oslo',
]  # fmt: skip


def pairs() -> list[Pair]:
    """Every odd row, in turn added and put in another's place, in the middle of a
    table, an empty one and one of a single row.
    """
    found: list[Pair] = []

    def note(
        kind: str,
        row: list[str] | bytes,
        columns: tuple[str, ...],
        rows: list[list[str]] = ROWS,
    ) -> None:
        number, middle = sum(p.kind == kind for p in found), len(rows) // 2
        added = bool(number % 2) or not rows
        there = [*rows[:middle], row, *rows[middle + (not added) :]]
        found.append(
            Pair(kind, number, csv(*rows), csv(*there), columns, 1 if added else 2)
        )

    for column in ("sex", "city"):
        for text in CATEGORIES:
            note("category", cell(column, text), (column,))
    for column in ("age", "weight"):
        for text in NUMBERS:
            note("number", cell(column, text), (column,))
    for column in ("sex", "age", "born", "smoker"):
        for text in MISSING:
            note("missing", cell(column, text), (column,))
    for column in ("age", "smoker"):
        for text in ODD:
            note("type", cell(column, text), (column,))
    for text in DATES:
        note("date", cell("born", text), ("born",))
    for text in MOMENTS:
        note("moment", cell("seen" if len(text) > 9 else "at", text), ("seen", "at"))
    for text in KEYS:
        note("key", cell("id", text), ("sex",))
    for text in RAGGED:
        note("ragged", text, ("sex", "age"))
    for text in QUOTED:
        note("quoted", text, ("sex", "city"))
    shut = [*ROWS, [*PLAIN[:-1], 'he said"'], OTHER, [*PLAIN[:-1], '"came by bus"']]
    for text in (
        b'9,F,Oslo,42,71.5,1980-05-05,,,true,"she',
        b'"9,F,Oslo',
        b'9,"F,Oslo',
        b'9,F,"',
        b'9,F,Oslo,"""',
    ):
        note("stray", text, ("sex", "city"), shut)
    for row in (
        PLAIN,
        OTHER,
        cell("sex", "Z"),
        cell("age", "9" * 30),
        cell("born", ""),
        b"",
        b'"',
        b"9",
    ):
        note("empty", row, ("sex", "age"), [])
        note("single", row, ("sex", "age"), [PLAIN])
    return found


PAIRS = pairs()
