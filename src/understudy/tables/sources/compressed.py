"""Packed files: `.gz` and `.zst`, unpacked as they are read, and weighed before.

A few kilobytes can unpack to terabytes. So a packed file is read to its end once, and
nothing of it kept, before any cell is looked at: one that unpacks to far more than it
holds is refused, and so is one that is damaged or cut short, with the line in which
that shows.
"""

from __future__ import annotations

import gzip
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, cast

from understudy.errors import TableError

COMPRESSION_OF_ENDING = {".gz": "gzip", ".zst": "zstd"}
"""Endings of packed files, and what DuckDB calls them."""

FREE_UNPACKED_BYTES = 2**27
MAX_UNPACK_RATIO = 200
"""A file may unpack to so many bytes whatever its size, and beyond that to so many
times what was read of it.
"""

UNPACK_STEP_BYTES = 2**20


def compression_of_path(path: Path) -> str:
    """How a file is packed, in DuckDB's words.

    >>> compression_of_path(Path("people.csv.gz")), compression_of_path(Path("people.csv"))
    ('gzip', 'none')
    """
    return COMPRESSION_OF_ENDING.get(path.suffix.lower(), "none")


def open_bytes(path: Path) -> BinaryIO:
    """A file's bytes, unpacked."""
    if compression_of_path(path) == "none":
        return path.open("rb")
    return _open_unpacked(path, str(path))


def refuse_packed_bomb(path: Path) -> None:
    """Refuse a packed file that is damaged, cut short, or unpacks to far more than it
    holds.
    """
    if compression_of_path(path) == "none":
        return
    line = 1
    size = 0
    failed = ""
    with path.open("rb") as raw:
        try:
            with _open_unpacked(path, raw) as file:
                while part := file.read(UNPACK_STEP_BYTES):
                    line += part.count(b"\n")
                    size += len(part)
                    # Compared with what was read so far: a bomb is noticed early.
                    most = max(FREE_UNPACKED_BYTES, MAX_UNPACK_RATIO * raw.tell())
                    if size > most:
                        failed = (
                            f"unpacks to more than {MAX_UNPACK_RATIO} times its size."
                            " Unpack it first if you trust it"
                        )
                        break
        except TableError:
            raise
        except Exception:
            # Its message is dropped: it may quote what the file says.
            failed = "its packed data are damaged or cut short here. Pack it again"
    if failed:
        raise TableError(f"{path.name}:{line}: {failed}. Nothing was read")


def _open_unpacked(path: Path, raw: str | BinaryIO) -> BinaryIO:
    if compression_of_path(path) == "gzip":
        return cast(BinaryIO, gzip.open(raw, "rb"))
    for module, opener in (("compression.zstd", "open"), ("zstandard", "open")):
        try:
            return cast(BinaryIO, getattr(import_module(module), opener)(raw))
        except ImportError:
            continue
    try:
        return cast(
            BinaryIO, import_module("pyarrow").input_stream(raw, compression="zstd")
        )
    except ImportError:
        raise TableError(
            f"{path.name}: needs Python 3.14 or the package zstandard. Or unpack it"
            " first. Nothing was read"
        ) from None
