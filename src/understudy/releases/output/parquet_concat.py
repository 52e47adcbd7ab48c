"""Parquet files of one schema joined into one without unpacking them: their groups of
rows one after the other, then one footer.

A large sample is written part by part, and reading the parts again to write them once
more would cost as much as making them. In a Parquet file only the footer says where
anything is (https://parquet.apache.org/docs/file-format/metadata/), so the bytes of
each part are copied as they are and the places in its footer moved by as much as was
written before them. Nothing is held but footers.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from understudy import thrift

PARQUET_MAGIC_BYTES = b"PAR1"
FOOTER_ROWS_FIELD, FOOTER_ROW_GROUPS_FIELD = 3, 4
"""Fields of a footer."""

ROW_GROUP_COLUMNS_FIELD, ROW_GROUP_OFFSET_FIELD, ROW_GROUP_ORDINAL_FIELD = 1, 5, 7
"""Fields of a group of rows."""

CHUNK_OFFSET_FIELDS, COLUMN_CHUNK_METADATA_FIELD = (2, 4, 6), 3
METADATA_OFFSET_FIELDS = (9, 10, 11, 14)
"""Fields that say where something begins: of a column's chunk, and of what is known of
it.
"""


class ParquetConcatenator:
    """A Parquet file in the making.

    Add parts, which are removed as they are taken over, and close it.
    """

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._out.write(PARQUET_MAGIC_BYTES)
        self._footer: thrift.ThriftFields = {}
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
            footer = thrift.read_struct(file.read(length))
            moved = self._out.tell() - len(PARQUET_MAGIC_BYTES)
            file.seek(len(PARQUET_MAGIC_BYTES))
            shutil.copyfileobj(
                _BoundedReader(file, end - len(PARQUET_MAGIC_BYTES)), self._out, 1 << 20
            )
        part.unlink()
        for group in (
            footer[FOOTER_ROW_GROUPS_FIELD][1][1]
            if FOOTER_ROW_GROUPS_FIELD in footer
            else []
        ):
            for fields, numbers in _offset_fields(group):
                for number in numbers:
                    if number in fields and (
                        fields[number][1] or number not in CHUNK_OFFSET_FIELDS
                    ):
                        fields[number] = fields[number][0], fields[number][1] + moved
            if ROW_GROUP_ORDINAL_FIELD in group:
                group[ROW_GROUP_ORDINAL_FIELD] = (
                    group[ROW_GROUP_ORDINAL_FIELD][0],
                    len(self._groups),
                )
            self._groups.append(thrift.write_struct(group))
        self._rows += footer[FOOTER_ROWS_FIELD][1]
        self._footer = self._footer or footer

    def close(self) -> None:
        """Write the footer."""
        footer = self._footer
        footer[FOOTER_ROWS_FIELD] = footer[FOOTER_ROWS_FIELD][0], self._rows
        if FOOTER_ROW_GROUPS_FIELD in footer:
            footer[FOOTER_ROW_GROUPS_FIELD] = (
                footer[FOOTER_ROW_GROUPS_FIELD][0],
                (footer[FOOTER_ROW_GROUPS_FIELD][1][0], self._groups),
            )
        data = thrift.write_struct(footer)
        self._out.write(data + len(data).to_bytes(4, "little") + PARQUET_MAGIC_BYTES)


def _offset_fields(
    group: thrift.ThriftFields,
) -> Iterator[tuple[thrift.ThriftFields, tuple[int, ...]]]:
    """Everything in a group of rows that has a place in the file, and which of its
    fields say so.
    """
    yield group, (ROW_GROUP_OFFSET_FIELD,)
    for chunk in group[ROW_GROUP_COLUMNS_FIELD][1][1]:
        yield chunk, CHUNK_OFFSET_FIELDS
        yield chunk[COLUMN_CHUNK_METADATA_FIELD][1], METADATA_OFFSET_FIELDS


class _BoundedReader:
    """The next so many bytes of a file."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1, /) -> bytes:
        found = self._file.read(self._left if size < 0 else min(size, self._left))
        self._left -= len(found)
        return found
