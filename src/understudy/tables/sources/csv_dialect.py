"""The dialect of a CSV file: its delimiter, encoding and names, from its header line
and what the owner declares, never from its rows.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from understudy.errors import TableError
from understudy.schema.columns.number_spelling import NumberSpelling
from understudy.tables.sources.compressed import (
    ending_of_unpacked,
    open_bytes,
    refuse_packed_bomb,
)
from understudy.tables.sources.csv_copy import MAX_CSV_CELL_BYTES, MAX_CSV_ROW_BYTES
from understudy.tables.sources.csv_rows import MAX_QUOTED_LINES, read_records
from understudy.tables.sources.encodings import (
    MARK_BYTES,
    check_encoding,
    decode_chunks,
    find_codec,
)

CSV_DELIMITERS = (",", ";", "\t", "|")
TAB_ENDINGS = (".tsv", ".tab")
"""Endings of files whose cells are separated by tabs."""

SEPARATOR_LINE_PATTERN = re.compile(
    rb'"?sep=([^"\r\n])"?(?:\r\n|[\r\n])', re.IGNORECASE
)
"""A first line in which a spreadsheet says what separates the cells of the others."""

COMMENT_LINE_PATTERN = re.compile(rb"[ \t]*(#[ \t#!]|//)")
"""How a comment begins; a name of several, such as `# of rooms,rent`, may begin so too.
"""

CSV_CHUNK_BYTES = MAX_CSV_CELL_BYTES // 4
"""Bytes of a file that are read at a time."""

MAX_HEADER_BYTES = MAX_CSV_ROW_BYTES // 4
MAX_HEADER_NAMES = 5_000
"""Longest header line, and the most columns it may name."""


@dataclass(frozen=True)
class Dialect:
    """How a file is read: decided by its header line or declared, never by its rows."""

    delimiter: str
    encoding: str
    names: tuple[str, ...]
    header: bool
    lines: int = 0
    """Line breaks that a quoted cell may hold."""

    line: int = 1
    """Where the header stands; blank lines before it are passed over."""

    marked: bool = False
    """Whether a line that says what separates cells (`sep=;`) stands before the header.
    """

    numbers: NumberSpelling | None = None
    """How numbers are spelled, where the owner declares it."""

    quoted: bool = False
    """Whether all names of the header stand in quotes that none of them needs, as R
    writes them.
    """


def detect_dialect(
    path: Path,
    *,
    delimiter: str | None,
    encoding: str,
    header: bool | Sequence[str],
    multiline: bool = False,
) -> Dialect:
    """The dialect of a file, from its first line and what is declared."""
    check_encoding(encoding)
    _check_delimiter(delimiter)
    lines = MAX_QUOTED_LINES if multiline else 0
    encoding, text = _read_beginning(path, encoding, header=header is True)
    if header is False:
        raise TableError(
            f"{path.name}: without a header line its columns have no names. Give them:"
            " header=[…]. Nothing was read"
        )
    if not isinstance(header, bool):
        return Dialect(
            delimiter or ",",
            encoding,
            tuple(header),
            header=False,
            lines=lines,
        )
    text, line, separator = _find_header_line(path, text)
    delimiter = delimiter or separator or _guess_delimiter(path, text, lines)
    cells = _read_header_cells(text, delimiter, lines)
    where = f"{path.name}:{line}"
    names = tuple(cell.decode(errors="replace").strip() for cell in cells)
    _check_size_and_encoding(where, names, sum(map(len, cells)), encoding)
    _check_quotes(where, cells, text if lines else text.splitlines()[0])
    if len(names) == 1 and COMMENT_LINE_PATTERN.match(text):
        raise TableError(
            f"{where}: looks like a comment and not like a header line. Take the line"
            " out, or put the name of the only column in quotes. Nothing was read"
        )
    return Dialect(
        delimiter,
        encoding,
        names,
        header=True,
        lines=lines,
        line=line,
        marked=separator is not None,
        quoted=_is_quoted_throughout(text.splitlines()[0], delimiter, len(cells)),
    )


def _is_quoted_throughout(line: bytes, delimiter: str, names: int) -> bool:
    """Whether a header line is quoted name by name, needed or not.

    >>> _is_quoted_throughout(b'"","age"', ",", 2), _is_quoted_throughout(b'"a b",age', ",", 2)
    (True, False)
    """
    joint = b'"' + delimiter.encode() + b'"'
    is_even = line.count(b'"') == 2 * names and line.count(joint) == names - 1
    return is_even and line[:1] == b'"' == line.rstrip()[-1:]


def _find_header_line(path: Path, text: bytes) -> tuple[bytes, int, str | None]:
    """The text from its header line on, the number of that line, and the separator
    that a spreadsheet declares on the line before.
    """
    stripped = text.lstrip(b"\r\n")
    blank = text[: len(text) - len(stripped)]
    line = 1 + len(blank.splitlines())
    if not stripped.strip():
        raise TableError(
            f"{path.name}:1: is empty; there is no header line. Nothing was read"
        )
    mark = SEPARATOR_LINE_PATTERN.match(stripped)
    if mark is None:
        return stripped, line, None
    rest = stripped[mark.end() :]
    if not rest.strip():
        raise TableError(
            f"{path.name}:{line + 1}: there is no header line. Nothing was read"
        )
    separator = mark[1].decode(errors="replace")
    _check_delimiter(separator)
    return rest, line + 1, separator


def _read_header_cells(text: bytes, delimiter: str, lines: int) -> list[bytes]:
    # One cell beyond the limit is enough to see that it is exceeded.
    return next(
        read_records(iter([text]), delimiter.encode(), lines, MAX_HEADER_NAMES + 1)
    )


def _guess_delimiter(path: Path, text: bytes, lines: int) -> str:
    """A tab where the file's name says so and the header line has one; else the
    delimiter that cuts the header line into the most cells.
    """
    is_tabbed = ending_of_unpacked(path) in TAB_ENDINGS
    if is_tabbed and len(_read_header_cells(text, "\t", lines)) > 1:
        return "\t"
    return max(CSV_DELIMITERS, key=lambda d: len(_read_header_cells(text, d, lines)))


def _check_delimiter(delimiter: str | None) -> None:
    if delimiter is None:
        return
    if len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n ':
        raise TableError(
            "a delimiter is one plain character, such as , or ;. Nothing was read"
        )


def _check_size_and_encoding(
    where: str,
    names: tuple[str, ...],
    size: int,
    encoding: str,
) -> None:
    """A header of sensible size that is text in the encoding of the file. It is public,
    so its refusal says nothing about any row.
    """
    if size > MAX_HEADER_BYTES or len(names) > MAX_HEADER_NAMES:
        raise TableError(
            f"{where}: the header line names more than {MAX_HEADER_NAMES:,} columns or"
            f" is longer than {MAX_HEADER_BYTES // 2**20} MB. Leave columns out."
            " Nothing was read"
        )
    odd = next((i for i, name in enumerate(names, start=1) if "\ufffd" in name), None)
    if odd is not None:
        raise TableError(
            f"{where}: the name of column {odd} is no text in {encoding}. "
            "Say which encoding the file has (--encoding latin-1). Nothing was read"
        )


def _check_quotes(where: str, cells: list[bytes], text: bytes) -> None:
    """No name begins with a quote that never ends; one that holds quotes and was quoted
    as a whole is a name like any other.
    """
    for i, cell in enumerate(cells, start=1):
        opens = cell.lstrip(b" ").startswith(b'"') and cell.count(b'"') % 2
        if opens and b'"%s"' % cell.replace(b'"', b'""') not in text:
            raise TableError(
                f"{where}: the name of column {i} begins with a quote that does not end"
                " on this line. Say --multiline if names hold line breaks, or take the"
                " quote out. Nothing was read"
            )


def decode_file(path: Path, how: Dialect) -> Iterator[bytes]:
    """The file in UTF-8 without its byte-order mark, whatever its bytes; what is no
    text becomes U+FFFD.
    """
    texts = decode_chunks(_read_chunks(path), how.encoding)
    return _drop_mark(texts, header=how.header)


def _read_chunks(path: Path) -> Iterator[bytes]:
    with open_bytes(path) as file:
        while chunk := file.read(CSV_CHUNK_BYTES):
            yield chunk


def _drop_mark(texts: Iterator[bytes], *, header: bool) -> Iterator[bytes]:
    """Texts without the byte-order mark before a header line; without such a line it is
    a part of the first row, and stays.
    """
    first = next(texts, b"")
    while header and first.startswith(codecs.BOM_UTF8):
        first = first.removeprefix(codecs.BOM_UTF8)
    if first:
        yield first
    yield from texts


def _read_beginning(path: Path, encoding: str, *, header: bool) -> tuple[str, bytes]:
    """The codec of a file and its beginning in UTF-8, its header line at least."""
    try:
        with open_bytes(path) as file:
            codec = find_codec(encoding, file.read(MARK_BYTES), header=header)
        # This many bytes hold the longest header line even where every character takes
        # four of them.
        chunks = islice(_read_chunks(path), 4 * MAX_HEADER_BYTES // CSV_CHUNK_BYTES + 1)
        text = b""
        for part in _drop_mark(decode_chunks(chunks, codec), header=header):
            text += part
            if _holds_header(text) or len(text) > MAX_HEADER_BYTES:
                break
    except TableError:
        raise
    except Exception:
        # A damaged packed file is refused by name and line; other errors go on.
        refuse_packed_bomb(path)
        raise
    return codec, text


def _holds_header(first: bytes) -> bool:
    """Whether the line ends that follows blank ones and the mark of a spreadsheet."""
    text = first.lstrip(b"\r\n")
    mark = SEPARATOR_LINE_PATTERN.match(text)
    return text.find(b"\n", mark.end() if mark is not None else 0) >= 0
