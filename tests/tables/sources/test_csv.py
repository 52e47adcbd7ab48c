"""CSV: one odd row changes nothing but itself, and both ways of reading a file read the
same rows.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from understudy.errors import TableError
from understudy.tables import open_table
from understudy.tables.sources import csv, csv_dialect, csv_rows


def rows(path: Path, **options) -> list[tuple[str | None, ...]]:
    """The cells of a file in the order of its rows, as the database holds them."""
    with open_table(path, **options) as source:
        return source.engine.run(
            f"SELECT * FROM {source.relation} ORDER BY rowid", doing="testing"
        )


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


ODD = {
    "short": (b"4,5", ("4", "5", None)),
    "empty cells": (b",,", (None, None, None)),
    "long": (b"4,5,6,7,8", ("4", "5", "6")),
    "quoted": (b'"4","a ""b"", c",6', ("4", 'a "b", c', "6")),
    "quotes with spaces": (b'4, "5" ,6', ("4", "5", "6")),
    "quote inside": (b'4,a"b,6', ("4", 'a"b', "6")),
    "text after quotes": (b'4,"5"x,6', ("4", '"5"x', "6")),
    "never closed": (b'4,"5,6', ("4", '"5', "6")),
    "never closed, last": (b'4,5,"6', ("4", "5", '"6')),
    "only a quote": (b'"', ('"', None, None)),
    "quoted emptiness": (b'""', (None, None, None)),
    "no text": (b"4,\xff\xfe,6", ("4", "\ufffd\ufffd", "6")),
    "nul": (b"4,\x00,6", ("4", "\x00", "6")),
    "spaces": (b" 4 ,5, 6", (" 4 ", "5", " 6")),
    "huge": (b"4," + b"x" * (csv.MAX_CSV_CELL_BYTES + 1) + b",6", ("4", None, "6")),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_an_odd_row_changes_nothing_but_itself(odd, ending, tmp_path):
    line, expected = ODD[odd]
    before, after = b"1,2,3", b"7,8,9"
    path = written(
        tmp_path / "t.csv", ending.join([b"a,b,c", before, line, *[after] * 200, b""])
    )
    assert rows(path) == [("1", "2", "3"), expected, *[("7", "8", "9")] * 200]


def test_a_quoted_cell_holds_line_breaks_only_where_that_is_declared(tmp_path):
    path = written(tmp_path / "t.csv", b'a,b,c\n1,2,3\n4,"a\nb",6\n7,8,9\n')
    assert rows(path, multiline=True) == [
        ("1", "2", "3"),
        ("4", "a\nb", "6"),
        ("7", "8", "9"),
    ]
    assert rows(path) == [
        ("1", "2", "3"),
        ("4", '"a', None),
        ('b"', "6", None),
        ("7", "8", "9"),
    ]


@pytest.mark.parametrize("line", [b'x,"foo', b'"', b'1,"2', b'",', b'x,""",'])
@pytest.mark.parametrize("others", [b'1,","', b'","', b'",",', b'1,y"'])
def test_a_stray_quote_swallows_no_other_line(line, others, tmp_path):
    """Cells that begin and end with a delimiter re-open quotes; each line is a row all
    the same.
    """
    alone = rows(written(tmp_path / "t.csv", b"a,b\n" + (others + b"\n") * 300))
    with_it = rows(
        written(tmp_path / "u.csv", b"a,b\n" + line + b"\n" + (others + b"\n") * 300)
    )
    assert len(alone) == 300
    assert with_it[1:] == alone


def test_no_row_lends_the_header_a_name(tmp_path):
    for content in (
        b'a,"b\n1,2"\n',
        b'a,"b\n1,2\n',
        b'"a\n(b)",c\n1,2\n',
        b'"a, b\nc",d\n1,2\n',
        b'a,"b\n1,"""b"\n',
    ):
        with pytest.raises(
            TableError,
            match=r"t\.csv:1: the name of column \d begins with a quote that does not end",
        ):
            open_table(written(tmp_path / "t.csv", content))


def test_a_name_that_is_quoted_as_a_whole_may_begin_with_a_quote(tmp_path):
    with open_table(written(tmp_path / "t.csv", b'"""><svg>",b\n1,2\n')) as source:
        assert source.names == ('"><svg>', "b")


def test_a_name_may_hold_quotes_and_where_it_is_said_line_breaks(tmp_path):
    with open_table(
        written(tmp_path / "t.csv", b'5" disk,"""said""",x"y\n1,2,3\n')
    ) as source:
        assert source.names == ('5" disk', '"said"', 'x"y')
    with open_table(
        written(tmp_path / "u.csv", b'"a\n(b)",c\n1,2\n'), multiline=True
    ) as source:
        assert source.names == ("a\n(b)", "c")


def test_a_mark_in_the_first_cell_stays_where_it_is(tmp_path):
    plain = b"a,b\n\xef\xbb\xbf1,z\n0,0\n"
    clean, copied = (
        rows(written(tmp_path / "t.csv", plain)),
        rows(written(tmp_path / "u.csv", plain + b'1,"q\n')),
    )
    assert clean[0] == copied[0] == ("\ufeff1", "z")


def test_blank_lines_are_no_rows(tmp_path):
    assert rows(written(tmp_path / "t.csv", b"a,b\n\n1,2\n\n3,4\n\n")) == [
        ("1", "2"),
        ("3", "4"),
    ]
    assert rows(written(tmp_path / "u.csv", b"\n\na,b\n1,2\n")) == [("1", "2")]


def test_in_a_single_column_a_blank_line_is_a_missing_cell(tmp_path):
    assert rows(written(tmp_path / "t.csv", b"a\n1\n\n2\n")) == [
        ("1",),
        (None,),
        ("2",),
    ]
    assert rows(written(tmp_path / "u.csv", b'a\n1\n\n"2\n')) == [
        ("1",),
        (None,),
        ('"2',),
    ]


@pytest.mark.parametrize(
    "mark", [",", ";", "\t", "|"], ids=["comma", "semicolon", "tab", "bar"]
)
def test_the_header_line_decides_the_delimiter(mark, tmp_path):
    path = written(
        tmp_path / "t.csv", f'a{mark}"b,;|x"{mark}c\n1{mark}2.5{mark}3\n'.encode()
    )
    with open_table(path) as source:
        assert source.names == ("a", "b,;|x", "c")
    assert rows(path) == [("1", "2.5", "3")]


@pytest.mark.parametrize(
    "first", ["sep=;\r\n", "\ufeffsep=;\n", '"sep=;"\r\n', "\nSEP=;\n", "sep=;\r"]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_first_line_of_a_spreadsheet_says_what_separates_cells(
    first, encoding, tmp_path
):
    path = written(
        tmp_path / "t.csv",
        f'{first}a;"b,c,d";c\r\n1;2,5;3\r\n\r\n4;"x;y";\r\n'.encode(encoding),
    )
    with open_table(path) as source:
        assert source.names == ("a", "b,c,d", "c")
    assert rows(path) == [("1", "2,5", "3"), ("4", "x;y", None)]


def test_only_the_first_line_says_what_separates_cells(tmp_path):
    assert rows(written(tmp_path / "t.csv", b"a,b\nsep=;\n1,2\n")) == [
        ("sep=;", None),
        ("1", "2"),
    ]
    long = b"sep=;\n" + b";".join(b"c%d" % i * 90 for i in range(1_000)) + b"\n1;2\n"
    assert len(rows(written(tmp_path / "u.csv", long))[0]) == 1_000


def test_files_of_one_table_say_alike_what_separates_cells(tmp_path):
    paths = [
        written(tmp_path / "t.csv", b"sep=;\na;b\n1;2\n"),
        written(tmp_path / "u.csv", b"sep=;\na;b\n3;4\n"),
    ]
    with open_table(paths) as source:
        assert sorted(
            source.engine.run(f"SELECT * FROM {source.relation}", doing="looking")
        ) == [
            ("1", "2"),
            ("3", "4"),
        ]
    with pytest.raises(
        TableError, match=r"v\.csv:1: its header differs from that of t\.csv"
    ):
        open_table([paths[0], written(tmp_path / "v.csv", b"a;b\n3;4\n")])


def test_rows_do_not_decide_the_delimiter(tmp_path):
    assert (
        rows(written(tmp_path / "t.csv", b"a,b\n" + b"1;2;3;4\n" * 50))
        == [("1;2;3;4", None)] * 50
    )


def test_a_declared_delimiter_wins(tmp_path):
    assert rows(written(tmp_path / "t.csv", b"a,b;c\n1,1;2\n"), delimiter=";") == [
        ("1,1", "2")
    ]


@pytest.mark.parametrize(
    "encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig", "utf-8"]
)
def test_encodings(encoding, tmp_path):
    path = written(tmp_path / "t.csv", "näme,b\nMüller,ß\n".encode(encoding))
    with open_table(path, encoding=encoding) as source:
        assert source.names == ("näme", "b")
    assert rows(path, encoding=encoding) == [("Müller", "ß")]


def test_marks_at_the_start_of_a_file_say_how_it_is_encoded(tmp_path):
    assert rows(written(tmp_path / "t.csv", "a,b\nä,2\n".encode("utf-16"))) == [
        ("ä", "2")
    ]
    assert rows(written(tmp_path / "u.csv", "a,b\nä,2\n".encode("utf-8-sig"))) == [
        ("ä", "2")
    ]
    assert rows(written(tmp_path / "v.csv", b"\xef\xbb\xbf" + b'"a",b\n1,"2\n')) == [
        ("1", '"2')
    ]


def test_compressed_files(tmp_path):
    content = b'a,b\n1,"x\ny"\n2,"z\n'
    expected = [("1", "x\ny"), ("2", '"z')]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))
    with pa.CompressedOutputStream(str(tmp_path / "t.csv.zst"), "zstd") as out:
        out.write(content)
    assert (
        rows(tmp_path / "t.csv.gz", multiline=True)
        == rows(tmp_path / "t.csv.zst", multiline=True)
        == expected
    )
    (tmp_path / "u.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
    assert rows(tmp_path / "u.csv.gz") == [("1", "2")]


def test_files_without_a_header_line_need_names(tmp_path):
    path = written(tmp_path / "t.csv", b"1,2\n3,4\n")
    with pytest.raises(TableError, match="without a header line"):
        open_table(path, header=False)
    assert rows(path, header=["a", "b"]) == [("1", "2"), ("3", "4")]
    assert rows(written(tmp_path / "u.csv", b'1,"2\n3,4\n'), header=["a", "b"]) == [
        ("1", '"2'),
        ("3", "4"),
    ]


def test_a_header_line_longer_than_a_chunk_is_read_to_its_end(tmp_path):
    names = [f"{'c' * 200}{i}" for i in range(2000)]
    assert len(",".join(names)) > csv.CSV_CHUNK_BYTES
    with open_table(
        written(tmp_path / "t.csv", ",".join(names).encode() + b"\n")
    ) as source:
        assert source.names == tuple(names)


@pytest.mark.parametrize("content", [b"a,b", b"a,b\n", b"a,b\r\n\r\n"])
def test_a_header_alone_is_an_empty_table(content, tmp_path):
    assert rows(written(tmp_path / "t.csv", content)) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "t.csv:1: is empty"),
        (b"\n\n", "t.csv:1: is empty"),
        (b"sep=;\n", "t.csv:2: there is no header line"),
        (b"sep=;\na;;c\n", "t.csv:2: column 2 has no name"),
        (b"sep= \na;b\n", "a delimiter is one plain character"),
        (b"a,,c\n", "t.csv:1: column 2 has no name"),
        (b",age,\n0,5,1\n", "t.csv:1: column 1 has no name"),
        (b",\n0,5\n", "t.csv:1: column 1 has no name"),
        (b"# exported on Monday\nage,sex\n5,F\n", "t.csv:1: looks like a comment"),
        (b"\n## people\nage;sex\n", "t.csv:2: looks like a comment"),
        (b"// people\nage\n", "t.csv:1: looks like a comment"),
        (b"a,b,a\n", "t.csv:1: columns 1 and 3 have one name"),
        (b"\n\r\na,b,a\n", "t.csv:3: columns 1 and 3 have one name"),
        (
            "a,Größe\n".encode("latin-1"),
            "t.csv:1: the name of column 2 is no text in utf-8. Say which encoding",
        ),
        (
            b",".join(b"c%d" % i for i in range(csv_dialect.MAX_HEADER_NAMES + 1)),
            "t.csv:1: the header line names more than 5,000 columns",
        ),
        (
            b"a" * (csv_dialect.MAX_HEADER_BYTES + 1),
            "t.csv:1: the header line .* is longer than 1 MB",
        ),
    ],
)
def test_a_header_that_names_nothing_is_refused(content, says, tmp_path):
    with pytest.raises(TableError, match=says):
        open_table(written(tmp_path / "t.csv", content))


@pytest.mark.parametrize(
    "options",
    [
        {"encoding": "klingon"},
        {"delimiter": '"'},
        {"delimiter": "ab"},
        {"delimiter": "ä"},
    ],
)
def test_a_dialect_that_is_none_is_refused(options, tmp_path):
    with pytest.raises(TableError, match="Nothing was read"):
        open_table(written(tmp_path / "t.csv", b"a,b\n"), **options)


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
        b"\xff",
        b"\xc3\xa9",
        b"\x00",
        b'"x\ny"',
    ]
)


def reference(
    content: bytes, width: int, multiline: bool
) -> list[tuple[str | None, ...]]:
    """The rules, by the tokenizer alone."""
    text = content.decode(errors="replace").encode()
    found = []
    for record in csv_rows.read_records(
        iter([text]), b",", csv_rows.MAX_QUOTED_LINES if multiline else 0
    ):
        if record or width == 1:
            cells = [(c.decode() or None) for c in record[:width]]
            found.append(tuple(cells + [None] * (width - len(cells))))
    return found


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.lists(pieces, max_size=30).map(b"".join),
    width=st.integers(1, 3),
    multiline=st.booleans(),
)
@example(content=b'a,"\n1,2\n"', width=2, multiline=True)
@example(content=b'1,2\n"\r\n3,4', width=2, multiline=False)
def test_both_ways_of_reading_give_the_same_rows(content, width, multiline, tmp_path):
    """Clean files go to the database as they are, others as a copy: either way what the
    tokenizer says comes out.
    """
    names = ["x", "y", "z"][:width]
    path = written(tmp_path / "t.csv", content)
    expected = reference(content.removeprefix(b"\xef\xbb\xbf"), width, multiline)
    assert rows(path, header=names, multiline=multiline) == expected


@pytest.mark.slow
@settings(
    max_examples=2_000,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.lists(pieces, max_size=40).map(b"".join),
    width=st.integers(1, 3),
    multiline=st.booleans(),
)
def test_both_ways_of_reading_give_the_same_rows_at_length(
    content, width, multiline, tmp_path
):
    path = written(tmp_path / "t.csv", content)
    expected = reference(content.removeprefix(b"\xef\xbb\xbf"), width, multiline)
    assert rows(path, header=["x", "y", "z"][:width], multiline=multiline) == expected


@settings(max_examples=100, deadline=None)
@given(
    st.lists(pieces, max_size=40).map(b"".join),
    st.integers(1, 7),
    st.sampled_from([0, csv_rows.MAX_QUOTED_LINES]),
)
@example(b' ""', 1, 0)
@example(b'1,  "2"\n3, "4,"', 3, 0)
def test_where_the_bytes_are_cut_does_not_matter(content, size, lines):
    text = content.decode(errors="replace").encode()
    pieces = [text[i : i + size] for i in range(0, len(text), size)]
    whole = list(csv_rows.read_records(iter([text] if text else []), b",", lines))
    assert list(csv_rows.read_records(iter(pieces), b",", lines)) == whole


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    content=st.lists(pieces, max_size=40).map(b"".join),
    size=st.sampled_from([1, 3, 8]),
    lines=st.sampled_from([0, 100]),
)
def test_cleanliness_does_not_depend_on_the_size_of_a_chunk(
    content, size, lines, tmp_path
):
    path = written(tmp_path / "t.csv", content)
    whole = csv._is_clean(path, b",", lines, alone=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv, "CSV_CHUNK_BYTES", size)
        assert csv._is_clean(path, b",", lines, alone=False) == whole


def test_a_quoted_cell_closes_within_a_hundred_lines(tmp_path):
    long = b'1,"' + b"x\n" * (csv_rows.MAX_QUOTED_LINES + 1) + b'",3\n'
    found = rows(
        written(tmp_path / "t.csv", b"a,b,c\n" + long + b"7,8,9\n"), multiline=True
    )
    assert found[0] == ("1", '"x', None)
    assert found[-1] == ("7", "8", "9")
    assert len(found) == 2 + csv_rows.MAX_QUOTED_LINES + 1


def test_a_private_copy_is_removed_once_it_is_read(tmp_path):
    with open_table(written(tmp_path / "t.csv", b'a,b\n1,"2\n')) as source:
        _ = source.relation
        directory = source.engine.directory
        assert not re.search("copy", " ".join(p.name for p in directory.iterdir()))
    assert not directory.exists()


def test_a_row_too_long_for_the_database_is_cut_short(tmp_path):
    """Sixty quoted cells of a hundred lines each: clean by every rule, and longer than
    DuckDB takes.
    """
    cell = b'"' + b"\n".join([b"x" * 1000] * 90) + b'"'
    names = b",".join(b"c%d" % i for i in range(60))
    path = written(
        tmp_path / "t.csv",
        names + b"\n" + b",".join([cell] * 60) + b"\n" + b",".join([b"7"] * 60) + b"\n",
    )
    assert csv._is_clean(path, b",", csv_rows.MAX_QUOTED_LINES, alone=False)
    first, second = rows(path, multiline=True)
    assert len(first[0] or "") == 90 * 1001 - 1
    assert first[-1] is None
    assert second == ("7",) * 60


@pytest.mark.parametrize("lines", [0, 100])
@pytest.mark.parametrize("before", [0, 1, 37, 99])
def test_how_far_a_quote_reaches_does_not_depend_on_where_it_stands(
    before, lines, monkeypatch
):
    """A cell that closes too late is bare wherever in the file it is, and one that
    closes in time is quoted.
    """
    monkeypatch.setattr(csv_rows, "MAX_QUOTED_BYTES", 50)
    near, far = b'"' + b"x," * 10 + b'",1', b'"' + b"x," * 40 + b'",1'
    text = b"a" * before + b"\n" + near + b"\n" + far + b"\n"
    for size in (1, 20, 64, 1000):
        pieces = [text[i : i + size] for i in range(0, len(text), size)]
        rows = list(csv_rows.read_records(iter(pieces), b",", lines))
        assert rows[-2:] == [[b"x," * 10, b"1"], [*far.split(b",")]]


def test_cells_beyond_the_header_are_passed_over_unread():
    rows = [b"1,2", b"1,2,3,4", b'1,"2,3",4,5', b"", b'1,2,"3', b"1"]
    found = list(csv_rows.read_records(iter([b"\r\n".join(rows)]), b",", 0, 2))
    assert [row[:2] for row in found] == [
        [b"1", b"2"],
        [b"1", b"2"],
        [b"1", b"2,3"],
        [],
        [b"1", b"2"],
        [b"1"],
    ]


def test_an_unfinished_cell_is_looked_through_once(monkeypatch):
    """A line of a thousand pieces without an end: the search for the end goes on where
    it stopped.
    """
    started = []
    search = csv_rows._find_edge
    monkeypatch.setattr(
        csv_rows,
        "_find_edge",
        lambda edges, buffer, start: (
            started.append(start) or search(edges, buffer, start)
        ),
    )
    assert list(csv_rows.read_records(iter([b"x" * 100] * 1000), b",", 0)) == [
        [b"x" * 100_000]
    ]
    assert started == sorted(set(started))
    assert len(started) == 1001


def test_a_long_cell_of_many_lines_is_missing_whatever_the_rest_of_the_file_is(
    tmp_path,
):
    """A file that could be read as it is, and the same with a stray quote in another
    row, say the same of it.
    """
    long = b'1,"' + (b"x" * 5000 + b"\n") * 60 + b'"\n'
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + long)
    assert not csv._is_clean(
        tmp_path / "t.csv", b",", csv_rows.MAX_QUOTED_LINES, alone=False
    )


@pytest.mark.parametrize(
    "content", [b"# of rooms,rent\n3,500\n", b'"# of rooms"\n3\n', b"#id\n3\n"]
)
def test_a_name_may_begin_as_a_comment_does(content, tmp_path):
    assert rows(written(tmp_path / "t.csv", content))[0][0] == "3"


@pytest.mark.parametrize("name", ["t.tsv", "t.tab", "T.TSV"])
def test_the_name_of_a_file_can_say_that_tabs_separate(name, tmp_path):
    path = tmp_path / name
    path.write_text("a, or b, or c\td\n1\t2\n")
    with open_table(path) as source:
        assert source.names == ("a, or b, or c", "d")


def test_a_tsv_file_without_a_tab_is_read_by_its_header(tmp_path):
    path = tmp_path / "t.tsv"
    path.write_text("a,b\n1,2\n")
    with open_table(path) as source:
        assert source.names == ("a", "b")


def test_row_numbers_without_a_name_get_one(tmp_path):
    with open_table(written(tmp_path / "t.csv", b",age\n0,5\n")) as source:
        assert (source.names, source.index_name) == (("index", "age"), "index")
    with open_table(written(tmp_path / "u.csv", b",index\n0,5\n")) as source:
        assert (source.names, source.index_name) == (("index_", "index"), "index_")


def test_declared_names_may_not_be_empty(tmp_path):
    path = written(tmp_path / "t.csv", b"0,5\n")
    with pytest.raises(TableError, match="column 1 has no name"):
        open_table(path, header=["", "age"])
