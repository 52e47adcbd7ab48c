"""The private copy of a CSV file that DuckDB cannot be given as it is: the same rows,
every doubtful cell of them quoted properly.

One odd cell is enough to need a copy of the whole file, so a copy has to be about as
quick as no copy. Lines that are a row each go through in pieces of many; a pattern
finds the odd cells among them. What that cannot do, very long lines and quoted line
breaks, comes here as the cells of a row, one row at a time.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

MAX_CSV_CELL_BYTES = 2**18
"""Longest cell; a longer one is missing."""

MAX_CSV_ROW_BYTES = 2**22
"""Longest row handed to DuckDB."""

NEEDS_QUOTES_PATTERN = re.compile(rb'["\r\n]')
"""What a row may hold only in quotes."""

CsvPart = bytes | list[bytes]
"""A piece of a file: lines that are a row each, or the cells of one row."""

LinesEndFinder = Callable[[bytearray, int, bool], int]
"""How far lines go, from the beginning of one, that are a row each and need not be cut
into cells.
"""


def find_short_lines_end(buffer: bytearray, position: int, _more: bool) -> int:
    """Where the whole lines end that begin here, up to one in which a cell may be too
    long.
    """
    end = min(len(buffer), position + MAX_CSV_CELL_BYTES)
    # A carriage return that comes last may be half of a line break.
    return 1 + max(
        buffer.rfind(b"\n", position, end), buffer.rfind(b"\r", position, end - 1)
    )


def sound_lines_finder(delimiter: bytes) -> LinesEndFinder:
    """The same for files in which a quoted cell may hold line breaks: up to a line that
    has such a cell, or an odd quote.
    """
    edge = re.escape(delimiter) + rb"\r\n"
    line = (
        rb'(?:[^"\r\n]++|(?<![^%s])"(?:[^"\r\n]++|"")*+"(?=[%s]))*+(?:\r?+\n|\r(?=[^\n]))'
        % (edge, edge)
    )
    sound = re.compile(rb"(?:%s)*+" % line)

    def find_end(buffer: bytearray, position: int, _more: bool) -> int:
        found = sound.match(buffer, position, position + MAX_CSV_CELL_BYTES)
        return position if found is None else found.end()

    return find_end


def skip_rows(parts: Iterable[CsvPart], count: int) -> Iterator[CsvPart]:
    """What follows the first rows, in which every line break is a line feed; blank
    lines before one of these rows are passed over.
    """
    for part in parts:
        if isinstance(part, bytes):
            rest = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            while count and (rest := rest.lstrip(b"\n")):
                rest = rest.partition(b"\n")[2]
                count = count - 1
            yield rest
        elif count:
            count -= bool(part)
        else:
            yield part


def write_copy(
    parts: Iterable[CsvPart],
    path: Path,
    delimiter: bytes,
    *,
    columns: int,
) -> None:
    """Write rows of at most this many columns, which every reader reads alike."""
    quote_odd_cells = _build_quoter(delimiter)
    alone = columns == 1
    with path.open("wb") as out:
        # The reader drops one mark: this one, and never a cell's own.
        out.write(codecs.BOM_UTF8)
        for part in parts:
            if isinstance(part, bytes):
                out.write(_write_blanks(quote_odd_cells(part), alone=alone))
            elif part or alone:
                out.write(_write_row(part[:columns], delimiter))


def _build_quoter(delimiter: bytes) -> Callable[[bytes], bytes]:
    """Quotes the cells of rows that hold a quote and are not quoted properly.

    The pattern takes whole lines without a quote, or else cells without one and cells
    quoted properly, as far as they go; then comes an odd cell, either a quoted one with
    spaces around it or a bare one, or the end. It always matches, so nothing is looked
    at twice.
    """
    edge = re.escape(delimiter) + rb"\n"
    cell = rb'(?:[^"%s]++|"(?:[^"\n]++|"")*+"(?=[%s]))?+[%s]' % (edge, edge, edge)
    sound = rb'((?:(?<![^\n])[^"\n]*+\n|%s)*+)' % cell
    odd = rb' *+"((?:[^"\n]++|"")*+)" *+(?=[%s])|([^"%s]*+"[^%s]*+)' % (
        edge,
        edge,
        edge,
    )
    pattern = re.compile(rb"%s(?:%s)?+" % (sound, odd))

    def quote_match(found: re.Match[bytes]) -> bytes:
        before, quoted, bare = found.groups()
        if quoted is not None:
            return b'%s"%s"' % (before, quoted)
        return (
            before if bare is None else b'%s"%s"' % (before, bare.replace(b'"', b'""'))
        )

    return lambda rows: pattern.sub(quote_match, rows) if b'"' in rows else rows


def _write_blanks(rows: bytes, *, alone: bool) -> bytes:
    """Rows without the blank lines among them, or in a single column, where such a line
    is a row, with an empty cell in each.
    """
    if alone:
        rows = b'""' + rows if rows.startswith(b"\n") else rows
        # Twice, because a line break between two blank lines belongs to both.
        return rows.replace(b"\n\n", b'\n""\n').replace(b"\n\n", b'\n""\n')
    while b"\n\n" in rows:
        rows = rows.replace(b"\n\n", b"\n")
    return rows.removeprefix(b"\n")


def _write_row(cells: list[bytes], delimiter: bytes) -> bytes:
    """A row out of its cells; those that are too long, or make it too long, are
    missing.
    """
    # Most rows need no quotes at all: looked at as a whole before cell by cell.
    plain = delimiter.join(cells)
    spaced = plain.startswith(b" ") or delimiter + b" " in plain
    if (
        len(plain) <= MAX_CSV_CELL_BYTES
        and not (spaced or NEEDS_QUOTES_PATTERN.search(plain))
        and plain.count(delimiter) < max(len(cells), 1)
    ):
        return (plain or b'""') + b"\n"
    written = []
    size = 0
    for cell in cells:
        size += len(cell)
        too_long = len(cell) > MAX_CSV_CELL_BYTES or size > MAX_CSV_ROW_BYTES // 2
        written.append(b"" if too_long else _quote_cell(cell, delimiter))
    # A row of one empty cell would look like a blank line.
    return (delimiter.join(written) or b'""') + b"\n"


def _quote_cell(cell: bytes, delimiter: bytes) -> bytes:
    """The cell as a CSV file has it: in quotes where it could be read otherwise."""
    marks = (b'"', b"\n", b"\r", delimiter)
    odd = cell.startswith(b" ") or any(mark in cell for mark in marks)
    return b'"' + cell.replace(b'"', b'""') + b'"' if odd else cell
