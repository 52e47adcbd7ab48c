"""Private directories for rows on disk, and the removal of those whose process is gone.

    understudy-<hex>/     for its user alone
        lock              locked for as long as the process lives; names the machine
        rows/             what the process keeps there

The system drops a lock (flock) when its process ends, however it ends. So if a lock can
be taken, the directory is an orphan, and the next process of the same user that keeps
rows there removes it. Process ids would not do: they are reused, and every container
counts its own.

A lock file is locked before it gets its name, and rows are written after that. So a
directory without a lock is being made or removed and holds no rows: it is left alone.
Where files cannot be locked (Windows, some network file systems) nothing is ever swept.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from contextlib import suppress
from pathlib import Path

from understudy.atomic import PRIVATE_FOLDER_MODE

if sys.platform != "win32":
    import fcntl

SCRATCH_PREFIX = "understudy-"
HIDDEN_SCRATCH_PREFIX = ".understudy-"
"""For directories beside a person's own files."""

# A host name has at most 255 bytes, a boot id 36.
MAX_LOCK_BYTES = 1024

_SCRATCH_NAME_PATTERN = re.compile(r"\.?understudy-[0-9a-f]{16}")
_BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")


class Scratch:
    """A private directory that is named now and made later, so that its removal can be
    registered before there is anything to remove.

    >>> import tempfile
    >>> scratch = Scratch(Path(tempfile.gettempdir()))
    >>> scratch.make()
    >>> scratch.rows.is_dir()
    True
    >>> scratch.remove()
    >>> scratch.rows.exists()
    False
    """

    def __init__(self, parent: Path, *, prefix: str = SCRATCH_PREFIX) -> None:
        self.home = parent / f"{prefix}{secrets.token_hex(8)}"
        self.rows = self.home / "rows"
        self._lock: int | None = None
        self._maker = os.getpid()

    def make(self) -> None:
        """Remove what dead processes left beside it, then make it."""
        sweep_orphans(self.home.parent)
        self.home.mkdir(mode=PRIVATE_FOLDER_MODE)
        self._lock = _lock_home(self.home)
        self.rows.mkdir(mode=PRIVATE_FOLDER_MODE)

    def remove(self) -> None:
        """Remove it with all its content. A forked child, which inherits it, leaves it
        to the process that made it.
        """
        if os.getpid() != self._maker:
            return
        shutil.rmtree(self.rows, ignore_errors=True)
        # The lock goes last: rows that could not be removed are swept later by it.
        if not self.rows.exists():
            shutil.rmtree(self.home, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep_orphans(parent: Path) -> None:
    """Remove this user's private directories whose process is gone. Directories that
    cannot be judged, or removed, are left.
    """
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if _SCRATCH_NAME_PATTERN.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_orphan(Path(entry.path))


def _lock_home(home: Path) -> int | None:
    """Lock a new directory; the open file that holds the lock, or None if the system
    has no locks.
    """
    if sys.platform == "win32":
        return None
    draft = home / "lock.draft"
    lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # The file system has no locks.
        os.close(lock)
        return None
    os.write(lock, "\n".join(_name_machine()).encode())
    draft.rename(home / "lock")
    return lock


def _remove_orphan(path: Path) -> None:
    """Remove a directory if it is this user's and its process is gone.

    The lock and the rows are reached through open handles and no link is followed, so
    that what was checked is what is removed.
    """
    home = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(home).st_uid != os.geteuid():
            return
        lock = os.open("lock", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=home)
        try:
            if not _is_lock_of_this_machine(lock):
                return
            # This raises as long as its process lives.
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                shutil.rmtree("rows", dir_fd=home)
            os.unlink("lock", dir_fd=home)
            path.rmdir()
        finally:
            os.close(lock)
    finally:
        os.close(home)


def _is_lock_of_this_machine(lock: int) -> bool:
    """Whether a lock was taken on this machine: on a shared file system the locks of
    other machines may not be visible.
    """
    named = os.read(lock, MAX_LOCK_BYTES).decode(errors="replace").split("\n")
    # The text is written before the file gets its name, so an empty lock lost its text
    # in a power cut.
    return named == [""] or not set(named).isdisjoint(_name_machine())


def _name_machine() -> list[str]:
    """Names of this machine: its host name, which survives a reboot, and its boot id,
    which containers share.
    """
    if sys.platform == "win32":
        return []
    names = [os.uname().nodename]
    with suppress(OSError):
        names.append(_BOOT_ID_PATH.read_text(encoding="ascii").strip())
    return [name for name in names if name]
