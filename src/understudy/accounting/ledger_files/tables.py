"""The tables of a ledger, and the entries in them.

The cap is also a CHECK of the account, so that no code above can overspend. Entries are
only ever appended; the head and the totals move with each of them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from understudy.accounting.chain import (
    GENESIS_DIGEST,
    LEDGER_ENTRY_COLUMNS,
    MAX_LEDGER_UNITS,
    LedgerEntry,
    canonical_json,
)

LEDGER_FORMAT_VERSION = 1
"""Version of the file format that a ledger begins with."""

SHARED_LEDGER_FORMAT_VERSION = 2
"""Version from the first grant, scope or analyst of a shared run on: earlier versions
of Understudy could not check these, and refuse the file. A later one is refused here.
"""

LEDGER_TABLE_DEFINITIONS = {
    "account": (
        f"""CREATE TABLE account (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  dataset TEXT NOT NULL,
  neighbours TEXT NOT NULL,
  unit TEXT NOT NULL,
  cap_epsilon INTEGER CHECK (cap_epsilon BETWEEN 0 AND {MAX_LEDGER_UNITS}),
  cap_delta INTEGER CHECK (cap_delta BETWEEN 0 AND {MAX_LEDGER_UNITS}),
  spent_epsilon INTEGER NOT NULL CHECK (spent_epsilon BETWEEN 0 AND {MAX_LEDGER_UNITS}),
  spent_delta INTEGER NOT NULL CHECK (spent_delta BETWEEN 0 AND {MAX_LEDGER_UNITS}),
  entries INTEGER NOT NULL,
  head TEXT NOT NULL,
  CHECK (cap_epsilon IS NULL OR spent_epsilon <= cap_epsilon),
  CHECK (cap_delta IS NULL OR spent_delta <= cap_delta)
)"""
    ),
    "entry": (
        """CREATE TABLE entry (
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
)"""
    ),
    "entry_by_run": "CREATE INDEX entry_by_run ON entry (run, kind)",
    "entry_by_step": "CREATE INDEX entry_by_step ON entry (run, kind, step)",
    "answer": (
        """CREATE TABLE answer (
  run TEXT NOT NULL,
  step INTEGER NOT NULL,
  request TEXT NOT NULL,
  payload BLOB NOT NULL,
  PRIMARY KEY (run, step)
)"""
    ),
}

_STORED_COLUMNS = (*LEDGER_ENTRY_COLUMNS, "digest")
_STORED_COLUMN_LIST = ", ".join(_STORED_COLUMNS)


def create_tables(connection: sqlite3.Connection, account: dict[str, object]) -> None:
    """Make the tables of an empty account, and its first entry; inside a writing
    transaction.
    """
    for statement in LEDGER_TABLE_DEFINITIONS.values():
        connection.execute(statement)
    columns = {
        **account,
        "one": 1,
        "spent_epsilon": 0,
        "spent_delta": 0,
        "entries": 0,
        "head": GENESIS_DIGEST,
    }
    names, places = ", ".join(columns), ", ".join("?" * len(columns))
    connection.execute(
        f"INSERT INTO account ({names}) VALUES ({places})", [*columns.values()]
    )
    # The opening is an entry too, so that the chain seals what the account is about.
    append_entry(
        connection,
        kind="open",
        event="ledger opened",
        detail={**account, "format": LEDGER_FORMAT_VERSION},
    )


def append_entry(
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
) -> LedgerEntry:
    """Write one entry, move the head and the totals with it; inside a writing
    transaction.
    """
    # Read inside the writing transaction: no other process can take the same number.
    number, previous = connection.execute(
        "SELECT entries + 1, head FROM account"
    ).fetchone()
    entry = LedgerEntry(
        number=number,
        time=datetime.now(UTC).isoformat(timespec="milliseconds"),
        kind=kind,
        event=event,
        run=run,
        step=step,
        analyst=analyst,
        scope=scope,
        epsilon=epsilon,
        delta=delta,
        # One spelling for each value, or the digest could not be computed again.
        detail=canonical_json(detail).decode("ascii"),
        previous=previous,
    )
    digest = entry.seal()
    values = [*(getattr(entry, name) for name in LEDGER_ENTRY_COLUMNS), digest]
    places = ", ".join("?" * len(values))
    connection.execute(
        f"INSERT INTO entry ({_STORED_COLUMN_LIST}) VALUES ({places})", values
    )
    # The CHECK of the account refuses here what the cap does not allow.
    connection.execute(
        "UPDATE account SET entries = ?, head = ?, spent_epsilon = spent_epsilon + ?,"
        " spent_delta = spent_delta + ?",
        (number, digest, epsilon, delta),
    )
    return entry


def require_shared_format(connection: sqlite3.Connection) -> None:
    """Mark a file that earlier versions cannot check; inside a writing transaction."""
    # Only ever raised: a file that has such entries keeps them.
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version < SHARED_LEDGER_FORMAT_VERSION:
        connection.execute(f"PRAGMA user_version={SHARED_LEDGER_FORMAT_VERSION}")


def read_entries(
    connection: sqlite3.Connection, where: str = "", values: tuple[object, ...] = ()
) -> Iterator[LedgerEntry]:
    """Entries in order, read as they are stored."""
    query = f"SELECT {_STORED_COLUMN_LIST} FROM entry {where} ORDER BY number"
    for row in connection.execute(query, values):
        yield _entry_of_row(row)


def read_last_entry(
    connection: sqlite3.Connection, where: str, values: tuple[object, ...]
) -> LedgerEntry | None:
    """The newest of these entries."""
    query = f"SELECT {_STORED_COLUMN_LIST} FROM entry {where}"
    row = connection.execute(f"{query} ORDER BY number DESC LIMIT 1", values).fetchone()
    return None if row is None else _entry_of_row(row)


def _entry_of_row(row: tuple[object, ...]) -> LedgerEntry:
    columns: dict[str, Any] = dict(zip(_STORED_COLUMNS, row, strict=True))
    return LedgerEntry(**columns)
