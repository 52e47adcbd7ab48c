"""A ledger on a disk: made whole or not at all, under one name, with nothing of it in a
second file.
"""

from __future__ import annotations

import glob
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from understudy.errors import LedgerError

JOURNAL_ENDINGS = ("-journal", "-wal")
"""What SQLite keeps beside a file and plays back into whatever has its name: now, and
in ledgers of earlier versions.
"""


@contextmanager
def draft_ledger(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to a new file that gets its name, on the disk and whole, when the
    block ends; never one that is taken.
    """
    if not path.parent.is_dir():
        raise LedgerError(
            f"{path.name}: its folder does not exist. No ledger was made."
        )
    _refuse_leftovers(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        # Made before SQLite opens it, so that only its owner may ever read it.
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = sqlite3.connect(draft, isolation_level=None)
        try:
            set_durable(connection)
            yield connection
        finally:
            connection.close()
        _sync_to_disk(draft)
        _publish_draft(draft, path)
    except FileExistsError:
        raise LedgerError(
            f"{path.name} exists already: open it, or choose another name. No ledger"
            " was made."
        ) from None
    except OSError as error:
        raise LedgerError(
            f"{path.name} could not be made ({error.strerror}). No ledger was made."
        ) from None
    except sqlite3.Error as error:
        raise LedgerError(
            f"{path.name} could not be made ({error}). No ledger was made."
        ) from None
    finally:
        draft.unlink(missing_ok=True)
        draft.with_name(draft.name + "-journal").unlink(missing_ok=True)


def _refuse_leftovers(path: Path) -> None:
    """Refuse a name beside which a crash left the journal of another ledger: SQLite
    would play it back into the new file.
    """
    if path.exists():
        return
    for ending in JOURNAL_ENDINGS:
        journal = path.with_name(path.name + ending)
        if journal.exists():
            raise LedgerError(
                f"{journal.name} is what a crash left of an earlier ledger of this"
                " name: put that ledger back and open it once, or choose another name."
                " No ledger was made."
            )


def refuse_hard_links(path: Path) -> None:
    """Refuse a file that has a second name, under which what a crash left beside the
    first would not be seen.
    """
    real = path.resolve()
    try:
        if real.stat().st_nlink > 1:
            _drop_drafts(real)
        names = real.stat().st_nlink
    except FileNotFoundError:
        raise LedgerError(
            f"{path.name} was moved or deleted while it was open. Nothing was spent."
        ) from None
    if names > 1:
        raise LedgerError(
            f"{path.name} has {names} names (hard links), and a crash under one of them"
            " would not be seen under another: keep one name and remove the others."
            " Nothing was spent."
        )


def _drop_drafts(real: Path) -> None:
    """Remove the name under which this file was made, where its maker has not come to
    that yet or was killed before.
    """
    for draft in real.parent.glob(f".{glob.escape(real.name)}.{'[0-9a-f]' * 16}"):
        with suppress(OSError):
            if draft.samefile(real):
                draft.unlink()


def set_durable(connection: sqlite3.Connection) -> None:
    """What is committed is on the disk: EXTRA also waits until the journal's name is
    gone, or a power cut could bring it back.
    """
    # A hostile file may hold triggers and views: they may call no function.
    connection.execute("PRAGMA trusted_schema=OFF")
    connection.execute("PRAGMA synchronous=EXTRA")
    # On macOS, fsync alone stops at the cache of the disk.
    connection.execute("PRAGMA fullfsync=ON")


def leave_write_ahead_log(connection: sqlite3.Connection) -> bool:
    """Move the write-ahead log of an earlier version into the file and do without;
    False while another process has the file open.
    """
    (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
    if mode != "wal":
        return True
    try:
        (mode,) = connection.execute("PRAGMA journal_mode=DELETE").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise
    return bool(mode != "wal")


def _sync_to_disk(path: Path) -> None:
    """Have the disk hold what was written; for a folder, its list of names."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _publish_draft(draft: Path, path: Path) -> None:
    """Give a finished file its name, unless something has that name already."""
    # A link fails where the name is taken; a rename would replace what has it.
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:
        # A disk without hard links: claim the name first, then put the file in its
        # place.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        draft.replace(path)
    # Windows cannot open a folder to sync it.
    if os.name == "posix":
        _sync_to_disk(path.parent)


def find_ledgers_beside(path: Path) -> list[Path]:
    """Ledgers in the folder of one that is not there yet, but for those that belong to
    a file by their name: one may be meant.

    >>> find_ledgers_beside(Path("no-such-folder", "people.csv.ledger"))
    []
    """
    if path.exists():
        return []
    return [
        other
        for other in sorted(path.parent.glob("*.ledger"))
        if not other.with_suffix("").is_file()
    ]
