"""Thrift's compact encoding, in which the footer of a Parquet file is written.

A structure is read into nested dictionaries of field number → (type, value), without
knowing what the fields mean, and can be written again byte for byte. (Apache Thrift,
"Compact protocol encoding", in its doc/specs.)
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

# Type numbers of the specification. Integers of 16, 32 and 64 bits are written alike.
THRIFT_TRUE = 1
THRIFT_FALSE = 2
THRIFT_BYTE = 3
THRIFT_INTEGERS = (4, 5, 6)
THRIFT_DOUBLE = 7
THRIFT_BINARY = 8
THRIFT_LIST = 9
THRIFT_SET = 10
THRIFT_MAP = 11
THRIFT_STRUCT = 12

_THRIFT_BOOLEANS = (THRIFT_TRUE, THRIFT_FALSE)

# Half a byte. A list's size of 15 means that the size follows as a number.
_MAX_HALF_BYTE = 15

ThriftFields = dict[int, tuple[int, Any]]


def read_struct(data: bytes) -> ThriftFields:
    """The structure that these bytes begin with; ValueError or IndexError if they are
    none.

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
    """Reads values one after the other; `_at` is the position of the next byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _read_byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _read_varint(self) -> int:
        """An unsigned number, seven bits a byte, the lowest first."""
        value = shift = 0
        while True:
            byte = self._read_byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def _read_integer(self) -> int:
        """A signed number in zigzag form: 0, -1, 1, -2 are 0, 1, 2, 3."""
        value = self._read_varint()
        return (value >> 1) ^ -(value & 1)

    def _read_bytes(self, size: int) -> bytes:
        self._at += size
        return self._data[self._at - size : self._at]

    def fields(self) -> ThriftFields:
        """The fields of a structure, in their order."""
        fields: ThriftFields = {}
        number = 0
        while header := self._read_byte():
            step = header >> 4
            kind = header & 15
            number = number + step if step else self._read_integer()
            # A field's truth value is its type; it has no bytes of its own.
            if kind in _THRIFT_BOOLEANS:
                fields[number] = kind, kind == THRIFT_TRUE
            else:
                fields[number] = kind, self._value(kind)
        return fields

    def _value(self, kind: int) -> Any:
        # In a list or map, unlike in a field, a truth value is a byte.
        if kind in (*_THRIFT_BOOLEANS, THRIFT_BYTE):
            return self._read_byte()
        if kind in THRIFT_INTEGERS:
            return self._read_integer()
        if kind == THRIFT_DOUBLE:
            return self._read_bytes(8)
        if kind == THRIFT_BINARY:
            return self._read_bytes(self._read_varint())
        if kind in (THRIFT_LIST, THRIFT_SET):
            return self._list()
        if kind == THRIFT_MAP:
            return self._map()
        if kind == THRIFT_STRUCT:
            return self.fields()
        raise ValueError("no type of a field")

    def _list(self) -> tuple[int, list[Any]]:
        """The type of a list's items, and the items."""
        header = self._read_byte()
        size = header >> 4
        kind = header & 15
        if size == _MAX_HALF_BYTE:
            size = self._read_varint()
        return kind, [self._value(kind) for _ in range(size)]

    def _map(self) -> tuple[int, list[tuple[Any, Any]]]:
        """The types of a map's keys and values as one byte, and its pairs."""
        size = self._read_varint()
        header = self._read_byte() if size else 0
        key_kind = header >> 4
        value_kind = header & 15
        pairs = [(self._value(key_kind), self._value(value_kind)) for _ in range(size)]
        return header, pairs


def _encode_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    return bytes([*encoded, value])


def _encode_integer(value: int) -> bytes:
    # A negative number shifted by 63 bits is -1, which inverts the bits of the other.
    return _encode_varint((value << 1) ^ (value >> 63))


def _write_fields(out: BytesIO, fields: ThriftFields) -> None:
    last = 0
    for number, (kind, value) in fields.items():
        if kind in _THRIFT_BOOLEANS:
            kind = THRIFT_TRUE if value else THRIFT_FALSE
        step = number - last
        if 0 < step <= _MAX_HALF_BYTE:
            out.write(bytes([step << 4 | kind]))
        else:
            out.write(bytes([kind]) + _encode_integer(number))
        last = number
        if kind not in _THRIFT_BOOLEANS:
            _write_value(out, kind, value)
    out.write(b"\0")


def _write_value(out: BytesIO, kind: int, value: Any) -> None:
    if kind in (*_THRIFT_BOOLEANS, THRIFT_BYTE):
        out.write(bytes([value]))
    elif kind in THRIFT_INTEGERS:
        out.write(_encode_integer(value))
    elif kind == THRIFT_DOUBLE:
        out.write(value)
    elif kind == THRIFT_BINARY:
        out.write(_encode_varint(len(value)) + value)
    elif kind in (THRIFT_LIST, THRIFT_SET):
        _write_list(out, *value)
    elif kind == THRIFT_MAP:
        _write_map(out, *value)
    elif isinstance(value, bytes):
        # A structure that was encoded before.
        out.write(value)
    else:
        _write_fields(out, value)


def _write_list(out: BytesIO, kind: int, items: list[Any]) -> None:
    size = len(items)
    if size < _MAX_HALF_BYTE:
        out.write(bytes([size << 4 | kind]))
    else:
        out.write(bytes([_MAX_HALF_BYTE << 4 | kind]) + _encode_varint(size))
    for item in items:
        _write_value(out, kind, item)


def _write_map(out: BytesIO, header: int, pairs: list[tuple[Any, Any]]) -> None:
    out.write(_encode_varint(len(pairs)))
    # An empty map states no types.
    if pairs:
        out.write(bytes([header]))
    for key, value in pairs:
        _write_value(out, header >> 4, key)
        _write_value(out, header & 15, value)
