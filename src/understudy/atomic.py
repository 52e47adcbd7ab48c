"""Files that appear whole or not at all, with stated permissions.

Every file of Understudy is one of two kinds, and its writer states which. A file with
real rows, or with numbers computed from them without noise, is private: only its owner
may read it (0600). A file that may be published, such as synthetic rows and releases,
gets the permissions that the system gives any file. On Windows, files are as private
as their folder.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from understudy.errors import ReleaseError, UnderstudyError

# Only the owner may read and write.
PRIVATE_FILE_MODE = 0o600
PRIVATE_FOLDER_MODE = 0o700

# With the random part, a name stays below the 255 bytes of common file systems.
_MAX_KEPT_CHARACTERS = 40


@contextmanager
def temporary_folder_beside(
    target: Path, *, error: type[UnderstudyError] = ReleaseError
) -> Iterator[Path]:
    """A private directory beside a file, to build it in. It is removed afterwards,
    whatever happens, an interrupt included.
    """
    # Beside the file, because a rename is atomic only within one file system. Named
    # before it is made, so that an interrupt while it is made leaves none behind.
    name = f".{target.name[:_MAX_KEPT_CHARACTERS]}.{secrets.token_hex(8)}.partial"
    folder = target.parent / name
    try:
        try:
            folder.mkdir(mode=PRIVATE_FOLDER_MODE)
        except OSError as cause:
            raise _make_write_error(error, target, cause) from None
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def write_folder_atomically(
    path: str | os.PathLike[str], *, private: bool = False
) -> Iterator[Path]:
    """A folder to write files into, which becomes `path` in one step, and only if
    nothing went wrong. A private one can be opened by its owner only.
    """
    target = Path(path).resolve()
    try:
        is_free = not target.exists() or (target.is_dir() and not any(target.iterdir()))
    except OSError as error:
        raise ReleaseError(
            f"{path}: {error.strerror or 'cannot be read'}. Nothing was written."
        ) from None
    if not is_free:
        raise ReleaseError(
            f"{path}: is there already and not an empty folder. Name another. Nothing"
            " was written."
        )
    with temporary_folder_beside(target) as folder:
        draft = folder / "draft"
        try:
            draft.mkdir()
            yield draft
            # Without this a power cut could leave the new name without its content.
            for part in draft.iterdir():
                _sync_file(part)
            if private:
                draft.chmod(PRIVATE_FOLDER_MODE)
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
    """A place to write a file, which becomes `path` in one step, and only if nothing
    went wrong. A link is followed.

    A private file can be read by its owner only, whatever the permissions of the one it
    replaces. Any other file gets the permissions of the one it replaces, or those that
    the system gives new files. `error` is raised if it cannot be written.
    """
    target = Path(path).resolve()
    if target.exists() and not target.is_file():
        raise error(f"{path}: is not a file. Nothing was written.")
    with temporary_folder_beside(target, error=error) as folder:
        draft = folder / "draft"
        try:
            yield draft
            _sync_file(draft)
            if private:
                draft.chmod(PRIVATE_FILE_MODE)
            elif target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        except OSError as cause:
            raise _make_write_error(error, path, cause) from None
        _sync_folder(target.parent)


def _sync_file(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sync_folder(path: Path) -> None:
    """Make a rename durable, on systems that let a directory be synced."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _make_write_error(
    error: type[UnderstudyError], path: str | os.PathLike[str], cause: OSError
) -> UnderstudyError:
    reason = cause.strerror or "the system does not say why"
    return error(f"{path}: cannot be written ({reason}). Nothing was written.")
