"""The file under a ledger: one SQLite database, opened so that what is committed
survives a crash.

Rollback journal and `synchronous=EXTRA`: when a commit returns, its pages are on the
disk in this one file, the journal is gone, and so is its name in the folder; no charge
ever lives in a second file that a copy or another name would miss. `BEGIN IMMEDIATE`: a
writer sees what the last one wrote. Files are made under another name and linked into
place when they are whole, readable by their owner only.

A journal lies beside the name that a file was opened under. A file of two names (hard
links) has two places for it, and who opens the second does not see what a crash left
under the first; so such a file is refused, when it is opened and again before each
entry. Ledgers of earlier versions kept a write-ahead log (`-wal`): it is moved into the
file when one is opened.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from understudy.accounting.ledger_files.disk import (
    draft_ledger,
    leave_write_ahead_log,
    refuse_hard_links,
    set_durable,
)
from understudy.accounting.ledger_files.tables import (
    LEDGER_FORMAT_VERSION,
    SHARED_LEDGER_FORMAT_VERSION,
    create_tables,
)
from understudy.errors import BudgetExceeded, LedgerError, LedgerTampered

LEDGER_APPLICATION_ID = 0x55444C47
"""Marks a SQLite file as a ledger."""

LEDGER_BACKUP_APPLICATION_ID = 0x55444C42
"""Marks a SQLite file as the backup of a ledger: shown and verified, never spent from.
Earlier versions refuse it altogether.
"""

MAX_LEDGER_WAIT_SECONDS = 120
"""Seconds to wait for another process that is writing."""

# A parent's connections: a fork neither uses nor closes them.
_inherited_connections: list[sqlite3.Connection] = []


class LedgerFile:
    """One open ledger file; safe to use from several threads and, after a fork, from
    the child.
    """

    is_backup: bool
    """Whether it is a backup, which nothing is written to."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._connection: sqlite3.Connection | None = self._connect()

    @classmethod
    def create(cls, path: Path, account: dict[str, object]) -> LedgerFile:
        """A new file with an empty account; refused where something is already."""
        with draft_ledger(path) as connection:
            connection.execute(f"PRAGMA application_id={LEDGER_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={LEDGER_FORMAT_VERSION}")
            connection.execute("BEGIN IMMEDIATE")
            create_tables(connection, account)
            connection.execute("COMMIT")
        return cls(path)

    @contextmanager
    def write_transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction that is on the disk when the block ends, or never was."""
        with self._run_transaction("BEGIN IMMEDIATE") as connection:
            self._refuse_unsafe(connection)
            yield connection

    @contextmanager
    def read_transaction(self) -> Iterator[sqlite3.Connection]:
        """One consistent view."""
        with self._run_transaction("BEGIN") as connection:
            yield connection

    def copy_to(self, target: sqlite3.Connection) -> None:
        """Copy everything, as it is at one moment, to another database."""
        with self.read_transaction() as connection:
            connection.backup(target)

    def close(self) -> None:
        """Let go of the file."""
        if self._owner != os.getpid():
            if self._connection is not None:
                _inherited_connections.append(self._connection)
        else:
            with self._lock:
                if self._connection is not None:
                    self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()

    @contextmanager
    def _run_transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        # A fork: another thread may have held the lock.
        if self._owner != os.getpid() and self._connection is not None:
            _inherited_connections.append(self._connection)
            self._lock = threading.RLock()
            self._owner = os.getpid()
            self._connection = self._connect()
        with self._lock:
            connection = self._connection
            if connection is None:
                raise LedgerError(
                    f"{self.path.name} was closed: open it again. Nothing was spent."
                )
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            except sqlite3.IntegrityError:
                # The CHECK of the account: two writers may both have found room.
                raise BudgetExceeded(
                    f"{self.path.name} refused the entry: it does not fit the account."
                    " Nothing was spent."
                ) from None
            except sqlite3.Error as error:
                raise self._explain_error(error) from None
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _refuse_unsafe(self, connection: sqlite3.Connection) -> None:
        """Refuse to write to a backup, and to a file that has come by another name or
        another journal since it was opened.
        """
        name = self.path.name
        if self.is_backup:
            (count,) = connection.execute("SELECT entries FROM account").fetchone()
            raise LedgerError(
                f"{name} is a backup, taken at entry {count}: spend from the ledger"
                " itself, or, if that is lost, make this the account with `understudy"
                f" ledger restore {name} PATH`. Nothing was spent."
            )
        refuse_hard_links(self.path)
        if connection.execute("PRAGMA journal_mode").fetchone() != ("delete",):
            raise LedgerError(
                f"{name} was opened by an earlier version of Understudy meanwhile:"
                " close it there and try again. Nothing was spent."
            )

    def _connect(self) -> sqlite3.Connection:
        """A connection without a write-ahead log; two programs that meet over an old
        one let go and try again.
        """
        give_up = time.monotonic() + MAX_LEDGER_WAIT_SECONDS
        while True:
            connection = self._connect_once()
            try:
                if leave_write_ahead_log(connection):
                    return connection
            except sqlite3.Error as error:
                connection.close()
                raise self._explain_error(error) from None
            connection.close()
            if time.monotonic() > give_up:
                raise LedgerError(
                    f"{self.path.name} is held by another process for more than"
                    f" {MAX_LEDGER_WAIT_SECONDS} s: try again. Nothing was spent."
                )
            # A random pause, or two programs would meet again and again.
            time.sleep((10 + secrets.randbelow(90)) / 1000)

    def _connect_once(self) -> sqlite3.Connection:
        name = self.path.name
        if not self.path.is_file():
            what = "does not exist: make it with `understudy ledger init`"
            if self.path.exists():
                what = "is not a file"
            raise LedgerError(f"{name} {what}. Nothing was spent.")
        refuse_hard_links(self.path)
        # mode=rw: SQLite must not make a file that was moved meanwhile anew, empty.
        address = f"{self.path.resolve().as_uri()}?mode=rw"
        connection = sqlite3.connect(
            address,
            uri=True,
            isolation_level=None,
            timeout=MAX_LEDGER_WAIT_SECONDS,
            check_same_thread=False,
        )
        try:
            set_durable(connection)
            self.is_backup = self._read_application(connection)
        except sqlite3.Error as error:
            connection.close()
            raise self._explain_error(error) from None
        except LedgerError:
            connection.close()
            raise
        return connection

    def _read_application(self, connection: sqlite3.Connection) -> bool:
        """Whether the file is a backup; refused where it is no ledger of this version
        or an earlier one.
        """
        name = self.path.name
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application not in (LEDGER_APPLICATION_ID, LEDGER_BACKUP_APPLICATION_ID):
            raise LedgerError(
                f"{name} is not a ledger: choose another file. Nothing was spent."
            )
        if version > SHARED_LEDGER_FORMAT_VERSION:
            raise LedgerError(
                f"{name} was written by a later version (format {version}, this one"
                f" reads {SHARED_LEDGER_FORMAT_VERSION}): update Understudy. Nothing"
                " was spent."
            )
        return bool(application == LEDGER_BACKUP_APPLICATION_ID)

    def _explain_error(self, error: sqlite3.Error) -> LedgerError:
        """SQLite's complaint in the words of a ledger."""
        name = self.path.name
        # The low byte is the kind of an error, the rest its details.
        detailed = getattr(error, "sqlite_errorcode", 0)
        code = detailed & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return LedgerError(
                f"{name} is not a ledger: choose another file. Nothing was spent."
            )
        if code == sqlite3.SQLITE_BUSY:
            return LedgerError(
                f"{name} is held by another process for more than"
                f" {MAX_LEDGER_WAIT_SECONDS} s: try again. Nothing was spent."
            )
        if detailed == sqlite3.SQLITE_READONLY_DBMOVED:
            return LedgerError(
                f"{name} was moved or replaced while it was open: open it again."
                " Nothing was spent."
            )
        if (
            code == sqlite3.SQLITE_CANTOPEN
            or detailed == sqlite3.SQLITE_READONLY_ROLLBACK
        ):
            return LedgerError(
                f"{name} was left by a crash or by an earlier version and has to be"
                " opened once where its folder may be written. Nothing was spent."
            )
        if code == sqlite3.SQLITE_READONLY:
            return LedgerError(
                f"{name} may not be written: check its permissions. Nothing was spent."
            )
        if code == sqlite3.SQLITE_CORRUPT:
            return LedgerTampered(
                f"{name} is damaged: restore it from a backup and compare its last"
                " digest. Nothing was spent."
            )
        return LedgerError(f"{name} could not be used ({error}). Nothing was spent.")
