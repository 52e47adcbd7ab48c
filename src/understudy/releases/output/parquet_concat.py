"""Parquet files of one schema joined into one without unpacking them: their groups of rows one after the other, then one footer.

A large sample is written part by part, and reading the parts again to write them once more would cost as much as making them. In a
Parquet file only the footer says where anything is (https://parquet.apache.org/docs/file-format/metadata/), so the bytes of each part are
copied as they are and the places in its footer moved by as much as was written before them. Nothing is held but footers.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from understudy import thrift

MAGIC = b"PAR1"
ROWS, GROUPS = 3, 4
"""Fields of a footer."""

COLUMNS, GROUP_PLACE, ORDINAL = 1, 5, 7
"""Fields of a group of rows."""

CHUNK_PLACES, METADATA = (2, 4, 6), 3
METADATA_PLACES = (9, 10, 11, 14)
"""Fields that say where something begins: of a column's chunk, and of what is known of it."""


class Joined:
    """A Parquet file in the making.

    Add parts, which are removed as they are taken over, and close it.
    """

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._out.write(MAGIC)
        self._footer: thrift.Fields = {}
        self._groups: list[bytes] = []
        self._rows = 0

    def add(self, part: Path) -> None:
        """Take over a whole Parquet file of the same schema."""
        size = part.stat().st_size
        with part.open("rb") as file:
            file.seek(size - 8)
            length = int.from_bytes(file.read(4), "little")
            end = size - 8 - length
            file.seek(end)
            footer = thrift.read(file.read(length))
            moved = self._out.tell() - len(MAGIC)
            file.seek(len(MAGIC))
            shutil.copyfileobj(_Until(file, end - len(MAGIC)), self._out, 1 << 20)
        part.unlink()
        for group in footer[GROUPS][1][1] if GROUPS in footer else []:
            for fields, numbers in _placed(group):
                for number in numbers:
                    if number in fields and (fields[number][1] or number not in CHUNK_PLACES):
                        fields[number] = fields[number][0], fields[number][1] + moved
            if ORDINAL in group:
                group[ORDINAL] = group[ORDINAL][0], len(self._groups)
            self._groups.append(thrift.written(group))
        self._rows += footer[ROWS][1]
        self._footer = self._footer or footer

    def close(self) -> None:
        """Write the footer."""
        footer = self._footer
        footer[ROWS] = footer[ROWS][0], self._rows
        if GROUPS in footer:
            footer[GROUPS] = footer[GROUPS][0], (footer[GROUPS][1][0], self._groups)
        data = thrift.written(footer)
        self._out.write(data + len(data).to_bytes(4, "little") + MAGIC)


def _placed(group: thrift.Fields) -> Iterator[tuple[thrift.Fields, tuple[int, ...]]]:
    """Everything in a group of rows that has a place in the file, and which of its fields say so."""
    yield group, (GROUP_PLACE,)
    for chunk in group[COLUMNS][1][1]:
        yield chunk, CHUNK_PLACES
        yield chunk[METADATA][1], METADATA_PLACES


class _Until:
    """The next so many bytes of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1, /) -> bytes:
        found = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(found)
        return found
