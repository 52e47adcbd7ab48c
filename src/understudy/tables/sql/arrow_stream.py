"""Arrow streams of physical cells: the same batches, under a schema that says how they
are stored and no more.

Bytes that are no text contradict a text column; they contradict no column of bytes. A
type and what it is stored as have the same buffers, so only the schema of a stream is
written anew, each time it is asked for; batches pass untouched and uncopied, and no
Arrow library is needed (arrow_c.py says why by ctypes).
"""

from __future__ import annotations

import ctypes
from typing import Any

from understudy.tables.sql.arrow_c import (
    STREAM_CAPSULE_NAME,
    ArrowArrayStream,
    ArrowSchema,
    StreamError,
    stream_in,
)
from understudy.tables.sql.physical import physical_format

ARROW_BYTE_FORMATS = (b"z", b"Z", b"vz")
GET_SCHEMA_FUNCTION: Any = ctypes.CFUNCTYPE(
    ctypes.c_int,
    ctypes.POINTER(ArrowArrayStream),
    ctypes.POINTER(ArrowSchema),
)
CAPSULE_DESTRUCTOR: Any = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
RELEASE_SCHEMA_FUNCTION: Any = ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))


class PhysicalStream:
    """A frame as a stream of physical cells that can be read again and again, and the
    Arrow formats its columns declare.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self._held: list[Any] = []
        self.formats = self._read_formats()

    def _read_formats(self) -> tuple[bytes, ...]:
        stream = self._take_stream()
        schema = ArrowSchema()
        if stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)):
            raise StreamError("the stream broke off")
        try:
            columns = [schema.children[i].contents for i in range(schema.n_children)]
            return tuple(
                (c.dictionary.contents if c.dictionary else c).format for c in columns
            )
        finally:
            schema.release(ctypes.byref(schema))
            stream.release(ctypes.byref(stream))

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """A new stream over the same rows."""
        stream = self._take_stream()
        original = GET_SCHEMA_FUNCTION(
            ctypes.cast(stream.get_schema, ctypes.c_void_p).value
        )

        def get_schema(this: Any, out: Any) -> int:
            declared = ArrowSchema()
            if failed := original(this, ctypes.byref(declared)):
                return int(failed)
            try:
                ctypes.memmove(
                    out,
                    ctypes.byref(self._plain_schema(declared)),
                    ctypes.sizeof(ArrowSchema),
                )
            finally:
                declared.release(ctypes.byref(declared))
            return 0

        stream.get_schema = GET_SCHEMA_FUNCTION(get_schema)
        # C code keeps only the address of the callback: Python has to keep the callback.
        self._held.append(stream.get_schema)
        _streams_in_capsules[ctypes.addressof(stream)] = stream
        return _new_capsule(
            ctypes.addressof(stream),
            STREAM_CAPSULE_NAME,
            _drop_callback,
        )

    def _take_stream(self) -> ArrowArrayStream:
        """A stream of the source, taken out of its capsule."""
        capsule = self._source.__arrow_c_stream__()
        given = stream_in(capsule)
        taken = ArrowArrayStream()
        ctypes.memmove(
            ctypes.byref(taken),
            ctypes.byref(given),
            ctypes.sizeof(ArrowArrayStream),
        )
        # The interface's way to move a stream: the one given counts as released.
        given.release = type(given.release)()
        return taken

    def _plain_schema(self, declared: ArrowSchema, depth: int = 0) -> ArrowSchema:
        """A copy of a schema with physical formats. What it points to is kept as long
        as this stream.
        """
        made = ArrowSchema()
        made.format = format = physical_format(declared.format, nested=depth > 1)
        made.name = declared.name
        made.flags = declared.flags
        # Metadata may name an extension type, which no longer holds for bytes or for
        # cells that are read otherwise.
        kept = (
            format == declared.format
            and format not in ARROW_BYTE_FORMATS
            and not format.startswith(b"+")
            and depth <= 1
        )
        metadata = _copy_metadata(declared.metadata) if kept else None
        if metadata is not None:
            made.metadata = ctypes.cast(metadata, ctypes.c_void_p)
        parts = [
            ctypes.pointer(self._plain_schema(declared.children[i].contents, depth + 1))
            for i in range(declared.n_children)
        ]
        made.n_children = len(parts)
        made.children = (ctypes.POINTER(ArrowSchema) * len(parts))(*parts)
        if declared.dictionary:
            made.dictionary = ctypes.pointer(
                self._plain_schema(declared.dictionary.contents, depth)
            )
        made.release = RELEASE_SCHEMA_FUNCTION(_mark_released)
        self._held.append((made, metadata, parts, made.release))
        return made


def _mark_released(schema: Any) -> None:
    """Our schemas are kept by the stream; all that is left to do is to say so."""
    schema.contents.release = RELEASE_SCHEMA_FUNCTION()


def _copy_metadata(address: int | None) -> Any:
    """A copy of a schema's metadata: a number of pairs, then each text with its length
    before it.
    """
    if not address:
        return None
    size = 4
    for _ in range(2 * ctypes.c_int32.from_address(address).value):
        size += 4 + ctypes.c_int32.from_address(address + size).value
    return ctypes.create_string_buffer(ctypes.string_at(address, size), size)


_streams_in_capsules: dict[int, ArrowArrayStream] = {}
"""Streams in capsules, by address: a capsule points to them and keeps nothing alive."""


def _drop_capsule(capsule: int) -> None:
    """Release the stream of a capsule that is deleted, unless it was moved out."""
    stream = _streams_in_capsules.pop(_pointer_in(capsule, STREAM_CAPSULE_NAME))
    if stream.release:
        stream.release(ctypes.byref(stream))


_drop_callback = CAPSULE_DESTRUCTOR(_drop_capsule)
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)
_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object,
    ctypes.c_void_p,
    ctypes.c_char_p,
    CAPSULE_DESTRUCTOR,
)(("PyCapsule_New", ctypes.pythonapi))
