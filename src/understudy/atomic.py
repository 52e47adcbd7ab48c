"""Files that appear whole or not at all, and say who may read them.

Every file of Understudy is one of two kinds, and whoever writes it says which. What
holds real rows, or numbers computed from them without noise, is private: its owner
alone may read it (0600). What may be published, such as synthetic rows and releases,
gets the permissions the system gives any file. On Windows, files are as private as
their folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from understudy.errors import ReleaseError, UnderstudyError

PRIVATE_FILE_MODE = 0o600
PRIVATE_FOLDER_MODE = 0o700
"""The owner reads and writes, nobody else does anything."""


@contextmanager
def temporary_folder_beside(
    target: Path, *, error: type[UnderstudyError] = ReleaseError
) -> Iterator[Path]:
    """A private directory beside a file, to build it in. It is gone afterwards,
    whatever happens, an interrupt included.

    It is named before it is made, so that an interrupt in the instant of its birth
    leaves none behind.
    """
    room = target.parent / f".{target.name[:40]}.{secrets.token_hex(8)}.partial"
    try:
        try:
            room.mkdir(mode=PRIVATE_FOLDER_MODE)
        except OSError as cause:
            raise _make_write_error(error, target, cause) from None
        yield room
    finally:
        shutil.rmtree(room, ignore_errors=True)


@contextmanager
def write_folder_atomically(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Where to write files so that a folder of them appears in one step, and only if
    nothing went wrong.
    """
    target = Path(path).resolve()
    try:
        taken = target.exists() and (not target.is_dir() or any(target.iterdir()))
    except OSError as error:
        raise ReleaseError(
            f"{path}: {error.strerror or 'cannot be read'}. Nothing was written."
        ) from None
    if taken:
        raise ReleaseError(
            f"{path}: is there already and not an empty folder. Name another. Nothing"
            " was written."
        )
    with temporary_folder_beside(target) as room:
        draft = room / "draft"
        try:
            draft.mkdir()
            yield draft
            for part in draft.iterdir():
                with part.open("rb") as file:
                    os.fsync(file.fileno())
            draft.replace(target)
        except OSError as cause:
            raise _make_write_error(ReleaseError, path, cause) from None


@contextmanager
def write_file_atomically(
    path: str | os.PathLike[str],
    *,
    private: bool,
    error: type[UnderstudyError] = ReleaseError,
) -> Iterator[Path]:
    """Where to write a file so that it replaces `path` in one step, and only if nothing
    went wrong. A link is followed.

    A private file can be read by its owner alone, whoever could read the one it
    replaces. Any other gets the permissions of the one it replaces, or those the system
    gives new files. `error` is what is raised where it cannot be written.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise error(f"{path}: is not a file. Nothing was written.")
    with temporary_folder_beside(target, error=error) as room:
        draft = room / "draft"
        try:
            yield draft
            with draft.open("rb") as file:
                os.fsync(file.fileno())
            if private:
                draft.chmod(PRIVATE_FILE_MODE)
            elif target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        except OSError as cause:
            raise _make_write_error(error, path, cause) from None
        with suppress(OSError):  # not every system lets a directory be synced
            handle = os.open(target.parent, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _make_write_error(
    error: type[UnderstudyError], path: str | os.PathLike[str], cause: OSError
) -> UnderstudyError:
    return error(
        f"{path}: cannot be written"
        f" ({cause.strerror or 'the system does not say why'}). Nothing was written."
    )
