"""Check that a ledger adds up: every digest, every total, every stored answer."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import suppress

from understudy.accounting.chain import GENESIS_DIGEST, LedgerEntry
from understudy.accounting.ledger_files.database import LedgerFile
from understudy.accounting.ledger_files.tables import (
    LEDGER_TABLE_DEFINITIONS,
    read_entries,
)
from understudy.accounting.questions.replay import ChainReplay
from understudy.errors import LedgerTampered


def audit_ledger(file: LedgerFile, *, anchor: str | None = None) -> None:
    """Raise LedgerTampered, naming the entry, unless everything follows; with an
    anchor, unless that digest is still in the chain.
    """
    with file.read_transaction() as connection:
        audit_ledger_tables(connection, file.path.name, anchor=anchor)


def audit_ledger_tables(
    connection: sqlite3.Connection, name: str, *, anchor: str | None = None
) -> None:
    """The same for an open database, which messages call `name`."""

    def tampering_error(what: str) -> LedgerTampered:
        return LedgerTampered(
            f"{name}: {what}. Restore it from a backup and compare its last digest."
            " Nothing was spent."
        )

    # The tables first: checking a file evaluates what they demand of every row, and a
    # hostile one demands much.
    shape, sound = _read_table_definitions(connection), ""
    if shape is not None and shape != sorted(LEDGER_TABLE_DEFINITIONS.items()):
        raise tampering_error("the tables are not those of a ledger")
    with suppress(sqlite3.DatabaseError):
        (sound,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    if shape is None or sound != "ok":
        raise tampering_error("the file is damaged")
    account = _read_account(connection)
    if account is None:
        raise tampering_error("the account does not hold exactly one line")
    try:
        chain = list(read_entries(connection))
        seen = _check_chain(chain, account, tampering_error)
        _check_answers(connection, chain, tampering_error)
    except (
        TypeError,
        KeyError,
        ValueError,
        ArithmeticError,
        RecursionError,
    ) as error:
        if isinstance(error, LedgerTampered):
            raise
        raise tampering_error("an entry holds something no entry can hold") from None
    if anchor is not None and anchor not in seen:
        raise tampering_error(
            f"no entry has the digest {anchor[:12]}…, so the file was put back to an"
            " older state or replaced"
        )


def _read_table_definitions(
    connection: sqlite3.Connection,
) -> list[tuple[str, str]] | None:
    """What the file is made of: tables, and triggers that may bear a table's name. None
    where it is damaged.
    """
    # One more and one longer than a ledger has: enough to see that it is none, and no
    # more of a hostile file than that.
    most = len(LEDGER_TABLE_DEFINITIONS) + 1
    longest = max(map(len, LEDGER_TABLE_DEFINITIONS.values())) + 1
    asked = (
        "SELECT substr(name, 1, ?), substr(sql, 1, ?) FROM sqlite_master WHERE sql IS"
        " NOT NULL LIMIT ?"
    )
    try:
        return sorted(connection.execute(asked, (longest, longest, most)))
    except (sqlite3.DatabaseError, TypeError):
        return None


def _read_account(connection: sqlite3.Connection) -> dict[str, object] | None:
    cursor = connection.execute("SELECT * FROM account")
    rows = cursor.fetchall()
    if len(rows) != 1:
        return None
    names = [column[0] for column in cursor.description]
    return dict(zip(names, rows[0], strict=True))


def _check_chain(
    chain: list[LedgerEntry],
    account: dict[str, object],
    found: Callable[[str], LedgerTampered],
) -> set[str]:
    """The chain and its totals; returns every digest in it."""
    previous = GENESIS_DIGEST
    spent_epsilon = spent_delta = 0
    seen = set()
    replayed = ChainReplay(chain[0]) if chain else None
    for expected, entry in enumerate(chain, 1):
        if entry.number != expected:
            raise found(f"entry {expected} is missing")
        if entry.previous != previous or entry.seal() != entry.digest:
            raise found(
                f"entry {expected} was changed or does not follow from the one"
                " before it"
            )
        previous = entry.digest
        seen.add(previous)
        spent_epsilon += entry.epsilon
        spent_delta += entry.delta
        fault = replayed.follow(entry) if replayed else ""
        if fault:
            raise found(f"entry {expected} {fault}")
    if replayed is None or previous != account["head"]:
        raise found(f"entry {len(chain)} is not the last one written")
    _check_totals(account, len(chain), (spent_epsilon, spent_delta), found)
    if not replayed.opens(account):
        raise found("entry 1 opened another account than this one")
    return seen


def _check_totals(
    account: dict[str, object],
    entries: int,
    spent: tuple[int, int],
    found: Callable[[str], LedgerTampered],
) -> None:
    """The account's own line says what its entries add up to."""
    if entries != account["entries"]:
        raise found(f"entry {entries} is not the last one written")
    if spent != (account["spent_epsilon"], account["spent_delta"]):
        raise found(f"the total does not equal the sum of entries 1 to {entries}")


def _check_answers(
    connection: sqlite3.Connection,
    chain: list[LedgerEntry],
    found: Callable[[str], LedgerTampered],
) -> None:
    """Every stored answer is the one its entry describes, and was charged before."""
    described = _list_described_answers(chain, found)
    for run, step, request, payload in connection.execute(
        "SELECT run, step, request, payload FROM answer"
    ):
        number, asked, digest = described.pop((run, step), (0, None, None))
        if asked != request or digest != hashlib.sha256(payload).hexdigest():
            raise found(
                f"the answer of entry {number} was changed"
                if number
                else "an answer is stored that no entry describes"
            )
    if described:
        raise found(
            f"the answer of entry {min(number for number, _, _ in described.values())}"
            " is missing"
        )


def _list_described_answers(
    chain: list[LedgerEntry], found: Callable[[str], LedgerTampered]
) -> dict[tuple[str, int | None], tuple[int, object, object]]:
    """The entry, the request and the payload's digest of every answer, by its step."""
    charged: set[tuple[str, int | None, object]] = set()
    described: dict[tuple[str, int | None], tuple[int, object, object]] = {}
    for entry in chain:
        facts = entry.facts
        if entry.kind == "charge":
            charged.add((entry.run, entry.step, facts["request"]))
        elif entry.kind == "answer":
            # In the order of the chain: a charge that comes later pays for nothing.
            if (entry.run, entry.step, facts["request"]) not in charged:
                raise found(
                    f"entry {entry.number} stores an answer that was never charged"
                )
            described[entry.run, entry.step] = (
                entry.number,
                facts["request"],
                facts["payload"],
            )
    return described
