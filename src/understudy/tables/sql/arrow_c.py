"""Batches of unsigned columns out of an Arrow stream, read by the Arrow C data
interface.

The interface is three small structures
(https://arrow.apache.org/docs/format/CStreamInterface.html), frozen by Arrow for good.

Why by ctypes. DuckDB hands out batches as NumPy arrays only all at once, and batch by
batch only as an Arrow stream; pyarrow would be a dependency of 100 MB for one buffer a
column. The codes are unsigned columns without NULL, so that buffer is all there is to
read. Each is copied before its batch is released: nothing points into memory that
DuckDB owns.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

UNSIGNED_ARROW_FORMATS: dict[bytes, type[np.unsignedinteger]] = {
    b"C": np.uint8,
    b"S": np.uint16,
    b"I": np.uint32,
    b"L": np.uint64,
}
"""Arrow's letters for unsigned integers."""

STREAM_CAPSULE_NAME = b"arrow_array_stream"
"""The name under which streams are handed over."""


class ArrowSchema(ctypes.Structure):
    """Names and types."""


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))),
    ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))),
    ("private_data", ctypes.c_void_p),
]


class ArrowArray(ctypes.Structure):
    """Cells of a batch."""


ArrowArray._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))),
    ("private_data", ctypes.c_void_p),
]


class ArrowArrayStream(ctypes.Structure):
    """Where batches come from."""


ArrowArrayStream._fields_ = [
    (
        "get_schema",
        ctypes.CFUNCTYPE(
            ctypes.c_int,
            ctypes.POINTER(ArrowArrayStream),
            ctypes.POINTER(ArrowSchema),
        ),
    ),
    (
        "get_next",
        ctypes.CFUNCTYPE(
            ctypes.c_int,
            ctypes.POINTER(ArrowArrayStream),
            ctypes.POINTER(ArrowArray),
        ),
    ),
    (
        "get_last_error",
        ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(ArrowArrayStream)),
    ),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArrayStream))),
    ("private_data", ctypes.c_void_p),
]


class StreamError(Exception):
    """A stream that broke off. What it says about itself is not passed on: it may quote
    a row.
    """


def stream_in(capsule: object) -> ArrowArrayStream:
    """The stream that a capsule holds, in place."""
    # The capsule keeps the structure alive; a copy would be released twice.
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype = ctypes.c_void_p
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    return ArrowArrayStream.from_address(pointer(capsule, STREAM_CAPSULE_NAME))


def read_batches(capsule: object) -> Iterator[list[NDArray[np.unsignedinteger]]]:
    """The columns of each batch of a stream, copied into arrays of our own."""
    stream = stream_in(capsule)
    try:
        dtypes = _read_dtypes(stream)
        while True:
            array = ArrowArray()
            if stream.get_next(ctypes.byref(stream), ctypes.byref(array)):
                raise StreamError("the stream broke off")
            # By the interface's rules, a released array marks the end of a stream.
            if not array.release:
                return
            try:
                columns = [
                    _copy_column(array.children[i].contents, array, dtype)
                    for i, dtype in enumerate(dtypes)
                ]
            finally:
                array.release(ctypes.byref(array))
            yield columns
    finally:
        if stream.release:
            stream.release(ctypes.byref(stream))


def _read_dtypes(stream: ArrowArrayStream) -> list[np.dtype[np.unsignedinteger]]:
    schema = ArrowSchema()
    if stream.get_schema(ctypes.byref(stream), ctypes.byref(schema)):
        raise StreamError("the stream broke off")
    try:
        return [
            np.dtype(UNSIGNED_ARROW_FORMATS[schema.children[i].contents.format])
            for i in range(schema.n_children)
        ]
    finally:
        schema.release(ctypes.byref(schema))


def _copy_column(
    child: ArrowArray,
    parent: ArrowArray,
    dtype: np.dtype[np.unsignedinteger],
) -> NDArray[np.unsignedinteger]:
    if child.null_count > 0:
        raise StreamError("a code is missing")
    if parent.length == 0:
        return np.empty(0, dtype)
    # Buffer 0 says which cells are NULL, buffer 1 holds the cells. Both a batch and its
    # columns may begin further in.
    start = child.buffers[1] + (child.offset + parent.offset) * dtype.itemsize
    cells = (ctypes.c_char * (parent.length * dtype.itemsize)).from_address(start)
    return np.frombuffer(cells, dtype).copy()
