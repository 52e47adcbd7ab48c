"""Encodings: in those that are accepted an odd row changes nothing but itself; all
others are refused unread.
"""

from __future__ import annotations

import codecs
import pkgutil
import random
from collections.abc import Iterator
from encodings import __path__ as codec_modules
from encodings.aliases import aliases
from pathlib import Path

import pytest

from understudy.errors import TableError
from understudy.tables import open_table
from understudy.tables.sources import csv, csv_dialect
from understudy.tables.sources.encodings import (
    MULTIBYTE_CODECS,
    WIDE_CODECS,
    check_encoding,
    decode_chunks,
)

ACCEPTED_UNICODE = {"utf-8", "utf-8-sig", "utf-16", "utf-32", *WIDE_CODECS}
REFUSED = {
    "base64", "bz2", "charmap", "hex", "hz", "idna", "iso2022_jp", "iso2022_jp_1", "iso2022_jp_2", "iso2022_jp_2004", "iso2022_jp_3",
    "iso2022_jp_ext", "iso2022_kr", "mbcs", "oem", "punycode", "quopri", "raw-unicode-escape", "rot-13", "undefined", "unicode-escape",
    "utf-7", "uu", "zlib",
}  # fmt: skip


def every_codec() -> list[str]:
    """All encodings that this Python has, by their own names."""
    spelled = {
        *aliases,
        *aliases.values(),
        *(module.name for module in pkgutil.iter_modules(codec_modules)),
    }
    known = set()
    for name in spelled:
        try:
            known.add(codecs.lookup(name).name)
        except LookupError:  # some exist on Windows only
            continue
    return sorted(known)


CODECS = every_codec()
ODD_ROWS = [
    b"\x1b$B", b"\x1b$)C\x0e", b"\x0e", b"~{", b"~", b"+AGE", b"+", b"=41=", b"\\u0041", b"\\", b"\x81", b"\x81\x30\x81", b"\x8f\xa2",
    b"\xc2", b"\xe2\x82", b"\xf0\x9f\x98", b"\xa4\xd4\xa4", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff\xfe\x00\x00", b"\x00",
    b"\x00\xd8", b"\xd8\x00", b"\x00\x0b\x0b", b'"', b'"\x81', b'a,"b', b'5" disk,x', b',"', b"\xdb\xff", b"a,\x8e\xb0,\xfc",
]  # fmt: skip
"""Escape sequences, shifts, lead bytes, marks, half characters, stray quotes: each, as
it is, a row.
"""


def random_rows(seed: str) -> Iterator[bytes]:
    rng = random.Random(seed)
    for _ in range(40):
        yield rng.randbytes(rng.randint(1, 9))


def breaks_lines(row: bytes, codec: str) -> bool:
    """Whether these bytes are two rows, by the rule of what a row is."""
    return any(
        c.encode(codec) in row or c in row.decode(codec, "replace") for c in "\r\n"
    )


def tidied(content: bytes, codec: str, directory: Path) -> list[bytes]:
    """The rows of a file, as they are handed to the database."""
    path = directory / "t.csv"
    path.write_bytes(content)
    how = csv_dialect.detect_dialect(path, delimiter=",", encoding=codec, header=True)
    copy = csv.prepare_csv(path, how, directory / "copy.csv", anyway=True).path
    return copy.read_bytes().removeprefix(codecs.BOM_UTF8).splitlines()


def written_codec(codec: str) -> str:
    """The codec that a single row is written in: without a mark."""
    return {"utf-8-sig": "utf-8", "utf-16": "utf-16-le", "utf-32": "utf-32-le"}.get(
        codec, codec
    )


def test_every_encoding_is_either_known_to_read_line_by_line_or_refused():
    accepted = {codec for codec in CODECS if codec not in REFUSED}
    for codec in accepted:
        check_encoding(codec)
    tables = accepted - ACCEPTED_UNICODE - MULTIBYTE_CODECS
    for codec in tables:
        together = bytes(range(256)).decode(codec, "replace")
        assert list(together) == [
            bytes([byte]).decode(codec, "replace") for byte in range(256)
        ]
    assert len(tables) > 60


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec not in REFUSED])
def test_odd_rows_move_themselves_only_in_every_encoding_that_is_accepted(
    codec, tmp_path
):
    plain = written_codec(codec)
    end = "\n".encode(plain)
    head = "a,b\n".encode(codec)
    texts = ["1,x", "2,y,z", ' "3" ,"u,v"', "4,r", '"5",s', "6,t"]
    whole = [text.encode(plain) + end for text in texts]
    alone = tidied(head + b"".join(whole * 30), codec, tmp_path)
    assert len(alone) == 30 * len(whole)
    odd_rows = [
        odd for odd in [*ODD_ROWS, *random_rows(codec)] if not breaks_lines(odd, plain)
    ]
    mixed = b"".join(
        odd + end + row for odd, row in zip(odd_rows, whole * 30, strict=False)
    )
    rest = b"".join((whole * 30)[len(odd_rows) :])
    rows = tidied(head + mixed + rest, codec, tmp_path)
    assert len(rows) == len(alone) + len(odd_rows)
    del rows[: 2 * len(odd_rows) : 2]
    assert rows == alone


@pytest.mark.parametrize(
    "codec", ["cp932", "gb18030", "cp037", "utf-16-be", "utf-32", "utf-8"]
)
def test_an_odd_row_moves_itself_only_as_the_database_reads_it(codec, tmp_path):
    plain = written_codec(codec)
    end = "\n".encode(plain)
    row = "äé"[: codec.startswith("utf")].encode(plain) + "7,x".encode(plain) + end

    def rows(content: bytes) -> list[tuple[str | None, ...]]:
        (tmp_path / "t.csv").write_bytes("a,b\n".encode(codec) + content)
        with open_table(tmp_path / "t.csv", encoding=codec) as source:
            return source.engine.run(
                f"SELECT * FROM {source.relation} ORDER BY rowid", doing="testing"
            )

    alone = rows(row * 300)
    assert rows(row * 100 + b'\x81"\xd8' + end + row * 200)[:100] == alone[:100]
    assert rows(row * 100 + b'\x81"\xd8' + end + row * 200)[101:] == alone[100:]


@pytest.mark.parametrize(
    "name",
    [
        *(codec for codec in CODECS if codec in REFUSED),
        "ISO-2022-JP",
        "csiso2022jp",
        "U7",
    ],
)
def test_every_other_encoding_is_refused_before_anything_is_read(name, tmp_path):
    """The file is damaged, so whoever reads of it says something else."""
    path = tmp_path / "t.csv.gz"
    path.write_bytes(b"no gzip")
    with pytest.raises(
        TableError,
        match=r"line can be read by itself\. Convert the file to UTF-8 first\. Nothing was read$",
    ):
        open_table(path, encoding=name)


def test_a_codec_of_somebody_elses_is_refused(tmp_path):
    def find(name: str) -> codecs.CodecInfo | None:
        return (
            codecs.CodecInfo(codecs.latin_1_encode, codecs.latin_1_decode, name="own")
            if name == "own"
            else None
        )

    codecs.register(find)
    try:
        with pytest.raises(TableError, match="Convert the file to UTF-8 first"):
            check_encoding("own")
    finally:
        codecs.unregister(find)


@pytest.mark.parametrize("codec", sorted(MULTIBYTE_CODECS | set(WIDE_CODECS)))
def test_decoding_lines_in_one_go_is_decoding_each_by_itself(codec):
    end = "\n".encode(codec)
    letters = [
        bytes([lead, trail])
        for lead in range(0x81, 0xFF, 3)
        for trail in range(0x21, 0xFF, 5)
    ]
    lines = [
        *ODD_ROWS,
        *letters,
        *("grüße,漢字 한국어 ア".encode(codec, "replace") for _ in range(3)),
    ]
    apart = "\n".join(line.decode(codec, "replace") for line in lines)
    together = b"".join(decode_chunks([end.join(lines)], codec)).decode()
    assert together == apart
    sound = [line for line in lines if "\ufffd" not in line.decode(codec, "replace")]
    apart = (
        "\r\n".join(line.decode(codec) for line in sound)
        .encode(errors="replace")
        .decode()
    )
    assert (
        b"".join(decode_chunks(["\r\n".encode(codec).join(sound)], codec)).decode()
        == apart
    )


@pytest.mark.parametrize(
    "codec", ["utf-8", "cp037", "euc_kr", "utf-16-be", "utf-32-le"]
)
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_where_a_file_is_cut_into_chunks_does_not_matter(codec, size):
    content = (
        "ä,1\r\n漢,2\r3\n".encode(codec, "replace") + b"\x81" + "\n4".encode(codec)
    )
    chunks = [content[i : i + size] for i in range(0, len(content), size)]
    assert b"".join(decode_chunks(chunks, codec)) == b"".join(
        decode_chunks([content], codec)
    )


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_a_mark_before_the_header_says_in_which_order_bytes_stand(codec, tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("\ufeffä,b\nß,1\n".encode(codec))
    for declared in ("utf-8", codec[:6], codec):
        with open_table(path, encoding=declared) as source:
            assert source.names == ("ä", "b")
            assert source.engine.run(
                f"SELECT * FROM {source.relation}", doing="testing"
            ) == [("ß", "1")]


def test_where_there_is_no_header_line_no_row_says_how_the_others_are_encoded(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b"\xff\xfe,2\n3,4\n")
    with open_table(path, header=["a", "b"]) as source:
        rows = source.engine.run(f"SELECT * FROM {source.relation}", doing="testing")
        assert rows == [("\ufffd\ufffd", "2"), ("3", "4")]
    with pytest.raises(
        TableError, match=r"Say utf-16-le or utf-16-be\. Nothing was read"
    ):
        open_table(path, header=["a", "b"], encoding="utf-16")


def test_where_there_is_no_header_line_a_mark_belongs_to_its_row(tmp_path):
    """The row reads alike whether it comes first or not."""
    path = tmp_path / "t.csv"
    found = []
    for content in (b"\xef\xbb\xbf1,2\n", b"3,4\n\xef\xbb\xbf1,2\n"):
        path.write_bytes(content)
        with open_table(path, header=["a", "b"]) as source:
            found.append(
                source.engine.run(
                    f"SELECT * FROM {source.relation} ORDER BY rowid", doing="testing"
                )[-1]
            )
    assert found == [("\ufeff1", "2")] * 2


def test_files_of_one_table_are_encoded_alike(tmp_path):
    first, second = tmp_path / "t.csv", tmp_path / "u.csv"
    first.write_bytes(b"a,b\n1,2\n")
    second.write_bytes("a,b\n1,2\n".encode("utf-16"))
    with pytest.raises(TableError, match=r"u\.csv:1: its header differs"):
        open_table([first, second])
