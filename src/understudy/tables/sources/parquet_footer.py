"""Parquet footers: a copy of a file whose columns state what they are stored as, and no
more.

A Parquet file says at its end what its bytes mean: this column of integers holds times
of day, that column of bytes holds JSON. A cell may contradict that, and then a file
cannot be read at all. In the copy the chosen columns say only "integers" or "bytes";
statistics go too, as they were made for the other meaning. The data before the footer
is the same to the last byte.

The footer is a structure in Thrift's compact encoding
(https://parquet.apache.org/docs/file-format/metadata/), read and written by thrift.py.

Why not pyarrow. It is no dependency, and most runs do without it. It cannot write a
footer over data that stay as they are: a copy by pyarrow would read every cell by the
meaning that may be contradicted, and fail where DuckDB does. And only what is used is
parsed here: statistics, which hold values of rows, are dropped as bytes and reach no
message and no output.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from understudy.errors import TableError
from understudy.thrift import ThriftFields, read_struct, write_struct

PARQUET_MAGIC = b"PAR1"

SCHEMA_FIELD, ROW_GROUPS_FIELD, COLUMN_ORDERS_FIELD = 2, 4, 7
"""Fields of the footer."""

CHILDREN_FIELD, CONVERTED_TYPE_FIELD, LOGICAL_TYPE_FIELD = 5, 6, 10
SCALE_FIELD, PRECISION_FIELD = 7, 8
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

CONTAINER_TYPES = (1, 2, 3)
"""Converted types of maps, their pairs, and lists."""

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
                # Raised below: this error's traceback would hold the footer's bytes.
                failed = True
    what = "its footer is damaged" if failed else "has no footer that can be read"
    raise TableError(f"{path.name}: {what}. Nothing was read")


def sum_column_sizes(path: Path) -> tuple[int, int, int]:
    """What a footer states of all columns together: values, bytes unpacked, bytes
    packed.
    """
    totals = [0, 0, 0]
    try:
        footer, _ = read_footer(path)
        for metadata in _iter_chunk_metadata(footer):
            for i, field in enumerate(SIZE_FIELDS):
                totals[i] += metadata[field][1]
        return totals[0], totals[1], totals[2]
    except (KeyError, IndexError, TypeError, ValueError):
        # A footer that is a structure, but not the one a Parquet file has.
        raise TableError(
            f"{path.name}: its footer is damaged. Nothing was read"
        ) from None


def write_plain_copy(path: Path, copy: Path, columns: Collection[int]) -> None:
    """Copy a Parquet file; the columns at these positions, with all that is nested in
    them, state their physical types alone.
    """
    footer, end = read_footer(path)
    strip_meanings(footer, columns)
    plain_footer = write_struct(footer)
    shutil.copyfile(path, copy)
    # Pages are found by their offset from the beginning, so all before the footer stays.
    with copy.open("r+b") as out:
        out.truncate(end)
        out.seek(0, 2)
        out.write(plain_footer)
        out.write(len(plain_footer).to_bytes(4, "little") + PARQUET_MAGIC)


def strip_meanings(footer: ThriftFields, columns: Collection[int]) -> None:
    """Take away what the footer says about the meaning of some columns, and every
    statistic.
    """
    _strip_elements(footer[SCHEMA_FIELD][1][1], columns)
    footer.pop(COLUMN_ORDERS_FIELD, None)
    for metadata in _iter_chunk_metadata(footer):
        for field in STATISTICS_FIELDS:
            metadata.pop(field, None)


def _strip_elements(elements: list[ThriftFields], columns: Collection[int]) -> None:
    """Take away the meaning of some columns' elements."""
    # The schema is a tree in one list, parents first, each with its number of children:
    # a new column begins where no parent waits for a child.
    awaited: list[int] = []
    column = -1
    for element in elements[1:]:
        if not awaited:
            column += 1
        children = element[CHILDREN_FIELD][1] if CHILDREN_FIELD in element else 0
        if column in columns and (not children or not _is_container(element)):
            for field in MEANING_FIELDS:
                element.pop(field, None)
        awaited.append(children)
        while awaited and awaited[-1] == 0:
            awaited.pop()
            if awaited:
                awaited[-1] -= 1


def _iter_chunk_metadata(footer: ThriftFields) -> Iterator[ThriftFields]:
    """The metadata of every column chunk of every row group."""
    groups = footer[ROW_GROUPS_FIELD][1][1] if ROW_GROUPS_FIELD in footer else []
    for group in groups:
        for chunk in group[COLUMN_CHUNKS_FIELD][1][1]:
            yield chunk[CHUNK_METADATA_FIELD][1]


def _is_container(element: ThriftFields) -> bool:
    """Whether a group is a list or a map: these keep their shape."""
    if CONVERTED_TYPE_FIELD not in element:
        return False
    return element[CONVERTED_TYPE_FIELD][1] in CONTAINER_TYPES
