"""The release file: a zip with `release.json` and `arrays/*.npy`. Anybody can read it; nobody can make it run anything.

The same release always gives the same bytes. A file that comes in is measured before it is opened and opened before it is believed: names,
sizes, kinds of compression and ratios first, then the JSON, then every array against the schema. Whatever is wrong, one line says so.
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

from understudy.atomic import whole
from understudy.errors import ReleaseError
from understudy.releases.file.document import from_document, to_document
from understudy.releases.file.json_fields import parse
from understudy.releases.file.npy import pack, unpack
from understudy.releases.release import Release

DOCUMENT = "release.json"
MEMBERS_LIMIT = 65_535
"""As many as a zip archive counts. A run on 200 columns keeps an estimate for each of 19,900 pairs."""
DOCUMENT_LIMIT = 32 << 20
BYTES_LIMIT = 2 << 30
RATIO_LIMIT = 64
"""No member may unpack to more than this many times its packed size (beyond its first 64 KiB), so a small file stays small."""

MAX_UNPACKED_BYTES = 1 << 28
"""All members together may unpack to this, and beyond it to RATIO_LIMIT times the file's own size: the first 64 KiB of 65,535 members are
4 GiB that the limit of each member would let through."""

_FREE = 1 << 16
_ARRAY = re.compile(r"arrays/[0-9]{5}\.npy", re.ASCII)
_END = struct.Struct("<4s4H2LH")
_MOMENT = (1980, 1, 1, 0, 0, 0)


def save(release: Release, path: str | os.PathLike[str]) -> None:
    """Write a release file; it appears whole or not at all, and only if it can be read back."""
    data = to_bytes(release)
    from_bytes(data)
    with whole(path, private=False) as draft:
        draft.write_bytes(data)


def load(path: str | os.PathLike[str]) -> Release:
    """Read a release file that anybody may have written.

    >>> load("missing.understudy")
    Traceback (most recent call last):
    understudy.errors.ReleaseError: missing.understudy: there is no such file. Nothing was loaded.
    """
    try:
        if not Path(path).is_file():
            raise ReleaseError(f"{path}: there is no such file. Nothing was loaded.")
        if Path(path).stat().st_size > BYTES_LIMIT:
            raise ReleaseError(f"{path}: is larger than a release may be. Nothing was loaded.")
        return from_bytes(Path(path).read_bytes())
    except OSError as error:
        raise ReleaseError(f"{path}: {error.strerror or 'cannot be read'}. Nothing was loaded.") from None
    except ReleaseError as error:
        text = str(error)
        raise ReleaseError(text if text.startswith(str(path)) else f"{path}: {text}") from None


def to_bytes(release: Release) -> bytes:
    """The bytes of a release file: the same for the same release."""
    document, arrays = to_document(release)
    text = json.dumps(document, ensure_ascii=False, sort_keys=True, indent=1, allow_nan=False)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        unpacked = _add(archive, DOCUMENT, text.encode("utf-8"), 0)
        for name, array in arrays.items():
            unpacked += _add(archive, name, pack(array), unpacked)
    return buffer.getvalue()


def _add(archive: zipfile.ZipFile, name: str, data: bytes, before: int) -> int:
    """Add a member, packed where a reader will unpack it: neither it nor all of them so far may grow too much. How long it is."""
    info = zipfile.ZipInfo(name, _MOMENT)
    info.create_system, info.external_attr = 3, 0o644 << 16
    packed = len(zlib.compress(data, 6))
    assert archive.fp is not None, "the archive is open"
    grown = before + len(data) > MAX_UNPACKED_BYTES // 2 + archive.fp.tell() * (RATIO_LIMIT // 2)
    stored = len(data) <= packed or len(data) > _FREE + packed * (RATIO_LIMIT // 2) or grown
    archive.writestr(info, data, zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED, 6)
    return len(data)


def from_bytes(data: bytes) -> Release:
    """The release in the bytes of a file, or ReleaseError in one line, whatever the bytes."""
    try:
        members = _members(data)
        document = parse(members.pop(DOCUMENT))
        arrays: dict[str, NDArray[np.generic]] = {}
        for name in list(members):
            arrays[name] = unpack(members.pop(name), name)
        return from_document(document, arrays)
    except ReleaseError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError):
        raise ReleaseError("the file is damaged or cut short. Nothing was loaded.") from None
    except Exception as error:
        # The last net: whatever a hostile file provokes, its reader gets one line and no release.
        raise ReleaseError(f"the file is damaged ({type(error).__name__}). Nothing was loaded.") from None


def _members(data: bytes) -> dict[str, bytes]:
    """The archive's members by name, each within its limits."""
    _check_end(data)
    with _archive(data) as archive:
        infos = archive.infolist()
        names = [info.filename for info in infos]
        if len(set(names)) != len(names) or DOCUMENT not in names:
            raise ReleaseError("the file is no release: its members are not those of one. Nothing was loaded.")
        for info in infos:
            _check_member(info)
        unpacked = sum(info.file_size for info in infos)
        if unpacked > min(BYTES_LIMIT, MAX_UNPACKED_BYTES + RATIO_LIMIT * len(data)):
            raise ReleaseError("the file unpacks to more than a release may hold. Nothing was loaded.")
        return {info.filename: _read(archive, info) for info in infos}


def _archive(data: bytes) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(io.BytesIO(data))
    except RuntimeError:  # a member asks for a later version of the format than there is
        raise ReleaseError("the file is packed in a way that no release is. Nothing was loaded.") from None


def _check_end(data: bytes) -> None:
    """Look at the archive's own count of its members before anything makes room for them."""
    if len(data) < _END.size or data[:4] != b"PK\x03\x04":
        raise ReleaseError("the file is no release. Nothing was loaded.")
    mark, disk, first, here, count, size, start, comment = _END.unpack(data[-_END.size :])
    sound = mark == b"PK\x05\x06" and disk == first == comment == 0 and here == count
    end = len(data) - _END.size
    if not sound or start + size != end or data[end - 20 : end - 16] == b"PK\x06\x07":
        raise ReleaseError("the file is damaged or cut short. Nothing was loaded.")
    if count > MEMBERS_LIMIT or size > MEMBERS_LIMIT * 100:
        raise ReleaseError("the file has more members than a release may have. Nothing was loaded.")


def _check_member(info: zipfile.ZipInfo) -> None:
    if info.filename != DOCUMENT and not _ARRAY.fullmatch(info.filename):
        raise ReleaseError("the file has a member that no release has. Nothing was loaded.")
    if (
        info.flag_bits
        or info.extra
        or info.comment
        or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
    ):
        raise ReleaseError(f"{info.filename}: packed in a way that no release is. Nothing was loaded.")
    if info.file_size > _FREE + info.compress_size * RATIO_LIMIT:
        raise ReleaseError(f"{info.filename}: unpacks to far more than it holds. Nothing was loaded.")
    if info.filename == DOCUMENT and info.file_size > DOCUMENT_LIMIT:
        raise ReleaseError(f"{DOCUMENT}: is larger than a release may have. Nothing was loaded.")


def _read(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with archive.open(info) as member:
        data = member.read(info.file_size + 1)
    if len(data) != info.file_size:
        raise ReleaseError(f"{info.filename}: is cut short. Nothing was loaded.")
    return data
