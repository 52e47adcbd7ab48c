"""Backups of a ledger: whole, taken while others spend, and of no use for spending
until they are restored on purpose.

A copy that can be spent from is a second account for the same people. So a backup is
marked as one in the file's header, outside the chain: its chain is that of the ledger
up to the entry it was taken at, and any digest printed until then is in it. Restoring
makes an account of it again and says so in an entry. A digest printed after the backup
was taken is not in it: that is how to tell that something was spent since, and `anchor`
refuses to restore then.
"""

from __future__ import annotations

from pathlib import Path

from understudy.accounting.ledger_files.database import (
    LEDGER_APPLICATION_ID,
    LEDGER_BACKUP_APPLICATION_ID,
    LedgerFile,
)
from understudy.accounting.ledger_files.disk import draft_ledger
from understudy.accounting.ledger_files.tables import append_entry
from understudy.accounting.verify import audit_ledger, audit_ledger_tables
from understudy.errors import LedgerError


def back_up_ledger(file: LedgerFile, path: Path) -> str:
    """Write a backup of an open ledger to a new file, and check it; returns its last
    digest.
    """
    with draft_ledger(path) as copy:
        file.copy_to(copy)
        # Marked in the file itself: a copy that is renamed still cannot be spent from.
        copy.execute(f"PRAGMA application_id={LEDGER_BACKUP_APPLICATION_ID}")
        audit_ledger_tables(copy, path.name)
        (head,) = copy.execute("SELECT head FROM account").fetchone()
    return str(head)


def restore_ledger(backup: Path, path: Path, *, anchor: str | None = None) -> None:
    """Make an account at `path`, where nothing is yet, of a backup that holds the
    digest `anchor`.
    """
    file = LedgerFile(backup)
    try:
        if not file.is_backup:
            raise LedgerError(
                f"{backup.name} is a ledger and no backup: spend from it as it is, or"
                " rename it. No ledger was made."
            )
        audit_ledger(file, anchor=anchor)
        with draft_ledger(path) as copy:
            file.copy_to(copy)
            copy.execute(f"PRAGMA application_id={LEDGER_APPLICATION_ID}")
            copy.execute("BEGIN IMMEDIATE")
            (count,) = copy.execute("SELECT entries FROM account").fetchone()
            text = (
                f"taken at entry {count}; what was spent after that is not in this"
                " account"
            )
            # Sealed in the chain, so that the gap cannot be denied later.
            append_entry(
                copy,
                kind="restore",
                event="restored from a backup",
                detail={"text": text},
            )
            copy.execute("COMMIT")
            # Checked before it appears under its name: a bad copy leaves no ledger
            # behind.
            audit_ledger_tables(copy, path.name)
    finally:
        file.close()
