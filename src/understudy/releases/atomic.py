"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from understudy.errors import ReleaseError


@contextmanager
def room_beside(target: Path) -> Iterator[Path]:
    """A private directory beside a file, to build it in. It is gone afterwards, whatever happens, an interrupt included.

    It is named before it is made, so that an interrupt in the instant of its birth leaves none behind.
    """
    room = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}.partial"
    try:
        try:
            room.mkdir(mode=0o700)
        except OSError as error:
            raise ReleaseError(f"{target}: {error.strerror or 'cannot be written'}. Nothing was written.") from None
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


@contextmanager
def whole_folder(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write files so that a folder of them appears in one step, and only if nothing went wrong."""
    target = Path(path).resolve()
    try:
        taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    except OSError as error:
        raise ReleaseError(f"{path}: {error.strerror or 'cannot be read'}. Nothing was written.") from None
    if taken:
        raise ReleaseError(f"{path}: is there already and not an empty folder. Name another. Nothing was written.")
    with room_beside(target) as room:
        draft = room / "draft"
        try:
            draft.mkdir()
            yield draft
            for part in draft.iterdir():
                with part.open("rb") as file:
                    os.fsync(file.fileno())
            draft.replace(target)
        except OSError as error:
            raise ReleaseError(f"{path}: {error.strerror or 'cannot be written'}. Nothing was written.") from None


@contextmanager
def whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write a file so that it replaces `path` in one step, and only if nothing went wrong.

    The file gets the permissions of the one it replaces, or those the system gives new files. A link is followed.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise ReleaseError(f"{path}: is not a file. Nothing was written.")
    with room_beside(target) as room:
        draft = room / "draft"
        try:
            yield draft
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        except OSError as error:
            raise ReleaseError(f"{path}: {error.strerror or 'cannot be written'}. Nothing was written.") from None
        with suppress(OSError):  # not every system lets a directory be synced
            handle = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)
