"""Parquet footers: a copy of a file whose columns state what they are stored as, and no more.

A Parquet file says at its end what its bytes mean: this column of integers holds times of day, that column of bytes holds JSON. A cell may
contradict that, and then a file cannot be read at all. In the copy the chosen columns say only "integers" or "bytes"; statistics go too, as
they were made for the other meaning. The data before the footer is the same to the last byte.

The footer is a structure in Thrift's compact encoding (https://parquet.apache.org/docs/file-format/metadata/). It is read into nested
dictionaries of field number → (type, value), without knowing what the fields mean, and written again.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Collection
from io import BytesIO
from pathlib import Path
from typing import Any

from understudy.errors import TableError

MAGIC = b"PAR1"
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
INTEGERS = (4, 5, 6)

SCHEMA, GROUPS, ORDERS = 2, 4, 7
"""Fields of the footer."""

CHILDREN, CONVERTED, SCALE, PRECISION, LOGICAL = 5, 6, 7, 8, 10
"""Fields of an element of the schema."""

MEANINGS = (CONVERTED, SCALE, PRECISION, LOGICAL)
COLUMNS, METADATA = 1, 3
STATISTICS = (12, 14, 15, 16, 17)
"""Statistics, Bloom filters and sizes of a column."""

SIZES = (5, 6, 7)
"""Fields of a column's metadata: its values, bytes unpacked, bytes packed."""

Fields = dict[int, tuple[int, Any]]


def read_footer(path: Path) -> tuple[Fields, int]:
    """The footer of a file, and where it begins."""
    failed = False
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(size - 8, 0))
        tail = file.read(8)
        length = int.from_bytes(tail[:4], "little")
        if tail[4:] == MAGIC and length + 12 <= size:
            file.seek(size - 8 - length)
            try:
                return _Reader(file.read(length)).fields(), size - 8 - length
            except Exception:
                failed = True
    raise TableError(
        f"{path.name}: {'its footer is damaged' if failed else 'has no footer that can be read'}. Nothing was read"
    )


def sizes(path: Path) -> tuple[int, int, int]:
    """What a footer states of all columns together: values, bytes unpacked, bytes packed."""
    found = [0, 0, 0]
    try:
        fields, _ = read_footer(path)
        for group in fields[GROUPS][1][1] if GROUPS in fields else []:
            for chunk in group[COLUMNS][1][1]:
                for i, field in enumerate(SIZES):
                    found[i] += chunk[METADATA][1][field][1]
        return found[0], found[1], found[2]
    except (KeyError, IndexError, TypeError, ValueError):
        raise TableError(f"{path.name}: its footer is damaged. Nothing was read") from None


def plain_copy(path: Path, copy: Path, columns: Collection[int]) -> None:
    """Copy a Parquet file; the columns at these positions, with all that is nested in them, state their physical types alone."""
    footer, end = read_footer(path)
    strip(footer, columns)
    written = BytesIO()
    _write_fields(written, footer)
    shutil.copyfile(path, copy)
    with copy.open("r+b") as out:
        out.truncate(end)
        out.seek(0, 2)
        out.write(written.getvalue() + len(written.getvalue()).to_bytes(4, "little") + MAGIC)


def strip(footer: Fields, columns: Collection[int]) -> None:
    """Take away what the footer says about the meaning of some columns, and every statistic."""
    _, elements = footer[SCHEMA][1]
    depth: list[int] = []
    top = -1
    for element in elements[1:]:
        if not depth:
            top += 1
        children = element[CHILDREN][1] if CHILDREN in element else 0
        if top in columns and (not children or not _is_container(element)):
            for field in MEANINGS:
                element.pop(field, None)
        depth.append(children)
        while depth and depth[-1] == 0:
            depth.pop()
            if depth:
                depth[-1] -= 1
    footer.pop(ORDERS, None)
    for group in footer[GROUPS][1][1] if GROUPS in footer else []:
        for chunk in group[COLUMNS][1][1]:
            for field in STATISTICS:
                chunk[METADATA][1].pop(field, None)


def _is_container(element: Fields) -> bool:
    """Whether a group is a list or a map: these keep their shape."""
    return CONVERTED in element and element[CONVERTED][1] in (1, 2, 3)


class _Reader:
    """Thrift's compact encoding."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _integer(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def fields(self) -> Fields:
        """The fields of a structure, in their order."""
        found: Fields = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer()
            kind = header & 15
            found[number] = (kind, kind == TRUE if kind in (TRUE, FALSE) else self._value(kind))
        return found

    def _value(self, kind: int) -> Any:
        if kind in (TRUE, FALSE, BYTE):
            return self._byte()
        if kind in INTEGERS:
            return self._integer()
        if kind == DOUBLE:
            return self._bytes(8)
        if kind == BINARY:
            return self._bytes(self._varint())
        if kind in (LIST, SET):
            header = self._byte()
            size = header >> 4 if header >> 4 < 15 else self._varint()
            return header & 15, [
                self.fields() if header & 15 == STRUCT else self._value(header & 15) for _ in range(size)
            ]
        if kind == MAP:
            size = self._varint()
            header = self._byte() if size else 0
            return header, [(self._value(header >> 4), self._value(header & 15)) for _ in range(size)]
        if kind == STRUCT:
            return self.fields()
        raise TableError("the footer of a Parquet file holds what no footer holds. Nothing was read")


def _varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def _integer(value: int) -> bytes:
    return _varint((value << 1) ^ (value >> 63))


def _write_fields(out: BytesIO, fields: Fields) -> None:
    last = 0
    for number, (kind, value) in fields.items():
        kind = (TRUE if value else FALSE) if kind in (TRUE, FALSE) else kind
        step = number - last
        out.write(bytes([step << 4 | kind]) if 0 < step < 16 else struct.pack("B", kind) + _integer(number))
        last = number
        if kind not in (TRUE, FALSE):
            _write(out, kind, value)
    out.write(b"\0")


def _write(out: BytesIO, kind: int, value: Any) -> None:
    if kind in (TRUE, FALSE, BYTE):
        out.write(bytes([value]))
    elif kind in INTEGERS:
        out.write(_integer(value))
    elif kind == DOUBLE:
        out.write(value)
    elif kind == BINARY:
        out.write(_varint(len(value)) + value)
    elif kind in (LIST, SET):
        inner, parts = value
        size = len(parts)
        out.write(bytes([size << 4 | inner]) if size < 15 else bytes([15 << 4 | inner]) + _varint(size))
        for part in parts:
            _write(out, inner, part)
    elif kind == MAP:
        header, pairs = value
        out.write(_varint(len(pairs)) + (bytes([header]) if pairs else b""))
        for key, held in pairs:
            _write(out, header >> 4, key)
            _write(out, header & 15, held)
    else:
        _write_fields(out, value)
