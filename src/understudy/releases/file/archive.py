"""The release file: a zip with `release.json` and `arrays/*.npy`. Anybody can read it,
and reading it never runs anything that it holds.

The same release always gives the same bytes. A file that comes in is checked from the
outside in: names, sizes, kinds of compression and ratios first, then the JSON, then
every array against the schema. Whatever is wrong, one line says so.
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from understudy.atomic import write_file_atomically
from understudy.errors import ReleaseError
from understudy.releases.contents import ReleaseContents
from understudy.releases.file.document import ContentsT, from_document, to_document
from understudy.releases.file.json_fields import parse_json
from understudy.releases.file.npy import array_from_npy, array_to_npy

DOCUMENT_MEMBER = "release.json"
MAX_ARCHIVE_MEMBERS = 65_535
"""As many as a zip archive counts. A run on 200 columns keeps an estimate for each of
19,900 pairs.
"""
MAX_DOCUMENT_BYTES = 32 << 20
MAX_RELEASE_BYTES = 2 << 30
MAX_UNPACKING_RATIO = 64
"""No member may unpack to more than this many times its packed size (beyond its first
64 KiB), so a small file stays small.
"""

MAX_UNPACKED_BYTES = 1 << 28
"""All members together may unpack to this, and beyond it to that ratio times the
file's own size: the first 64 KiB of 65,535 members are 4 GiB that the limit of each
member would let through.
"""

_RATIO_FREE_BYTES = 1 << 16
_ARRAY_MEMBER = re.compile(r"arrays/[0-9]{5}\.npy", re.ASCII)
_ZIP_END_RECORD = struct.Struct("<4s4H2LH")
# Fixed, so that the same release gives the same bytes on every machine at any time.
_ZIP_MEMBER_TIME = (1980, 1, 1, 0, 0, 0)
_ZIP_LEVEL = 6
_UNIX_SYSTEM, _READABLE_FILE = 3, 0o644 << 16


def save_contents(release: ReleaseContents, path: str | os.PathLike[str]) -> None:
    """Write a release file; it appears whole or not at all, and only if it can be read
    back.
    """
    data = contents_to_bytes(release)
    contents_from_bytes(data, ReleaseContents)
    with write_file_atomically(path, private=False) as draft:
        draft.write_bytes(data)


def load_contents(path: str | os.PathLike[str], contents: type[ContentsT]) -> ContentsT:
    """Read a release file that anybody may have written, as an object of that class.

    >>> load_contents("missing.understudy", ReleaseContents)
    Traceback (most recent call last):
    understudy.errors.ReleaseError: missing.understudy: there is no such file. Nothing was loaded.
    """
    try:
        if not Path(path).is_file():
            raise ReleaseError(f"{path}: there is no such file. Nothing was loaded.")
        if Path(path).stat().st_size > MAX_RELEASE_BYTES:
            raise ReleaseError(
                f"{path}: is larger than a release may be. Nothing was loaded."
            )
        return contents_from_bytes(Path(path).read_bytes(), contents)
    except OSError as error:
        raise ReleaseError(
            f"{path}: {error.strerror or 'cannot be read'}. Nothing was loaded."
        ) from None
    except ReleaseError as error:
        text = str(error)
        raise ReleaseError(
            text if text.startswith(str(path)) else f"{path}: {text}"
        ) from None


def contents_to_bytes(release: ReleaseContents) -> bytes:
    """The bytes of a release file: the same for the same release."""
    document, arrays = to_document(release)
    text = json.dumps(
        document, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        unpacked = _add_member(archive, DOCUMENT_MEMBER, text.encode("utf-8"), 0)
        for name, array in arrays.items():
            unpacked += _add_member(archive, name, array_to_npy(array), unpacked)
    return buffer.getvalue()


def _add_member(archive: zipfile.ZipFile, name: str, data: bytes, before: int) -> int:
    """Add a member, packed only if a reader would unpack it: neither it nor all members
    so far may grow too much. Returns its length.
    """
    assert archive.fp is not None, "the archive is open"
    # Writing keeps to half of every limit of reading, so that what is written can be
    # read whatever the rounding.
    ratio = MAX_UNPACKING_RATIO // 2
    packed = len(zlib.compress(data, _ZIP_LEVEL))
    most_alone = _RATIO_FREE_BYTES + packed * ratio
    most_together = MAX_UNPACKED_BYTES // 2 + archive.fp.tell() * ratio
    is_stored = (
        len(data) <= packed
        or len(data) > most_alone
        or before + len(data) > most_together
    )
    info = zipfile.ZipInfo(name, _ZIP_MEMBER_TIME)
    info.create_system, info.external_attr = _UNIX_SYSTEM, _READABLE_FILE
    method = zipfile.ZIP_STORED if is_stored else zipfile.ZIP_DEFLATED
    archive.writestr(info, data, method, _ZIP_LEVEL)
    return len(data)


def contents_from_bytes(data: bytes, contents: type[ContentsT]) -> ContentsT:
    """The release in the bytes of a file, or ReleaseError in one line, whatever the
    bytes.
    """
    try:
        members = _read_members(data)
        document = parse_json(members.pop(DOCUMENT_MEMBER))
        arrays: dict[str, NDArray[np.generic]] = {}
        for name in list(members):
            # Popped, so that bytes and array of a member are not both kept.
            arrays[name] = array_from_npy(members.pop(name), name)
        return from_document(document, arrays, contents)
    except ReleaseError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise ReleaseError(
            "the file is damaged or cut short. Nothing was loaded."
        ) from None
    except Exception as error:
        # The last net: whatever a hostile file provokes, its reader gets one line and
        # no release.
        raise ReleaseError(
            f"the file is damaged ({type(error).__name__}). Nothing was loaded."
        ) from None


def _read_members(data: bytes) -> dict[str, bytes]:
    """The archive's members by name, each within its limits."""
    _check_end_record(data)
    with _open_archive(data) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) != len(names) or DOCUMENT_MEMBER not in names:
            raise ReleaseError(
                "the file is no release: its members are not those of one. Nothing was"
                " loaded."
            )
        for info in infos:
            _check_member(info)
        unpacked = sum(info.file_size for info in infos)
        by_ratio = MAX_UNPACKED_BYTES + MAX_UNPACKING_RATIO * len(data)
        if unpacked > min(MAX_RELEASE_BYTES, by_ratio):
            raise ReleaseError(
                "the file unpacks to more than a release may hold. Nothing was loaded."
            )
        return {info.filename: _read_member(archive, info) for info in infos}


def _open_archive(data: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except RuntimeError:  # a member asks for a later version of the zip format
        raise ReleaseError(
            "the file is packed in a way that no release is. Nothing was loaded."
        ) from None


def _check_end_record(data: bytes) -> None:
    """Look at the archive's own count of its members before anything makes room for
    them.
    """
    if len(data) < _ZIP_END_RECORD.size or data[:4] != b"PK\x03\x04":
        raise ReleaseError("the file is no release. Nothing was loaded.")
    mark, disk, first, here, count, size, start, comment = _ZIP_END_RECORD.unpack(
        data[-_ZIP_END_RECORD.size :]
    )
    # One disk, no comment, nothing between directory and end: bytes that a zip reader
    # skips could hold anything.
    sound = mark == b"PK\x05\x06" and disk == first == comment == 0 and here == count
    end = len(data) - _ZIP_END_RECORD.size
    if not sound or start + size != end or data[end - 20 : end - 16] == b"PK\x06\x07":
        raise ReleaseError("the file is damaged or cut short. Nothing was loaded.")
    if count > MAX_ARCHIVE_MEMBERS or size > MAX_ARCHIVE_MEMBERS * 100:
        raise ReleaseError(
            "the file has more members than a release may have. Nothing was loaded."
        )


def _check_member(info: zipfile.ZipInfo) -> None:
    if info.filename != DOCUMENT_MEMBER and not _ARRAY_MEMBER.fullmatch(info.filename):
        raise ReleaseError(
            "the file has a member that no release has. Nothing was loaded."
        )
    # Flags, extra fields and comments are where hostile archives hide second meanings.
    if (
        info.flag_bits
        or info.extra
        or info.comment
        or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    ):
        raise ReleaseError(
            f"{info.filename}: packed in a way that no release is. Nothing was loaded."
        )
    if info.file_size > _RATIO_FREE_BYTES + info.compress_size * MAX_UNPACKING_RATIO:
        raise ReleaseError(
            f"{info.filename}: unpacks to far more than it holds. Nothing was loaded."
        )
    if info.filename == DOCUMENT_MEMBER and info.file_size > MAX_DOCUMENT_BYTES:
        raise ReleaseError(
            f"{DOCUMENT_MEMBER}: is larger than a release may have. Nothing was loaded."
        )


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as member:
        # One byte more than stated: a member that goes on is refused below.
        data = member.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise ReleaseError(f"{info.filename}: is cut short. Nothing was loaded.")
    return data
