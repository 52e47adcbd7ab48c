"""The file under a ledger: one SQLite database, opened so that what is committed survives a crash.

Write-ahead log, `synchronous=FULL` (every commit reaches the disk before it returns), `BEGIN IMMEDIATE` (a writer sees
what the last one wrote). The cap is also a CHECK of the table, so that no code above can overspend. Files are made under
another name and linked into place when they are whole, readable by their owner only.
"""

from __future__ import annotations

import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from understudy.accounting.chain import COLUMNS, GENESIS, LARGEST, Entry, canonical
from understudy.errors import BudgetExceeded, LedgerError, LedgerTampered

FORMAT = 1
"""Version of the file format; a ledger of a later one is refused."""

APPLICATION = 0x55444C47
"""Marks a SQLite file as a ledger."""

PATIENCE = 120
"""Seconds to wait for another process that is writing."""

TABLES = {
    "account": f"""CREATE TABLE account (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  dataset TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  unit TEXT NOT NULL,
  cap_epsilon INTEGER CHECK (cap_epsilon BETWEEN 0 AND {LARGEST}),
  cap_delta INTEGER CHECK (cap_delta BETWEEN 0 AND {LARGEST}),
  spent_epsilon INTEGER NOT NULL CHECK (spent_epsilon BETWEEN 0 AND {LARGEST}),
  spent_delta INTEGER NOT NULL CHECK (spent_delta BETWEEN 0 AND {LARGEST}),
  entries INTEGER NOT NULL,
  head TEXT NOT NULL,
  CHECK (cap_epsilon IS NULL OR spent_epsilon <= cap_epsilon),
  CHECK (cap_delta IS NULL OR spent_delta <= cap_delta)
)""",
    "entry": """CREATE TABLE entry (
  number INTEGER PRIMARY KEY,
  time TEXT NOT NULL,
  kind TEXT NOT NULL,
  event TEXT NOT NULL,
  run TEXT NOT NULL,
  step INTEGER,
  analyst TEXT NOT NULL,
  scope TEXT NOT NULL,
  epsilon INTEGER NOT NULL CHECK (epsilon >= 0),
  delta INTEGER NOT NULL CHECK (delta >= 0),
  detail TEXT NOT NULL,
  previous TEXT NOT NULL,
  digest TEXT NOT NULL
)""",
    "entry_by_run": "CREATE INDEX entry_by_run ON entry (run, kind)",
    "entry_by_step": "CREATE INDEX entry_by_step ON entry (run, kind, step)",
    "answer": """CREATE TABLE answer (
  run TEXT NOT NULL,
  step INTEGER NOT NULL,
  request TEXT NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY (run, step)
)""",
}

_ENTRY = ", ".join((*COLUMNS, "digest"))
_inherited: list[sqlite3.Connection] = []  # a parent's connections: a fork neither uses nor closes them


class LedgerFile:
    """One open ledger file; safe to use from several threads and, after a fork, from the child."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.RLock()
        self._owner = os.getpid()
        self._connection: sqlite3.Connection | None = self._connect()

    @classmethod
    def create(cls, path: Path, account: dict[str, object]) -> LedgerFile:
        """A new file with an empty account; refused where something is already."""
        if not path.parent.is_dir():
            raise LedgerError(f"{path.name}: its folder does not exist. No ledger was made.")
        draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        try:
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            connection = sqlite3.connect(draft, isolation_level=None)
            try:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute(f"PRAGMA application_id={APPLICATION}")
                connection.execute(f"PRAGMA user_version={FORMAT}")
                connection.execute("BEGIN IMMEDIATE")
                for statement in TABLES.values():
                    connection.execute(statement)
                columns = {**account, "one": 1, "spent_epsilon": 0, "spent_delta": 0, "entries": 0, "head": GENESIS}
                names = ", ".join(columns)
                connection.execute(
                    f"INSERT INTO account ({names}) VALUES ({', '.join('?' * len(columns))})", [*columns.values()]
                )
                append(connection, kind="open", event="ledger opened", detail={**account, "format": FORMAT})
                connection.execute("COMMIT")
            finally:
                connection.close()  # moves the log into the file
            _sync(draft)
            _publish(draft, path)
        except FileExistsError:
            raise LedgerError(
                f"{path.name} exists already: open it, or choose another name. No ledger was made."
            ) from None
        except OSError as error:
            raise LedgerError(f"{path.name} could not be made ({error.strerror}). No ledger was made.") from None
        finally:
            for leftover in (draft, draft.with_name(draft.name + "-wal"), draft.with_name(draft.name + "-shm")):
                leftover.unlink(missing_ok=True)
        return cls(path)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction that is on the disk when the block ends, or never was."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """One consistent view."""
        with self._transaction("BEGIN") as connection:
            yield connection

    def close(self) -> None:
        """Let go of the file."""
        if self._owner != os.getpid():
            if self._connection is not None:
                _inherited.append(self._connection)
        else:
            with self._lock:
                if self._connection is not None:
                    self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        if getattr(self, "_connection", None) is not None:
            self.close()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        if self._owner != os.getpid() and self._connection is not None:  # a fork: another thread may have held the lock
            _inherited.append(self._connection)
            self._lock, self._owner, self._connection = threading.RLock(), os.getpid(), self._connect()
        with self._lock:
            connection = self._connection
            if connection is None:
                raise LedgerError(f"{self.path.name} was closed: open it again. Nothing was spent.")
            try:
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
            except sqlite3.IntegrityError:
                raise BudgetExceeded(
                    f"{self.path.name} refused the entry: it does not fit the account. Nothing was spent."
                ) from None
            except sqlite3.Error as error:
                raise self._explained(error) from None
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")

    def _connect(self) -> sqlite3.Connection:
        name = self.path.name
        if not self.path.is_file():
            what = "is not a file" if self.path.exists() else "does not exist: make it with `understudy ledger init`"
            raise LedgerError(f"{name} {what}. Nothing was spent.")
        address = f"{self.path.resolve().as_uri()}?mode=rw"
        connection = sqlite3.connect(address, uri=True, isolation_level=None, timeout=PATIENCE, check_same_thread=False)
        try:
            connection.execute("PRAGMA trusted_schema=OFF")
            connection.execute("PRAGMA synchronous=FULL")
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if application != APPLICATION:
                raise LedgerError(f"{name} is not a ledger: choose another file. Nothing was spent.")
            if version > FORMAT:
                raise LedgerError(
                    f"{name} was written by a later version (format {version}, this one reads {FORMAT}):"
                    " update Understudy. Nothing was spent."
                )
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.Error as error:
            connection.close()
            raise self._explained(error) from None
        except LedgerError:
            connection.close()
            raise
        return connection

    def _explained(self, error: sqlite3.Error) -> LedgerError:
        """SQLite's complaint in the words of a ledger."""
        name, code = self.path.name, getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return LedgerError(f"{name} is not a ledger: choose another file. Nothing was spent.")
        if code == sqlite3.SQLITE_BUSY:
            return LedgerError(
                f"{name} is held by another process for more than {PATIENCE} s: try again. Nothing was spent."
            )
        if code == sqlite3.SQLITE_READONLY:
            return LedgerError(f"{name} may not be written: check its permissions. Nothing was spent.")
        if code == sqlite3.SQLITE_CORRUPT:
            return LedgerTampered(
                f"{name} is damaged: restore it from a copy and compare its last digest. Nothing was spent."
            )
        return LedgerError(f"{name} could not be used ({error}). Nothing was spent.")


def append(
    connection: sqlite3.Connection,
    *,
    kind: str,
    event: str,
    detail: dict[str, object],
    run: str = "",
    step: int | None = None,
    analyst: str = "",
    scope: str = "",
    epsilon: int = 0,
    delta: int = 0,
) -> Entry:
    """Write one entry, move the head and the totals with it; inside a writing transaction."""
    number, previous = connection.execute("SELECT entries + 1, head FROM account").fetchone()
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    text = canonical(detail).decode("ascii")
    entry = Entry(
        number=number,
        time=time,
        kind=kind,
        event=event,
        run=run,
        step=step,
        analyst=analyst,
        scope=scope,
        epsilon=epsilon,
        delta=delta,
        detail=text,
        previous=previous,
    )
    digest = entry.seal()
    values = (*(getattr(entry, name) for name in COLUMNS), digest)
    connection.execute(f"INSERT INTO entry ({_ENTRY}) VALUES ({', '.join('?' * len(values))})", values)
    connection.execute(
        "UPDATE account SET entries = ?, head = ?, spent_epsilon = spent_epsilon + ?, spent_delta = spent_delta + ?",
        (number, digest, epsilon, delta),
    )
    return entry


def entries(connection: sqlite3.Connection, where: str = "", values: tuple[object, ...] = ()) -> Iterator[Entry]:
    """Entries in order, read as they are stored."""
    for row in connection.execute(f"SELECT {_ENTRY} FROM entry {where} ORDER BY number", values):
        yield Entry(**dict(zip((*COLUMNS, "digest"), row, strict=True)))


def last(connection: sqlite3.Connection, where: str, values: tuple[object, ...]) -> Entry | None:
    """The newest of these entries."""
    row = connection.execute(f"SELECT {_ENTRY} FROM entry {where} ORDER BY number DESC LIMIT 1", values).fetchone()
    return None if row is None else Entry(**dict(zip((*COLUMNS, "digest"), row, strict=True)))


def _sync(path: Path) -> None:
    """Have the disk hold what was written; for a folder, its list of names."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _publish(draft: Path, path: Path) -> None:
    """Give a finished file its name, unless something has that name already."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links: claim the name first, then put the file in its place
        os.close(os.open(path, os.O_CREAT | os.O_EXCL, 0o600))
        draft.replace(path)
    if os.name == "posix":
        _sync(path.parent)
