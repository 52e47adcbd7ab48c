"""Packed files: `.gz`, `.bz2`, `.xz`, `.zst` and `.zip` with one file in it, unpacked
as they are read, and weighed before.

A few kilobytes can unpack to terabytes. So a packed file is read to its end once, and
nothing of it kept, before any cell is looked at: one that unpacks to far more than it
holds is refused, and so is one that is damaged or cut short, with the line in which
that shows.
"""

from __future__ import annotations

import bz2
import gzip
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, cast

from understudy.errors import TableError
from understudy.tables.sources.xz import open_xz
from understudy.tables.sources.zip_member import open_only_member

COMPRESSION_OF_ENDING = {
    ".gz": "gzip",
    ".zst": "zstd",
    ".bz2": "bzip2",
    ".xz": "xz",
    ".zip": "zip",
}
"""Endings of packed files, and how they are packed."""

DUCKDB_COMPRESSIONS = frozenset({"none", "gzip", "zstd"})
"""What DuckDB unpacks itself, by its own names; the others are read from a copy."""

FREE_UNPACKED_BYTES = 2**27
MAX_UNPACK_RATIO = 200
"""Bytes that a file may unpack to whatever its size; beyond, how many times what was
read of it.
"""

UNPACK_STEP_BYTES = 2**20


def compression_of_path(path: Path) -> str:
    """How a file is packed, by the ending of its name.

    >>> compression_of_path(Path("people.csv.gz")), compression_of_path(Path("people.csv"))
    ('gzip', 'none')
    """
    return COMPRESSION_OF_ENDING.get(path.suffix.lower(), "none")


def ending_of_unpacked(path: Path) -> str:
    """The ending of a file's name once it is unpacked; `.zip` where nothing else tells.

    >>> ending_of_unpacked(Path("people.TSV.gz")), ending_of_unpacked(Path("people.zip"))
    ('.tsv', '.zip')
    """
    endings = [suffix.lower() for suffix in path.suffixes]
    if len(endings) > 1 and endings[-1] in COMPRESSION_OF_ENDING:
        endings.pop()
    return endings[-1] if endings else ""


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
    match compression_of_path(path):
        case "gzip":
            return cast(BinaryIO, gzip.open(raw, "rb"))
        case "bzip2":
            return cast(BinaryIO, bz2.open(raw, "rb"))
        case "xz":
            return open_xz(raw)
        case "zip":
            return open_only_member(path.name, raw)
        case _:
            return _open_zstd(path, raw)


def _open_zstd(path: Path, raw: str | BinaryIO) -> BinaryIO:
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
