"""Private directories for rows that wait on disk, and the end of those whose process is
gone.

    understudy-<hex>/     for its user alone
        lock              locked for as long as the process lives; names the machine
        rows/             what the process keeps there

The system drops a lock (flock) with its process, however that one ended. So a lock that
can be taken belongs to nobody: the directory is an orphan, and the next process of the
same user that keeps rows there removes it. Process ids would not do: they are used
again, and every container counts its own.

A lock is taken before it gets its name, and rows come after it. So a directory without
a lock is only just being made, or is on its way out, and holds no rows: it is left
alone. Where files cannot be locked (Windows, some network file systems) nothing is ever
swept.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from contextlib import suppress
from pathlib import Path

if sys.platform != "win32":
    import fcntl

SCRATCH_PREFIX = "understudy-"
HIDDEN_SCRATCH_PREFIX = ".understudy-"
"""For directories beside a person's own files."""

MAX_LOCK_BYTES = 1024  # a host name has at most 255 bytes, a boot id 36

_SCRATCH_NAME_PATTERN = re.compile(r"\.?understudy-[0-9a-f]{16}")
_BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")


class Scratch:
    """A private directory, named now and made later: whoever promises its removal can
    do so before there is anything to remove.

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
        """Sweep what dead processes left beside it, then make it."""
        sweep_orphans(self.home.parent)
        self.home.mkdir(mode=0o700)  # only its owner may look inside
        self._lock = _lock_home(self.home)
        self.rows.mkdir(mode=0o700)

    def remove(self) -> None:
        """Remove it with all that is in it. A forked child, which inherits it, leaves
        it to its maker.
        """
        if os.getpid() != self._maker:
            return
        shutil.rmtree(self.rows, ignore_errors=True)
        if (
            not self.rows.exists()
        ):  # the lock goes last: what is left with a lock is swept later
            shutil.rmtree(self.home, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def sweep_orphans(parent: Path) -> None:
    """Remove this user's private directories whose process is gone. What cannot be
    told, or removed, is left.
    """
    if sys.platform == "win32":
        return
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if _SCRATCH_NAME_PATTERN.fullmatch(entry.name):
                with suppress(OSError):
                    _remove_orphan(Path(entry.path))


def _lock_home(home: Path) -> int | None:
    """Lock a new directory; the open file that holds the lock, or None where there are
    no locks.
    """
    if sys.platform == "win32":
        return None
    draft = home / "lock.draft"
    lock = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # a file system without locks
        os.close(lock)
        return None
    os.write(lock, "\n".join(_name_machine()).encode())
    draft.rename(home / "lock")
    return lock


def _remove_orphan(path: Path) -> None:
    """Remove a directory if it is ours and its process is gone. Links are not followed,
    and what was checked is what is removed.
    """
    home = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(home).st_uid != os.geteuid():
            return
        lock = os.open("lock", os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=home)
        try:
            if not _is_lock_of_this_machine(lock):
                return
            fcntl.flock(
                lock, fcntl.LOCK_EX | fcntl.LOCK_NB
            )  # raises while its process lives
            with suppress(FileNotFoundError):
                shutil.rmtree("rows", dir_fd=home)
            os.unlink("lock", dir_fd=home)
            path.rmdir()
        finally:
            os.close(lock)
    finally:
        os.close(home)


def _is_lock_of_this_machine(lock: int) -> bool:
    """Whether a lock is of this machine: on a shared file system another machine's may
    not be seen.

    A lock that names no machine lost its text in a power cut, for it gets its name only
    after its text.
    """
    named = os.read(lock, MAX_LOCK_BYTES).decode(errors="replace").split("\n")
    return named == [""] or not set(named).isdisjoint(_name_machine())


def _name_machine() -> list[str]:
    """What this machine is called: by its host name, which outlives a power cut, and by
    its boot, which containers share.
    """
    if sys.platform == "win32":
        return []
    names = [os.uname().nodename]
    with suppress(OSError):
        names.append(_BOOT_ID_PATH.read_text(encoding="ascii").strip())
    return [name for name in names if name]
