"""CSV files, read so that no row can change how the others are read.

The delimiter comes from the header line (or is declared, also by a first line `sep=;`),
every cell is text, and these rules hold for each row by itself:

  * A line is a row, whatever quotes are in it. Only where the owner declares
    `multiline` may a quoted cell hold line breaks: then two stray quotes within
    MAX_QUOTED_LINES lines of each other can merge the rows between them, which is why it
    has to be declared. Short rows are filled up with missing cells, long ones keep
    their first cells.
  * A cell is quoted if it is `"…"` with inner quotes doubled, and its closing quote
    stands before a delimiter or the end of a line. Any other quote is an ordinary
    character: a stray one cannot swallow the file. Beyond
    MAX_QUOTED_BYTES there is no closing quote.
  * Bytes that are no text become U+FFFD. A cell of more than MAX_CSV_CELL_BYTES is
    missing, as is what makes a row too long.
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
from dataclasses import dataclass
from pathlib import Path

from understudy.tables.sources.compressed import (
    DUCKDB_COMPRESSIONS,
    compression_of_path,
    open_bytes,
)
from understudy.tables.sources.csv_copy import (
    MAX_CSV_CELL_BYTES,
    find_short_lines_end,
    skip_rows,
    sound_lines_finder,
    write_copy,
)
from understudy.tables.sources.csv_dialect import (
    CSV_CHUNK_BYTES,
    Dialect,
    decode_file,
)
from understudy.tables.sources.csv_rows import (
    MAX_QUOTED_BYTES,
    RowSplitter,
    quoted_cell_pattern,
)

LONE_RETURN_PATTERN = re.compile(rb"\r[^\n]")
"""A carriage return that is not followed by a line feed."""


@dataclass(frozen=True)
class PreparedCsv:
    """A file that DuckDB reads by our rules: the original, or a private copy without
    header.
    """

    path: Path
    header: bool
    compression: str


def prepare_csv(
    path: Path,
    how: Dialect,
    copy: Path,
    *,
    anyway: bool = False,
) -> PreparedCsv:
    """The file as it is where DuckDB reads it by our rules, else (or anyway) a copy of
    it, written to `copy`.
    """
    if not anyway and _is_readable_as_is(path, how):
        return PreparedCsv(path, how.header, compression_of_path(path))
    delimiter = how.delimiter.encode()
    columns = len(how.names)
    find_lines = sound_lines_finder(delimiter) if how.lines else find_short_lines_end
    splitter = RowSplitter(delimiter, how.lines, columns, find_lines)
    parts = splitter.split_chunks(decode_file(path, how))
    rows = skip_rows(parts, how.header + how.marked)
    write_copy(rows, copy, delimiter, columns=columns)
    return PreparedCsv(copy, False, "none")


def _is_readable_as_is(path: Path, how: Dialect) -> bool:
    if how.marked or how.encoding != "utf-8":
        return False
    if compression_of_path(path) not in DUCKDB_COMPRESSIONS:
        return False
    # DuckDB drops the mark, which without a header line is a part of the first row.
    if not how.header and _has_mark(path):
        return False
    return _is_clean(path, how.delimiter.encode(), how.lines, alone=len(how.names) == 1)


def _has_mark(path: Path) -> bool:
    """Whether a file begins with the byte-order mark of UTF-8."""
    with open_bytes(path) as file:
        return file.read(len(codecs.BOM_UTF8)) == codecs.BOM_UTF8


def _is_clean(path: Path, delimiter: bytes, lines: int, *, alone: bool) -> bool:
    """Whether every quote is the edge of a properly quoted cell, every byte text, and
    every line of sensible length.

    Also whether its lines end as they should: not in a carriage return alone, and in a
    file of one column, where a blank line is a row, with no carriage return at all.
    """
    scan = _CleanScan(delimiter, lines, alone=alone)
    with open_bytes(path) as file:
        while chunk := file.read(CSV_CHUNK_BYTES):
            if not scan.accept_chunk(chunk):
                return False
    return scan.accept_chunk(b"")


class _CleanScan:
    """One pass over a file, chunk by chunk, that stops at the first thing which DuckDB
    might read by other rules than ours.
    """

    def __init__(self, delimiter: bytes, lines: int, *, alone: bool) -> None:
        edge = re.escape(delimiter) + rb"\r\n"
        cell = rb"(?<![^%s])%s(?=[%s])" % (edge, quoted_cell_pattern(lines), edge)
        self._sound = re.compile(rb'(?:[^"]++|%s)*+' % cell)
        self._quoted_cells = re.compile(cell)
        self._alone = alone
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._held = b""
        self._start = 0
        self._line_bytes = 0

    def accept_chunk(self, chunk: bytes) -> bool:
        """Whether the file is clean up to the end of this chunk; the empty one ends
        it.
        """
        if not (self._is_text(chunk) and self._has_plain_lines(chunk)):
            return False
        return self._has_proper_quotes(chunk)

    def _is_text(self, chunk: bytes) -> bool:
        try:
            self._decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError:
            return False
        return True

    def _has_plain_lines(self, chunk: bytes) -> bool:
        """No blank line at the very beginning, no line too long, no lone carriage
        return.
        """
        text = chunk if self._held else chunk.removeprefix(codecs.BOM_UTF8)
        if not self._held and text.startswith((b"\n", b"\r")):
            return False
        if self._alone and b"\r" in chunk:
            return False
        last_byte = self._held[-1:]
        if LONE_RETURN_PATTERN.search(last_byte + (chunk or b" ")):
            return False
        return self._has_short_lines(chunk)

    def _has_short_lines(self, chunk: bytes) -> bool:
        """Whether the line that goes on in a chunk is short enough; a line within it
        is no longer than the chunk.
        """
        first_break = chunk.find(b"\n")
        self._line_bytes += len(chunk) if first_break < 0 else first_break
        if self._line_bytes > MAX_CSV_CELL_BYTES:
            return False
        if first_break >= 0:
            self._line_bytes = len(chunk) - chunk.rfind(b"\n")
        return True

    def _has_proper_quotes(self, chunk: bytes) -> bool:
        buffer = self._held + (chunk or b"\n")
        if not self._held:
            buffer = buffer.removeprefix(codecs.BOM_UTF8)
        stop = len(buffer)
        if b'"' in buffer:
            sound = self._sound.match(buffer, self._start)
            # The pattern matches the empty text too, so it always matches.
            assert sound is not None
            stop = sound.end()
            if self._holds_long_cell(buffer, stop):
                return False
        unclosed = len(buffer) - stop
        if unclosed and (not chunk or unclosed > MAX_QUOTED_BYTES):
            return False
        # The byte before the next one to look at says whether a quote there opens a
        # cell.
        self._held, self._start = (buffer[stop - 1 :], 1) if stop else (buffer, 0)
        return True

    def _holds_long_cell(self, buffer: bytes, stop: int) -> bool:
        if stop - self._start <= MAX_CSV_CELL_BYTES:
            return False
        cells = self._quoted_cells.finditer(buffer, self._start, stop)
        return any(len(cell[0]) > MAX_CSV_CELL_BYTES for cell in cells)
