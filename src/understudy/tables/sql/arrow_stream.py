"""Arrow streams of physical cells: the same batches, under a schema that says how they are stored and no more.

Bytes that are no text contradict a text column; they contradict no column of bytes. A type and what it is stored as have the same buffers,
so only the schema of a stream is written anew, each time it is asked for; batches pass untouched and uncopied, and no Arrow library is
needed.
"""

from __future__ import annotations

import ctypes
from typing import Any

from understudy.tables.sql.arrow_c import CAPSULE, ArrowSchema, ArrowStream, StreamError, stream_in
from understudy.tables.sql.physical import plain_format

BYTES = (b"z", b"Z", b"vz")
GET_SCHEMA: Any = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowStream), ctypes.POINTER(ArrowSchema))
DROPPED: Any = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
RELEASE: Any = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))


class Physical:
    """A frame as a stream of physical cells that can be read again and again, and the Arrow formats its columns declare."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self._held: list[Any] = []
        self.formats = self._formats()

    def _formats(self) -> tuple[bytes, ...]:
        stream, schema = self._taken(), ArrowSchema()
        if stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)):
            raise StreamError("the stream broke off")
        try:
            columns = [schema.children[i].contents for i in range(schema.n_children)]
            return tuple((c.dictionary.contents if c.dictionary else c).format for c in columns)
        finally:
            schema.release(ctypes.byref(schema))
            stream.release(ctypes.byref(stream))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream over the same rows."""
        stream = self._taken()
        original = GET_SCHEMA(ctypes.cast(stream.get_schema, ctypes.c_void_p).value)

        def get_schema(this: Any, out: Any) -> int:
            declared = ArrowSchema()
            if failed := original(this, ctypes.byref(declared)):
                return int(failed)
            try:
                ctypes.memmove(out, ctypes.byref(self._plain(declared)), ctypes.sizeof(ArrowSchema))
            finally:
                declared.release(ctypes.byref(declared))
            return 0

        stream.get_schema = GET_SCHEMA(get_schema)
        self._held.append(stream.get_schema)
        _waiting[ctypes.addressof(stream)] = stream
        return _new_capsule(ctypes.addressof(stream), CAPSULE, _dropped)

    def _taken(self) -> ArrowStream:
        """A stream of the source, taken out of its capsule."""
        capsule = self._source.__arrow_c_stream__()
        given, taken = stream_in(capsule), ArrowStream()
        ctypes.memmove(ctypes.byref(taken), ctypes.byref(given), ctypes.sizeof(ArrowStream))
        given.release = type(given.release)()
        return taken

    def _plain(self, declared: ArrowSchema, depth: int = 0) -> ArrowSchema:
        """A copy of a schema with physical formats. What it points to is kept as long as this stream."""
        made = ArrowSchema()
        made.format = format = plain_format(declared.format, nested=depth > 1)
        made.name, made.flags = declared.name, declared.flags
        # What an extension says of bytes or of cells that are read otherwise no longer holds.
        kept = format == declared.format and format not in BYTES and not format.startswith(b"+") and depth <= 1
        told = _metadata(declared.metadata) if kept else None
        if told is not None:
            made.metadata = ctypes.cast(told, ctypes.c_void_p)
        parts = [
            ctypes.pointer(self._plain(declared.children[i].contents, depth + 1)) for i in range(declared.n_children)
        ]
        made.n_children = len(parts)
        made.children = (ctypes.POINTER(ArrowSchema) * len(parts))(*parts)
        if declared.dictionary:
            made.dictionary = ctypes.pointer(self._plain(declared.dictionary.contents, depth))
        made.release = RELEASE(_released)
        self._held.append((made, told, parts, made.release))
        return made


def _released(schema: Any) -> None:
    """Our schemas are kept by the stream; all that is left to do is to say so."""
    schema.contents.release = RELEASE()


def _metadata(address: int | None) -> Any:
    """A copy of a schema's metadata: a number of pairs, then each text with its length before it."""
    if not address:
        return None
    size = 4
    for _ in range(2 * ctypes.c_int32.from_address(address).value):
        size += 4 + ctypes.c_int32.from_address(address + size).value
    return ctypes.create_string_buffer(ctypes.string_at(address, size), size)


_waiting: dict[int, ArrowStream] = {}
"""Streams in capsules, by address: a capsule points to them and keeps nothing alive."""


def _drop(capsule: int) -> None:
    """A capsule goes: release its stream unless somebody has taken it."""
    stream = _waiting.pop(_pointer_in(capsule, CAPSULE))
    if stream.release:
        stream.release(ctypes.byref(stream))


_dropped = DROPPED(_drop)
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, DROPPED)(
    ("PyCapsule_New", ctypes.pythonapi)
)
