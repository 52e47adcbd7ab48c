"""The one file inside a `.zip`, unpacked as it is read.

An archive of several files is refused: which of them is the table is for its owner to
say, and no name inside the archive is repeated in a message.
"""

from __future__ import annotations

import zipfile
from typing import BinaryIO, cast

from understudy.errors import TableError

ENCRYPTED_FLAG = 1
"""Bit of a member's flags that says it is encrypted."""

ALLOWED_ZIP_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
"""Ways of packing whose decoders take little memory whatever the archive asks for."""

SIDE_FOLDER = "__MACOSX/"
"""Where one operating system puts what is no part of the files."""


def open_only_member(name: str, raw: str | BinaryIO) -> BinaryIO:
    """The bytes of the only file in an archive called `name`."""
    archive = zipfile.ZipFile(raw)
    members = [
        member
        for member in archive.infolist()
        if not member.is_dir() and not member.filename.startswith(SIDE_FOLDER)
    ]
    # By the directory of the archive alone: nothing is unpacked before it is judged.
    problem = _find_problem(members)
    if problem:
        archive.close()
        raise TableError(f"{name}: {problem}. Nothing was read")
    return cast(BinaryIO, archive.open(members[0]))


def _find_problem(members: list[zipfile.ZipInfo]) -> str:
    if len(members) != 1:
        return (
            f"holds {len(members):,} files and not one CSV file. Unpack it and name"
            " the file"
        )
    member = members[0]
    if member.flag_bits & ENCRYPTED_FLAG:
        return "is encrypted. Unpack it first"
    if member.compress_type not in ALLOWED_ZIP_METHODS:
        return "is packed in an uncommon way. Unpack it first"
    if member.filename.lower().endswith((".parquet", ".pq", ".xlsx", ".zip")):
        return "holds a file that is not CSV. Unpack it and name the file"
    return ""
