"""Thrift's compact encoding, in which Parquet files say at their end what they hold.

A structure is read into nested dictionaries of field number → (type, value), without
knowing what the fields mean, and written again to the last byte. (Apache Thrift,
"Compact protocol encoding", in its doc/specs.)
"""

from __future__ import annotations

import struct
from io import BytesIO
from typing import Any

(
    THRIFT_TRUE,
    THRIFT_FALSE,
    THRIFT_BYTE,
    THRIFT_DOUBLE,
    THRIFT_BINARY,
    THRIFT_LIST,
    THRIFT_SET,
    THRIFT_MAP,
    THRIFT_STRUCT,
) = (
    1,
    2,
    3,
    7,
    8,
    9,
    10,
    11,
    12,
)
THRIFT_INTEGERS = (4, 5, 6)

ThriftFields = dict[int, tuple[int, Any]]


def read_struct(data: bytes) -> ThriftFields:
    """The structure that these bytes begin with; ValueError or IndexError where they
    are none.

    >>> read_struct(bytes([0x15, 0x04, 0x18, 0x01, 0x61, 0x00]))
    {1: (5, 2), 2: (8, b'a')}
    """
    return _ThriftReader(data).fields()


def write_struct(fields: ThriftFields) -> bytes:
    """The bytes of a structure.

    >>> write_struct({1: (5, 2), 2: (8, b"a")}).hex()
    '150418016100'
    """
    out = BytesIO()
    _write_fields(out, fields)
    return out.getvalue()


class _ThriftReader:
    """Thrift's compact encoding."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _read_byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _read_varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._read_byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _read_integer(self) -> int:
        value = self._read_varint()
        return (value >> 1) ^ -(value & 1)

    def _read_bytes(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def fields(self) -> ThriftFields:
        """The fields of a structure, in their order."""
        found: ThriftFields = {}
        number = 0
        while header := self._read_byte():
            number = number + (header >> 4) if header >> 4 else self._read_integer()
            kind = header & 15
            found[number] = (
                kind,
                (
                    kind == THRIFT_TRUE
                    if kind in (THRIFT_TRUE, THRIFT_FALSE)
                    else self._value(kind)
                ),
            )
        return found

    def _value(self, kind: int) -> Any:
        if kind in (THRIFT_TRUE, THRIFT_FALSE, THRIFT_BYTE):
            return self._read_byte()
        if kind in THRIFT_INTEGERS:
            return self._read_integer()
        if kind == THRIFT_DOUBLE:
            return self._read_bytes(8)
        if kind == THRIFT_BINARY:
            return self._read_bytes(self._read_varint())
        if kind in (THRIFT_LIST, THRIFT_SET):
            header = self._read_byte()
            size = header >> 4 if header >> 4 < 15 else self._read_varint()
            return header & 15, [
                (
                    self.fields()
                    if header & 15 == THRIFT_STRUCT
                    else self._value(header & 15)
                )
                for _ in range(size)
            ]
        if kind == THRIFT_MAP:
            size = self._read_varint()
            header = self._read_byte() if size else 0
            return header, [
                (self._value(header >> 4), self._value(header & 15))
                for _ in range(size)
            ]
        if kind == THRIFT_STRUCT:
            return self.fields()
        raise ValueError("no type of a field")


def _encode_varint(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes([*written, value])


def _encode_integer(value: int) -> bytes:
    return _encode_varint((value << 1) ^ (value >> 63))


def _write_fields(out: BytesIO, fields: ThriftFields) -> None:
    last = 0
    for number, (kind, value) in fields.items():
        kind = (
            (THRIFT_TRUE if value else THRIFT_FALSE)
            if kind in (THRIFT_TRUE, THRIFT_FALSE)
            else kind
        )
        step = number - last
        out.write(
            bytes([step << 4 | kind])
            if 0 < step < 16
            else struct.pack("B", kind) + _encode_integer(number)
        )
        last = number
        if kind not in (THRIFT_TRUE, THRIFT_FALSE):
            _write_value(out, kind, value)
    out.write(b"\0")


def _write_value(out: BytesIO, kind: int, value: Any) -> None:
    if kind in (THRIFT_TRUE, THRIFT_FALSE, THRIFT_BYTE):
        out.write(bytes([value]))
    elif kind in THRIFT_INTEGERS:
        out.write(_encode_integer(value))
    elif kind == THRIFT_DOUBLE:
        out.write(value)
    elif kind == THRIFT_BINARY:
        out.write(_encode_varint(len(value)) + value)
    elif kind in (THRIFT_LIST, THRIFT_SET):
        inner, parts = value
        size = len(parts)
        out.write(
            bytes([size << 4 | inner])
            if size < 15
            else bytes([15 << 4 | inner]) + _encode_varint(size)
        )
        for part in parts:
            _write_value(out, inner, part)
    elif kind == THRIFT_MAP:
        header, pairs = value
        out.write(_encode_varint(len(pairs)) + (bytes([header]) if pairs else b""))
        for key, held in pairs:
            _write_value(out, header >> 4, key)
            _write_value(out, header & 15, held)
    elif isinstance(value, bytes):  # a structure that was written before
        out.write(value)
    else:
        _write_fields(out, value)
