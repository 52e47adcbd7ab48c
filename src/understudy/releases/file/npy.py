"""Arrays as `.npy` bytes, read without trust in who wrote them: five plain types, row
by row, no pickle.

What is written is the NPY format 1.0, byte for byte what `numpy.save` writes. What is
read is a part of it: the header must match one pattern, so nothing in it is evaluated,
and its shape must account for every byte that follows before any memory is taken.
"""

from __future__ import annotations

import math
import re
import struct

import numpy as np
from numpy.typing import NDArray

from understudy.errors import ReleaseError

NPY_DTYPES = ("<i8", "<f8", "|u1", "<u2", "<u4")
"""The types an array may have: whole numbers, finite floats, and codes."""

_NPY_MAGIC = b"\x93NUMPY\x01\x00"
_MAX_NPY_AXES = 32
_NPY_ALIGNMENT = 64
"""The header is padded to a multiple of this many bytes."""

_NPY_HEADER = re.compile(
    rb"\{'descr': '([<|][a-z]\d)', 'fortran_order': False, 'shape': \(((?:\d{1,12},"
    rb" ?)*\d{0,12})\), \} *\n"
)


def array_to_npy(array: NDArray[np.generic]) -> bytes:
    """An array as the bytes of a `.npy` file."""
    kind = array.dtype.newbyteorder("<").str
    if kind not in NPY_DTYPES:
        raise ReleaseError(
            f"an array of type {array.dtype} has no place in a release. Nothing was"
            " written."
        )
    text = (
        f"{{'descr': '{kind}', 'fortran_order': False, 'shape':"
        f" {tuple(int(n) for n in array.shape)!r}, }}"
    )
    padding = -(len(_NPY_MAGIC) + 2 + len(text) + 1) % _NPY_ALIGNMENT
    header = (text + " " * padding + "\n").encode("ascii")
    return (
        _NPY_MAGIC
        + struct.pack("<H", len(header))
        + header
        + np.ascontiguousarray(array).astype(kind).tobytes()
    )


def array_from_npy(data: bytes, where: str) -> NDArray[np.generic]:
    """The array again, or ReleaseError; never more memory than the bytes themselves
    take.

    >>> array_from_npy(array_to_npy(np.array([[1, 2], [3, 4]])), "arrays/0.npy").tolist()
    [[1, 2], [3, 4]]
    """
    start = len(_NPY_MAGIC) + 2
    if data[: len(_NPY_MAGIC)] != _NPY_MAGIC or len(data) < start:
        raise ReleaseError(
            f"{where}: not an array that Understudy writes. Nothing was loaded."
        )
    end = start + int(struct.unpack("<H", data[len(_NPY_MAGIC) : start])[0])
    header = _NPY_HEADER.fullmatch(data, start, end) if end <= len(data) else None
    if header is None or header[1].decode() not in NPY_DTYPES:
        raise ReleaseError(
            f"{where}: not an array that Understudy writes. Nothing was loaded."
        )
    kind = np.dtype(header[1].decode())
    shape = _read_shape(header[2], kind.itemsize, len(data) - end, where)
    stored = np.frombuffer(data, kind, offset=end).reshape(shape)
    array = stored.astype(kind.newbyteorder("="))
    # No noisy count or share is infinite; NaN would pass every later comparison.
    if kind.kind == "f" and not np.all(np.isfinite(array)):
        raise ReleaseError(
            f"{where}: holds a number that is not finite. Nothing was loaded."
        )
    return array


def _read_shape(text: bytes, item: int, size: int, where: str) -> tuple[int, ...]:
    """The shape that a header states, of as many items as the bytes hold."""
    shape = tuple(int(n) for n in text.split(b",") if n.strip())
    # Checked before anything is allocated: a header may claim any size.
    if len(shape) > _MAX_NPY_AXES or math.prod(shape) * item != size:
        raise ReleaseError(
            f"{where}: its shape does not account for its bytes. Nothing was loaded."
        )
    return shape
