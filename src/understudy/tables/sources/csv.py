"""CSV files, read so that no row can change how the others are read.

The delimiter comes from the header line (or is declared, also by a first line `sep=;`),
every cell is text, and these rules hold for each row by itself:

  * A line is a row, whatever quotes are in it. Only where the owner declares
    `multiline` may a quoted cell hold line breaks: then two stray quotes within
    QUOTED_LINES lines of each other can merge the rows between them, which is why it
    has to be said. Short rows are filled up with missing cells, long ones keep their
    first cells.
  * A cell is quoted if it is `"…"` with inner quotes doubled, and its closing quote
    stands before a delimiter or the end of a line. Any other quote is an ordinary
    character: a stray one cannot swallow the file. Beyond QUOTED_BYTES there is no
    closing quote.
  * Bytes that are no text become U+FFFD. A cell of more than CELL_BYTES is missing, as
    is what makes a row too long.

  * A line is a line before it is text: an encoding in which one can change how others
    are decoded is refused (tables/sources/encodings.py).

DuckDB reads most files by these rules as they are. `prepare_csv` finds out, in one
pass, whether it would; for the rest it writes a private copy in which every doubtful
cell is quoted properly (tables/sources/csv_copy.py). Either way the same rows come out,
so the choice of path says nothing.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from understudy.errors import TableError
from understudy.tables.sources.compressed import (
    compression_of_path,
    open_bytes,
    refuse_packed_bomb,
)
from understudy.tables.sources.csv_copy import (
    MAX_CSV_CELL_BYTES,
    MAX_CSV_ROW_BYTES,
    CsvPart,
    LinesEndFinder,
    find_short_lines_end,
    skip_rows,
    sound_lines_finder,
    write_copy,
)
from understudy.tables.sources.encodings import (
    MARK_BYTES,
    check_encoding,
    decode_chunks,
    find_codec,
)

CSV_DELIMITERS = (",", ";", "\t", "|")
SEPARATOR_LINE_PATTERN = re.compile(
    rb'"?sep=([^"\r\n])"?(?:\r\n|[\r\n])', re.IGNORECASE
)
"""A first line in which a spreadsheet says what separates the cells of the others."""

COMMENT_LINE_PATTERN = re.compile(rb"[ \t]*(#[ \t#!]|//)")
"""How a comment begins; a name of several, such as `# of rooms,rent`, may begin so too.
"""

LONE_RETURN_PATTERN = re.compile(rb"\r[^\n]")
"""A carriage return that is no part of a line break as most write it."""

MAX_QUOTED_LINES = 100
CSV_CHUNK_BYTES = MAX_CSV_CELL_BYTES // 4
MAX_QUOTED_BYTES = 2 * MAX_CSV_CELL_BYTES
"""Farthest that a closing quote may be from its cell's beginning, wherever in the file
that is.
"""

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


@dataclass(frozen=True)
class PreparedCsv:
    """A file that DuckDB reads by our rules: the original, or a private copy without
    header.
    """

    path: Path
    header: bool
    compression: str


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
    blank, text = text, text.lstrip(b"\r\n")
    line = 1 + len(blank[: len(blank) - len(text)].splitlines())
    if header is False:
        raise TableError(
            f"{path.name}: without a header line its columns have no names. Give them:"
            " header=[…]. Nothing was read"
        )
    if not isinstance(header, bool):
        return Dialect(
            delimiter or ",", encoding, tuple(header), header=False, lines=lines
        )
    if not text.strip():
        raise TableError(
            f"{path.name}:1: is empty; there is no header line. Nothing was read"
        )
    mark = SEPARATOR_LINE_PATTERN.match(text)
    if mark is not None:
        text, line = text[mark.end() :], line + 1
        if not text.strip():
            raise TableError(
                f"{path.name}:{line}: there is no header line. Nothing was read"
            )
        _check_delimiter(mark[1].decode(errors="replace"))
    delimiter = delimiter or (
        mark[1].decode() if mark is not None else _guess_delimiter(text, lines)
    )
    cells = next(
        _read_records(iter([text]), delimiter.encode(), lines, MAX_HEADER_NAMES + 1)
    )
    names = tuple(cell.decode(errors="replace").strip() for cell in cells)
    _check_header(f"{path.name}:{line}", names, sum(map(len, cells)), encoding)
    _check_quotes(f"{path.name}:{line}", cells, text if lines else text.splitlines()[0])
    if len(names) == 1 and COMMENT_LINE_PATTERN.match(text):
        raise TableError(
            f"{path.name}:{line}: looks like a comment and not like a header line. Take"
            " the line out, or put the name of the only column in quotes. Nothing was"
            " read"
        )
    return Dialect(
        delimiter,
        encoding,
        names,
        header=True,
        lines=lines,
        line=line,
        marked=mark is not None,
    )


def _check_header(where: str, names: tuple[str, ...], size: int, encoding: str) -> None:
    """A header of sensible size that is text in the encoding of the file. It is public,
    so its refusal tells of no row.
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


def _guess_delimiter(text: bytes, lines: int) -> str:
    """The delimiter that cuts the header line into the most cells."""
    return max(
        CSV_DELIMITERS,
        key=lambda d: len(
            next(_read_records(iter([text]), d.encode(), lines, MAX_HEADER_NAMES + 1))
        ),
    )


def prepare_csv(
    path: Path, how: Dialect, copy: Path, *, anyway: bool = False
) -> PreparedCsv:
    """The file as it is where DuckDB reads it by our rules, else (or anyway) a copy of
    it, written to `copy`.
    """
    delimiter = how.delimiter.encode()
    if (
        not anyway
        and not how.marked
        and how.encoding == "utf-8"
        and (how.header or not _has_mark(path))
        and _is_clean(path, delimiter, how.lines, alone=len(how.names) == 1)
    ):
        return PreparedCsv(path, how.header, compression_of_path(path))
    whole = sound_lines_finder(delimiter) if how.lines else find_short_lines_end
    parts = _split_parts(
        _decode_file(path, how), delimiter, how.lines, len(how.names), whole
    )
    write_copy(
        skip_rows(parts, how.header + how.marked),
        copy,
        delimiter,
        columns=len(how.names),
    )
    return PreparedCsv(copy, False, "none")


def _quoted_cell_pattern(lines: int) -> bytes:
    """The pattern of a quoted cell, from its first quote to its last."""
    line = rb'(?:[^"\r\n]++|"")*+'
    return rb'"(%s(?:(?:\r\n|[\r\n])%s){0,%d}+)"' % (line, line, lines)


def _is_clean(path: Path, delimiter: bytes, lines: int, *, alone: bool) -> bool:
    """Whether every quote is the edge of a properly quoted cell, every byte text, and
    every line of sensible length.

    Also whether its lines end as they should: not in a carriage return alone, and in a
    file of one column, where a blank line is a row, with no carriage return at all.
    """
    edge = re.escape(delimiter) + rb"\r\n"
    scan = re.compile(
        rb'(?:[^"]++|(?<![^%s])%s(?=[%s]))*+'
        % (edge, _quoted_cell_pattern(lines), edge)
    )
    cells = re.compile(
        rb"(?<![^%s])%s(?=[%s])" % (edge, _quoted_cell_pattern(lines), edge)
    )
    decoder = codecs.getincrementaldecoder("utf-8")()
    held, start, line = b"", 0, 0
    with open_bytes(path) as file:
        while True:
            chunk = file.read(CSV_CHUNK_BYTES)
            try:
                decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError:
                return False
            blank = not held and chunk.removeprefix(codecs.BOM_UTF8).startswith(
                (b"\n", b"\r")
            )
            line += chunk.find(b"\n") if b"\n" in chunk else len(chunk)
            if blank or line > MAX_CSV_CELL_BYTES or (alone and b"\r" in chunk):
                return False
            if LONE_RETURN_PATTERN.search(
                held[-1:] + chunk if chunk else held[-1:] + b" "
            ):
                return False
            if b"\n" in chunk:
                line = len(chunk) - chunk.rfind(b"\n")
            buffer = held + (chunk or b"\n")
            if not held:
                buffer = buffer.removeprefix(codecs.BOM_UTF8)
            stop = len(buffer)
            if b'"' in buffer:
                found = scan.match(buffer, start)
                assert found is not None
                stop = found.end()
                if stop - start > MAX_CSV_CELL_BYTES and any(
                    len(cell[0]) > MAX_CSV_CELL_BYTES
                    for cell in cells.finditer(buffer, start, stop)
                ):
                    return False
            if stop < len(buffer) and (
                not chunk or len(buffer) - stop > MAX_QUOTED_BYTES
            ):
                return False
            if not chunk:
                return True
            # The byte before the next one to look at says whether a quote there opens a
            # cell.
            held, start = (buffer[stop - 1 :], 1) if stop else (buffer, 0)


def _read_records(
    chunks: Iterator[bytes], delimiter: bytes, lines: int, most: int | None = None
) -> Iterator[list[bytes]]:
    """The cells of each row, by the rules above; a blank line has none. This is what
    the rules mean.
    """
    cuts = -1 if most is None or lines else most
    for part in _split_parts(chunks, delimiter, lines, most, _find_bare_lines_end):
        if isinstance(part, bytes):
            yield from (
                row.split(delimiter, cuts) if row else [] for row in part.splitlines()
            )
        else:
            yield part


def _split_parts(
    chunks: Iterator[bytes],
    delimiter: bytes,
    lines: int,
    most: int | None,
    whole: LinesEndFinder,
) -> Iterator[CsvPart]:
    """The lines that are `whole` as they are, and of every other row the cells.

    No byte is looked at again and again, however long a row or a cell is: what was
    found of an unfinished one is kept. Where a line is a row, all that follows its
    first `most` cells is taken for one more.
    """
    edge = re.escape(delimiter) + rb"\r\n"
    quoted = re.compile(rb" *+%s *+(?=[%s])" % (_quoted_cell_pattern(lines), edge))
    opening, edges = re.compile(rb' *+"'), re.compile(rb"[%s]" % edge)
    breaks, spaces = re.compile(rb"[\r\n]"), re.compile(rb" *+")
    buffer, cells, more = bytearray(), list[bytes](), True
    position = looked = (
        0  # where the cell begins, and where its end is looked for: beyond its beginning it is known to be bare
    )
    while more:
        chunk = next(chunks, b"")
        more = bool(chunk)
        buffer += chunk
        if not more and (buffer or cells) and not buffer.endswith((b"\n", b"\r")):
            buffer += b"\n"
        while position < len(buffer):
            if (
                not cells
                and looked == position
                and (stop := whole(buffer, position, more)) > position
            ):
                yield bytes(buffer[position:stop])
                position = looked = stop
                continue
            found = None
            rest = most is not None and not lines and len(cells) >= most
            if (
                looked == position
                and not rest
                and more
                and _may_open(spaces, buffer, position)
            ):
                break
            if looked == position and not rest and opening.match(buffer, position):
                found = quoted.match(buffer, position, position + MAX_QUOTED_BYTES)
                if found is None and more and _may_close(buffer, position, lines):
                    break
            end = (
                found.end()
                if found is not None
                else _find_edge(breaks if rest else edges, buffer, looked)
            )
            if end + 2 > len(buffer) and (more or end == len(buffer)):
                looked = (
                    position if found is not None else end
                )  # the edge, or what follows it, is yet to come
                break
            cells.append(
                bytes(buffer[position:end])
                if found is None
                else found[1].replace(b'""', b'"')
            )
            position = looked = end + (2 if buffer[end : end + 2] == b"\r\n" else 1)
            if buffer[end : end + 1] != delimiter:
                yield [] if cells == [b""] and found is None else cells
                cells = []
        del buffer[:position]
        position, looked = 0, looked - position


def _find_bare_lines_end(buffer: bytearray, position: int, more: bool) -> int:
    """Where the whole lines without a quote end that begin here: a quick way through
    what most files are made of.
    """
    quote = buffer.find(b'"', position)
    # A carriage return that comes last may be half of a line break.
    stop = quote if quote >= 0 else len(buffer) - (more and buffer.endswith(b"\r"))
    return 1 + max(
        buffer.rfind(b"\n", position, stop), buffer.rfind(b"\r", position, stop)
    )


def _may_open(spaces: re.Pattern[bytes], buffer: bytearray, position: int) -> bool:
    """Whether nothing but spaces is known of a cell, so that the next byte may be the
    quote it begins with.
    """
    found = spaces.match(buffer, position)
    return (
        found is not None
        and found.end() == len(buffer)
        and len(buffer) - position <= MAX_QUOTED_BYTES
    )


def _may_close(buffer: bytearray, position: int, lines: int) -> bool:
    """Whether the closing quote of a cell may be among bytes to come."""
    if len(buffer) - position > MAX_QUOTED_BYTES:
        return False
    for _ in range(lines + 1):
        position = buffer.find(b"\n", position) + 1
        if position == 0:
            return True
    return False


def _find_edge(edges: re.Pattern[bytes], buffer: bytearray, start: int) -> int:
    """Where the next delimiter or line break is; the end of the buffer where there is
    none.
    """
    found = edges.search(buffer, start)
    return len(buffer) if found is None else found.start()


def _has_mark(path: Path) -> bool:
    """Whether a file begins with the mark of UTF-8."""
    with open_bytes(path) as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _read_chunks(path: Path) -> Iterator[bytes]:
    with open_bytes(path) as file:
        while chunk := file.read(CSV_CHUNK_BYTES):
            yield chunk


def _decode_file(path: Path, how: Dialect) -> Iterator[bytes]:
    """The file in UTF-8 without its mark, whatever its bytes; what is no text becomes
    U+FFFD.
    """
    return _drop_mark(
        decode_chunks(_read_chunks(path), how.encoding), header=how.header
    )


def _drop_mark(texts: Iterator[bytes], *, header: bool) -> Iterator[bytes]:
    """Texts without the mark before a header line; without such a line it is a part of
    the first row, and stays.
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
        # So many bytes hold the longest header line even where every character takes
        # four of them.
        chunks = islice(_read_chunks(path), 4 * MAX_HEADER_BYTES // CSV_CHUNK_BYTES + 1)
        text = b""
        for part in _drop_mark(decode_chunks(chunks, codec), header=header):
            text += part
            if _has_header(text) or len(text) > MAX_HEADER_BYTES:
                break
    except TableError:
        raise
    except Exception:
        refuse_packed_bomb(path)  # which says where
        raise
    return codec, text


def _has_header(first: bytes) -> bool:
    """Whether the line ends that follows blank ones and the mark of a spreadsheet."""
    text = first.lstrip(b"\r\n")
    mark = SEPARATOR_LINE_PATTERN.match(text)
    return text.find(b"\n", mark.end() if mark is not None else 0) >= 0


def _check_delimiter(delimiter: str | None) -> None:
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n '
    ):
        raise TableError(
            "a delimiter is one plain character, such as , or ;. Nothing was read"
        )
