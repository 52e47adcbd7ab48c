"""Parquet footers: a copy of a file whose columns state what they are stored as, and no
more.

A Parquet file says at its end what its bytes mean: this column of integers holds times
of day, that column of bytes holds JSON. A cell may contradict that, and then a file
cannot be read at all. In the copy the chosen columns say only "integers" or "bytes";
statistics go too, as they were made for the other meaning. The data before the footer
is the same to the last byte.

The footer is a structure in Thrift's compact encoding
(https://parquet.apache.org/docs/file-format/metadata/), read and written by thrift.py.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from understudy.errors import TableError
from understudy.thrift import ThriftFields, read_struct, write_struct

PARQUET_MAGIC = b"PAR1"

SCHEMA_FIELD, ROW_GROUPS_FIELD, COLUMN_ORDERS_FIELD = 2, 4, 7
"""Fields of the footer."""

(
    CHILDREN_FIELD,
    CONVERTED_TYPE_FIELD,
    SCALE_FIELD,
    PRECISION_FIELD,
    LOGICAL_TYPE_FIELD,
) = (
    5,
    6,
    7,
    8,
    10,
)
"""Fields of an element of the schema."""

MEANING_FIELDS = (
    CONVERTED_TYPE_FIELD,
    SCALE_FIELD,
    PRECISION_FIELD,
    LOGICAL_TYPE_FIELD,
)
COLUMN_CHUNKS_FIELD, CHUNK_METADATA_FIELD = 1, 3
STATISTICS_FIELDS = (12, 14, 15, 16, 17)
"""Statistics, Bloom filters and sizes of a column."""

SIZE_FIELDS = (5, 6, 7)
"""Fields of a column's metadata: its values, bytes unpacked, bytes packed."""


def read_footer(path: Path) -> tuple[ThriftFields, int]:
    """The footer of a file, and where it begins."""
    failed = False
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - 8, 0))
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] == PARQUET_MAGIC and length + 12 <= size:
            file.seek(size - 8 - length)
            try:
                return read_struct(file.read(length)), size - 8 - length
            except Exception:
                failed = True
    raise TableError(
        f"{path.name}:"
        f" {'its footer is damaged' if failed else 'has no footer that can be read'}."
        " Nothing was read"
    )


def sum_column_sizes(path: Path) -> tuple[int, int, int]:
    """What a footer states of all columns together: values, bytes unpacked, bytes
    packed.
    """
    found = [0, 0, 0]
    try:
        fields, _ = read_footer(path)
        for group in (
            fields[ROW_GROUPS_FIELD][1][1] if ROW_GROUPS_FIELD in fields else []
        ):
            for chunk in group[COLUMN_CHUNKS_FIELD][1][1]:
                for i, field in enumerate(SIZE_FIELDS):
                    found[i] += chunk[CHUNK_METADATA_FIELD][1][field][1]
        return found[0], found[1], found[2]
    except (KeyError, IndexError, TypeError, ValueError):
        raise TableError(
            f"{path.name}: its footer is damaged. Nothing was read"
        ) from None


def write_plain_copy(path: Path, copy: Path, columns: Collection[int]) -> None:
    """Copy a Parquet file; the columns at these positions, with all that is nested in
    them, state their physical types alone.
    """
    footer, end = read_footer(path)
    strip_meanings(footer, columns)
    new = write_struct(footer)
    shutil.copyfile(path, copy)
    with copy.open("r+b") as out:
        out.truncate(end)
        out.seek(0, 2)
        out.write(new + len(new).to_bytes(4, "little") + PARQUET_MAGIC)


def strip_meanings(footer: ThriftFields, columns: Collection[int]) -> None:
    """Take away what the footer says about the meaning of some columns, and every
    statistic.
    """
    _, elements = footer[SCHEMA_FIELD][1]
    depth: list[int] = []
    top = -1
    for element in elements[1:]:
        if not depth:
            top += 1
        children = element[CHILDREN_FIELD][1] if CHILDREN_FIELD in element else 0
        if top in columns and (not children or not _is_container(element)):
            for field in MEANING_FIELDS:
                element.pop(field, None)
        depth.append(children)
        while depth and depth[-1] == 0:
            depth.pop()
            if depth:
                depth[-1] -= 1
    footer.pop(COLUMN_ORDERS_FIELD, None)
    for group in footer[ROW_GROUPS_FIELD][1][1] if ROW_GROUPS_FIELD in footer else []:
        for chunk in group[COLUMN_CHUNKS_FIELD][1][1]:
            for field in STATISTICS_FIELDS:
                chunk[CHUNK_METADATA_FIELD][1].pop(field, None)


def _is_container(element: ThriftFields) -> bool:
    """Whether a group is a list or a map: these keep their shape."""
    return CONVERTED_TYPE_FIELD in element and element[CONVERTED_TYPE_FIELD][1] in (
        1,
        2,
        3,
    )
