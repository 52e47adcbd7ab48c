"""Thrift's compact encoding, in which Parquet files say at their end what they hold.

A structure is read into nested dictionaries of field number → (type, value), without knowing what the fields mean, and written again
to the last byte. (Apache Thrift, "Compact protocol encoding", in its doc/specs.)
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12
INTEGERS = (4, 5, 6)

Fields = dict[int, tuple[int, Any]]


def read(data: bytes) -> Fields:
    """The structure that these bytes begin with; ValueError or IndexError where they are none.

    >>> read(bytes([0x15, 0x04, 0x18, 0x01, 0x61, 0x00]))
    {1: (5, 2), 2: (8, b'a')}
    """
    return _Reader(data).fields()


def written(fields: Fields) -> bytes:
    """The bytes of a structure.

    >>> written({1: (5, 2), 2: (8, b"a")}).hex()
    '150418016100'
    """
    out = BytesIO()
    _write_fields(out, fields)
    return out.getvalue()


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
        raise ValueError("no type of a field")


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
    elif isinstance(value, bytes):  # a structure that was written before
        out.write(value)
    else:
        _write_fields(out, value)
