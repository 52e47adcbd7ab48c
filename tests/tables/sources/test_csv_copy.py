"""The private copy of a CSV file: the rows that the tokenizer finds, and hardly more
work than none.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from understudy.tables.sources import csv, csv_copy, csv_dialect, csv_rows

pieces = st.sampled_from(
    [
        b"a",
        b"1",
        b",",
        b",",
        b"\n",
        b"\n",
        b"\r\n",
        b"\r",
        b'"',
        b'""',
        b" ",
        b'","',
        b"\xef\xbf\xbd",
        b"\x00",
        b'"x\ny"',
    ]
)
HOWS = {
    lines: csv_dialect.Dialect(",", "utf-8", ("x", "y"), header=False, lines=lines)
    for lines in (0, csv_rows.MAX_QUOTED_LINES)
}


def copied(content: bytes, how: csv_dialect.Dialect, directory: Path) -> bytes:
    path = directory / "t.csv"
    path.write_bytes(content)
    csv.prepare_csv(path, how, directory / "copy.csv", anyway=True)
    return (directory / "copy.csv").read_bytes().removeprefix(b"\xef\xbb\xbf")


def cells(content: bytes, lines: int) -> list[list[bytes]]:
    return [
        row[:2]
        for row in csv_rows.read_records(
            iter([content] if content else []), b",", lines
        )
        if row
    ]


@settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.lists(pieces, max_size=40).map(b"".join),
    lines=st.sampled_from(sorted(HOWS)),
)
@example(content=b'1, "2"x\n"\n', lines=0)
@example(content=b'"a" ,b"\r"c', lines=0)
@example(content=b'1,"a\rb"\r"2\r3', lines=csv_rows.MAX_QUOTED_LINES)
def test_a_copy_holds_the_rows_that_the_tokenizer_finds_each_quoted_properly(
    content, lines, tmp_path
):
    copy = copied(content, HOWS[lines], tmp_path)
    found = [row or [b""] for row in cells(copy, lines)]
    assert found == cells(content, lines)
    (tmp_path / "u.csv").write_bytes(copy or b"0\n")
    assert b"\r" in copy or csv._is_clean(tmp_path / "u.csv", b",", lines, alone=False)


def test_a_line_breaks_at_the_end_of_a_chunk_as_anywhere(tmp_path, monkeypatch):
    content = b'a,b"\r\n1,2\r\r\n"3" ,4\r5,6'
    whole = copied(content, HOWS[0], tmp_path)
    for size in range(1, 8):
        monkeypatch.setattr(csv, "CSV_CHUNK_BYTES", size)
        assert cells(copied(content, HOWS[0], tmp_path), 0) == cells(whole, 0)


@pytest.mark.parametrize(
    "size",
    [
        csv_copy.MAX_CSV_CELL_BYTES - 1,
        csv_copy.MAX_CSV_CELL_BYTES,
        csv_copy.MAX_CSV_CELL_BYTES + 1,
    ],
)
def test_a_long_cell_is_missing_and_its_neighbours_are_not(size, tmp_path):
    copy = copied(b'1,"q\n2,' + b"x" * size + b"\n3,4\n", HOWS[0], tmp_path)
    first, second, third = cells(copy, 0)
    assert (first, third) == ([b"1", b'"q'], [b"3", b"4"])
    assert len(second[1]) == (size if size <= csv_copy.MAX_CSV_CELL_BYTES else 0)


def calls_made(content: bytes, how: csv_dialect.Dialect, directory: Path) -> int:
    """Functions of Python called while a file is made ready: work that grows with rows
    if it is done row by row.
    """
    (directory / "t.csv").write_bytes(content)
    made = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal made
        made += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        csv.prepare_csv(directory / "t.csv", how, directory / "copy.csv")
    finally:
        sys.setprofile(None)
    return made


@pytest.mark.parametrize("lines", sorted(HOWS))
@pytest.mark.parametrize("stray", [b'5" disk,x', b'"never closed,x', b'"a" ,x'])
def test_a_stray_quote_does_not_make_a_long_file_slow(stray, lines, tmp_path):
    rows = 20_000
    content = b'17,"a, b"\n' * (rows // 2) + b"18,c\n" * (rows // 2)
    assert calls_made(content + stray + b"\n", HOWS[lines], tmp_path) < rows / 10
    assert calls_made(stray + b"\n" + content, HOWS[lines], tmp_path) < rows / 10


def test_files_in_other_encodings_and_of_old_macs_are_not_read_row_by_row(tmp_path):
    rows = 20_000
    how = csv_dialect.Dialect(",", "cp932", ("x", "y"), header=False)
    assert calls_made("17,アイ\n".encode("cp932") * rows, how, tmp_path) < rows / 10
    assert calls_made(b"17,x\r" * rows, HOWS[0], tmp_path) < rows / 10
