"""Files packed by xz, unpacked in bounded memory.

The library's own reader takes as much memory as a file asks for, which can be gigabytes
for a few bytes.
"""

from __future__ import annotations

import io
import lzma
from pathlib import Path
from typing import Any, BinaryIO, cast

MAX_XZ_MEMORY_BYTES = 2**27
"""Memory that a decoder may take: `xz -9` asks for half of it."""

XZ_STEP_BYTES = 2**16
"""Packed bytes that are read at a time."""


def open_xz(raw: str | BinaryIO) -> BinaryIO:
    """The bytes of a file packed by xz, unpacked as they are read."""
    packed = Path(raw).open("rb") if isinstance(raw, str) else raw  # noqa: SIM115
    return cast(BinaryIO, io.BufferedReader(_XzStream(packed)))


class _XzStream(io.RawIOBase):
    """Unpacked bytes of one or more xz streams, one after the other."""

    def __init__(self, packed: BinaryIO) -> None:
        self._packed = packed
        self._decoder = _new_decoder()

    def readable(self) -> bool:
        """Always: it is opened for reading."""
        return True

    def close(self) -> None:
        """Close the packed file too."""
        self._packed.close()
        super().close()

    def readinto(self, buffer: Any, /) -> int:
        """Fill the buffer with what comes next; 0 at the end."""
        view = memoryview(buffer).cast("B")
        while True:
            if self._decoder.eof and not self._begin_next_stream():
                return 0
            packed = b""
            if self._decoder.needs_input:
                packed = self._packed.read(XZ_STEP_BYTES)
                if not packed:
                    raise EOFError("the packed data are cut short")
            # Never more than is asked for: a small file may unpack to any size.
            data = self._decoder.decompress(packed, len(view))
            if data:
                view[: len(data)] = data
                return len(data)

    def _begin_next_stream(self) -> bool:
        """Whether another stream follows the one that ended."""
        rest = self._decoder.unused_data.lstrip(b"\0")  # padding between streams
        while not rest:
            more = self._packed.read(XZ_STEP_BYTES)
            if not more:
                return False
            rest = more.lstrip(b"\0")
        # Bytes of the next stream were read along: they go to its own decoder.
        self._packed.seek(-len(rest), io.SEEK_CUR)
        self._decoder = _new_decoder()
        return True


def _new_decoder() -> lzma.LZMADecompressor:
    # A header may ask for gigabytes; Python's own reader would grant them.
    return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY_BYTES)
