"""Answers as bytes: arrays of integers, lists of whole numbers of any size, texts.

A header of JSON, then the buffers of the arrays. Nothing in it is run when it is read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

AnswerPart = NDArray[np.integer] | list[int] | list[str]

HEADER_LENGTH_BYTES = 8


def pack_answer(parts: Sequence[AnswerPart]) -> bytes:
    """Parts of an answer as bytes.

    >>> packed = pack_answer([np.array([[1, 2]]), [2**70], ["F", "M"]])
    >>> [part if isinstance(part, list) else part.tolist() for part in unpack_answer(packed)]
    [[[1, 2]], [1180591620717411303424], ['F', 'M']]
    """
    header: list[Any] = []
    buffers = []
    for part in parts:
        if isinstance(part, list):
            header.append(part)
        else:
            # In the order of its dimensions, whatever it is a view of.
            plain = np.ascontiguousarray(part)
            header.append({"dtype": plain.dtype.str, "shape": part.shape})
            buffers.append(plain.tobytes())
    text = json.dumps(header).encode()
    return b"".join([len(text).to_bytes(HEADER_LENGTH_BYTES), text, *buffers])


def unpack_answer(packed: bytes) -> list[Any]:
    """The parts of an answer."""
    first = HEADER_LENGTH_BYTES
    length = int.from_bytes(packed[:first])
    at = first + length
    parts: list[Any] = []
    for described in json.loads(packed[first:at]):
        if isinstance(described, list):
            parts.append(described)
            continue
        shape = described["shape"]
        dtype = np.dtype(described["dtype"])
        count = int(np.prod(shape, dtype=np.int64))
        parts.append(np.frombuffer(packed, dtype, count, at).reshape(shape))
        at += count * dtype.itemsize
    return parts
