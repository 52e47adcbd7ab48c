"""The rows of a CSV file by the rules of csv.py, cut out of bytes that come in chunks.

No byte is searched again and again, however long a row or a cell is: what is known of
an unfinished one is kept until the next chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from understudy.tables.sources.csv_copy import (
    MAX_CSV_CELL_BYTES,
    CsvPart,
    LinesEndFinder,
)

MAX_QUOTED_LINES = 100
"""Line breaks that a quoted cell may hold where the owner declares `multiline`."""

MAX_QUOTED_BYTES = 2 * MAX_CSV_CELL_BYTES
"""Farthest that a closing quote may be from its cell's beginning, wherever in the file
that is.
"""


def quoted_cell_pattern(lines: int) -> bytes:
    """The pattern of a quoted cell with at most this many line breaks, from its first
    quote to its last.
    """
    # Possessive quantifiers: a cell that does not close fails at once, without trying
    # every shorter beginning of it.
    line = rb'(?:[^"\r\n]++|"")*+'
    return rb'"(%s(?:(?:\r\n|[\r\n])%s){0,%d}+)"' % (line, line, lines)


def read_records(
    chunks: Iterator[bytes],
    delimiter: bytes,
    lines: int,
    most: int | None = None,
) -> Iterator[list[bytes]]:
    """The cells of each row; a blank line has none. This is what the rules mean."""
    cuts = -1 if most is None or lines else most
    splitter = RowSplitter(delimiter, lines, most, _find_bare_lines_end)
    for part in splitter.split_chunks(chunks):
        if isinstance(part, bytes):
            for row in part.splitlines():
                yield row.split(delimiter, cuts) if row else []
        else:
            yield part


class RowSplitter:
    """Cuts chunks of a file into parts: lines that `find_whole_lines` takes as they
    are, and of every other row the cells.

    Where a line is a row, all that follows its first `most` cells is taken for one
    more.
    """

    def __init__(
        self,
        delimiter: bytes,
        lines: int,
        most: int | None,
        find_whole_lines: LinesEndFinder,
    ) -> None:
        edge = re.escape(delimiter) + rb"\r\n"
        self._delimiter = delimiter
        self._lines = lines
        # A row of several lines has no end that could be skipped to.
        self._most = None if lines else most
        self._find_whole_lines = find_whole_lines
        self._quoted = re.compile(
            rb" *+%s *+(?=[%s])" % (quoted_cell_pattern(lines), edge)
        )
        self._opening = re.compile(rb' *+"')
        self._edges = re.compile(rb"[%s]" % edge)
        self._breaks = re.compile(rb"[\r\n]")
        self._spaces = re.compile(rb" *+")
        self._buffer = bytearray()
        self._cells: list[bytes] = []
        self._position = 0
        """Where the next cell begins."""
        self._searched = 0
        """Up to where its end was looked for; beyond its beginning, it is known to be
        bare.
        """

    def split_chunks(self, chunks: Iterator[bytes]) -> Iterator[CsvPart]:
        """The parts of a file, in order."""
        more = True
        while more:
            chunk = next(chunks, b"")
            more = bool(chunk)
            self._buffer += chunk
            if not more:
                self._end_last_line()
            yield from self._split_buffer(more)
            del self._buffer[: self._position]
            self._searched -= self._position
            self._position = 0

    def _end_last_line(self) -> None:
        unfinished = self._buffer or self._cells
        if unfinished and not self._buffer.endswith((b"\n", b"\r")):
            self._buffer += b"\n"

    def _split_buffer(self, more: bool) -> Iterator[CsvPart]:
        """The parts that are whole in the buffer; with `more` to come, a cell at its
        end may go on.
        """
        buffer = self._buffer
        while self._position < len(buffer):
            start = self._position
            if not self._cells and self._searched == start:
                stop = self._find_whole_lines(buffer, start, more)
                if stop > start:
                    yield bytes(buffer[start:stop])
                    self._position = self._searched = stop
                    continue
            quoted, end = self._find_cell(more)
            if end is None:
                return
            if self._take_cell(quoted, end):
                blank = self._cells == [b""] and quoted is None
                yield [] if blank else self._cells
                self._cells = []

    def _take_cell(self, quoted: bytes | None, end: int) -> bool:
        """Add the cell up to `end` to its row; whether the row ends with it."""
        buffer = self._buffer
        if quoted is None:
            self._cells.append(bytes(buffer[self._position : end]))
        else:
            self._cells.append(quoted.replace(b'""', b'"'))
        width = 2 if buffer[end : end + 2] == b"\r\n" else 1
        self._position = self._searched = end + width
        return buffer[end : end + 1] != self._delimiter

    def _find_cell(self, more: bool) -> tuple[bytes | None, int | None]:
        """What stands between the quotes of the next cell, None where it is bare, and
        where the cell ends: None where that is yet to come.
        """
        buffer = self._buffer
        start = self._position
        is_rest = self._most is not None and len(self._cells) >= self._most
        quoted = None
        if self._searched == start and not is_rest:
            if more and self._may_open():
                return None, None
            if self._opening.match(buffer, start):
                quoted = self._quoted.match(buffer, start, start + MAX_QUOTED_BYTES)
                if quoted is None and more and self._may_close():
                    return None, None
        if quoted is not None:
            end = quoted.end()
        else:
            end = _find_edge(
                self._breaks if is_rest else self._edges,
                buffer,
                self._searched,
            )
        # The edge is yet to come, or the line feed that a carriage return belongs to.
        if end + 2 > len(buffer) and (more or end == len(buffer)):
            self._searched = start if quoted is not None else end
            return None, None
        return (None if quoted is None else quoted[1]), end

    def _may_open(self) -> bool:
        """Whether nothing but spaces is known of a cell, so that the next byte may be
        the quote it begins with.
        """
        blank = self._spaces.match(self._buffer, self._position)
        size = len(self._buffer) - self._position
        return (
            blank is not None
            and blank.end() == len(self._buffer)
            and size <= MAX_QUOTED_BYTES
        )

    def _may_close(self) -> bool:
        """Whether the closing quote of a cell may be among bytes to come."""
        at = self._position
        if len(self._buffer) - at > MAX_QUOTED_BYTES:
            return False
        for _ in range(self._lines + 1):
            at = self._buffer.find(b"\n", at) + 1
            if at == 0:
                return True
        return False


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


def _find_edge(edges: re.Pattern[bytes], buffer: bytearray, start: int) -> int:
    """Where the next delimiter or line break is; the end of the buffer where there is
    none.
    """
    found = edges.search(buffer, start)
    return len(buffer) if found is None else found.start()
