"""Runs that are for a part of the table: what they add to an account.

A run with a scope admits questions inside it only. So a unit pays for the runs whose
scope holds its cell, and the account for its dearest unit, as in partition.py; the
amounts are ledger units of ε and δ, which add up between runs.
"""

from __future__ import annotations

import sqlite3
from fractions import Fraction

from understudy.accounting.cost import Accounting, Cost
from understudy.accounting.ledger_files.tables import (
    read_last_entry,
    require_shared_format,
)
from understudy.accounting.neighbours import Neighbours
from understudy.accounting.questions.analyst import OWNER_NAME
from understudy.accounting.questions.partition import (
    PartitionScope,
    ScopedSpending,
    charge_scope,
)
from understudy.errors import LedgerError

RunUnits = tuple[int, int]
"""ε and δ of a run, in whole ledger units."""


def weigh_scoped_run(
    connection: sqlite3.Connection,
    units: RunUnits,
    scope: PartitionScope,
    analyst: str,
) -> tuple[RunUnits, dict[str, object]]:
    """What a run with this scope adds to the account, and what its entry says of it;
    inside a writing transaction.
    """
    if analyst != OWNER_NAME:
        raise LedgerError(
            "A run with a scope is the owner's, and limits of analysts hold inside it:"
            " leave the analyst out. Nothing was spent."
        )
    require_shared_format(connection)
    # A run begins with its reservation, and runs are found by the index.
    last = read_last_entry(
        connection,
        "WHERE number IN (SELECT MIN(number) FROM entry GROUP BY run)"
        " AND kind = 'reserve' AND detail LIKE '%\"account_partitions\"%'",
        (),
    )
    facts = {} if last is None else last.facts
    spending = ScopedSpending.of_facts(facts.get("account_partitions"))
    row = connection.execute("SELECT neighbours, unit FROM account").fetchone()
    added = add_scoped_run(spending, units, scope, Neighbours(row[0]), str(row[1]))
    return added, {
        "run_scope": scope.to_facts(),
        "account_partitions": spending.to_facts(),
    }


def add_scoped_run(
    spending: ScopedSpending,
    units: RunUnits,
    scope: PartitionScope,
    neighbours: Neighbours,
    unit: str,
) -> RunUnits:
    """Add a run to what scopes have paid; returns by how much the dearest unit pays
    more.
    """
    # Between runs ε and δ add up plainly, as pure amounts do.
    whole = Cost(Accounting.PURE, Fraction(units[0]), Fraction(units[1]))
    added = charge_scope(spending, whole, scope, neighbours=neighbours, unit=unit)
    return int(added.amount), int(added.delta)
