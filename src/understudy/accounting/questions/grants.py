"""Grants: entries that raise the cap of an account or the limit of an analyst.

A grant adds to what was there and never resets what was spent. It is an entry like any
other, so the chain seals it, and the limit in force at each charge can be checked later.
"""

from __future__ import annotations

import sqlite3

from understudy.accounting.budget import Budget
from understudy.accounting.chain import MAX_LEDGER_UNITS, LedgerEntry
from understudy.accounting.ledger_files.tables import (
    append_entry,
    require_shared_format,
)
from understudy.accounting.ledgercap import LedgerCap
from understudy.accounting.questions.analyst import (
    OWNER_NAME,
    read_granted_limit,
    read_limits,
    refuse_run_beyond_limit,
)
from understudy.errors import InvalidBudget, LedgerError

GRANT_EVENT = "grant"
"""What the entry of a grant is called."""


def append_grant(
    connection: sqlite3.Connection,
    granted: LedgerCap,
    *,
    analyst: str,
    reason: str,
    name: str,
) -> Budget:
    """Raise a limit by this much, inside a writing transaction, and return it; the cap
    of the account where `analyst` is the owner. Messages call the ledger `name`.
    """
    before = read_cap(connection)
    if analyst != OWNER_NAME:
        before = read_limits(connection).get(analyst, LedgerCap(0, 0))
    if before.epsilon is None or before.delta is None:
        raise LedgerError(
            f"{name} has no cap that could be raised: everything is allowed. Name an"
            " analyst to set a limit. Nothing was granted."
        )
    limit = add_caps(before, granted)
    # Earlier versions of the package cannot check a grant, and must refuse the file.
    require_shared_format(connection)
    append_entry(
        connection,
        kind="grant",
        event=GRANT_EVENT,
        analyst=analyst,
        detail={
            "granted_epsilon": granted.epsilon,
            "granted_delta": granted.delta,
            "limit_epsilon": limit.epsilon,
            "limit_delta": limit.delta,
            "reason": reason,
        },
    )
    if analyst == OWNER_NAME:
        connection.execute(
            "UPDATE account SET cap_epsilon = ?, cap_delta = ?",
            (limit.epsilon, limit.delta),
        )
    return limit.require_budget()


def add_caps(before: LedgerCap, granted: LedgerCap) -> LedgerCap:
    """A limit raised by a grant.

    >>> add_caps(LedgerCap(1, 0), LedgerCap(2, 3))
    LedgerCap(epsilon=3, delta=3)
    """
    epsilon = (before.epsilon or 0) + (granted.epsilon or 0)
    delta = (before.delta or 0) + (granted.delta or 0)
    # SQLite's integers would overflow into floats, which do not add up exactly.
    if max(epsilon, delta) > MAX_LEDGER_UNITS:
        raise InvalidBudget(
            "This limit would be more than a ledger can count. Nothing was granted."
        )
    return LedgerCap(epsilon, delta)


def read_cap(connection: sqlite3.Connection) -> LedgerCap:
    """The cap of the account, as it is now."""
    row = connection.execute("SELECT cap_epsilon, cap_delta FROM account").fetchone()
    return LedgerCap(*row)


def describe_grant(entry: LedgerEntry) -> str:
    """A grant in words."""
    whose = f"the limit of {entry.analyst}" if entry.analyst else "the cap"
    reason = entry.facts.get("reason")
    because = f" ({reason})" if reason else ""
    return f"{whose} is now {read_granted_limit(entry).require_budget()}{because}"


def follow_grant(before: LedgerCap, entry: LedgerEntry) -> LedgerCap:
    """The limit after a grant; ValueError where it does not say what was added."""
    facts = entry.facts
    epsilon, delta = facts["granted_epsilon"], facts["granted_delta"]
    if not isinstance(epsilon, int) or not isinstance(delta, int):
        raise ValueError("a grant is whole units")
    limit = read_granted_limit(entry)
    # Limits only rise: a negative grant would be a forgery.
    if min(epsilon, delta) < 0 or limit != add_caps(before, LedgerCap(epsilon, delta)):
        raise ValueError("a grant adds to what was there")
    return limit


def refuse_overspent_units(
    connection: sqlite3.Connection, units: tuple[int, int], analyst: str, name: str
) -> None:
    """Raise BudgetExceeded where a run of these ledger units passes the cap, or the
    limit of its analyst; `name` is the ledger's.
    """
    query = "SELECT spent_epsilon, spent_delta FROM account"
    spent = connection.execute(query).fetchone()
    read_cap(connection).refuse_overspending(spent, units, name)
    refuse_run_beyond_limit(connection, analyst, units, name)
