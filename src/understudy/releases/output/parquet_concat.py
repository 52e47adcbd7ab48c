"""Parquet files of one schema, concatenated without unpacking them: their groups of
rows one after the other, then one footer.

A large sample is written part by part, and reading the parts again to write them once
more would cost as much as making them. In a Parquet file only the footer says where
anything is (https://parquet.apache.org/docs/file-format/metadata/), so the bytes of
each part are copied as they are, and the places in its footer are shifted by the number
of bytes written before them. Only footers are held in memory.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from understudy import thrift

PARQUET_MAGIC_BYTES = b"PAR1"
_FOOTER_TAIL_BYTES = 4 + len(PARQUET_MAGIC_BYTES)
_COPY_BYTES = 1 << 20
"""Bytes copied at a time."""

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

    Add parts, which are removed as they are taken over, then write the footer.
    """

    def __init__(self, out: IO[bytes]) -> None:
        self._out = out
        self._out.write(PARQUET_MAGIC_BYTES)
        self._footer: thrift.ThriftFields = {}
        self._groups: list[bytes] = []
        self._rows = 0

    def add_part(self, part: Path) -> None:
        """Take over a whole Parquet file of the same schema."""
        with part.open("rb") as file:
            shift = self._out.tell() - len(PARQUET_MAGIC_BYTES)
            footer = self._copy_groups(file, part.stat().st_size)
        part.unlink()
        for group in _row_groups(footer):
            _shift_offsets(group, shift)
            if ROW_GROUP_ORDINAL_FIELD in group:
                _set_field(group, ROW_GROUP_ORDINAL_FIELD, len(self._groups))
            self._groups.append(thrift.write_struct(group))
        self._rows += footer[FOOTER_ROWS_FIELD][1]
        # The first footer states the schema, and what else holds for all parts.
        self._footer = self._footer or footer

    def write_footer(self) -> None:
        """Write the footer, which makes the file whole."""
        footer = self._footer
        _set_field(footer, FOOTER_ROWS_FIELD, self._rows)
        if FOOTER_ROW_GROUPS_FIELD in footer:
            element_type = footer[FOOTER_ROW_GROUPS_FIELD][1][0]
            groups = (element_type, self._groups)
            _set_field(footer, FOOTER_ROW_GROUPS_FIELD, groups)
        data = thrift.write_struct(footer)
        self._out.write(data + len(data).to_bytes(4, "little") + PARQUET_MAGIC_BYTES)

    def _copy_groups(self, file: IO[bytes], size: int) -> thrift.ThriftFields:
        """Copy everything between a part's magic bytes and its footer; the footer."""
        # A file ends with its footer, the footer's length in four bytes, and PAR1.
        file.seek(size - _FOOTER_TAIL_BYTES)
        length = int.from_bytes(file.read(4), "little")
        end = size - _FOOTER_TAIL_BYTES - length
        file.seek(end)
        footer = thrift.read_struct(file.read(length))
        file.seek(len(PARQUET_MAGIC_BYTES))
        groups = _BoundedReader(file, end - len(PARQUET_MAGIC_BYTES))
        shutil.copyfileobj(groups, self._out, _COPY_BYTES)
        return footer


def _row_groups(footer: thrift.ThriftFields) -> list[thrift.ThriftFields]:
    if FOOTER_ROW_GROUPS_FIELD not in footer:
        return []
    _, groups = footer[FOOTER_ROW_GROUPS_FIELD][1]
    return list(groups)


def _set_field(fields: thrift.ThriftFields, number: int, value: Any) -> None:
    """Replace a field's value and keep its type."""
    fields[number] = fields[number][0], value


def _shift_offsets(group: thrift.ThriftFields, shift: int) -> None:
    """Move every place that a group of rows states by the bytes written before it."""
    for fields, numbers in _offset_fields(group):
        for number in numbers:
            if number not in fields:
                continue
            offset = fields[number][1]
            # Of a chunk, 0 means that nothing is there, so it stays 0.
            if offset or number not in CHUNK_OFFSET_FIELDS:
                _set_field(fields, number, offset + shift)


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
    """A file that ends after a given number of further bytes."""

    def __init__(self, file: IO[bytes], size: int) -> None:
        self._file, self._left = file, size

    def read(self, size: int = -1, /) -> bytes:
        wanted = self._left if size < 0 else min(size, self._left)
        data = self._file.read(wanted)
        self._left -= len(data)
        return data
